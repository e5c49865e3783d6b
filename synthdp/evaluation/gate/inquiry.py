"""Everything the gate asks of one draw of the mechanism, or of one set of files: every measure that a limit reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from synthdp.errors import InputError, SynthdpError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate.limits import Thresholds
from synthdp.evaluation.gate.tally import Identified
from synthdp.evaluation.measure import Measure, lacking
from synthdp.evaluation.risk.attacks import IDENTITY_LIMITS, identifies, mask_draw_of
from synthdp.evaluation.risk.intruders import Intruder, evaluate_intruder
from synthdp.evaluation.risk.persons import any_row, persons_of
from synthdp.evaluation.risk.persons_together import evaluate_persons
from synthdp.evaluation.risk.public import learn_public
from synthdp.evaluation.utility.analyses import evaluate_analyses
from synthdp.evaluation.utility.panel import evaluate_panel
from synthdp.evaluation.utility.propensity import Propensity, evaluate_propensity
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import DEFAULT_RULE
from synthdp.seeding import Streams
from synthdp.table.microdata import Codes

IDENTITY_READ = (*IDENTITY_LIMITS, "max_excess_true_match")


@dataclass(frozen=True, repr=False)
class Drawn:
    """What was measured on one draw of the mechanism, or on one set of files.

    Parameters
    ----------
    findings
        Of every intruder who points at rows, by name.
    gains
        The attribute gain by target; NaN where it is not defined.
    use
        Mean overlap of ``panel`` and of ``analyses``, and ``pmse``'s ratio, as far as asked for.
    reasons
        Why a measure that a limit needs could not be taken, by the measure's name.
    """

    findings: Mapping[str, Identified]
    gains: Mapping[str, float]
    use: Mapping[str, float]
    reasons: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Drawn({', '.join(self.findings)})"


@dataclass(frozen=True, repr=False)
class Inquiry:
    """Everything the gate asks of a set of copies.

    Parameters
    ----------
    limits
        What is judged: a measure that no limit reads is not taken.
    measures
        By name; of those that point at rows every one is asked, whatever the config lists for the report.
    intruders
        The user's own, by name.
    analyses, propensity
        For usefulness: the user's analyses, and how pMSE is taken.
    """

    limits: Thresholds
    measures: Mapping[str, Measure]
    intruders: Mapping[str, Intruder] = field(default_factory=dict)
    analyses: Sequence[Analysis] = ()
    propensity: Propensity | None = None

    def with_measures(self, more: Mapping[str, Measure]) -> "Inquiry":
        """Return an inquiry that takes more measures."""
        return replace(self, measures={**self.measures, **more}) if more else self

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
        given = dict(known or {})
        reasons: dict[str, str] = {}
        findings: dict[str, Identified] = {}
        if self.limits.judged(*IDENTITY_READ):
            for name, measure in self.measures.items():
                if not identifies(measure):
                    continue
                if (why := lacking(measure.needs, comparison)) is not None:
                    reasons[name] = why
                    continue
                try:
                    taken = given.get(name) or measure.take(comparison, rng=streams.generator("evaluate", name))
                except InputError as error:
                    reasons[name] = str(error)
                    continue
                findings[name] = cast(Identified, taken)
            findings |= self._own(comparison, streams, given)
            person = persons_of(comparison)
            if person is not None:
                findings |= {f"{name} by person": any_row(found, person) for name, found in findings.items()}
                findings |= self._persons(comparison, person, streams, reasons)
        gains = self._gains(comparison, streams, given, reasons) if means else {}
        return Drawn(findings, gains, self._use(comparison, streams, reasons) if means else {}, reasons)

    def _persons(
        self, comparison: Comparison, person: Codes, streams: Streams, reasons: dict[str, str]
    ) -> dict[str, Identified]:
        """Return what somebody finds who knows the keys of all rows of a person, and looks for them together."""
        rng = streams.generator("evaluate", "identity_persons")
        try:
            told = learn_public(comparison, mask_draw=mask_draw_of(comparison), rng=rng)
            # the same persons in every draw
            whom = None if comparison.targets is None else np.unique(person[comparison.targets])
            return {"identity_persons": evaluate_persons(comparison, told, person, rng=rng, targets=whom)}
        except InputError as error:
            reasons["identity_persons"] = str(error)
            return {}

    def _own(self, comparison: Comparison, streams: Streams, given: Mapping[str, Any]) -> dict[str, Identified]:
        if not comparison.aligned:
            return {}
        return {
            f"identity as {name!r}": given.get(f"identity as {name!r}")
            or evaluate_intruder(
                comparison, intruder, name=name, rng=streams.generator("evaluate", "intruders", name), permutations=2
            )
            for name, intruder in self.intruders.items()
        }

    def _gains(
        self, comparison: Comparison, streams: Streams, given: Mapping[str, Any], reasons: dict[str, str]
    ) -> dict[str, float]:
        if not self.limits.judged("max_attribute_gain"):
            return {}
        lines = given.get("attribute")
        if lines is None:
            try:
                taken = self.measures["attribute"].take(comparison, rng=streams.generator("evaluate", "attribute"))
            except InputError as error:
                reasons["attribute"] = str(error)
                return {}
            lines = taken.section()
        return {str(line["target"]): _number(line.get("gain")) for line in lines}

    def _use(self, comparison: Comparison, streams: Streams, reasons: dict[str, str]) -> dict[str, float]:
        found: dict[str, float] = {}
        if self.limits.judged("min_overlap"):
            try:
                # the same regressions in every draw
                rng = np.random.default_rng(0)
                panel = evaluate_panel(comparison, default_rule=comparison.rule or DEFAULT_RULE, rng=rng)
                found["panel"] = panel["mean"]
            except InputError as error:
                reasons["panel"] = str(error)
            overlaps = [self._overlap(comparison, analysis) for analysis in self.analyses]
            known = [one for one in overlaps if one is not None]
            if known:
                found["analyses"] = float(np.mean(known))
        if self.limits.judged("max_pmse_ratio"):
            pmse = evaluate_propensity(comparison, self.propensity, rng=streams.generator("evaluate", "pmse"))
            found["pmse"] = _number(((pmse.get("pmse") or {}).get("logit") or {}).get("ratio"))
        return found

    def _overlap(self, comparison: Comparison, analysis: Analysis) -> float | None:
        try:
            entry = evaluate_analyses(comparison, [analysis], default_rule=comparison.rule or DEFAULT_RULE)[0]
        except SynthdpError:
            return 0.0  # an analyst who cannot estimate it at all has nothing of it
        # a gap between intervals is no use, but not less than none
        terms = [max(0.0, float(term["ci_overlap"])) for term in entry["terms"] if term["ci_overlap"] is not None]
        return float(np.mean(terms)) if terms else None


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
