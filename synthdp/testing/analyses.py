"""What every analysis must do: name its estimates, know their covariance, and take a weight for a number of records."""

import numpy as np
import pandas as pd

from synthdp.inference.analyses import Analysis


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
