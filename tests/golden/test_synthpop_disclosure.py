"""Disclosure measures against R synthpop 1.9-3, to the digits it was printed with."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.attribute import evaluate_attribute
from synthdp.evaluation.comparison import Comparison
from synthdp.microdata import resolve
from synthdp.schema import Variable

PUBLISHED = Path(__file__).parents[2].parent / "shared" / "data" / "published" / "synthpop"
pytestmark = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="synthpop's files are not on this machine")


def test_identity_and_attribute_percentages() -> None:
    expected = json.loads((PUBLISHED / "expected.json").read_text())
    original = pd.read_csv(PUBLISHED / "original.csv")
    copies = tuple(pd.read_csv(PUBLISHED / f"copy_{number}.csv") for number in range(1, 6))
    data = resolve(original, {name: Variable(key=True) for name in expected["keys"]})
    comparison = Comparison(data.frame, copies, data.schema, aligned=False)
    (found,) = evaluate_attribute(comparison, targets=[expected["target"]], rng=np.random.default_rng(1))
    assert len(found["per_copy"]) == 5
    for line, identity, attribute in zip(
        found["per_copy"], expected["identity_percent"], expected["attribute_percent"], strict=True
    ):
        wanted = identity | attribute
        assert {name: line[name] for name in wanted} == pytest.approx(wanted, rel=0, abs=1e-6)
    assert found["DiSCO"] == pytest.approx(sum(line["DiSCO"] for line in expected["attribute_percent"]) / 5, abs=1e-6)
