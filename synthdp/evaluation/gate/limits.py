"""The limits of the gate: what each one holds a release against, and its default."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from synthdp.table.schema import Settings

# what the defaults were before 0.2; a config that leaves them out is told once
BEFORE = {"max_expected_match_rate": 0.05, "max_individual": 0.5, "max_excess_true_match": 0.0}


@dataclass(frozen=True)
class Limit:
    """One limit: what it is about, in words, and what going over it does.

    Parameters
    ----------
    words
        What is measured.
    judges
        ``risk``: over the limit, the release is refused. ``use``: beyond it, it is published under an amber verdict.
    share
        Whether the figure is a share, shown as a percentage.
    """

    words: str
    judges: Literal["risk", "use"] = "risk"
    share: bool = True


LIMITS = {
    "max_expected_match_rate": Limit("expected match rate beyond chance"),
    "max_individual": Limit("largest probability that one record is found"),
    "max_claims_right": Limit("share right among the intruder's surest claims"),
    "max_exposed": Limit("number of records alone on kept keys", share=False),
    "max_attribute_gain": Limit("attribute gain"),
    "max_memorised": Limit("share of unique records reproduced because they were fitted"),
    "max_excess_verbatim": Limit("number of rows or values copied over beyond chance", share=False),
    "max_excess_true_match": Limit("number of true matches beyond chance", share=False),
    "max_mean_individual": Limit("mean probability that a record is found"),
    "min_overlap": Limit("mean overlap of confidence intervals", judges="use"),
    "max_pmse_ratio": Limit("ratio of the propensity score's error to its expectation", judges="use", share=False),
}


class Thresholds(Settings):
    """The largest risks at which a release may be published, and the least usefulness; ``null`` is not judged.

    Risks are means over draws of the mechanism, the worst intruder counts, and the upper end of the 95% interval
    decides. How the defaults were chosen is argued in reports/gate.

    Parameters
    ----------
    max_expected_match_rate
        Expected matches per record, less what a blind guess gives.
    max_individual
        Largest probability that an intruder gives to the right row, over all records.
    max_claims_right
        Share right among the 1% of claims (at least 10) of which the intruder is most confident.
    max_exposed
        Records that are alone on the declared keys that are kept.
    max_attribute_gain
        How much better a sensitive value is guessed with the copies than without the person.
    max_memorised
        File-unique records reproduced, as a share: in the half that was fitted, less in the half that was not.
    max_excess_verbatim
        Rows, or values that one record alone has, copied over beyond what chance gives.
    max_excess_true_match
        True matches beyond the 95% point of the same attack on row-permuted copies.
    max_mean_individual
        Mean over records of the probability that an intruder gives to the right row.
    min_overlap
        Least mean overlap of confidence intervals, of ``panel`` and of the analyses; below it the verdict is amber.
    max_pmse_ratio
        Largest ratio of pMSE (logit) to its expectation; above it the verdict is amber.

    Examples
    --------
    >>> Thresholds(max_individual=None).max_expected_match_rate
    0.03
    """

    max_expected_match_rate: float | None = Field(default=0.03, ge=0)
    max_individual: float | None = Field(default=0.33, ge=0)
    max_claims_right: float | None = Field(default=0.33, ge=0)
    max_exposed: float | None = Field(default=0, ge=0)
    max_attribute_gain: float | None = Field(default=0.1, ge=0)
    max_memorised: float | None = Field(default=0.02, ge=0)
    max_excess_verbatim: float | None = Field(default=0, ge=0)
    max_excess_true_match: float | None = Field(default=None, ge=0)
    max_mean_individual: float | None = Field(default=None, ge=0)
    min_overlap: float | None = Field(default=0.6, le=1)
    max_pmse_ratio: float | None = Field(default=None, gt=0)

    def limit(self, name: str) -> float | None:
        """Return the limit of that name; None where it is not judged."""
        value = getattr(self, name)
        return None if value is None else float(value)

    def judged(self, *names: str) -> bool:
        """Return whether any of these limits is set; of all limits when none is named."""
        return any(self.limit(name) is not None for name in names or LIMITS)


OFF = Thresholds(**dict.fromkeys(LIMITS))
