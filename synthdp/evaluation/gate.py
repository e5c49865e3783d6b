"""The release gate: measured risks against the limits the data holder has set."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import Field

from synthdp.errors import InputError
from synthdp.schema import Settings

NAMES = {
    "max_expected_match_rate": "expected match rate",
    "max_excess_true_match": "number of true matches beyond chance",
    "max_individual": "largest individual match probability",
    "max_attribute_gain": "attribute gain",
    "max_excess_verbatim": "number of rows equal to an original record beyond chance",
}
# attacks without a tolerance, which call their expected matches links
LINKS = ("identity_likelihood", "identity_bayes")


class Thresholds(Settings):
    """The largest risks at which a release may leave the house; ``null`` means not judged.

    Parameters
    ----------
    max_expected_match_rate
        Expected matches per record.
    max_excess_true_match
        True matches beyond the 95% point of the same attack on row-permuted copies.
    max_individual
        Largest probability that an intruder gives to the right record, over all records.
    max_attribute_gain
        How much better a sensitive value is guessed with the copies than without.
    max_excess_verbatim
        Rows of one copy that equal an original record in every column, beyond what chance gives.

    Examples
    --------
    >>> Thresholds(max_individual=None).max_expected_match_rate
    0.05
    """

    max_expected_match_rate: float | None = Field(default=0.05, ge=0)
    max_excess_true_match: float | None = Field(default=0, ge=0)
    max_individual: float | None = Field(default=0.5, ge=0)
    max_attribute_gain: float | None = Field(default=0.1, ge=0)
    max_excess_verbatim: float | None = Field(default=0, ge=0)


@dataclass(frozen=True)
class Check:
    """One risk against its limit.

    Parameters
    ----------
    value
        None when it was not measured.
    releases
        How many earlier releases of the same data were judged along.
    accepted
        Why whoever signs takes the risk although it is above the limit.
    """

    name: str
    attack: str
    value: float | None
    limit: float
    passed: bool
    sentence: str = ""
    releases: int = 0
    accepted: str | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether the release may leave the house, and if not, why.

    Examples
    --------
    >>> judge({"attribute": [{"target": "vote", "gain": 0.3}]}, Thresholds(
    ...     max_expected_match_rate=None, max_excess_true_match=None, max_individual=None)).reasons
    ("attribute: attribute gain for 'vote' 0.3 is above the limit 0.1.",)
    """

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every risk is within its limit or accepted by name."""
        return all(check.passed or check.accepted is not None for check in self.checks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What is above its limit and was not accepted."""
        return tuple(check.sentence for check in self.checks if not check.passed and check.accepted is None)

    def section(self) -> dict[str, Any]:
        """Return the ``gate`` section of metrics.json."""
        return {
            "passed": self.passed,
            "reasons": list(self.reasons),
            "accepted": [
                {"name": f"{check.attack}.{check.name}", "risk": check.sentence, "reason": check.accepted}
                for check in self.checks
                if check.accepted is not None
            ],
            "checks": [
                {key: value for key, value in asdict(check).items() if key != "sentence"} for check in self.checks
            ],
        }

    def beside(self, together: "Verdict", releases: int) -> "Verdict":
        """Return the verdict on this release and on all releases of the same data together."""
        words = "1 earlier release" if releases == 1 else f"{releases} earlier releases"
        others = (
            replace(check, releases=releases, sentence=f"together with {words} of the same data, {check.sentence}")
            for check in together.checks
        )
        return Verdict((*self.checks, *others))

    def accepting(self, accepted: Mapping[str, str]) -> "Verdict":
        """Return the verdict when some risks are accepted by name.

        Parameters
        ----------
        accepted
            The reason by name: an attack (``identity_averaged``), a limit (``max_individual``), or one limit of one
            attack (``identity_averaged.max_individual``).

        Raises
        ------
        InputError
            When a name stands for no check that was made: a misspelt override must not pass for one.
        """
        known = {name for check in self.checks for name in _names(check)}
        unknown = [name for name in accepted if name not in known]
        if unknown:
            raise InputError(
                *(f"--accept-risk: no check named {name!r}; there are {', '.join(sorted(known))}." for name in unknown)
            )
        return Verdict(tuple(self._accept(check, accepted) for check in self.checks))

    @staticmethod
    def _accept(check: Check, accepted: Mapping[str, str]) -> Check:
        reasons = [accepted[name] for name in _names(check) if name in accepted]
        return replace(check, accepted=reasons[0]) if reasons and not check.passed else check


