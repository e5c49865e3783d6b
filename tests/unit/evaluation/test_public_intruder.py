"""The intruder with the public files alone: closed forms against matrices, the loop against its twin, and chance."""

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.bayes import evaluate_bayes
from synthdp.evaluation.risk.channel import MASK_DRAWS, Channel, cells_of, channel_of, even_channels, pair_cells, whiten
from synthdp.evaluation.risk.likelihood import evaluate_likelihood
from synthdp.evaluation.risk.public import TEMPERATURES, evaluate_public, learn_public
from synthdp.evaluation.risk.public_columns import code_columns, code_kept
from synthdp.evaluation.risk.public_posterior import FLOOR, PublicPosterior
from synthdp.evaluation.risk.public_study import study
from synthdp.evaluation.risk.scoring import score_chain
from synthdp.evaluation.risk.traces import unchanged
from synthdp.table.coded import coded
from synthdp.table.microdata import Codes, Floats, resolve
from synthdp.table.schema import Variable

COPIES = 5


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def files(frame: pd.DataFrame, copies: Any, variables: dict[str, Variable], *, aligned: bool = True) -> Comparison:
    data = resolve(frame, variables)
    return Comparison(data.frame, tuple(copies), data.schema, aligned=aligned)


class Gaussian:
    """Numbers drawn from a regression on z given Gaussian masks, by the closed form, with everything known."""

    def __init__(self, n: int, keys: int, sd: float, rho: float, *, seed: int, mask_draw: str = "per_copy") -> None:
        draw = rng(seed)
        self.total = (1 - rho) * np.eye(keys) + rho
        self.noise = sd**2 * np.eye(keys)
        self.mask_draw = mask_draw
        z = draw.normal(size=n)
        self.mean = z[:, None] * np.linspace(-1.2, 1.2, keys)
        self.x = self.mean + draw.normal(size=(n, keys)) @ np.linalg.cholesky(self.total).T
        self.a = self.total @ np.linalg.inv(self.total + self.noise)
        left = np.linalg.cholesky(self.total - self.a @ self.total)
        names = [f"x{j}" for j in range(keys)]
        frame = pd.DataFrame({"z": z} | dict(zip(names, self.x.T, strict=True)))
        copies = []
        self.shown = np.empty((COPIES, n, keys))
        noise = sd * draw.normal(size=(n, keys))
        for m in range(COPIES):
            noise = noise if mask_draw == "once" else sd * draw.normal(size=(n, keys))
            told = (self.x + noise - self.mean) @ self.a.T
            self.shown[m] = self.mean + told + draw.normal(size=(n, keys)) @ left.T
            copies.append(frame.assign(**dict(zip(names, self.shown[m].T, strict=True))))
        self.files = files(frame, copies, {name: Variable(role="replace", key=True) for name in names})

    def __call__(self, targets: Codes, rows: Codes) -> Floats:
        """The exact log posterior, from the covariance of x and all copies of a row."""
        k = self.x.shape[1]
        within = self.total - self.a @ self.total
        shared = self.a @ self.total @ self.a.T
        masks = self.a @ self.noise @ self.a.T
        blocks = np.kron(np.ones((COPIES, COPIES)), shared + (masks if self.mask_draw == "once" else 0.0))
        blocks += np.kron(np.eye(COPIES), within + (masks if self.mask_draw == "per_copy" else 0.0))
        cross = np.kron(np.ones((1, COPIES)), self.total @ self.a.T)
        gain = cross @ np.linalg.inv(blocks)
        left = np.linalg.inv(np.linalg.cholesky(self.total - gain @ cross.T))
        seen = (self.shown - self.mean).transpose(1, 0, 2).reshape(len(self.x), COPIES * k)
        here, there = self.x[targets] @ left.T, (self.mean + seen @ gain.T)[rows] @ left.T
        return np.asarray(-0.5 * sum((here[:, [j]] - there[:, j]) ** 2 for j in range(k)))


