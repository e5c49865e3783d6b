"""A slice of the study of rules is run again, and its committed results are held to what the page claims."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from reports.rules import study
from reports.rules.designs import CASES
from synthdp.inference.rules import RULES

pytestmark = pytest.mark.slow

SLICE = 30


def promised(m: int) -> tuple[float, float]:
    """Return the coverage of raghunathan2003 with copies as large as the original, and how often T is negative.

    With V the variance of the original's estimate, q̄ ~ N(truth, V + 2V/m), v̄ = V and b ~ 2V χ²/(m − 1).
    """
    points = (np.arange(200_000) + 0.5) / 200_000
    spread = (1 + 1 / m) * 2 * stats.chi2.ppf(points, m - 1) / (m - 1)
    sound = spread > 1
    variance = np.where(sound, spread - 1, 1.0)
    # an interval on fewer degrees of freedom than this holds everything
    df = np.where(sound, np.maximum((m - 1) * (1 - 1 / np.maximum(spread, 1)) ** 2, 1e-2), m - 1)
    half = stats.t.ppf(0.975, df) * np.sqrt(variance / (1 + 2 / m))
    return float(np.mean(2 * stats.norm.cdf(half) - 1)), float(1 - sound.mean())


def test_what_the_formula_promises():
    found = [promised(m) for m in (5, 20, 50, 100)]
    assert [round(coverage, 3) for coverage, _ in found] == [0.996, 0.992, 0.964, 0.952]
    assert [round(negative, 2) for _, negative in found[:2]] == [0.2, 0.03]


def test_few_copies_cover_as_much_as_the_formula_promises(committed):
    rows = committed[committed["rule"] == "raghunathan2003"].groupby("design")["coverage"].mean()
    for m in (5, 20, 100):
        expected = promised(m)[0]
        error = np.sqrt(expected * (1 - expected) / 2000)
        # v̄ is taken for known in the quadrature: it has some 500 degrees of freedom
        assert rows[f"full, proper, M = {m}"] == pytest.approx(expected, abs=4 * error)


@pytest.fixture(scope="module")
def committed() -> pd.DataFrame:
    path = Path(__file__).parents[2] / "reports" / "rules" / "results.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["settings"]["replications"] == 2000
    return pd.DataFrame(record["results"]["rows"])


def test_every_rule_that_fits_covers(committed):
    fits = committed[committed["standing"] == "fits"]
    assert set(fits["rule"]) >= {rule for _, rule, standing in CASES if standing == "fits"}
    assert fits["coverage"].between(*study.BAND).all()


def test_every_rule_was_tried_in_its_design(committed):
    # noise_aware is for copies from noisy statistics, which have a study of their own: reports/noise_aware
    assert set(committed[committed["standing"] == "fits"]["rule"]) == set(RULES) - {"mean_se", "noise_aware"}
    assert "mean_se" in set(committed["rule"])


def test_wrong_rules_matter(committed):
    """In every design but one some rule that does not fit leaves the band, for some estimand."""
    wrong = committed[committed["standing"] == "wrong"]
    outside = wrong[~wrong["coverage"].between(*study.BAND)]
    assert set(wrong["design"]) - set(outside["design"]) == {"masked, W drawn 5 times, r = 4"}


def test_draws_of_w_that_copies_share_show_in_the_variance(committed):
    ratio = committed.groupby(["design", "rule"])["variance_ratio"].mean()
    shared, once = "masked, W drawn 5 times, r = 4", "masked, W drawn once, M = 20"
    assert ratio[once, "reiter2003"] < 0.9
    assert ratio[shared, "reiter2003"] < ratio[shared, "reiter2003_nested"]


def test_a_slice_agrees_with_what_is_committed(committed):
    draws = np.asarray([study.one_replication(r, seed=99) for r in range(SLICE)])
    found = pd.DataFrame(study.summarise(draws))
    assert found[["design", "rule", "estimand"]].equals(committed[["design", "rule", "estimand"]])
    # the three estimands of one case are nearly independent: their mean has at most the error of a single one
    mean = found.groupby(["design", "rule"])["coverage"].mean()
    expected = committed.groupby(["design", "rule"])["coverage"].mean()
    error = 4 * np.sqrt((expected * (1 - expected)).clip(lower=0.01) / SLICE)
    assert ((mean - expected).abs() < error).all()
