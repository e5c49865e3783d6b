"""Everything the gate asks of a set of copies, and what was measured on one of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison, Request
from synthdp.evaluation.gate.limits import Thresholds, own_limits
from synthdp.evaluation.gate.tally import Identified
from synthdp.evaluation.measure import MATCHING_LIMITS, Need, lacking
from synthdp.evaluation.measures import in_turn, measure, reading
from synthdp.evaluation.risk.intruders import evaluate_intruder
from synthdp.evaluation.risk.persons import any_row, persons_of
from synthdp.seeding import Streams

# limits on means over all records, one figure a draw
MEANS = ("max_attribute_gain", "min_overlap", "max_pmse_ratio")


@dataclass(frozen=True, repr=False)
class Drawn:
    """What was measured on one draw of the mechanism, or on one set of files.

    Parameters
    ----------
    findings
        Of every intruder who points at rows, by name.
    figures
        What the limits on means are held against, by measure and target ('' for the file as a whole).
    reasons
        Why a measure that a limit needs could not be taken, by the measure's name.
    """

    findings: Mapping[str, Identified]
    figures: Mapping[str, Mapping[str, float]]
    reasons: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Drawn({', '.join(self.findings)})"


@dataclass(frozen=True, repr=False)
class Inquiry:
    """Everything the gate asks of a set of copies.

    Parameters
    ----------
    limits
        What is judged: a measure that no limit reads is not taken; of those that point at rows every one is asked,
        whatever the config lists for the report.
    request
        What the config asks of the measures.
    """

    limits: Thresholds
    request: Request = field(default_factory=Request)

    def ask(
        self, comparison: Comparison, streams: Streams, *, means: bool = True, known: Mapping[str, Any] | None = None
    ) -> Drawn:
        """Take every measure that a limit reads.

        Parameters
        ----------
        means
            Whether to take usefulness and attribute gains too.
        known
            Findings and sections that are already there, by the measure's name.
        """
        files, given = replace(comparison, request=self.request), dict(known or {})
        reasons: dict[str, str] = {}
        findings: dict[str, Identified] = {}

        def take(name: str) -> None:
            try:
                taken = given.get(name) or measure(name).take(files, rng=streams.generator("evaluate", name))
            except InputError as error:
                reasons[name] = str(error)
                return
            findings[name] = cast(Identified, taken)

        if self.limits.judged(*MATCHING_LIMITS):
            for one in in_turn():
                if Need.PLAN in one.needs and (files.making is None or files.making.intruder is None):
                    continue
                if (why := lacking(one, files)) is not None:
                    reasons[one.name] = why
                else:
                    take(one.name)
            findings |= self._own(files, streams, given)
            person = persons_of(files)
            if person is not None:
                findings |= {f"{name} by person": any_row(found, person) for name, found in findings.items()}
                take("identity_persons")
        return Drawn(findings, self._figures(files, streams, given, reasons) if means else {}, reasons)

    def _own(self, files: Comparison, streams: Streams, given: Mapping[str, Any]) -> dict[str, Identified]:
        if not files.aligned:
            return {}
        return {
            f"identity as {name!r}": given.get(f"identity as {name!r}")
            or evaluate_intruder(
                files, intruder, name=name, rng=streams.generator("evaluate", "intruders", name), permutations=2
            )
            for name, intruder in self.request.intruders.items()
        }

    def _figures(
        self, files: Comparison, streams: Streams, given: Mapping[str, Any], reasons: dict[str, str]
    ) -> dict[str, Mapping[str, float]]:
        found: dict[str, Mapping[str, float]] = {}
        for one in (one for limit in (*MEANS, *own_limits()) if self.limits.judged(limit) for one in reading(limit)):
            rng = streams.generator("evaluate", one.name)
            try:
                found[one.name] = one.judged(files, rng=rng, found=given.get(one.name))
            except InputError as error:
                reasons[one.name] = str(error)
        return found
