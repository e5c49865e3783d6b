"""Records are drawn block by block, each block from streams of its own."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from synthdp import seeding
from synthdp.arrays import added, mean_and_sd
from synthdp.imputation.families.normal import LinearPosterior, LinearSums
from synthdp.imputation.families.unordered import Signed, binary_sampler
from synthdp.imputation.regression.association import Regression
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import ColumnMask, Target
from synthdp.seeding import Streams, in_blocks
from synthdp.stages.shuffling import row_order
from synthdp.synthesis.blockwise import noisy, pieces
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Variable
from synthdp.tagging.groups import tag

BLOCK = 100


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(seeding, "BLOCK", BLOCK)


def plan_of(n: int, constraints: tuple[str, ...] = ()) -> Plan:
    rng = np.random.default_rng(1)
    z = rng.normal(size=n).round(2)
    frame = pd.DataFrame({"z": z, "x": (z + rng.normal(size=n)).round(1), "b": rng.integers(2, size=n)})
    frame["x"] = frame["x"].clip(upper=2.0)
    replaced = {"role": "replace", "key": True}
    data = resolve(frame, {"x": Variable(**replaced), "b": Variable(**replaced), "z": Variable(key=False)})
    return Plan(data, tag(data, None), masks={"x": Gaussian(sd=1.0)}, constraints=constraints)


def made(plan: Plan, **settings) -> tuple[pd.DataFrame, ...]:
    return DaMi(copies=2, **settings).synthesize(plan, streams=Streams(2**70)).copies


def test_a_file_of_one_block_has_the_streams_it_always_had():
    plain, first = Streams(3).generator("mask", "x", 1), Streams(3).block(0, "mask", "x", 1)
    assert plain.random() == first.random()
    assert Streams(3).block(1, "mask", "x", 1).random() != first.random()


def test_blocks_cover_a_file_once(small_blocks):
    assert [(number, rows.start, rows.stop) for number, rows in in_blocks(250)] == [
        (0, 0, 100),
        (1, 100, 200),
        (2, 200, 250),
    ]


def test_each_block_is_drawn_as_if_it_were_alone(small_blocks):
    plan, streams = plan_of(250), Streams(2**70)
    copies = made(plan)
    task, masks = prepare(plan, Regression(), 20)
    posterior = Regression().fit(task, rng=streams.generator("fit"))
    theta = posterior.draw(rng=streams.generator("parameters", 1))
    for number, rows in in_blocks(250):
        evidence = {
            name: mask.of(rows).draw(task.working[name][rows], rng=streams.block(number, "mask", name, 1))
            for name, mask in masks.items()
        }
        drawn = theta.of(rows).draw(evidence, rng=streams.block(number, "values", 1))
        np.testing.assert_array_equal(copies[0]["b"].to_numpy()[rows], drawn["b"])
        x = np.clip(task.links["x"].inverse(drawn["x"]), *(plan.data.schema["x"].bounds or (-np.inf, np.inf)))
        np.testing.assert_allclose(copies[0]["x"].to_numpy()[rows], x.round(1), atol=1e-9)


def test_constraints_are_kept_in_every_block(small_blocks):
    plan = plan_of(250, ("x <= 2",))
    for copy in made(plan):
        assert (copy["x"] <= 2).all()
    again = made(plan)
    assert again[0].equals(made(plan)[0])


def test_a_model_that_is_not_cut_draws_one_block(small_blocks):
    plan = plan_of(250)
    task, _ = prepare(plan, Regression(), 20)
    parameters = Regression().fit(task, rng=np.random.default_rng(1)).draw(rng=np.random.default_rng(2))
    about = dict.fromkeys(task.working)
    assert len(pieces(task, parameters, about, Streams(1), 1, by_block=False)) == 1


def test_parameters_that_cannot_be_cut_are_refused(small_blocks):
    task, _ = prepare(plan_of(250), Regression(), 20)
    with pytest.raises(TypeError, match="cannot be drawn block by block"):
        pieces(task, object(), {"x": np.zeros(250)}, Streams(1), 1, by_block=True)


@pytest.mark.parametrize("settings", [{"mask_draw": "once"}, {"mask_draw": "once_orthogonal"}])
def test_shared_masks_are_drawn_in_blocks_too(small_blocks, settings):
    copies = made(plan_of(250), **settings)
    assert not copies[0]["x"].equals(copies[1]["x"])


def test_traces_of_chains_are_weighed(small_blocks):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"z": rng.normal(size=250), "o": rng.integers(3, size=250), "x": rng.normal(size=250)})
    variables = {"o": Variable(role="replace", kind="ordinal"), "x": Variable(role="replace"), "z": Variable(key=False)}
    data = resolve(frame, variables)
    plan = Plan(data, tag(data, None), masks={"x": Gaussian(sd=1.0)})
    found = DaMi(copies=2).synthesize(plan, streams=Streams(2**70))
    assert {row["column"] for row in found.chain} == {"o", "x"}


def test_graded_masks_follow_their_records(small_blocks):
    column = Column(name="x", kind="continuous", role="replace", key=True)
    neighbours = np.arange(1, 251)
    settings = Gaussian(sd=1.0, graded=1.0)
    from synthdp.table.links import Link

    mask = ColumnMask.plan(Target(column, Link(0.0, 1.0), neighbours), settings, {}, np.repeat("low", 250))
    drawn = noisy(mask, np.zeros(250), lambda number: Streams(1).block(number, "mask"))
    here = Target(column, Link(0.0, 1.0), neighbours[100:200])
    alone = settings.bind(here).draw(np.zeros(100), rng=Streams(1).block(1, "mask"))
    np.testing.assert_array_equal(drawn[100:200], alone)


def test_moments_added_up_by_block_are_those_of_the_file(small_blocks):
    values = np.random.default_rng(5).normal(50, 3, size=1_003)
    values[::7] = np.nan
    mean, sd = mean_and_sd(values)
    assert mean == pytest.approx(np.nanmean(values), rel=1e-13)
    assert sd == pytest.approx(np.nanstd(values), rel=1e-12)
    assert added(values[:0]) == (0, 0.0)


def test_moments_of_one_block_are_numpys():
    values = np.random.default_rng(5).normal(50, 3, size=1_003)
    assert mean_and_sd(values) == (values.mean(), values.std())


def test_sums_of_blocks_fit_as_the_whole(small_blocks):
    rng = np.random.default_rng(6)
    design = np.column_stack([np.ones(730), rng.normal(size=(730, 3))])
    y = design @ [1.0, 2.0, -1.0, 0.5] + rng.normal(size=730)
    prior = np.array([np.inf, 10, 10, 10.0])
    by_block = LinearPosterior.fit(design, y, prior)
    whole = LinearPosterior.known(LinearSums.of(design, y), prior)
    np.testing.assert_allclose(by_block.mean, whole.mean, rtol=1e-12)
    assert by_block.rate == pytest.approx(whole.rate, rel=1e-10)


def test_a_binary_regression_fits_by_block_as_the_whole(monkeypatch):
    rng = np.random.default_rng(7)
    design = np.column_stack([np.ones(730), rng.normal(size=(730, 3))])
    y = (design @ [0.2, 1.0, -1.0, 0.5] + rng.normal(size=730) > 0).astype(float)
    prior = np.array([np.inf, 2.5, 2.5, 2.5])
    whole = binary_sampler(design, y, prior, link="probit", rng=np.random.default_rng(1))
    monkeypatch.setattr(seeding, "BLOCK", BLOCK)
    by_block = binary_sampler(design, y, prior, link="probit", rng=np.random.default_rng(1))
    np.testing.assert_allclose(by_block.mode, whole.mode, rtol=1e-8)
    assert by_block.steps == whole.steps
    signed = Signed(design, "probit")
    betas = np.vstack([whole.mode, whole.mode + 0.1])
    assert signed.gain(betas)[0] == pytest.approx(signed.height(betas[1]) - signed.height(betas[0]), rel=1e-9)


def test_rows_are_released_in_a_permutation_of_all(small_blocks):
    order = row_order(Streams(8), 1, 1_050)
    assert np.array_equal(np.sort(order), np.arange(1_050))
    assert not np.array_equal(order, row_order(Streams(8), 2, 1_050))


def test_the_place_of_a_row_tells_nothing_of_its_block(monkeypatch):
    monkeypatch.setattr(seeding, "BLOCK", 10)
    seeds, records = 3_000, 30
    counts = np.zeros((3, 3))
    for seed in range(seeds):
        order = row_order(Streams(seed), 1, records)
        # one record of each block: each is independent of those of other seeds
        places = np.argsort(order)[[0, 10, 20]]
        counts[np.arange(3), places // 10] += 1
    expected = seeds / 3
    for row in counts:
        assert ((row - expected) ** 2 / expected).sum() < chi2.isf(6e-5, 2)  # as rare as 4 standard errors
