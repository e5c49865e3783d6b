"""Every combining rule keeps the contract of rules."""

import pytest

from synthdp.inference.rules import RULES
from synthdp.testing import RULE


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("check", RULE)
def test_rule(check, name):
    check(RULES[name])
