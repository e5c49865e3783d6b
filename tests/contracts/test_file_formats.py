"""Every file format keeps the contract of formats."""

import pytest

from synthdp.table.io import FORMATS
from synthdp.testing import FORMAT


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("check", FORMAT)
def test_format(check, name):
    check(FORMATS[name])
