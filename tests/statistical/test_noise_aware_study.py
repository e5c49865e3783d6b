"""A slice of reports/noise_aware computed again, and what its committed results say."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from reports.noise_aware.files import CASES, summary
from reports.noise_aware.sparse import law, sparse
from reports.noise_aware.study import BAND, TERMS, once, results, truth

FOLDER = Path(__file__).parents[2] / "reports" / "noise_aware"
LINES = [json.loads(line) for line in (FOLDER / "runs.jsonl").read_text(encoding="utf-8").splitlines()]
RESULTS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))["results"]
ROWS = RESULTS["rows"]
SHORT = {("sparse", 0.3, "mean kids")}
"""What falls short, as the page says: the mean of skewed counts whose tail is one group."""


@pytest.mark.parametrize("part", TERMS)
def test_a_slice(part):
    """The same files and the same noise; chains take other turns where the last digits differ."""
    line = next(line for line in LINES if (line["part"], line["epsilon"], line["number"]) == (part, 1.0, 0))
    again = once(part, 1.0, 0)
    assert again["original"] == line["original"]
    np.testing.assert_allclose(again["plug_in"]["half"], line["plug_in"]["half"], rtol=0.1)
    # a spread over 20 copies has a relative error of 1/√38
    np.testing.assert_allclose(again["noise_aware"]["half"], line["noise_aware"]["half"], rtol=4 * math.sqrt(2 / 38))


def test_results_are_those_of_the_lines():
    assert results(LINES) == RESULTS


def test_noise_aware_intervals_cover_and_others_do_not():
    for row in ROWS:
        error = math.sqrt(0.05 * 0.95 / row["runs"])
        short = (row["part"], row["epsilon"], row["term"]) in SHORT
        assert row["noise_aware"] >= (0.75 if short else BAND[0] - 4 * error), row
    for part in TERMS:
        mine = [row for row in ROWS if row["part"] == part]
        together = np.mean([row["noise_aware"] for row in mine])
        # terms of one file hang together: as if there were one per file and ε
        error = math.sqrt(0.05 * 0.95 / sum(row["runs"] for row in mine) * len(TERMS[part]))
        assert BAND[0] - 3 * error <= together <= BAND[1] + 3 * error
        assert min(row["plug_in"] for row in mine if row["epsilon"] == 0.3) < 0.75


def test_copies_of_real_files():
    """Those of scores keep the analyses where the tree of dp_mst loses them."""
    found = {row["case"]: row for row in summary(LINES)}
    assert set(found) == set(CASES)
    for name in ("fair, all pairs", "adult, its analyses"):
        assert min(found[name]["overlap 1"], found[name]["overlap 2"]) >= 0.6
    assert min(found["adult, all pairs"][f"overlap {at}"] for at in (1, 2)) >= 0.3
    far = {name: row["total_variation"] for name, row in found.items()}
    assert far["adult, all pairs"] < far["adult, its analyses, others a fifth"] < far["adult, dp_mst"]


def test_truth_of_the_sparse_design():
    """By least squares on many records; most cells of age and years cannot be."""
    frame, known = sparse(np.random.default_rng(1), 400_000), truth("sparse")
    assert frame["yes"].mean() == pytest.approx(known[0], abs=4 * 0.5 / math.sqrt(400_000))
    assert frame["kids"].mean() == pytest.approx(known[1], abs=4 * 1.3 / math.sqrt(400_000))
    matrix = np.column_stack([np.ones(len(frame)), frame["age"], frame["kids"]])
    slopes = np.linalg.lstsq(matrix, frame["years"].to_numpy(float), rcond=None)[0]
    np.testing.assert_allclose(slopes, known[-3:], atol=4 * 1.5 / math.sqrt(400_000))
    cells, p = law()
    assert p.sum() == pytest.approx(1.0)
    assert len({(age, years) for age, years, *_ in cells[p > 0]}) == 19
