"""The compiled chain of a joint draw against its numpy twin, and single steps against what they should be."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import log_ndtr, ndtr, ndtri

from synthdp.imputation.copula.arranging import Arrangement
from synthdp.imputation.copula.coding import Coding, Item
from synthdp.imputation.copula.drawing import BLOCK, TILE, CopulaParameters, run_rows
from synthdp.imputation.copula.latent import truncated_at
from synthdp.imputation.copula.margins import LevelMargin, NumberMargin
from synthdp.imputation.copula.moves import ROOM, move_levels, move_utility
from synthdp.imputation.copula.normals import uniforms
from synthdp.imputation.copula.steps import CHOICE, FARTHEST_START, INTERVAL, LEVELS, NUMBER, UTILITY, Knots, heights
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.table.schema import Column, Kind, Role

NOTHING = np.zeros(0, dtype=np.int64)
KINDS = (Kind.CONTINUOUS, Kind.ORDINAL, Kind.NOMINAL)


def log_between(low, high):
    """Return log(Φ(high) − Φ(low)), exact in either tail."""
    flipped = low > 0
    a, b = np.where(flipped, -high, low), np.where(flipped, -low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = log_ndtr(b) + np.log1p(-np.exp(log_ndtr(a) - log_ndtr(b)))
    return np.where(low < high, found, -np.inf)


def draw(log_weights, v):
    """Return the positions at quantiles v of weights."""
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    cumulative = weights.cumsum(axis=1)
    return ((v * cumulative[:, -1])[:, None] >= cumulative[:, :-1]).sum(axis=1)


def largest(utilities):
    """Return the level of the largest utility (levels × rows), that of level 0 being zero."""
    return np.vstack([np.zeros(utilities.shape[1]), utilities]).argmax(axis=0)


def drawn(words, count):
    """Return the next uniforms of the compiled generators, whose own twin is in test_copula_core."""
    found = np.empty(count, dtype=np.float32)
    uniforms(words, found)
    return found.astype(np.float64)


def inside(low, high, u):
    """Return standard normals between limits, counted from the side that ``draw_inside`` counts from."""
    two_sided = (np.isfinite(low) & np.isfinite(high)).any()
    flipped = low > (0 if two_sided else -np.inf)
    return np.where(flipped, -1, 1) * truncated_at(np.where(flipped, -high, low), np.where(flipped, -low, high), u)


def twin(layout, block, sweeps, words, rng):
    """Return what ``run_rows`` finds: tile by tile, column by column, with the same uniforms."""
    n, q = block.mean.shape
    masked = int((layout.tally >= 0).sum())
    found, sums, moved = np.empty((n, q)), np.zeros((sweeps, masked)), np.zeros((sweeps, masked))
    for start in range(0, n, TILE):
        rows = slice(start, min(start + TILE, n))
        part = tuple(array[rows] for array in block)
        found[rows] = twin_of_tile(layout, type(block)(*part), sums, moved, sweeps, words, rng)
    return found, sums, moved


def twin_of_tile(layout, block, sums, moved, sweeps, words, rng):
    m, q = block.mean.shape
    mean = block.mean.T
    y, t, e = mean.copy(), np.zeros((q, m)), np.zeros((q, m))
    lines, knots = layout.to_u, {}
    for j in np.flatnonzero(layout.kind == NUMBER):
        some = slice(lines.first[layout.column[j]], lines.last[layout.column[j]] + 1)
        knots[j] = lines.x[some], lines.y[some]
    for j in range(layout.active):
        kind, at, first, size = layout.kind[j], layout.column[j], layout.first[j], layout.size[j]
        if kind == INTERVAL:
            known = block.lower[:, j] == block.upper[:, j]
            y[j] = np.where(known, block.lower[:, j], y[j])
        elif kind == NUMBER:
            z = np.clip(ndtri(np.interp(block.w[:, at], *knots[j])), -FARTHEST_START, FARTHEST_START)
            y[j] = np.where(block.precision[:, at] > 0, layout.scale[j] * z, y[j])
            t[j] = np.interp(ndtr(y[j] / layout.scale[j]), *knots[j][::-1])
            continue
        elif kind != LEVELS and j == first:
            if kind == CHOICE:
                level = block.codes[:, at]
            else:
                level = draw(np.log(block.chances[:, at : at + size + 1]), rng.random(m))
            y[j : j + size] = np.where(level == np.arange(1, size + 1)[:, None], 0.5, np.where(level < 0, 0.0, -0.5))
        e[j] = y[j] - mean[j]
    for sweep in range(-1, sweeps):
        given = 0 if sweep < 0 else 1
        for j in range(layout.active):
            kind, at, first, size = layout.kind[j], layout.column[j], layout.first[j], layout.size[j]
            center, sd = mean[j] + layout.weights[given, :, j] @ e, layout.sd[given, j]
            before = t[j].copy()

            if kind == INTERVAL:
                some = np.flatnonzero(block.lower[:, j] < block.upper[:, j])
                low, high = ((limit[some, j] - center[some]) / sd for limit in (block.lower, block.upper))
                y[j, some] = center[some] + sd * inside(low, high, drawn(words, len(some)))
            elif kind == CHOICE:
                code, mine = block.codes[:, at], block.codes[:, at] == j - first + 1
                others = np.delete(y[first : first + size], j - first, axis=0).max(axis=0, initial=0.0)
                chosen = np.where(code > 0, y[first + np.maximum(code, 1) - 1, np.arange(m)], 0.0)
                low, high = np.where(mine, others, -np.inf), np.where(mine | (code < 0), np.inf, chosen)
                y[j] = center + sd * inside((low - center) / sd, (high - center) / sd, drawn(words, m))
            elif kind != NUMBER:
                v, v2 = drawn(words, m), drawn(words, m)
            if kind == NUMBER:
                v, v2 = rng.random((m, 2)).T
                w, precision, scale = block.w[:, at], block.precision[:, at], layout.scale[j]
                with np.errstate(divide="ignore"):
                    reach = np.sqrt((t[j] - w) ** 2 - 2 * np.log(v) / precision)
                low, high = (scale * ndtri(np.interp(edge, *knots[j])) for edge in (w - reach, w + reach))
                low, high = np.where(precision > 0, low, -np.inf), np.where(precision > 0, high, np.inf)
                low, high = np.minimum(low, y[j]), np.maximum(high, y[j])
                y[j] = center + sd * truncated_at((low - center) / sd, (high - center) / sd, v2)
                t[j] = np.interp(ndtr(y[j] / scale), *knots[j][::-1])
            elif kind == LEVELS:
                cuts = layout.cuts[first : first + size]
                edges = (cuts[None, :] - center[:, None]) / sd
                with np.errstate(divide="ignore"):
                    log_weights = np.log(block.chances[:, at : at + size - 1])
                t[j] = draw(log_between(edges[:, :-1], edges[:, 1:]) + log_weights, v)
                level = t[j].astype(int)[:, None]
                y[j] = center + sd * inside(*(np.take_along_axis(edges, level + k, axis=1)[:, 0] for k in (0, 1)), v2)
            elif kind == UTILITY:
                rest = y[first : first + size].copy()
                rest[j - first] = -np.inf
                edge, other = np.maximum(rest.max(axis=0), 0.0), largest(rest)
                step = (edge - center) / sd
                with np.errstate(divide="ignore"):
                    log_weights = np.log(block.chances)
                choice = np.column_stack(
                    [log_ndtr(step) + log_weights[np.arange(m), at + other], log_ndtr(-step)]
                ) + np.column_stack([np.zeros(m), log_weights[:, at + j - first + 1]])
                above = draw(choice, v) == 1
                # the quantile of either side is taken from its own tail, so the upper one is counted from above
                low, high = np.where(above, -np.inf, -np.inf), np.where(above, center - edge, edge - center) / sd
                z = truncated_at(low, high, v2)
                y[j] = center + sd * np.where(above, -z, z)
                if j == first + size - 1:
                    t[j] = largest(y[first : first + size])
            e[j] = y[j] - mean[j]
            if layout.tally[j] >= 0 and sweep >= 0:
                sums[sweep, layout.tally[j]] += y[first if kind == UTILITY else j].sum()
                moved[sweep, layout.tally[j]] += (t[j] != before).sum()
    for j in range(layout.active, q):
        e[j] = layout.weights[0, :, j] @ np.where(np.arange(q)[:, None] < j, e, 0.0)
        e[j] += layout.sd[0, j] * ndtri(rng.random(m))
        y[j] = mean[j] + e[j]
    return np.where(layout.tally[:, None] >= 0, t, y).T


def columns(n, rng, *, scale=1.0, masked=True, kept=KINDS):
    """Return a coding with a kept and a replaced column of every kind, R, Γ and evidence."""
    x = rng.normal(size=n)
    if kept is KINDS:
        x[rng.random(n) < 0.2] = 0.0
        x[rng.random(n) < 0.1] = np.nan
    levels = rng.integers(-1, 4, n)
    codes = rng.integers(-1, 4, n)
    items, first = [], 0
    for role in (Role.KEEP, Role.REPLACE):
        for kind in kept if role is Role.KEEP else KINDS:
            names = () if kind is Kind.CONTINUOUS else tuple("abcd")
            column = Column(name=f"{kind.value} {role.value}", kind=kind, role=role, levels=names, key=False)
            margin = {
                Kind.CONTINUOUS: NumberMargin.of(x),
                Kind.ORDINAL: LevelMargin(levels, np.maximum(levels, 0), 4),
                Kind.NOMINAL: None,
            }[kind]
            nominal = kind is Kind.NOMINAL
            order = np.array([2, 0, 1, 3]) if nominal else NOTHING
            items.append(Item(column, first, 3 if nominal else 1, margin, codes if nominal else NOTHING, order))
            first += items[-1].width
    covariates = np.column_stack([np.ones(n), rng.normal(size=n)])
    coding = Coding(tuple(items), covariates, np.ones((2, first)), np.full(first, scale), ())
    draws = rng.standard_normal((40, first))
    r = np.corrcoef(draws + draws.sum(axis=1, keepdims=True) / first, rowvar=False)
    gamma = 0.3 * rng.standard_normal((2, first))
    precision = np.where(rng.random(n) < 0.2, 0.0, 4.0)
    evidence = {
        "continuous replace": GaussianEvidence.at(rng.normal(size=n), precision if masked else np.zeros(n)),
        "ordinal replace": LevelEvidence(np.log(rng.dirichlet(np.ones(4), n)) if masked else np.zeros((n, 4))),
        "nominal replace": LevelEvidence(np.log(rng.dirichlet(np.ones(4), n)) if masked else np.zeros((n, 4))),
    }
    return coding, r, gamma, evidence


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1.3])
def test_the_compiled_chain_is_its_numpy_twin(scale, masked):
    rng = np.random.default_rng(8)
    n, sweeps = 150, 4
    coding, r, gamma, evidence = columns(n, rng, scale=scale, masked=masked)
    arrangement = Arrangement.of(coding, r, gamma, coding.curves(rng.standard_exponential(n)), evidence, np.ones(n))
    layout, block = arrangement.layout, arrangement.block(slice(0, n))
    assert set(layout.kind) == ({INTERVAL, CHOICE, NUMBER, LEVELS, UTILITY} if masked else {INTERVAL, CHOICE})
    words = rng.integers(2**32, size=(4, TILE), dtype=np.uint32)
    found, sums, moved = twin(layout, block, sweeps, words.copy(), np.random.default_rng(9))
    mine, own_sums, own_moved = np.empty_like(found), np.zeros_like(sums), np.zeros_like(moved)
    run_rows(mine, own_sums, own_moved, sweeps, block, layout, words, np.random.default_rng(9))
    np.testing.assert_allclose(mine, found, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(own_sums, sums, rtol=1e-6, atol=1e-5)
    np.testing.assert_array_equal(own_moved, moved)


def test_lines_are_numpys():
    rng = np.random.default_rng(2)
    steps = np.array([0.0, 0.0, 0.5, 1.0, 1.0, 4.0]), np.array([0.0, 0.2, 0.3, 0.4, 0.9, 1.0])
    skewed = np.sort(np.exp(3 * rng.normal(size=5000)))
    heaped = np.sort(np.where(rng.random(3000) < 0.9995, 7.0, rng.normal(size=3000)))
    lines = [steps, (skewed, np.linspace(0, 1, 5000)), (heaped, np.linspace(0, 1, 3000)), (np.array([1.0, 2.0]),) * 2]
    knots = Knots.of(lines)
    for number, (x, y) in enumerate(lines):
        at = np.concatenate(
            [x, (x[1:] + x[:-1]) / 2, np.nextafter(x, -np.inf), x[[0, -1]] + [-1, 1], [-np.inf, np.inf]]
        )
        found = np.empty(len(at))
        heights(at, knots, number, found)
        np.testing.assert_allclose(found, np.interp(at, x, y), rtol=1e-12, atol=1e-15)


def test_levels_that_only_lie_beyond_floating_point_are_still_drawn():
    y, t, cuts = np.zeros(TILE), np.zeros(TILE), np.array([-np.inf, -50.0, 50.0, 60.0, np.inf])
    chances, room = np.tile([1.0, 0.0, 0.5, 1.0], (TILE, 1)), np.zeros((ROOM + 5, TILE), dtype=np.float32)
    words = np.random.default_rng(1).integers(2**32, size=(4, TILE), dtype=np.uint32)
    for center, level in ((5.0, 2), (-5.0, 0)):
        move_levels(y, t, np.full(TILE, center), 1.0, chances, cuts, room, words)
        assert (t == level).all()
        assert ((cuts[level] <= y) & (y <= cuts[level + 1])).all()


@pytest.mark.parametrize(
    ("center", "theirs", "own"), [(-9.0, 0.0, 1.0), (9.0, 1.0, 0.0), (-50.0, 0.0, 1.0), (0.7, 1.0, 0.5)]
)
def test_utilities_are_truncated_normals_however_far_out(center, theirs, own):
    n, chances, room = 40, np.tile([theirs, own], (TILE, 1)), np.zeros((ROOM, TILE), dtype=np.float32)
    words = np.random.default_rng(2).integers(2**32, size=(4, TILE), dtype=np.uint32)
    found = np.empty((n, 1, TILE))
    for y in found:
        move_utility(0, y, np.full(TILE, center), 1.0, chances, room, words)
    found = found.ravel()
    below, above = theirs * ndtr(-center), own * ndtr(center)
    up = 1.0 if theirs == 0 else above / (below + above)
    assert (found > 0).mean() == pytest.approx(up, abs=4 * np.sqrt(up * (1 - up) / len(found)))
    for side, mean in ((found[found > 0], center), (-found[found <= 0], -center)):
        if len(side):  # how much of the tail lies further out
            assert stats.kstest(np.exp(log_ndtr(mean - side) - log_ndtr(mean)), "uniform").pvalue > 0.001


def test_the_start_knows_nothing_of_the_true_values():
    rng = np.random.default_rng(3)
    n = 300
    coding, r, gamma, evidence = columns(n, rng)
    shuffled = rng.permutation(n)
    items = []
    for item in coding.items:
        if item.column.role is Role.REPLACE:
            if item.margin is None:
                item = replace(item, codes=item.codes[shuffled])
            else:
                item = replace(item, margin=replace(item.margin, rows=item.margin.rows[shuffled]))
        items.append(item)
    others = replace(coding, items=tuple(items))
    for sweeps in (0, 2):
        true, other = (
            CopulaParameters(which, r, gamma, np.ones(n), sweeps).draw(evidence, rng=np.random.default_rng(4))
            for which in (coding, others)
        )
        for name in evidence:
            np.testing.assert_array_equal(true[name], other[name])


def test_every_column_is_returned_and_masked_ones_are_traced():
    rng = np.random.default_rng(5)
    coding, r, gamma, evidence = columns(BLOCK + 20, rng)
    drawn, trace = CopulaParameters(coding, r, gamma, np.ones(BLOCK + 20), 3).chain(evidence, rng=rng)
    assert list(drawn) == [
        f"{kind} {role}" for role in ("keep", "replace") for kind in ("continuous", "ordinal", "nominal")
    ]
    assert trace["column"].tolist() == [f"{kind} replace" for kind in ("continuous", "ordinal", "nominal")] * 3
    assert trace["moved"].between(0, 1).all()
    assert all(np.isfinite(values).all() for values in drawn.values())
    for item in coding.items[:3]:
        known = ~item.missing()
        own = item.order[item.codes] if item.margin is None else item.margin.rows
        own = item.margin.values[own] if isinstance(item.margin, NumberMargin) else own
        np.testing.assert_array_equal(drawn[item.column.name][known], own[known])


def test_columns_without_a_mask_need_no_sweeps():
    rng = np.random.default_rng(6)
    n = 40_000
    coding, r, gamma, evidence = columns(n, rng, masked=False, kept=(Kind.CONTINUOUS,))
    drawn = CopulaParameters(coding, r, gamma, np.ones(n), 0).draw(evidence, rng=rng)
    # the same by one multivariate normal given the kept column
    curves = coding.curves(np.ones(n))
    mean = coding.covariates @ gamma
    known = curves[0].bounds()[0] - mean[:, 0]
    rest = r[1:, 1:] - np.outer(r[1:, 0], r[1:, 0])
    y = mean[:, 1:] + np.outer(known, r[1:, 0]) + rng.standard_normal((n, len(rest))) @ np.linalg.cholesky(rest).T
    level = np.searchsorted(curves[2].cuts[1:-1], y[:, 1])
    choice = coding.items[3].order[largest(y[:, 2:].T)]
    high = y[:, 0] > 0
    tables = [
        np.bincount((4 * level + choice) * 2 + high, minlength=32),
        np.bincount(
            ((4 * drawn["ordinal replace"] + drawn["nominal replace"]) * 2).astype(int)
            + (drawn["continuous replace"] > curves[1].value(np.zeros(1))),
            minlength=32,
        ),
    ]
    assert stats.chi2_contingency(np.array(tables)).pvalue > 0.001
    # and who has which of them goes with the kept column
    for name, mine in (("ordinal replace", level), ("continuous replace", y[:, 0])):
        expected, found = (stats.spearmanr(known, x).statistic for x in (mine, drawn[name]))
        assert found == pytest.approx(expected, abs=4 * np.sqrt(2 / n))