# the channel


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("mask_draw", MASK_DRAWS)
def test_the_channel_is_the_conditional_normal(mask_draw: Any, k: int) -> None:
    draw = rng(1)
    q = 4
    root = draw.normal(size=(q, q))
    total = root @ root.T
    spread = draw.normal(size=(q, q))
    noise = spread @ spread.T
    # Var x, Cov(x, copy), Cov(copy, copy) of one row and of two, by the story that is told
    a = total @ np.linalg.inv(total + noise)
    if mask_draw == "per_copy":
        truth, cross, own, two = total, total @ a.T, total, a @ total @ a.T
    elif mask_draw == "once":
        shared = a @ (total + noise) @ a.T
        truth, cross, own, two = total, total @ a.T, total, shared
    else:
        truth, cross, own, two = total, total, total + noise, total
    blocks = np.kron(np.ones((k, k)), two) + np.kron(np.eye(k), own - two)
    all_cross = np.kron(np.ones((1, k)), cross)
    gain = all_cross @ np.linalg.inv(blocks)
    found = channel_of(own, own - two, pairs=10**12, mask_draw=mask_draw)
    np.testing.assert_allclose(found.gain(k), sum(np.hsplit(gain, k)), atol=1e-6)
    np.testing.assert_allclose(found.variance(k), truth - gain @ all_cross.T, atol=1e-6)
    # one column looked at alone: regress the mean of the copies on u, which the others' masks are averaged over in
    variance, slope, error = found.by_column(k)
    np.testing.assert_allclose(variance, np.diag(truth), atol=1e-6)
    np.testing.assert_allclose(slope, np.diag(cross) / np.diag(truth), atol=1e-6)
    of_mean = np.diag(two) + np.diag(own - two) / k
    np.testing.assert_allclose(error, of_mean - np.diag(cross) ** 2 / np.diag(truth), atol=1e-6)
    assert repr(found) == "Channel(4 columns)"


def test_strangers_have_nothing_in_common_and_linear_combinations_are_left_out() -> None:
    draw = rng(2)
    silent = 0
    for _ in range(50):
        rows = draw.normal(size=(3, 400, 5))
        total = np.einsum("mni,mnj->ij", rows, rows) / 1200
        apart = rows - rows.mean(axis=0)
        within = np.einsum("mni,mnj->ij", apart, apart) / 800
        silent += bool(np.all(channel_of(total, within, pairs=1200).apart == 1.0))
    assert silent >= 45
    total = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    root, inverse = whiten(total)
    assert root.shape == (3, 1)
    np.testing.assert_allclose(root @ root.T, total, atol=1e-12)
    np.testing.assert_allclose(inverse @ root, np.eye(1), atol=1e-12)
    nothing, everything = even_channels(np.eye(2), (0.0, 1.0))
    np.testing.assert_allclose(nothing.variance(3), np.eye(2))
    np.testing.assert_allclose(everything.gain(1), np.eye(2))


# linking


def test_rows_of_a_cell_are_paired_as_by_hand() -> None:
    draw = rng(4)
    channel = channel_of(np.eye(2), np.diag([0.3, 0.8]), pairs=10**9)
    first, other = draw.normal(size=(6, 3, 2)), draw.normal(size=(6, 3, 2))
    chosen, sure = pair_cells(first, other, channel, rng=rng())
    b = np.array([0.7, 0.2])
    for cell in range(6):
        weight = {}
        for order in permutations(range(3)):
            total = 0.0
            for i, r in enumerate(order):
                for j in range(2):
                    joint = np.array([[1.0, b[j]], [b[j], 1.0]])
                    pair = np.array([first[cell, i, j], other[cell, r, j]])
                    total += -0.5 * pair @ np.linalg.inv(joint) @ pair + 0.5 * pair @ pair
            weight[order] = np.exp(total)
        for i in range(3):
            by_partner = [sum(w for order, w in weight.items() if order[i] == r) for r in range(3)]
            assert chosen[cell, i] == int(np.argmax(by_partner))
            assert sure[cell, i] == pytest.approx(max(by_partner) / sum(weight.values()), rel=1e-6)


