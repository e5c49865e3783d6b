"""How far numbers moved, what a level shown says, who is shown nearby: against plain loops, and on the page."""

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measures import measure
from synthdp.evaluation.risk.shown import evaluate_group_size, evaluate_odds
from synthdp.evaluation.utility.moves import evaluate_moves
from synthdp.synthesis.maskings.exchange import exchanged, truth_odds
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable


def files(original: pd.DataFrame, *copies: pd.DataFrame, **variables: Variable) -> Comparison:
    data = resolve(original, variables)
    return Comparison(data.frame, copies, data.schema, aligned=True)


def test_moves_are_their_sums():
    rng = np.random.default_rng(1)
    x = np.where(rng.random(50) < 0.1, np.nan, rng.normal(size=50))
    copies = [np.where(rng.random(50) < 0.1, np.nan, x + rng.normal(size=50)) for _ in range(3)]
    frame = pd.DataFrame({"x": x})
    (found,) = evaluate_moves(files(frame, *(pd.DataFrame({"x": y}) for y in copies), x=Variable(role="replace")))
    for place, y in enumerate(copies):
        moved = [a - b for a, b in zip(x, y, strict=True) if a == a and b == b]
        square = sum(d * d for d in moved) / len(moved)
        assert found["bias"]["per_copy"][place] == pytest.approx(sum(moved) / len(moved))
        assert found["mse"]["per_copy"][place] == pytest.approx(square)
        assert found["rmse"]["per_copy"][place] == pytest.approx(square**0.5)
        assert found["share"]["per_copy"][place] == pytest.approx(square**0.5 / np.nanstd(x))


def test_odds_estimate_those_of_the_matrix():
    matrix = np.array([[0.9, 0.08, 0.02], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6]])
    rng, n = np.random.default_rng(2), 20_000
    codes = rng.choice(3, n, p=[0.7, 0.25, 0.05])
    levels = np.array(["a", "b", "c"])
    copies = [pd.DataFrame({"x": levels[exchanged(codes, matrix, rng)]}) for _ in range(2)]
    (found,) = evaluate_odds(files(pd.DataFrame({"x": levels[codes]}), *copies, x=Variable(role="replace")))
    share = np.bincount(codes) / n
    expected = truth_odds(share, matrix)[2]
    posterior = expected / (1 + expected)
    shown = 2 * n * (share @ matrix)[2]
    assert found["prior"] == pytest.approx(share[2])
    assert abs(found["posterior"] - posterior) < 4 * np.sqrt(posterior * (1 - posterior) / shown)
    assert found["odds"] == pytest.approx(found["posterior"] / (1 - found["posterior"]))
    right = (share * np.diag(matrix)).sum()
    assert abs(found["right"]["value"] - right) < 4 * np.sqrt(right * (1 - right) / (2 * n))


@pytest.mark.parametrize(("shown", "posterior", "odds"), [("aab", 1.0, None), ("aaa", None, None), ("bab", 0.5, 1.0)])
def test_odds_at_their_ends(shown, posterior, odds):
    variable = Variable(role="replace", levels=("a", "b"))
    (found,) = evaluate_odds(files(pd.DataFrame({"x": list("aab")}), pd.DataFrame({"x": list(shown)}), x=variable))
    assert (found["posterior"], found["odds"]) == (posterior, odds)
    (block,) = measure("odds").blocks([found])
    said = {None: "never shown", 1.0: "certain", 0.5: "1"}[posterior]
    assert said in block.tables[0].rows[0]


@pytest.mark.parametrize("key", [True, False])
def test_group_sizes_by_counting(key):
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(40, 10, 60), 1)
    copies = [np.round(x + rng.normal(0, 3, 60), 1) for _ in range(2)]
    frame = pd.DataFrame({"x": x})
    more = {"key": True, "tolerance": 1.5} if key else {}
    (found,) = evaluate_group_size(
        files(frame, *(pd.DataFrame({"x": y}) for y in copies), x=Variable(role="replace", **more))
    )
    radius = 1.5 if key else 0.1 * x.std()
    assert found["radius"] == pytest.approx(radius)
    near = [sum(abs(b - a) <= radius + 1e-9 for b in y) for y in copies for a in x]
    assert found["mean"] == pytest.approx(np.mean(near))
    assert found["least"] == min(near)
    assert found["below"] == [{"k": k, "rate": pytest.approx(np.mean([one < k for one in near]))} for k in (2, 3, 5)]
    assert found["original"]["least"] == min(sum(abs(b - a) <= radius + 1e-9 for b in x) for a in x)


def test_nothing_is_shown_of_files_without_such_columns():
    frame = pd.DataFrame({"x": [1.0, 2.5], "y": ["a", "b"]})
    for name in ("moves", "odds", "group_size"):
        assert measure(name).take(files(frame, frame), rng=np.random.default_rng(1)).section() == []
        assert measure(name).blocks([]) == ()
