"""The richest man in town: found where he stands out, by chance where copies know nothing, and never by a tie."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.extremes import RANKS, ExtremesRisk, evaluate_extremes
from synthdp.evaluation.risk.public_study import regress_on_kept, sort_columns
from synthdp.table.microdata import Floats, resolve
from synthdp.table.schema import Variable

COPIES = 5


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def files(original: dict[str, Any], *copies: dict[str, Any], **variables: Variable) -> Comparison:
    frame = pd.DataFrame(original)
    given = {name: variables.get(name, Variable(role="replace", key=True)) for name in original}
    data = resolve(frame, given)
    return Comparison(data.frame, tuple(pd.DataFrame(copy) for copy in copies), data.schema, aligned=True)


def masked(x: Floats, sd: float, draw: np.random.Generator) -> list[dict[str, Floats]]:
    """Copies drawn from a normal given a Gaussian mask of sd times the column's own, as da_mi draws them."""
    spread = x.var()
    kappa = 1 / (1 + sd**2)
    noise = np.sqrt(spread) * sd
    return [
        {
            "x": x.mean()
            + kappa * (x + noise * draw.normal(size=len(x)) - x.mean())
            + np.sqrt(kappa) * noise * draw.normal(size=len(x))
        }
        for _ in range(COPIES)
    ]


def attacked(x: Floats, sd: float, draws: int) -> list[ExtremesRisk]:
    return [evaluate_extremes(files({"x": x}, *masked(x, sd, rng(seed))), rng=rng(seed)) for seed in range(draws)]


def test_by_hand() -> None:
    # the average puts record 0 on top, record 2 second, record 1 third; of the smallest two nobody is the smallest
    true = [9.0, 8.0, 7.0, 5.0, 4.0, 1.0, 1.0]
    one = [9.0, 6.0, 8.0, 5.0, 4.0, 1.0, 2.0]
    two = [9.0, 7.0, 8.0, 5.0, 4.0, 1.0, 2.0]
    found = evaluate_extremes(files({"x": true}, {"x": one}, {"x": two}), rng=rng())
    # from below: rank 3 is record 4, which is there in truth; ranks 1 and 2 are shared
    assert found.found.tolist() == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert found.claims == 4
    assert np.isfinite(found.predicted).tolist() == [True, True, True, False, True, False, False]
    assert found.true_match_mask.tolist() == [True, False, False, False, True, False, False]
    np.testing.assert_array_equal(found.confidence, found.predicted)
    np.testing.assert_array_equal(found.right, found.found)
    section = found.section()
    assert section["expected_links"] == 2.0
    assert section["one_copy"] == 2.0
    assert section["columns"] == [{"column": "x", "claims": 4, "right": 2.0}]
    json.dumps(section, allow_nan=False)
    assert repr(found) == "ExtremesRisk(4 of 7 records)"


def plain(true: Floats, copies: list[Floats]) -> Floats:
    """What the definition says of one column, from sorted lists."""
    found = np.zeros(len(true))
    mean = np.mean(copies, axis=0)
    for sign in (1, -1):
        ranked = sorted((-sign * value, i) for i, value in enumerate(true))
        shown = sorted(-sign * value for value in mean)
        for rank in range(RANKS):
            value, i = ranked[rank]
            if sum(other == value for other, _ in ranked) == 1:
                tied = [r for r in range(len(mean)) if abs(-sign * mean[r] - shown[rank]) < 1e-9]
                found[i] = max(found[i], (i in tied) / len(tied))
    return found


def test_against_the_definition_on_small_files_with_ties() -> None:
    for seed in range(40):
        draw = rng(seed)
        true: Floats = draw.integers(0, 12, 9).astype(np.float64)
        copies = [true + draw.integers(-1, 2, 9).astype(float) for _ in range(2)]
        found = evaluate_extremes(files({"x": true}, *({"x": copy} for copy in copies)), rng=draw)
        expected = plain(true, copies)
        # somebody near both ends of so small a file may be attacked from either
        np.testing.assert_array_equal(found.found > expected, False)
        several = [i for i in range(9) if np.isfinite(found.predicted[i]) and found.found[i] != expected[i]]
        assert len(several) <= 1


