"""What every analysis and every combining rule must do.

An analysis names its estimates, knows their covariance, and takes a weight for a number of records. A rule follows the
units of the estimates, ignores the order of copies, and is what it says.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.inference.analyses import Analysis
from synthdp.inference.rules import Replicates, Rule
from synthdp.synthesis.design import Design


def estimates_have_names_and_covariance(analysis: Analysis, frame: pd.DataFrame) -> None:
    """Check the shapes, and that the covariance is one."""
    found = analysis.estimate(frame)
    terms = len(found.names)
    assert terms == len(set(found.names)) == len(found.values) > 0
    assert found.covariance.shape == (terms, terms)
    assert np.isfinite(found.values).all()
    np.testing.assert_allclose(found.covariance, found.covariance.T, rtol=1e-8, atol=1e-12)
    assert np.linalg.eigvalsh(found.covariance).min() >= -1e-8 * np.abs(found.covariance).max()
    assert found.df_residual is None or found.df_residual > 0


def order_of_records_does_not_matter(analysis: Analysis, frame: pd.DataFrame) -> None:
    """Check the estimates on the same records in another order."""
    one = analysis.estimate(frame)
    other = analysis.estimate(frame.sample(frac=1, random_state=1).reset_index(drop=True))
    assert one.names == other.names
    np.testing.assert_allclose(other.values, one.values, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=1e-5, atol=1e-9)


def missing_records_are_left_out(analysis: Analysis, frame: pd.DataFrame) -> None:
    """Check that a record with a gap in a column of the analysis is as good as absent."""
    name = analysis.columns()[0]
    gaps = frame.astype({name: object}) if frame[name].dtype == bool else frame.copy()
    gaps[name] = gaps[name].where(np.arange(len(frame)) % 7 != 0)
    known = gaps[gaps[name].notna()].reset_index(drop=True)
    np.testing.assert_allclose(analysis.estimate(gaps).values, analysis.estimate(known).values, rtol=1e-6, atol=1e-9)


def weight_of_two_is_a_record_twice(analysis: Analysis, frame: pd.DataFrame) -> None:
    """Check that the estimating equations with whole weights are those of repeated records."""
    weighted = frame.assign(weight_=1 + np.arange(len(frame)) % 3)
    twice = weighted.loc[weighted.index.repeat(weighted["weight_"])].reset_index(drop=True).assign(weight_=1)
    by = analysis.model_copy(update={"weights": "weight_"})
    np.testing.assert_allclose(by.estimate(weighted).values, by.estimate(twice).values, rtol=1e-6, atol=1e-9)


ANALYSIS = (
    estimates_have_names_and_covariance,
    order_of_records_does_not_matter,
    missing_records_are_left_out,
    weight_of_two_is_a_record_twice,
)


M, R, TERMS = 4, 3, 5


def variance_is_a_variance(rule: Rule) -> None:
    """Check that T and ν are positive, and that the fraction is a share."""
    spread = rule.spread(_replicates(rule))
    assert (spread.variance > 0).all()
    assert (spread.df > 0).all()
    assert ((spread.fraction >= 0) & (spread.fraction <= 1)).all()


def units_do_not_matter(rule: Rule) -> None:
    """Check that estimates in other units have the same ν and fraction, and a variance in the other units."""
    found = _replicates(rule)
    one, other = rule.spread(found), rule.spread(replace(found, q=7 * found.q + 3, v=49 * found.v))
    np.testing.assert_allclose(other.variance, 49 * one.variance)
    np.testing.assert_allclose(other.df, one.df)
    np.testing.assert_allclose(other.fraction, one.fraction, atol=1e-12)


def order_of_copies_does_not_matter(rule: Rule) -> None:
    """Check that nests, and copies within each, may stand in any order."""
    found = _replicates(rule)
    order = np.arange(found.m).reshape(found.nests, -1)[::-1, ::-1].ravel()
    one, other = rule.spread(found), rule.spread(replace(found, q=found.q[order], v=found.v[order]))
    np.testing.assert_allclose(other.variance, one.variance)
    np.testing.assert_allclose(other.df, one.df)


def works_with_the_fewest_copies(rule: Rule) -> None:
    """Check the smallest number of copies that the rule says it needs."""
    nests = M if rule.nested else 1
    found = _replicates(rule, copies=nests * rule.fewest)
    assert np.isfinite(rule.spread(found).variance).all()


def formula_is_the_rule(rule: Rule) -> None:
    """Run the Python code that a README shows, and compare it with the rule term by term."""
    for ratio in (1.0, 0.5):
        found = _replicates(rule, ratio=ratio)
        formula = rule.formula(ratio)
        names: dict[str, Any] = {"np": np, "q": found.q, "u": found.v, "m": found.nests, "r": found.r, "M": found.m}
        exec(formula.python, names)
        spread = rule.spread(found)
        np.testing.assert_allclose(names["T"], spread.variance)
        if formula.exact:
            assert np.isinf(spread.df).all()
        else:
            np.testing.assert_allclose(names["nu"], spread.df)
        assert all(text.strip() for text in (formula.source, formula.reference, formula.steps, formula.r, formula.mata))


def says_when_it_does_not_fit(rule: Rule) -> None:
    """Check that reasons are half sentences, for every design."""
    for replaced in ("none", "some", "all"):
        for proper in (True, False):
            design = Design(replaced=replaced, proper=proper, copies=M)
            assert all(isinstance(reason, str) and not reason.endswith(".") for reason in rule.reasons(design))


def _replicates(rule: Rule, copies: int | None = None, ratio: float = 1.0) -> Replicates:
    rng = np.random.default_rng(4)
    m = copies or M * R
    q, v = rng.normal(size=(m, TERMS)), rng.uniform(0.001, 2, size=(m, TERMS))
    return Replicates(q, v, nests=M if rule.nested else 1, ratio=ratio)


RULE = (
    variance_is_a_variance,
    units_do_not_matter,
    order_of_copies_does_not_matter,
    works_with_the_fewest_copies,
    formula_is_the_rule,
    says_when_it_does_not_fit,
)
