"""The mask that CONTRIBUTING.md adds in 30 lines is a mask: the block is executed as it stands in the file."""

import re
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from pydantic import Field, TypeAdapter
from scipy.integrate import quad
from scipy.stats import kstest, laplace

from synthdp.config.settings import AnyMask
from synthdp.masking.mask import ColumnMask, Target
from synthdp.privacy import events
from synthdp.table.schema import Column, Kind, Role
from synthdp.testing import BINARY, MASK

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)[0]
EXAMPLE = Path(__file__).parents[1] / "example_plugin" / "synthdp_example" / "masks.py"
ALPHA = 1.3


@pytest.fixture(scope="module")
def settings():
    names: dict[str, object] = {"__name__": "shifted_laplace"}
    exec(compile(BLOCK, "CONTRIBUTING.md", "exec"), names)
    return names["ShiftedLaplace"]


@pytest.fixture
def target():
    column = Column(name="sex", kind=Kind.BINARY, role=Role.REPLACE, key=True, levels=("F", "M"))
    return Target(column=column, link=None, neighbours=np.ones(4, dtype=np.int64))


def test_the_block_is_the_module_of_the_example_package():
    assert EXAMPLE.read_text(encoding="utf-8") == BLOCK


@pytest.mark.parametrize("check", MASK)
def test_it_keeps_the_contract(check, settings):
    check(settings(alpha=ALPHA), BINARY)


def test_it_takes_no_more_than_thirty_lines():
    written = [line for line in BLOCK.splitlines() if line.strip() and not line.startswith(("import ", "from "))]
    assert len(written) <= 30


def test_the_config_accepts_it_beside_the_others(settings):
    masks = TypeAdapter(Annotated[AnyMask | settings, Field(discriminator="method")])
    assert masks.validate_python({"method": "shifted_laplace", "alpha": ALPHA}) == settings(alpha=ALPHA)


def test_density_integrates_to_one(settings, target):
    mask = settings(alpha=ALPHA).bind(target)
    for level in (0.0, 1.0):
        density = lambda w, x=level: float(np.exp(mask.log_likelihood(np.array([w]), np.array([x])))[0])  # noqa: E731
        assert quad(density, -50, 50, points=[ALPHA * level])[0] == pytest.approx(1, abs=1e-8)


def test_draws_follow_the_density(settings, target):
    mask = settings(alpha=ALPHA).bind(target)
    for level in (0.0, 1.0):
        w = mask.draw(np.full(20_000, level), rng=np.random.default_rng(5))
        # 4 standard errors of the Kolmogorov distance: its 0.9999 point is about 2.2 / sqrt(n)
        assert kstest(w, laplace(loc=ALPHA * level).cdf).statistic < 2.2 / np.sqrt(20_000)


def test_evidence_is_the_likelihood_up_to_a_constant(settings, target):
    mask = settings(alpha=ALPHA).bind(target)
    w = np.array([-2.0, 0.3, 0.9, 4.0])
    both = np.column_stack([mask.log_likelihood(w, np.full(4, level)) for level in (0.0, 1.0)])
    difference = mask.evidence(w).log_weights - both
    np.testing.assert_allclose(difference[:, 0], difference[:, 1], atol=1e-12)
    assert (mask.evidence(np.array([np.nan])).log_weights == 0).all()


def test_its_formal_statement_bounds_the_likelihood_ratio(settings, target):
    mask, event = settings(alpha=ALPHA).bind(target), settings(alpha=ALPHA).event(target)
    assert isinstance(event, events.Pure)
    w = np.linspace(-10, 10, 2001)
    ratio = np.abs(mask.log_likelihood(w, np.zeros_like(w)) - mask.log_likelihood(w, np.ones_like(w)))
    assert ratio.max() == pytest.approx(event.epsilon, abs=1e-12)


def test_it_masks_a_column(settings, target):
    mask = settings(alpha=ALPHA)
    assert mask.suits(target.column) is None
    age = Column(name="age", kind=Kind.CONTINUOUS, role=Role.REPLACE, key=True)
    assert mask.suits(age) == "shifted_laplace is for binary columns, not continuous"
    planned = ColumnMask.plan(target, mask, {}, np.array(["low"] * 4, dtype=object))
    evidence = planned.draw(np.array([0.0, 1.0, 1.0, np.nan]), rng=np.random.default_rng(1))
    assert len(evidence) == 4
    assert planned.statements(5, None)[0]["mask"] == "shifted Laplace, alpha 1.3"
