"""Every measure of usefulness and risk keeps the contract of measures."""

import pytest

from synthdp.evaluation.measures import RISK, UTILITY, measure
from synthdp.testing import MEASURE


@pytest.mark.parametrize("name", [*UTILITY, *RISK])
@pytest.mark.parametrize("check", MEASURE)
def test_measure(check, name):
    check(measure(name))
