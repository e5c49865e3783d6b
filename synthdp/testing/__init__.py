"""What every plugin must do, as functions that raise AssertionError: for your tests and for ours.

One tuple of checks a kind; every check of a kind takes the same arguments, so that a test is three lines:

    @pytest.mark.parametrize("check", synthdp.testing.MASK)
    def test_my_mask(check):
        check(MyMask(strength=2), synthdp.testing.BINARY)
"""

from synthdp.testing.formats import FORMAT
from synthdp.testing.inference import ANALYSIS, RULE
from synthdp.testing.masks import BINARY, MASK, NUMBER
from synthdp.testing.measures import MEASURE
from synthdp.testing.synthesis import FORWARD_MODEL, MODEL, SYNTHESIZER, people, planned, respondents

__all__ = [
    "ANALYSIS",
    "BINARY",
    "FORMAT",
    "FORWARD_MODEL",
    "MASK",
    "MEASURE",
    "MODEL",
    "NUMBER",
    "RULE",
    "SYNTHESIZER",
    "people",
    "planned",
    "respondents",
]