def accepted_risks(texts: Sequence[str]) -> dict[str, str]:
    """Return the reasons by name from texts of the form "name: reason".

    Examples
    --------
    >>> accepted_risks(["max_individual: one record, consented in writing"])
    {'max_individual': 'one record, consented in writing'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, colon, reason = (part.strip() for part in text.partition(":"))
        if not (name and colon and reason):
            raise InputError('--accept-risk: must have the form "name: reason", with a reason that can be signed.')
        found[name] = reason
    return found


def judge(risk_sections: Mapping[str, Any], thresholds: Thresholds) -> Verdict:
    """Hold every identity attack and every attribute target against the limits.

    The worst attack decides: one value above its limit refuses the release. A value that is missing or not a number
    refuses too, and so does a limit on identity risk when no identity attack was made. Attribute risk and
    verbatim rows are judged when they were measured.

    Parameters
    ----------
    risk_sections
        The ``risk`` sections of metrics.json by the attack's name; sections other than ``identity…`` and
        ``attribute`` are not read.
    thresholds
        The limits.
    """
    checks: list[Check] = []
    attacks = [name for name in risk_sections if name.startswith("identity")]
    for limit_name, what in NAMES.items():
        limit = getattr(thresholds, limit_name)
        if limit is None:
            continue
        if limit_name == "max_attribute_gain":
            measured = _gains(risk_sections.get("attribute", ()))
        elif limit_name == "max_excess_verbatim":
            measured = _copied(risk_sections.get("verbatim", {}))
        else:
            measured = _matches(limit_name, {name: risk_sections[name] for name in attacks})
            if not attacks:
                measured = iter([("identity", "", None)])
        for attack, target, found in measured:
            value = _finite(found)
            passed = value is not None and value <= limit
            sentence = "" if passed else _sentence(f"{attack}: {what}{target}", value, limit)
            checks.append(Check(limit_name, attack, value, limit, passed, sentence))
    return Verdict(tuple(checks))


def _names(check: Check) -> tuple[str, str, str]:
    """Return what an override may call a check, the most exact name first."""
    return f"{check.attack}.{check.name}", check.attack, check.name


def _matches(limit_name: str, sections: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    for attack, section in sections.items():
        if limit_name == "max_expected_match_rate":
            yield attack, "", section.get("expected_links_rate" if attack in LINKS else "expected_match_rate")
        elif attack not in LINKS:
            found = section.get("max_individual") if limit_name == "max_individual" else _excess(section)
            yield attack, "", found


def _excess(section: Mapping[str, Any]) -> float | None:
    found, chance = _finite(section.get("true_match")), _finite(section.get("true_match_chance"))
    return None if found is None or chance is None else max(0.0, found - chance)


def _gains(lines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    for line in lines:
        yield "attribute", f" for {str(line.get('target'))!r}", line.get("gain")


def _copied(section: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    if "excess" in section:
        yield "verbatim", "", section["excess"]


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return None if math.isnan(number) else number


def _sentence(what: str, value: float | None, limit: float) -> str:
    if value is None:
        return f"{what} was not measured, so it cannot be held against the limit {limit:g}."
    for digits in range(3, 18):
        shown = f"{value:.{digits}g}"
        if float(shown) > limit:  # never "0.05 is above the limit 0.05"
            break
    return f"{what} {shown} is above the limit {limit:g}."
