"""A slice of reports/noise_aware computed again, and what its committed results say."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from reports.noise_aware.study import BAND, TERMS, once, results

FOLDER = Path(__file__).parents[2] / "reports" / "noise_aware"
LINES = [json.loads(line) for line in (FOLDER / "runs.jsonl").read_text(encoding="utf-8").splitlines()]
ROWS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))["results"]["rows"]


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
    assert results(LINES)["rows"] == ROWS


def test_noise_aware_intervals_cover_and_others_do_not():
    for row in ROWS:
        error = math.sqrt(0.05 * 0.95 / row["runs"])
        assert row["noise_aware"] >= BAND[0] - 4 * error, row
    for part in TERMS:
        mine = [row for row in ROWS if row["part"] == part]
        together = np.mean([row["noise_aware"] for row in mine])
        # terms of one file hang together: as if there were one per file and ε
        error = math.sqrt(0.05 * 0.95 / sum(row["runs"] for row in mine) * len(TERMS[part]))
        assert BAND[0] - 3 * error <= together <= BAND[1] + 3 * error
        assert min(row["plug_in"] for row in mine if row["epsilon"] == 0.3) < 0.75
