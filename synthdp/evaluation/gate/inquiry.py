"""Everything the gate asks of a set of copies, and what the answers come to over the draws of a mechanism."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from synthdp.arrays import Booleans, Floats
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison, Request
from synthdp.evaluation.gate.limits import LIMITS, Thresholds, own_limits
from synthdp.evaluation.gate.tally import LEVEL, Bound, Tally, over_draws
from synthdp.evaluation.gate.verdict import Check, check
from synthdp.evaluation.leaks.draws import Read, VerbatimOverDraws
from synthdp.evaluation.measure import IDENTITY_LIMITS, MATCHING_LIMITS, Identified, Need, lacking
from synthdp.evaluation.measures import in_turn, measure, reading
from synthdp.evaluation.risk.intruders import evaluate_intruder
from synthdp.evaluation.risk.persons import PersonsRisk, any_row, persons_of
from synthdp.seeding import Streams

# limits on means over all records, one figure a draw
MEANS = ("max_attribute_gain", "min_overlap", "max_pmse_ratio")
# limits on identity, and what of a tally is held against them
TALLIED = {
    "max_expected_match_rate": Tally.expected,
    "max_individual": Tally.individual,
    "max_claims_right": Tally.claims,
    "max_mean_individual": Tally.mean_individual,
}
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
        return Drawn(findings, self.figures(files, streams, given, reasons) if means else {}, reasons)

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

    def figures(
        self, files: Comparison, streams: Streams, given: Mapping[str, Any], reasons: dict[str, str]
    ) -> dict[str, Mapping[str, float]]:
        """Return what the limits on means are held against; why a measure could not be taken is added to reasons."""
        found: dict[str, Mapping[str, float]] = {}
        for one in (one for limit in (*MEANS, *own_limits()) if self.limits.judged(limit) for one in reading(limit)):
            rng = streams.generator("evaluate", one.name)
            try:
                found[one.name] = one.judged(files, rng=rng, found=given.get(one.name))
            except InputError as error:
                reasons[one.name] = str(error)
        return found


@dataclass
class Averages:
    """What all draws came to so far: one tally an intruder, and the figures that are one number a draw.

    Parameters
    ----------
    typical, size
        Whom rates are taken over, and how many records the file has where they are a sample of it; see
        :class:`~synthdp.evaluation.gate.tally.Tally`.
    """

    typical: Booleans | None = None
    size: int | None = None
    draws: int = 0
    tallies: dict[str, Tally] = field(default_factory=dict)
    excess: dict[str, list[float]] = field(default_factory=dict)
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)
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
            tally = self.tallies.setdefault(name, Tally(self.typical, self.size))
            whose = (finding.chance, finding.person) if isinstance(finding, PersonsRisk) else ()
            tally.add(finding.individual, finding.confidence, finding.right, *whose)
            section = finding.section()
            if section.get("true_match") is not None and section.get("true_match_chance") is not None:
                excess = self._true_matches(finding, section) - float(section["true_match_chance"])
                self.excess.setdefault(name, []).append(max(0.0, excess))
        for name, values in drawn.figures.items():
            for target, value in values.items():
                if np.isfinite(value):
                    self.figures.setdefault(name, {}).setdefault(target, []).append(value)
        self.reasons |= drawn.reasons

    def _true_matches(self, finding: Any, section: Mapping[str, Any]) -> float:
        """Return how many records are matched: loners, attacked beside a random sample, stand for themselves."""
        if self.typical is None:
            return float(section["true_match"])
        found, typical = finding.true_match_mask, self.typical
        loners = np.isfinite(finding.individual) & ~typical
        rest = ((self.size or len(typical)) - int(loners.sum())) / int(typical.sum())
        return float(found[loners].sum()) + float(found[typical].sum()) * rest

    def checks(self, limits: Thresholds, *, level: float = LEVEL) -> Iterator[Check]:
        """Hold everything against the limits; a limit on identity that no intruder could answer does not pass.

        ``level`` is that of the intervals whose ends decide.
        """
        for name in LIMITS:
            limit = limits.limit(name)
            if limit is None:
                continue
            if name in MATCHING_LIMITS:
                found = list(self._identity(name, level))
                yield from (check(name, attack, bound, limit) for attack, bound in found)
                if not found:
                    yield check(name, "identity", None, limit)
            elif name == "max_excess_verbatim":
                if self.verbatim.draws:
                    yield check(name, "verbatim", Bound(float(self.verbatim.section()["excess"])), limit)
                elif "verbatim" in self.reasons:
                    yield check(name, "verbatim", None, limit)
            elif name in MEANS or name in own_limits():
                yield from self._means(name, limit, level)

    def _means(self, name: str, limit: float, level: float) -> Iterator[Check]:
        readers = [one.name for one in reading(name)]
        for reader in readers:
            for target, values in self.figures.get(reader, {}).items():
                what = f" for {target!r}" if target else ""
                yield check(name, reader, over_draws(values, level=level), limit, what=what)
        if any(self.figures.get(reader) for reader in readers):
            return
        # a risk that could not be measured does not pass
        unanswered = [one for one in readers if one in self.reasons and LIMITS[name].judges == "risk"]
        for reader in readers if name == "max_pmse_ratio" else unanswered:
            yield check(name, reader, None, limit)

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
            if name == "max_individual" or tally.persons is None or tally.persons >= FEWEST_PERSONS:
                yield attack, TALLIED[name](tally, level)

    def records(self) -> dict[str, Floats]:
        """Return the mean probability that each record is found, by attack."""
        return {name: tally.by_record() for name, tally in self.tallies.items()}