def test_copies_that_know_nothing_find_one_in_n() -> None:
    runs, n = 150, 50
    links, claims, sure = 0.0, 0, 0.0
    for seed in range(runs):
        draw = rng(seed)
        found = evaluate_extremes(
            files({"x": draw.normal(size=n)}, *({"x": draw.normal(size=n)} for _ in range(3))),
            rng=draw,
            permutations=1,
        )
        links, claims, sure = links + found.expected_links, claims + found.claims, sure + found.predicted_links
    assert claims == 6 * runs
    assert abs(links - claims / n) < 4 * np.sqrt(claims / n)
    assert sure < 3 * claims / n


def test_three_planted_outliers_of_a_thousand_are_seen_under_wide_masks() -> None:
    x = rng(1).normal(size=1000)
    x[:3] = [40.0, 70.0, 100.0]
    found = attacked(x, 2.0, 20)
    mean = np.mean([each.found for each in found], axis=0)
    assert mean[2] > 0.9
    assert mean[1] > 0.6
    assert np.mean([each.predicted[2] for each in found]) > 0.8
    assert mean[3:].max() < 0.33


def test_harmless_files_are_quiet() -> None:
    found = attacked(rng(2).normal(size=1000), 2.0, 20)
    assert np.mean([each.found for each in found], axis=0).max() < 0.33
    assert np.mean([each.predicted_links / each.claims for each in found]) < 0.15


@pytest.mark.parametrize("sd", [0.1, 0.4])
def test_claims_are_calibrated_where_values_are_normal(sd: float) -> None:
    found = [
        evaluate_extremes(files({"x": x}, *masked(x, sd, rng(seed))), rng=rng(seed))
        for seed in range(60)
        for x in [rng(1000 + seed).normal(size=300)]
    ]
    links, claims = sum(each.expected_links for each in found), sum(each.predicted_links for each in found)
    assert abs(links - claims) < 4 * np.sqrt(claims)
    assert sum(each.one_copy for each in found) < links


def jointly_masked(
    x: Floats, z: Floats, total: Floats, sd: float, draw: np.random.Generator
) -> list[dict[str, Floats]]:
    """Copies of x = z + u, Cov u = total, drawn given a Gaussian mask of every column, as da_mi draws them."""
    gain = total @ np.linalg.inv(total + sd**2 * np.eye(len(total)))
    left = np.linalg.cholesky(total - gain @ total)
    copies = []
    for _ in range(COPIES):
        w = x - z[:, None] + sd * draw.normal(size=x.shape)
        drawn = z[:, None] + w @ gain.T + draw.normal(size=x.shape) @ left.T
        copies.append({"z": z, "x": drawn[:, 0], "y": drawn[:, 1]})
    return copies


@pytest.mark.parametrize("sd", [0.3, 1.0])
def test_claims_are_calibrated_where_kept_and_other_columns_predict(sd: float) -> None:
    # what copies share because they share z, or because y's mask informs x, is not x itself: taking it for x made the
    # intruder nearly twice as bold as they were right
    total = np.array([[0.5, 0.35], [0.35, 0.5]])
    links, claims = 0.0, 0.0
    for seed in range(60):
        draw = rng(500 + seed)
        z = draw.normal(size=300)
        x = z[:, None] + draw.normal(size=(300, 2)) @ np.linalg.cholesky(total).T
        true = {"z": z, "x": x[:, 0], "y": x[:, 1]}
        comparison = files(true, *jointly_masked(x, z, total, sd, draw), z=Variable())
        found = evaluate_extremes(comparison, rng=draw, permutations=1)
        links, claims = links + found.expected_links, claims + found.predicted_links
    assert abs(links - claims) < 4 * np.sqrt(claims)
    assert links > 20


