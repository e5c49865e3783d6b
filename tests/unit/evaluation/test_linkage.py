"""Linkage by likelihood in files of any kind: both ends, order of rows, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.likelihood import evaluate_likelihood
from synthdp.evaluation.risk.traced import evaluate_linkage
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

VARIABLES = {"age": Variable(role="replace", key=True, tolerance=1)}


def people(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.normal(50, 15, n), "pay": rng.normal(0, 1, n), "area": rng.choice(list("abc"), n)})


def compared(original, *copies, variables=VARIABLES, aligned=False):
    data = resolve(original, variables)
    return Comparison(data.frame, tuple(copies), data.schema, aligned=aligned)


def rng():
    return np.random.default_rng(1)


def test_the_original_links_everybody_and_strangers_nobody():
    original, outside = people(200, 1), people(200, 2)
    raw = evaluate_linkage(compared(original, original.sample(frac=1, random_state=1)), holdout=outside, rng=rng())
    assert raw["attack"]["value"] > 0.95
    assert raw["risk"]["value"] > 0.9
    fresh = evaluate_linkage(compared(original, people(200, 3)), holdout=outside, rng=rng())
    assert fresh["risk"]["low"] < 0 < fresh["risk"]["high"]
    assert "risk" not in evaluate_linkage(compared(original, people(200, 3)), rng=rng())


def test_where_kept_columns_are_unique_it_is_the_likelihood_of_aligned_rows():
    original = people(150, 1)
    noise = np.random.default_rng(5)
    copies = [original.assign(age=original["age"] + noise.normal(0, 1, 150)) for _ in range(3)]
    known = evaluate_likelihood(compared(original, *copies, aligned=True), rng=rng()).expected_links_rate
    shuffled = [copy.sample(frac=1, random_state=k).reset_index(drop=True) for k, copy in enumerate(copies)]
    found = evaluate_linkage(compared(original, *shuffled), rng=rng())["attack"]
    # folds are drawn anew, so rates differ a little: four standard errors
    assert found["value"] == pytest.approx(known, abs=4 * np.sqrt(known * (1 - known) / 150))
    assert found["value"] > 0.1


@pytest.mark.parametrize(
    ("variables", "n", "words"),
    [
        ({}, 50, "linkage: "),
        ({name: Variable(key=True) for name in ("age", "pay", "area")}, 50, "linkage: every column is a key"),
        (VARIABLES, 10, "linkage: needs 20 people on either side, found 10"),
    ],
)
def test_what_it_cannot_do_is_said(variables, n, words):
    original = people(n, 1)
    with pytest.raises(InputError, match=words):
        evaluate_linkage(compared(original, original, variables=variables), rng=rng())
