"""Twenty judgements by the gate of one mechanism, from a pool of fresh draws.

A judgement of the gate rests on 20 draws, and on 40 or 60 where they leave doubt (``synthdp.stages.judging``). The
pool has 100 draws, made and attacked as the gate does; judgement k takes them in order from draw 5k on, the first one
following the last. Each has the law of a judgement with a seed of its own. Judgements of one file share draws, so
that they tell less than twenty separate ones: intervals take files as the units. The intruder who knows how copies are
made learns once from the first draws, and halves of the file are fitted four times, for every fourth judgement.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from synthdp.config import Config
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Check
from synthdp.evaluation.gate.inquiry import MEAN_DRAWS, Averages, Drawn, Inquiry
from synthdp.evaluation.gate.tally import LEVEL
from synthdp.evaluation.leaks.draws import Read
from synthdp.seeding import Streams
from synthdp.stages.draws import EARLY_LEVEL, SHARPENED, Draws
from synthdp.stages.gating import judge
from synthdp.stages.judging import over_draws, unsure
from synthdp.synthesis.plan import Plan

POOL, COUNT, JUDGEMENTS, HALVED = 100, 20, 20, 4
# every fourth draw: five of any twenty in a row
MEANS_EVERY = COUNT // MEAN_DRAWS


@dataclass(frozen=True, repr=False)
class Recording(Inquiry):
    """An inquiry that remembers what was measured on every draw."""

    seen: list[tuple[Drawn, Read | str | None]] = field(default_factory=list)
    files: list[Comparison] = field(default_factory=list)

    def ask(
        self, comparison: Comparison, streams: Streams, *, means: bool = True, known: Mapping[str, Any] | None = None
    ) -> Drawn:
        """Take every measure, means over all records on every fourth draw."""
        found = super().ask(comparison, streams, means=len(self.seen) % MEANS_EVERY == 0, known=known)
        if not self.seen:
            self.files.append(comparison)
        self.seen.append((found, self.started().read(comparison, self.limits)))
        return found

    def started(self) -> Averages:
        """Return averages over no draws, which know the original."""
        found = Averages()
        found.read(self.files[0], self.limits)
        return found


@dataclass(frozen=True)
class Judgement:
    """What one judgement found: every check of a risk, how many draws it took, and how useful the copies were."""

    checks: tuple[Check, ...]
    draws: int
    overlap: float

    @property
    def passed(self) -> bool:
        """Whether every risk is within its limit."""
        return all(one.passed for one in self.checks)


def judgements(config: Config, plan: Plan, streams: Streams, *, pool: int = POOL) -> list[Judgement]:
    """Return the judgements of a mechanism on fresh draws."""
    blank = Comparison(plan.released.frame, (), plan.released.schema, aligned=True)
    recording = Recording(config.limits, config.request())
    draws = Draws(config, plan, streams)
    over_draws(recording, draws, blank=blank, earlier=(), count=pool, looks=1)
    halves = [_halves(config, plan, streams.within("halves", number)) for number in range(HALVED)]
    step = pool // JUDGEMENTS
    return [
        assembled(recording, k * step, streams.within("judgement", k), beside=halves[k % HALVED])
        for k in range(JUDGEMENTS)
    ]


def assembled(recording: Recording, first: int, streams: Streams, *, beside: tuple[Check, ...] = ()) -> Judgement:
    """Return the judgement that begins with one draw of the pool, going on as the gate does where it is in doubt."""
    found, pool = recording.started(), recording.seen
    drawn, level = 0, LEVEL
    while True:
        for number in range(drawn, drawn + COUNT):
            one, read = pool[(first + number) % len(pool)]
            # later draws count for the intruders only, as in the gate
            found.add(one if number < COUNT else Drawn(one.findings, {}, one.reasons))
            found.copied(read, rng=streams.generator("verbatim", number))
        drawn += COUNT
        if drawn == SHARPENED * COUNT or not unsure(list(found.checks(recording.limits, level=level))):
            break
        level = EARLY_LEVEL
    checks = list(found.checks(recording.limits))
    uses = [one.value for one in checks if one.name == "min_overlap" and one.attack == "panel" and one.value]
    risks = tuple(one for one in (*beside, *checks) if not one.useful)
    return Judgement(risks, drawn, uses[0] if uses else float("nan"))


def _halves(config: Config, plan: Plan, streams: Streams) -> tuple[Check, ...]:
    """Return the gate's checks that rest on no draws: halves of the file fitted, what is alone on kept keys."""
    off = {name: None for name in type(config.release).model_fields if name.startswith(("max_", "min_"))}
    kept = {name: getattr(config.release, name) for name in ("max_memorised", "max_exposed")}
    release = config.release.model_copy(update=off | kept)
    found = judge(Draws(config.model_copy(update={"release": release}), plan, streams), count=1, looks=1)
    return found.verdict.checks
