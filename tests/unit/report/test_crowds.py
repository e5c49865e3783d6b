"""The picture of risk groups: counts that add up, nobody's values, and nothing where there is nothing to draw."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.crowding import CELLS, FEWEST, TILES, crowds, tiles
from synthdp.report.charts import draw
from synthdp.report.crowds import MOST_DOTS, scattered
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

N = 400


@pytest.fixture
def files():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 9, N).round(4),
            "years": rng.gamma(2, 1.2345, N).round(4),
            "sex": rng.choice(["F", "M"], N, p=[0.8, 0.2]),
            "rare": np.where(np.arange(N) < 6, "yes", "no"),
        }
    )
    frame.loc[[3, 9], "years"] = np.nan
    keys = {name: Variable(role="replace", key=True) for name in ("sex", "rare")}
    numeric = {name: Variable(role="replace", key=True, tolerance=1.5) for name in ("age", "years")}
    data = resolve(frame, numeric | keys)
    groups = tag(data, Neighbours(k=5)).labels
    return Comparison(data.frame, (data.frame,), data.schema, aligned=True, groups=groups, proper=True)


def test_every_record_is_counted_once(files):
    (chart,) = crowds(files)
    assert chart.axes == ("age", "years")
    everybody = chart.panels["All records"]
    counts = {group: int(np.sum(grid)) for group, grid in everybody.items()}
    known = files.original["years"].notna()
    assert counts == files.groups[known].astype(str).value_counts().loc[list(counts)].to_dict()
    assert "2 records without one of the two values are not drawn." in chart.caption
    cells = list(chart.panels)[1:]
    assert 0 < len(cells) <= CELLS
    sizes = files.original[known].groupby(["sex", "rare"], observed=True).size().sort_values(ascending=False)
    shown = [sum(int(np.sum(grid)) for grid in chart.panels[name].values()) for name in cells]
    assert shown == [size for size in sizes if size >= FEWEST][:CELLS]


def test_outermost_tiles_hold_everybody_beyond_the_quantiles():
    values = np.append(np.linspace(0, 1, 1001), [50.0, -9.0])
    found = tiles(values, np.ones(len(values), dtype=bool))
    assert (found[-2:] == [TILES - 1, 0]).all()
    low, high = np.quantile(values, [0.05, 0.95])
    np.testing.assert_array_equal(found == 0, values < low)
    np.testing.assert_array_equal(found == TILES - 1, values >= high)


def test_no_value_of_anybody_reaches_the_page(files):
    (figure,) = draw(crowds(files)[0])
    text = json.dumps([figure.data, figure.layout, figure.alt, figure.caption])
    for value in files.original[["age", "years"]].to_numpy().ravel():
        assert f"{value:.4f}" not in text
    # a shift of every value that leaves all in their tiles leaves the picture as it is
    moved = files.original.assign(age=2 * files.original["age"] + 7)
    (again,) = draw(crowds(replace(files, original=moved))[0])
    assert (again.data, again.layout) == (figure.data, figure.layout)


def test_nothing_is_drawn_without_two_numbers_or_two_groups(files):
    assert crowds(replace(files, groups=None)) == ()
    assert crowds(replace(files, groups=files.groups.where(files.groups == "low", "low"))) == ()
    one = resolve(files.original, {"age": Variable(role="replace", key=True), "sex": Variable(key=True)})
    assert crowds(replace(files, schema=one.schema)) == ()


def test_plain_groups_and_a_constant_key_do(files):
    plain = replace(files, groups=pd.Series(np.where(np.arange(N) < 50, "mine", "theirs")))
    assert crowds(plain)[0].groups == ("mine", "theirs")
    flat = replace(files, original=files.original.assign(age=1.0))
    assert int(np.sum(list(crowds(flat)[0].panels["All records"].values()))) == N - 2


def test_a_crowd_is_thinned_and_no_tile_is_lost():
    counts = [[100_000, 1], [0, 7]]
    x, y = scattered(counts, 100_008)
    assert len(x) == len(y) <= MOST_DOTS + 2
    assert {(int(a), int(b)) for a, b in zip(x, y, strict=True)} == {(0, 0), (1, 0), (1, 1)}
