"""Judging the mechanism: what every intruder achieves on average over draws, and how useful the draws are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from synthdp.arrays import Booleans
from synthdp.errors import InputError, SynthdpError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate.limits import LIMITS, Thresholds
from synthdp.evaluation.gate.tally import LEVEL, Bound, Identified, Tally, over_draws
from synthdp.evaluation.gate.verdict import Check, check
from synthdp.evaluation.leaks.draws import Read, VerbatimOverDraws
from synthdp.evaluation.measure import Measure, lacking
from synthdp.evaluation.risk.attacks import IDENTITY_LIMITS, identifies, mask_draw_of
from synthdp.evaluation.risk.intruders import Intruder, evaluate_intruder
from synthdp.evaluation.risk.persons import PersonsRisk, any_row, persons_of
from synthdp.evaluation.risk.persons_together import evaluate_persons
from synthdp.evaluation.risk.public import learn_public
from synthdp.evaluation.utility.analyses import evaluate_analyses
from synthdp.evaluation.utility.panel import evaluate_panel
from synthdp.evaluation.utility.propensity import Propensity, evaluate_propensity
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import DEFAULT_RULE
from synthdp.seeding import Streams
from synthdp.table.microdata import Codes, Floats

IDENTITY_READ = (*IDENTITY_LIMITS, "max_excess_true_match")
# intruders who weigh all rows against each other: to one who matches, a coincidence is a certainty
WEIGHING = ("identity_likelihood", "identity_public", "identity_extremes", "identity_persons")
# of fewer persons one more or less is a share that says nothing; each of them is judged all the same
FEWEST_PERSONS = 50
# usefulness and attribute gains are means over all records: a few draws tell them well enough
MEAN_DRAWS = 5


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


@dataclass
class Averages:
    """What all draws came to so far: one tally an intruder, and the figures that are one number a draw.

    Parameters
    ----------
    typical
        Whom rates are taken over; see :class:`~synthdp.evaluation.gate.tally.Tally`.
    """

    typical: Booleans | None = None
    draws: int = 0
    tallies: dict[str, Tally] = field(default_factory=dict)
    excess: dict[str, list[float]] = field(default_factory=dict)
    gains: dict[str, list[float]] = field(default_factory=dict)
    use: dict[str, list[float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    verbatim: VerbatimOverDraws = field(default_factory=VerbatimOverDraws)

    def read(self, comparison: Comparison, limits: Thresholds) -> Read | str | None:
        """Read what one draw copies over, where a limit asks for it; a text says why it cannot be read."""
        if not limits.judged("max_excess_verbatim"):
            return None
        try:
            return self.verbatim.read(comparison)
        except InputError as error:
            return str(error)

    def copied(self, read: Read | str | None, *, rng: np.random.Generator) -> None:
        """Count the rows and values that one draw copies over."""
        if isinstance(read, str):
            self.reasons["verbatim"] = read
        elif read is not None:
            self.verbatim.take(read, rng=rng)

    def add(self, drawn: Drawn) -> None:
        """Take one draw."""
        self.draws += 1
        for name, finding in drawn.findings.items():
            tally = self.tallies.setdefault(name, Tally(self.typical))
            whose = (finding.chance, finding.person) if isinstance(finding, PersonsRisk) else ()
            tally.add(finding.individual, finding.confidence, finding.right, *whose)
            section = finding.section() if hasattr(finding, "section") else {}
            if section.get("true_match") is not None and section.get("true_match_chance") is not None:
                excess = self._true_matches(finding, section) - float(section["true_match_chance"])
                self.excess.setdefault(name, []).append(max(0.0, excess))
        for names, values in ((self.gains, drawn.gains), (self.use, drawn.use)):
            for name, value in values.items():
                if np.isfinite(value):
                    names.setdefault(name, []).append(value)
        self.reasons |= drawn.reasons

    def _true_matches(self, finding: Any, section: Mapping[str, Any]) -> float:
        """Return how many records are matched: loners, attacked beside a random sample, stand for themselves."""
        if self.typical is None:
            return float(section["true_match"])
        found, typical = finding.true_match_mask, self.typical
        loners = np.isfinite(finding.individual) & ~typical
        rest = (len(typical) - int(loners.sum())) / int(typical.sum())
        return float(found[loners].sum()) + float(found[typical].sum()) * rest

    def checks(self, limits: Thresholds, *, level: float = LEVEL) -> Iterator[Check]:
        """Hold everything against the limits; a limit on identity that no intruder could answer does not pass.

        ``level`` is that of the intervals whose ends decide.
        """
        for name in LIMITS:
            limit = limits.limit(name)
            if limit is None:
                continue
            if name in IDENTITY_READ:
                found = list(self._identity(name, level))
                yield from (check(name, attack, bound, limit) for attack, bound in found)
                if not found:
                    yield check(name, "identity", None, limit)
            elif name == "max_attribute_gain":
                for target, gains in self.gains.items():
                    yield check(name, "attribute", over_draws(gains, level=level), limit, what=f" for {target!r}")
                if not self.gains and "attribute" in self.reasons:
                    yield check(name, "attribute", None, limit)
            elif name == "max_excess_verbatim":
                if self.verbatim.draws:
                    yield check(name, "verbatim", Bound(float(self.verbatim.section()["excess"])), limit)
                elif "verbatim" in self.reasons:
                    yield check(name, "verbatim", None, limit)
            elif name == "min_overlap":
                for of in ("panel", "analyses"):
                    if of in self.use:
                        yield check(name, of, over_draws(self.use[of], level=level), limit)
            elif name == "max_pmse_ratio":
                ratio = over_draws(self.use["pmse"], level=level) if "pmse" in self.use else None
                yield check(name, "pmse", ratio, limit)

    def checks_of_one(self, limits: Thresholds) -> Iterator[Check]:
        """Hold one release that is as it is against the limits on identity: there are no draws of it to average.

        The largest risk is read of intruders who weigh all rows, for a coincidence is as good as a find to one who
        matches, and one in many records has one.
        """
        for name in IDENTITY_LIMITS:
            limit = limits.limit(name)
            if limit is not None:
                found = self._identity(name, LEVEL)
                asked = ((attack, bound) for attack, bound in found if name != "max_individual" or attack in WEIGHING)
                yield from (check(name, attack, bound, limit) for attack, bound in asked)

    def _identity(self, name: str, level: float) -> Iterator[tuple[str, Bound]]:
        if name == "max_excess_true_match":
            yield from ((attack, over_draws(values, level=level)) for attack, values in self.excess.items())
            return
        for attack, tally in self.tallies.items():
            if tally.persons is not None and tally.persons < FEWEST_PERSONS and name != "max_individual":
                continue
            if name == "max_individual":
                yield attack, tally.individual(level)
            elif name == "max_claims_right":
                yield attack, tally.claims(level)
            elif name == "max_expected_match_rate":
                yield attack, tally.expected(level)
            else:
                yield attack, tally.mean_individual(level)

    def records(self) -> dict[str, Floats]:
        """Return the mean probability that each record is found, by attack."""
        return {name: tally.by_record() for name, tally in self.tallies.items()}


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