def test_an_intruder_who_must_link_gains_nothing_from_the_order_of_rows() -> None:
    world = Gaussian(300, 4, 0.5, 0.4, seed=1)
    found = evaluate_public(world.files, rng=rng())
    shuffled = [copy.iloc[rng(m).permutation(300)].reset_index(drop=True) for m, copy in enumerate(world.files.copies)]
    blind = evaluate_public(replace(world.files, copies=tuple(shuffled), aligned=False), rng=rng())
    np.testing.assert_allclose(blind.expected_links, found.expected_links)
    # without kept columns a row of the first copy stands alone, whatever is done to the others
    names = {f"x{j}": Variable(role="replace", key=True) for j in range(4)}
    bare = files(world.files.original.drop(columns="z"), [copy.drop(columns="z") for copy in world.files.copies], names)
    moved = [bare.copies[0], *(copy.drop(columns="z") for copy in shuffled[1:])]
    here, there = (evaluate_public(each, rng=rng()) for each in (bare, replace(bare, copies=tuple(moved))))
    assert here.expected_links < 0.6 * found.expected_links
    np.testing.assert_allclose(there.expected_links, here.expected_links)


def test_small_cells_are_linked_by_fit() -> None:
    world = Gaussian(900, 5, 0.3, 0.4, seed=2)
    tripled = [frame.assign(z=np.arange(900) // 3) for frame in (world.files.original, *world.files.copies)]
    variables = {f"x{j}": Variable(role="replace", key=True) for j in range(5)}
    cells = files(tripled[0], tripled[1:], variables)
    alone = replace(cells, copies=cells.copies[:1])
    assert evaluate_public(cells, rng=rng()).expected_links > 1.5 * evaluate_public(alone, rng=rng()).expected_links
    held = cells_of(cells.copies[0], cells.schema.kept())
    assert repr(held) == "Cells(900 rows)"
    assert held.of_size(3).shape == (300, 3)
    assert held.of_size(1).shape == (0, 1)


# the posterior


def mixed(n: int, seed: int) -> Comparison:
    """Two numbers with gaps (of one they move), two categories, a kept key, and a kept number."""
    draw = rng(seed)
    z, site = draw.normal(size=n), draw.choice(["a", "b"], n)
    sex, class_ = draw.choice(["F", "M"], n), draw.choice(list("pqrst"), n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    x = np.column_stack([z + draw.normal(size=n), (sex == "F") + draw.normal(size=n)])
    x[draw.random(n) < 0.1, 0] = np.nan
    x[draw.random(n) < 0.1, 1] = np.nan
    frame = pd.DataFrame({"z": z, "site": site, "sex": sex, "class": class_, "x": x[:, 0], "y": x[:, 1]})
    copies = []
    for _ in range(3):
        other = draw.random((3, n))
        copies.append(
            frame.assign(
                sex=np.where(other[0] < 0.8, sex, draw.choice(["F", "M"], n)),
                **{"class": np.where(other[1] < 0.6, class_, draw.choice(class_, n))},
                x=frame["x"] + 0.3 * draw.normal(size=n),
                y=(frame["y"].fillna(0.0) + 0.5 * draw.normal(size=n)).where(other[2] > 0.1),
            )
        )
    keys = {name: Variable(role="replace", key=True) for name in ("sex", "class", "x", "y")}
    return files(frame, copies, keys | {"site": Variable(key=True)})


def test_the_loop_is_its_numpy_twin() -> None:
    comparison = mixed(150, 5)
    told = learn_public(comparison, rng=rng())
    assert repr(told) == "PublicPosterior(150 rows, 5 keys)"
    # rows of two kinds, as where some can be linked and some cannot
    told = replace(
        told,
        kind=rng(1).integers(0, 2, 150),
        offset=np.array([0.0, -1.3]),
        here=np.concatenate([told.here, told.here + 0.2]),
        share_here=np.concatenate([told.share_here, told.share_here - 0.1]),
    )
    block = unchanged(comparison)
    everyone = np.arange(150)
    scores = np.where(block[:, None] == block, told(everyone, everyone), -np.inf)
    order = np.argsort(block, kind="stable")
    start = np.searchsorted(block[order], block, side="left")
    stop = np.searchsorted(block[order], block, side="right")
    own = np.empty(150, dtype=np.int64)
    own[order] = everyone
    temperatures = np.tile(TEMPERATURES, (2, 1))
    share, winner, mine, top = score_chain(
        *(everyone, everyone % 2, start, stop, own, rng().random(150), told.kind[order], told.offset, told.here),
        *(told.there[order], told.share_here, told.share_there[order], told.column, FLOOR, temperatures),
    )
    np.testing.assert_array_equal(share, scores.diagonal() == scores.max(axis=1))
    np.testing.assert_array_equal(order[winner], scores.argmax(axis=1))
    for step, t in enumerate(TEMPERATURES):
        total = np.logaddexp.reduce(t * scores, axis=1)
        likely = t * scores.diagonal() - total > -30
        np.testing.assert_allclose(mine[likely, step], (t * scores.diagonal() - total)[likely], atol=1e-6)
        np.testing.assert_allclose(top[:, step], t * scores.max(axis=1) - total, atol=1e-6)


def test_the_posterior_is_the_exact_one_where_it_can_be() -> None:
    world = Gaussian(4000, 3, 1.0, 0.5, seed=7)
    told = learn_public(world.files, rng=rng())
    few, rows = np.arange(40), np.arange(4000)
    found, exact = told(few, rows), world(few, rows)
    # differences within a target are what counts; moments are estimated from 4,000 rows, so scales err by a few percent
    found -= found.mean(axis=1, keepdims=True)
    exact -= exact.mean(axis=1, keepdims=True)
    slope = float((found * exact).sum() / (exact**2).sum())
    assert slope == pytest.approx(1.0, abs=0.1)
    assert np.corrcoef(found.ravel(), exact.ravel())[0, 1] > 0.99


def test_as_strong_as_the_exact_posterior_and_far_stronger_than_key_by_key() -> None:
    public, exact, single, claimed = 0.0, 0.0, 0.0, 0.0
    for seed in range(6):
        world = Gaussian(600, 8, 3.0, 0.9, seed=seed)
        found = evaluate_public(world.files, rng=rng(seed))
        public, claimed = public + found.expected_links, claimed + found.predicted_links
        exact += evaluate_bayes(world.files, world, rng=rng(seed)).expected_links
        single += evaluate_likelihood(world.files, rng=rng(seed)).expected_links
    assert abs(public - exact) < 4 * np.sqrt(exact)
    assert abs(public - claimed) < 4 * np.sqrt(claimed)
    assert public > 1.5 * single


def test_masks_drawn_once_and_noise_without_a_model() -> None:
    world = Gaussian(800, 6, 1.0, 0.6, seed=3, mask_draw="once")
    found = evaluate_public(world.files, rng=rng(), mask_draw="once")
    exact = evaluate_bayes(world.files, world, rng=rng())
    assert abs(found.expected_links - exact.expected_links) < 4 * np.sqrt(exact.expected_links)
    assert abs(found.expected_links - found.predicted_links) < 4 * np.sqrt(found.predicted_links)
    draw = rng(8)
    names = [f"x{j}" for j in range(6)]
    noisy = [
        world.files.original.assign(**{name: world.files.original[name] + draw.normal(size=800) for name in names})
        for _ in range(3)
    ]
    other = replace(world.files, copies=tuple(noisy))
    unknown = evaluate_public(other, rng=rng(), mask_draw=None)  # which story it is, other records tell
    told = evaluate_public(other, rng=rng(), mask_draw="noise")
    assert unknown.expected_links == pytest.approx(told.expected_links, rel=0.1)
    assert unknown.expected_links > 1.2 * evaluate_public(other, rng=rng()).expected_links


def test_keys_of_every_kind_are_calibrated() -> None:
    found = [evaluate_public(mixed(500, seed), rng=rng(seed), mask_draw=None) for seed in range(4)]
    links, claims = sum(each.expected_links for each in found), sum(each.predicted_links for each in found)
    assert abs(links - claims) < 4 * np.sqrt(claims)
    assert links > 5 * sum(each.expected_links_kept for each in found)
    assert set(found[0].section()) == set(evaluate_likelihood(mixed(100, 1), rng=rng()).section())
    json.dumps(found[0].section(), allow_nan=False)


def test_copies_that_know_nothing_leave_chance() -> None:
    links, claims, runs = 0.0, 0.0, 25
    for seed in range(runs):
        draw = rng(seed)
        frame, *copies = (pd.DataFrame(draw.normal(size=(200, 4)), columns=list("zabc")) for _ in range(5))
        copies = [copy.assign(z=frame["z"]) for copy in copies]
        found = evaluate_public(files(frame, copies, {k: Variable(role="replace", key=True) for k in "abc"}), rng=draw)
        links, claims = links + found.expected_links, claims + found.predicted_links
    assert abs(links - runs) < 4 * np.sqrt(runs)
    assert claims < 2 * runs


# ends and inputs


@pytest.mark.parametrize("copies", [1, 3])
def test_a_raw_file_is_found_whole(copies: int) -> None:
    draw = rng(2)
    frame = pd.DataFrame({"z": draw.normal(size=80), "a": draw.normal(size=80), "b": draw.choice(["u", "v"], 80)})
    raw = files(frame, [frame] * copies, {name: Variable(role="replace", key=True) for name in "ab"})
    found = evaluate_public(raw, rng=rng())
    assert found.expected_links == 80
    # a kept column that copies changed is not kept
    lifted = replace(raw, copies=tuple(frame.assign(z=frame["z"] + draw.normal(size=80)) for _ in range(copies)))
    assert evaluate_public(lifted, rng=rng()).expected_links == 80


def test_kept_keys_alone_and_constant_copies() -> None:
    frame = pd.DataFrame({"a": np.arange(40.0) % 20, "b": np.arange(40.0), "c": ["u", "v"] * 20})
    kept = files(frame, [frame, frame], {"a": Variable(key=True)})
    found = evaluate_public(kept, rng=rng())
    assert (found.expected_links, found.expected_links_kept) == (20.0, 20.0)
    flat = frame.assign(a=1.0, c="u")
    keys = {name: Variable(role="replace", key=True) for name in "ac"}
    assert evaluate_public(files(frame, [flat, flat], keys), rng=rng()).expected_links == pytest.approx(1.0)
    gone = frame.assign(a=np.nan)
    assert np.isfinite(evaluate_public(files(frame, [gone, frame], keys), rng=rng()).predicted_links)


def test_targets_can_be_named_or_sampled() -> None:
    world = Gaussian(500, 3, 0.2, 0.3, seed=4)
    whole = evaluate_public(world.files, rng=rng())
    part = evaluate_public(world.files, rng=rng(), targets=np.arange(100, 300))
    assert np.flatnonzero(np.isfinite(part.individual)).tolist() == list(range(100, 300))
    sampled = evaluate_public(world.files, rng=rng(), most_work=1.0)
    assert sampled.sampled is not None
    assert sampled.sampled["targets"] == 200
    low, high = (sampled.sampled["expected_links"][end] for end in ("low", "high"))
    assert 2 * low - high < whole.expected_links < 2 * high - low


def test_it_refuses_by_name() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match=r"^identity_public: needs to know what an intruder knows; set key: true"):
        evaluate_public(files(frame, [frame], {}), rng=rng())
    keys = {"a": Variable(role="replace", key=True)}
    with pytest.raises(InputError, match=r"^identity_public: needs at least one copy, found none\.$"):
        learn_public(files(frame, [], keys), rng=rng())
    other = frame.assign(b=[1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="the kept columns of copy 1 are not those of the original"):
        evaluate_public(files(other, [other.assign(b=7.0)], keys, aligned=False), rng=rng())


def test_coding_follows_the_copies_and_shows_no_values() -> None:
    comparison = mixed(200, 9)
    replaced = [column for column in comparison.schema.columns if column.name in ("sex", "x", "y")]
    coding = code_columns([coded(copy) for copy in comparison.copies], replaced, gaps=["y"])
    assert repr(coding) == "Coding(4 columns)"
    assert repr(coding.places[0]) == "Place(2 levels)"
    shown = coding.matrix(coded(comparison.copies[0]))
    np.testing.assert_array_equal(shown[:, :2].sum(axis=1), 1.0)
    np.testing.assert_array_equal(shown[:, 5], comparison.copies[0]["y"].notna())
    np.testing.assert_array_equal(np.isnan(shown[:, 3]), comparison.copies[0]["y"].isna())
    kept = code_kept(coded(comparison.copies[0]), comparison.schema.kept())
    assert repr(kept) == "Kept(2 columns)"
    assert kept.matrix(coded(comparison.copies[0])).shape == (200, 4)
    public = study(comparison, mask_draw=None, rng=rng())
    assert repr(public) == "Public(200 rows)"
    assert len(public.channels) == 3
    assert isinstance(public.channels[0], Channel)
    assert isinstance(learn_public(comparison, rng=rng()), PublicPosterior)