def test_what_many_kept_columns_predict_is_not_taken_for_something_in_common() -> None:
    # copies that know nothing of x but the fit on z, each with parameters of its own: one regression for all of them
    # left (predictors)/(rows) of their variance in common, 0.03 here, and its root looked like a mask
    n, p = 300, 14
    shares = []
    for seed in range(40):
        draw = rng(900 + seed)
        z = draw.normal(size=(n, p))
        x = 0.25 * z.sum(axis=1) + draw.normal(size=n)
        inverse = np.linalg.inv(z.T @ z)
        theta = (inverse @ z.T @ x)[:, None] + np.linalg.cholesky(inverse) @ draw.normal(size=(p, COPIES))
        shown = z @ theta + draw.normal(size=(n, COPIES))
        kept = {f"z{k}": z[:, k] for k in range(p)}
        copies = [kept | {"x": one} for one in shown.T]
        comparison = files(kept | {"x": x}, *copies, **{name: Variable() for name in kept})
        fit = regress_on_kept(comparison, *sort_columns(comparison), rng=draw)
        shares.append(1 - fit.within()[0, 0] / fit.total[0, 0])
    error = np.std(shares) / np.sqrt(len(shares))
    assert abs(np.mean(shares)) < 4 * error < 0.02


def test_who_shares_the_bound_is_not_the_richest() -> None:
    x = np.minimum(rng(4).exponential(size=200), 1.5)
    found = evaluate_extremes(files({"x": x}, {"x": x + 0.01}), rng=rng())
    assert found.claims == 3  # the smallest three
    assert found.found.sum() == 3.0


def test_columns_that_say_nothing_are_left_out() -> None:
    frame = {"kept": [1.0, 2.0, 3.0, 9.0], "sex": ["F", "M", "F", "M"], "x": [1.0, 2.0, np.nan, 8.0]}
    moved = frame | {"x": [np.nan, 3.0, 4.0, 7.0]}
    comparison = files(frame, moved, moved, kept=Variable(key=True))
    found = evaluate_extremes(comparison, rng=rng())
    assert [line["column"] for line in found.columns] == ["x"]
    assert found.found[3] == 1.0
    assert np.isnan(found.predicted[2])
    gone = evaluate_extremes(replace(comparison, copies=(pd.DataFrame(frame | {"x": np.nan}),)), rng=rng())
    assert (gone.claims, gone.expected_links, gone.predicted_links) == (0, 0.0, 0.0)
    flat = evaluate_extremes(replace(comparison, copies=(pd.DataFrame(frame | {"x": 5.0}),)), rng=rng())
    assert flat.predicted_links == 0.0
    assert flat.found.max() == 0.25  # anybody of four


def test_rows_are_lined_up_through_kept_columns_and_refusals_have_the_name() -> None:
    x = rng(5).normal(size=60)
    z = np.arange(60.0)
    order = rng(6).permutation(60)
    copy = {"x": x[order] + 1e-6, "z": z[order]}
    comparison = files({"x": x, "z": z}, copy, z=Variable())
    found = evaluate_extremes(replace(comparison, aligned=False), rng=rng(), mask_draw="once")
    assert found.expected_links == found.claims == 6
    with pytest.raises(InputError, match=r"^identity_extremes: needs to know what an intruder knows"):
        evaluate_extremes(files({"x": x}, {"x": x}, x=Variable(role="replace")), rng=rng())


def test_the_risk_of_a_person_is_what_the_intruder_gives_to_their_row() -> None:
    risk = ExtremesRisk(
        expected_links=1.5,
        expected_links_rate=0.5,
        expected_links_chance=0.0,
        predicted_links=0.9,
        claims=3,
        one_copy=0.0,
        columns=(),
        found=np.array([1.0, 0.5, 0.0]),
        predicted=np.array([0.6, 0.2, 0.1]),
    )
    assert risk.individual.tolist() == [0.6, 0.2, 0.0]
    assert risk.right.tolist() == [1.0, 0.5, 0.0]
