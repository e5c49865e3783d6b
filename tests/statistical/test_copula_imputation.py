"""Missing values that the copula draws: as far from the true ones as their own spread says."""

import numpy as np
import pytest

from reports.copula_coverage import study
from reports.copulas import FixedLength, mixed_copula, with_missing
from synthdp.seeding import Streams
from synthdp.synthesis.nesting import completer
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import links_of, masks_of, predictors_of
from synthdp.table.microdata import resolve
from synthdp.tagging.groups import tag

N, DATA_SETS, IMPUTATIONS = 800, 8, 15
COLUMNS = ("x", "z", "b1", "b2", "o")


def imputed(holes, streams):
    """Return completed originals, as ``missing: impute`` makes them."""
    data = resolve(holes, study.VARIABLES)
    plan = Plan(data, tag(data, None), study.masks_of(*study.STRENGTHS[0]))
    model = FixedLength()
    masks = masks_of(plan, links_of(data, model))
    complete, _ = completer(
        model,
        data,
        lambda some, exclude: predictors_of(plan, masks, some, exclude, model.splines),
        (),
        rng=streams.generator("fit"),
    )
    return [complete(streams.within("imputation", number), number).frame for number in range(1, IMPUTATIONS + 1)]


@pytest.mark.slow
def test_imputed_cells_spread_as_far_as_the_truth_is_away():
    errors, spreads = np.zeros(len(COLUMNS)), np.zeros(len(COLUMNS))
    for r in range(DATA_SETS):
        streams = Streams(1000 + r)
        frame = mixed_copula(N, rng=streams.generator("data"))
        holes = with_missing(frame, rng=streams.generator("missing"))
        completed = imputed(holes, streams)
        for k, name in enumerate(COLUMNS):
            gaps = holes[name].isna().to_numpy()
            drawn = np.asarray([one[name].to_numpy(float)[gaps] for one in completed])
            errors[k] += ((frame[name].to_numpy(float)[gaps] - drawn.mean(axis=0)) ** 2).sum()
            spreads[k] += (1 + 1 / IMPUTATIONS) * drawn.var(axis=0, ddof=1).sum()
    ratio = errors / spreads
    # two parts in n too much for each of the nine coordinates (see ``model``); 960 cells of a column: ± 0.0475
    assert np.abs(ratio - (1 + 2 * 9 / N)).max() < 4 * 0.0475, ratio
    assert abs(ratio.mean() - (1 + 2 * 9 / N)) < 4 * 0.0475 / np.sqrt(len(COLUMNS)), ratio
