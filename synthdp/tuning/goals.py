"""How useful the copies of one draw are: what tuning makes as large as possible."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.finding import Leak
from synthdp.evaluation.leaks.scan import copied
from synthdp.evaluation.measures import measure
from synthdp.seeding import Streams
from synthdp.stages.draws import LARGE, Draws, beside
from synthdp.synthesis.plan import Release
from synthdp.table.microdata import Microdata

# measures of how unlike the original copies are: 1 is what perfect copies give, and more is worse
UNLIKE = ("pmse", "tables")
# draws that are scanned for what is copied over, and of a confirmation; of a large file one tells it as well
SCANNED, SCANNED_TO_CONFIRM = 3, 20


@dataclass(frozen=True, repr=False)
class Goal:
    """What is made as large as possible.

    Parameters
    ----------
    name
        As ``tuning.goal`` has it.
    original
        The records as the config declares them, before any column was made coarser for the sake of tuning: what
        coarsening costs is part of usefulness.
    """

    name: str
    original: Microdata

    def of(self, draws: Draws, made: Release) -> dict[str, float]:
        """Return the parts of the usefulness of one draw, by measure; its mean is the usefulness."""
        files = replace(beside(draws.plan, made), request=draws.config.request())
        if draws.plan.released.frame is not self.original.frame and len(self.original) == len(files.original):
            files = replace(files, original=self.original.frame, schema=self.original.schema)
        names = [self.name]
        if self.name == "panel" and draws.config.analyses:
            names.append("analyses")
        return {name: value for name in names if (value := self._part(name, files)) is not None}

    def _part(self, name: str, files: Comparison) -> float | None:
        rng = Streams(0).generator("evaluate", name)
        try:
            if name == "tables":
                found = measure(name).take(files, rng=rng).section()
                ratios = [float(one["s_pmse"]) for one in found if one.get("s_pmse") is not None]
                values = [float(np.mean(ratios))] if ratios else []
            else:
                values = list(measure(name).judged(files, rng=rng, found=None).values())
        except InputError:
            return None
        if not values:
            return None
        return 1.0 / max(1.0, values[0]) if name in UNLIKE else float(values[0])


@dataclass(frozen=True, repr=False)
class Watched(Draws):
    """Draws of which the usefulness is noted as they pass by on their way to the gate.

    Parameters
    ----------
    goal
        What is noted.
    seen
        The parts of every draw's usefulness.
    most
        Of how many draws it is noted: it is a mean over all records, and settles sooner than a largest risk.
    leaks, scanned
        What the scanner for leaks finds copied over in the first few draws: ``run`` would not publish that.
    """

    goal: Goal | None = None
    seen: list[dict[str, float]] = field(default_factory=list)
    most: int = 12
    leaks: list[Leak] = field(default_factory=list)
    scanned: int = SCANNED

    def repeat(self, count: int, first: int = 0) -> Iterator[Release]:
        """Yield the copies, noting how useful they are."""
        for number, made in enumerate(super().repeat(count, first), start=first):
            if number < (self.scanned if len(self.plan.data) < LARGE else 1):
                data, rng = self.plan.released, self.streams.generator("tune", "scan", number)
                self.leaks.extend(copied(data.frame, made.copies, data.schema, rng=rng))
            if self.goal is not None and len(self.seen) < self.most:
                self.seen.append(self.goal.of(self, made))
            yield made

    def use(self) -> tuple[float, float, dict[str, float]]:
        """Return the mean usefulness over draws, its standard error, and the means of its parts."""
        known = [one for one in self.seen if one]
        if not known:
            return float("nan"), float("nan"), {}
        each = np.asarray([np.mean(list(one.values())) for one in known])
        error = float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
        parts = {name: float(np.mean([one[name] for one in known if name in one])) for name in known[0]}
        return float(each.mean()), error, parts
