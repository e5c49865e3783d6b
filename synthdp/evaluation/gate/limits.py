"""The limits of the gate: what each one holds a release against, and its default."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from synthdp import plugins
from synthdp.table.schema import Settings

# what the defaults were before 0.2; a config that leaves them out is told once
BEFORE = {"max_expected_match_rate": 0.05, "max_individual": 0.5, "max_excess_true_match": 0.0}


# what a measure of each side is judged by
SIDES: Mapping[str, Literal["risk", "use"]] = {"risk": "risk", "utility": "use"}


@dataclass(frozen=True)
class Limit:
    """One limit: what it is about, in words, and what going over it does.

    Parameters
    ----------
    words
        What is measured, as the verdict names it.
    title, brief
        The same as the heading of a table, and within a sentence, before a figure.
    says
        A sentence about one figure, for which ``{}`` stands.
    judges
        ``risk``: over the limit, the release is refused. ``use``: beyond it, it is published under an amber verdict.
    share
        Whether the figure is a share, shown as a percentage.
    """

    words: str
    title: str
    brief: str
    says: str
    judges: Literal["risk", "use"] = "risk"
    share: bool = True


_BUILT_IN = {
    "max_expected_match_rate": Limit(
        "expected match rate beyond chance",
        "People found, beyond blind guessing, as a share of all records",
        "people found",
        "{} of all people are found, beyond what blind guessing gives",
    ),
    "max_individual": Limit(
        "largest probability that one record is found",
        "Highest chance of finding any one record",
        "the person easiest to find",
        "The person easiest to find is found with a probability of {}",
    ),
    "max_claims_right": Limit(
        "share right among the intruder's surest claims",
        "Right among the 1% of claims the intruder is surest of",
        "surest claims right",
        "Of the claims the intruder is surest of, {} are right",
    ),
    "max_exposed": Limit(
        "number of records alone on kept keys",
        "Records unique on kept columns that an intruder may know",
        "people unique on kept keys",
        "People who are unique on kept columns that an intruder may know, and so are found with certainty: {}",
        share=False,
    ),
    "max_attribute_gain": Limit(
        "attribute gain",
        "What an intruder learns about a sensitive value beyond guessing",
        "sensitive values learnt",
        "A sensitive value is guessed right more often, for people in the data than for others, by {}",
    ),
    "max_memorised": Limit(
        "share of unique records reproduced because they were fitted",
        "Unique records reproduced because they were fitted",
        "unique records memorised",
        "Of the unique records, {} stand in the copies only because the model was fitted to them",
    ),
    "max_excess_verbatim": Limit(
        "number of rows or values copied over beyond chance",
        "Rows or unique values copied over beyond what chance gives",
        "rows or values copied over",
        "Rows or unique values copied over, beyond what chance gives: {}",
        share=False,
    ),
    "max_excess_true_match": Limit(
        "number of true matches beyond chance",
        "True matches beyond what chance gives, in records",
        "true matches beyond chance",
        "Records that are the only best match, and the right one, beyond what chance gives: {}",
        share=False,
    ),
    "max_mean_individual": Limit(
        "mean probability that a record is found",
        "Average chance of finding a record",
        "average chance of being found",
        "On average a person is found with a probability of {}",
    ),
    "min_overlap": Limit(
        "mean overlap of confidence intervals",
        "Overlap of confidence intervals, on average",
        "overlap of intervals",
        "Confidence intervals from the copies overlap those of the original by {} on average",
        judges="use",
    ),
    "max_pmse_ratio": Limit(
        "ratio of the propensity score's error to its expectation",
        "How much better copies are told from the original than perfect ones",
        "pMSE ratio",
        "The ratio of the copies' pMSE to that of perfect copies is {}",
        judges="use",
        share=False,
    ),
}


@cache
def own_limits() -> Mapping[str, Limit]:
    """Return the limits that measures from outside state, by name: ``max_…`` or ``min_…``; set in ``release.limits``.

    A measure of risk over its limit refuses the release, one of usefulness makes the verdict amber.
    """
    found: dict[str, Limit] = {}
    for side, judges in SIDES.items():
        measures = plugins.Registry("measures", side)
        for one in (measures[name] for name in plugins.outside("measures", side)):
            words = one.title or one.name
            limit = Limit(words, words, words, f"{words}: {{}}", judges, share=False)
            found |= {name: limit for name in one.limits if name not in _BUILT_IN}
    return found


class _Limits(Mapping[str, Limit]):
    """Every limit by name, ours first; those from outside are looked up when they are needed."""

    def __getitem__(self, name: str) -> Limit:
        return _BUILT_IN[name] if name in _BUILT_IN else own_limits()[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*_BUILT_IN, *own_limits()))

    def __len__(self) -> int:
        return len(_BUILT_IN) + len(own_limits())


LIMITS: Mapping[str, Limit] = _Limits()


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
    limits
        Of measures from outside, by the names that they state.

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
    limits: dict[str, float] = Field(default_factory=dict)

    @field_validator("limits", mode="before")
    @classmethod
    def _none_judged(cls, limits: Any) -> Any:
        # as of every other limit, null says that it is not judged
        return {} if limits is None else limits

    @field_validator("limits")
    @classmethod
    def _known_limits(cls, limits: dict[str, float]) -> dict[str, float]:
        for name in limits:
            if name not in own_limits():
                near = difflib.get_close_matches(name, own_limits(), n=1)
                hint = f"did you mean {near[0]!r}?" if near else "it is for those that plugins bring"
                raise ValueError(f"no measure from outside states a limit named {name!r}; {hint}")
        return limits

    @model_serializer(mode="wrap")
    def _told(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the settings; without limits from outside they are written as they always were."""
        found: dict[str, Any] = handler(self)
        return found if self.limits else {name: value for name, value in found.items() if name != "limits"}

    def limit(self, name: str) -> float | None:
        """Return the limit of that name; None where it is not judged."""
        value = getattr(self, name) if name in _BUILT_IN else self.limits.get(name)
        return None if value is None else float(value)

    def judged(self, *names: str) -> bool:
        """Return whether any of these limits is set; of all limits when none is named."""
        return any(self.limit(name) is not None for name in names or LIMITS)


OFF = Thresholds(**dict.fromkeys(_BUILT_IN))
