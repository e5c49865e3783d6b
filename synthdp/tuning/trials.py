"""One trial: a candidate drawn a few times, attacked by every intruder that a limit reads, and thrown away.

The judgement is the gate's own (``stages.gating.judge``); nothing here decides what a risk is. Trials of one stage
share their streams of randomness, so that candidates are compared under the same noise; confirmations have streams of
their own.

What trials of a stage have in common is made once: fits, which do not depend on how strong masks are
(``synthesis.fits`` says why they are the same to the digit), and, where that was within its limit, what is memorised
under weaker masks, which is no less than under stronger ones. Confirmations measure everything themselves.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Codes
from synthdp.config import Config
from synthdp.errors import SynthdpError
from synthdp.evaluation.gate import Check
from synthdp.evaluation.gate.inquiry import WEIGHING
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.risk.bayes import NAME as BAYES
from synthdp.evaluation.risk.extremes import NAME as EXTREMES
from synthdp.parallel import Advance
from synthdp.seeding import Streams
from synthdp.stages.draws import part_of
from synthdp.stages.gating import Judged, judge
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.synthesis.fits import Fits
from synthdp.table.microdata import Microdata
from synthdp.tuning.goals import SCANNED, SCANNED_TO_CONFIRM, Goal, Watched
from synthdp.tuning.journal import Journal
from synthdp.tuning.space import Shape, Space

CONFIRM = "confirm"
# fits halves of the file anew for every trial; in larger files it is dear and hardly depends on the masks
DEAR = ("max_memorised",)
INDIVIDUAL = "max_individual"
VERBATIM = "max_excess_verbatim"
# draws whose usefulness is noted; those between which the best is chosen note all that they are asked for
FINAL = 12
# risks over these say how far a candidate is from passing where a limit is zero
NO_RATIO = 1.0


@dataclass(frozen=True)
class Trial:
    """What one trial found.

    Parameters
    ----------
    stage
        ``explore``, ``refine``, ``confirm``, ``lambda`` or ``column``.
    shape, rung
        The candidate.
    passed
        Whether every risk is within its limit, the upper end of its interval.
    use, error, parts
        Mean usefulness over draws, its standard error, and the means of its parts.
    checks
        Every risk, its interval and limit.
    groups
        By risk group the largest mean probability that one of its records is found.
    problem
        Why it could not be made.
    """

    stage: str
    shape: Shape
    rung: int
    passed: bool
    use: float
    error: float
    parts: Mapping[str, float]
    checks: tuple[Check, ...]
    draws: int
    seconds: float
    groups: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""

    @property
    def ratio(self) -> float:
        """The largest risk as a multiple of its limit: at most 1 where the trial passed."""
        return max((ratio_of(one) for one in self.checks), default=math.inf)

    def worst(self) -> dict[str, Check]:
        """Return by limit the figure that comes closest to it, or is furthest beyond."""
        found: dict[str, Check] = {}
        for one in self.checks:
            if one.name not in found or ratio_of(one) > ratio_of(found[one.name]):
                found[one.name] = one
        return found

    def plain(self) -> dict[str, Any]:
        """Return what the journal holds."""
        return asdict(self)

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Trial":
        """Return the trial that a journal holds."""
        shape = Shape(**{**found["shape"], "relative": tuple(found["shape"]["relative"])})
        checks = tuple(Check(**one) for one in found["checks"])
        return cls(**{**found, "shape": shape, "checks": checks})


def ratio_of(check: Check) -> float:
    """Return a risk as a multiple of its limit; more than any number where it was not measured."""
    if check.deciding is None:
        return math.inf
    if check.limit > 0:
        return check.deciding / check.limit
    return NO_RATIO + check.deciding if check.deciding > 0 else 0.0


@dataclass(repr=False)
class Laboratory:
    """Where trials are made.

    Parameters
    ----------
    space
        All candidates.
    frame, unread
        The confidential table as it came in, and columns of its file that were not read.
    goal
        What is made as large as possible.
    streams
        Of all trials, none of which is published.
    rows
        The records on which shapes are compared, where the whole file is too large for that; None for all.
    """

    space: Space
    frame: pd.DataFrame
    unread: Sequence[str]
    data: Microdata
    goal: Goal
    streams: Streams
    journal: Journal
    rows: Codes | None = None
    jobs: int = 1
    advance: Advance | None = None
    trials: list[Trial] = field(default_factory=list)
    spent: float = 0.0
    _fits: tuple[str, Fits] = field(default_factory=lambda: ("", Fits()))

    def __repr__(self) -> str:
        return f"Laboratory({len(self.trials)} trials)"

    def try_out(
        self,
        stage: str,
        shape: Shape,
        rung: int,
        *,
        draws: int,
        looks: int = 1,
        place: int = 0,
        whole: bool = True,
        off: Sequence[str] = (),
        level: float | None = None,
    ) -> Trial:
        """Return what a candidate comes to.

        Parameters
        ----------
        draws, looks
            How many draws, and how many times as many there may be where those leave doubt.
        place
            Tells apart draws that must not be the same, as those of two confirmations.
        whole
            Whether the whole file is drawn, or the records on which shapes are compared.
        off
            Limits that are not judged here, for their measures are dear and depend little on the masks.
        level
            Of the intervals whose ends decide, where it is not the gate's: so few draws have wide ones.
        """
        key = [stage, asdict(shape), rung, draws, looks, place, whole, sorted(off), level]
        before = self.journal.find(key)
        if before is not None:
            try:
                trial = Trial.of(before)
            except (KeyError, TypeError, ValueError):
                raise self.journal.damaged() from None
        else:
            trial = self._made(stage, shape, rung, draws, looks, place, whole, off, level)
            self.journal.keep(key, trial.plain())
        self.trials.append(trial)
        self.spent += trial.seconds
        return trial

    def data_of(self, config: Config) -> Microdata:
        """Return the records as a config declares them."""
        if config.variables == self.space.config.variables:
            return self.data
        return prepare(self.frame, config, unread=self.unread)

    def _made(
        self,
        stage: str,
        shape: Shape,
        rung: int,
        draws: int,
        looks: int,
        place: int,
        whole: bool,
        off: Sequence[str],
        level: float | None,
    ) -> Trial:
        began = time.perf_counter()
        known = self.known(stage, shape, rung) if not set(off) & set(DEAR) else ()
        config = without(self.space.config_of(shape, rung), (*off, *(one.name for one in known)))
        try:
            data = self.data_of(config)
            plan = plan_of(config, data)
            goal = self.goal
            if not whole and self.rows is not None:
                plan = part_of(plan, self.rows)
                goal = Goal(goal.name, part(self.goal.original, self.rows))
            if stage != CONFIRM:
                plan = replace(plan, fits=self.fits_of(stage))
            streams = self.streams.within("tune", stage, place)
            scanned = SCANNED_TO_CONFIRM if stage == CONFIRM else SCANNED
            most = max(draws, FINAL) if stage == "refine" else FINAL
            watched = Watched(config, plan, streams, self.jobs, self.advance, goal=goal, most=most, scanned=scanned)
            judged = judge(watched, study=True, count=draws, looks=looks)
        except SynthdpError as error:
            took = time.perf_counter() - began
            why = " ".join(str(error).split("\n"))
            return Trial(stage, shape, rung, False, float("-inf"), 0.0, {}, (), 0, took, problem=why)
        use, error_, parts = watched.use()
        risks = (*(one for one in at_level(judged, config, level) if not one.useful), *known)
        if watched.leaks:
            # masks so weak that the scanner stops the release, whatever intruders find
            risks = (*risks, Check(VERBATIM, "scan", float(len(watched.leaks)), 0.0, False))
        groups = by_group(judged, plan.tags.labels)
        took = time.perf_counter() - began
        passed = all(one.passed for one in risks) and math.isfinite(use)
        return Trial(stage, shape, rung, passed, use, error_, parts, risks, judged.draws, took, groups)

    def fits_of(self, stage: str) -> Fits:
        """Return the fits of a stage; those of the one before are not asked for again."""
        if self._fits[0] != stage:
            self._fits = (stage, Fits())
        return self._fits[1]

    def known(self, stage: str, shape: Shape, rung: int) -> tuple[Check, ...]:
        """Return what was memorised in a trial of the same stage that tells at least as much, if that was little.

        Risk is monotone in every strength, and what is memorised is counted per copy. A confirmation takes nothing from
        other trials.
        """
        if stage == CONFIRM:
            return ()
        for one in reversed(self.trials):
            if one.stage == stage and tells_more((one.shape, one.rung), (shape, rung)):
                found = tuple(check for check in one.checks if check.name in DEAR)
                if found and all(check.passed for check in found):
                    return found
        return ()


def tells_more(one: tuple[Shape, int], other: tuple[Shape, int]) -> bool:
    """Return whether a candidate differs from another in weaker masks, and in the number of copies, at most."""
    (first, low), (second, high) = one, other
    alike = replace(first, relative=second.relative, groups=second.groups, copies=second.copies) == second
    # a rung is a quarter of an octave, a step half of one
    weaker = all(low + 2 * a <= high + 2 * b for a, b in zip(first.relative, second.relative, strict=True))
    return alike and weaker and first.groups <= second.groups


def at_level(judged: Judged, config: Config, level: float | None) -> tuple[Check, ...]:
    """Return the gate's checks with intervals at another level, for trials of a few draws; no verdict rests on these.

    What rests on no draws stays as it is. The largest risk is read of intruders who weigh all rows, as the gate does of
    one release.
    """
    if level is None or judged.averages is None:
        return judged.verdict.checks
    again = [one for one in judged.averages.checks(config.limits, level=level) if not _coincidence(one)]
    names = {*(one.name for one in again), INDIVIDUAL, "max_claims_right"}
    return (*(one for one in judged.verdict.checks if one.name not in names), *again)


def _coincidence(check: Check) -> bool:
    """Return whether a figure rests on so few finds that in a few draws chance alone makes it large.

    Those are matches that are there or not, of which the largest of all records is taken, and the claims of somebody
    who makes a handful in every draw.
    """
    if check.deciding is None:
        return False
    if check.name == "max_claims_right":
        return check.attack == EXTREMES
    return check.name == INDIVIDUAL and check.attack not in (*WEIGHING, BAYES)


def part(data: Microdata, rows: Codes) -> Microdata:
    """Return some of the records."""
    return Microdata(data.frame.iloc[rows].reset_index(drop=True), data.schema)


def without(config: Config, names: Sequence[str]) -> Config:
    """Return a config in which some limits, and those on usefulness, are not judged."""
    off = {name: None for name in LIMITS if LIMITS[name].judges == "use" or name in names}
    known = {name: None for name in off if name in type(config.release).model_fields}
    return config.model_copy(update={"release": config.release.model_copy(update=known)})


def by_group(judged: Judged, labels: pd.Series) -> dict[str, float]:
    """Return by risk group the largest mean probability, over draws, that the worst intruder finds one of it."""
    if judged.averages is None:
        return {}
    found: dict[str, float] = {}
    for mean in judged.averages.records().values():
        for tag in labels.cat.categories:
            here = mean[(labels == tag).to_numpy()]
            if np.isfinite(here).any():
                found[str(tag)] = max(found.get(str(tag), 0.0), float(np.nanmax(here)))
    return found
