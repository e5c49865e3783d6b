"""The search itself: shapes explored, the best refined on the whole file, the answer confirmed afresh."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from synthdp.errors import InputError
from synthdp.stages.draws import SHARPENED, TOO_LARGE_TO_SHARPEN, count_of
from synthdp.tuning import blame
from synthdp.tuning.asking import Budget
from synthdp.tuning.confirming import Confirmed, begin, confirm, level_for
from synthdp.tuning.leaves import TREES, ladder
from synthdp.tuning.rays import HIGHEST, LOWEST, Border, Seen, find_border
from synthdp.tuning.shapes import Tried, propose
from synthdp.tuning.space import Shape, Space, told
from synthdp.tuning.trials import DEAR, Laboratory, Trial

# draws of a trial that explores: candidates share their noise, and the answer is confirmed on many
EXPLORED = 6
# up to so many records halves of the file are fitted in every trial: what is memorised may bind, and is soon told
CHEAP = 2000
# of the budget: what shapes may take, and what is left when no rung further than the first is refined or confirmed
EXPLORING, REFINING, CONFIRMING = 0.5, 0.7, 0.85
# shapes without a better one among them after which no more are tried
PATIENCE = 8
# rung at which masks say next to nothing: four times the column's own spread
LAST_RESORT = 8
# shapes that are refined on the whole file with more draws; beside them the best with masks equally strong, for the
# best of many shapes on a few draws is in part the luckiest
REFINED = 2
# of these so many whatever is left of the budget
ALWAYS = 2
# a few draws' bounds beyond a limit by so much, under the strongest masks: whether many pass is then open
NARROWLY = 0.15
# usefulness that chance may hide: paired draws leave less than this between two candidates
MARGIN = 0.005
# what a few draws find less useful than many draws find the best is not refined
HOPELESS = 0.02


@dataclass(frozen=True)
class Point:
    """A shape with the weakest masks that keep every limit, and how useful its copies are then."""

    shape: Shape
    rung: int
    use: float


@dataclass
class Search:
    """The search itself: deterministic, given the seed and what trials find.

    Parameters
    ----------
    lab
        Where trials are made; its journal answers what was tried before.
    tell
        Called with a sentence whenever there is a better candidate.
    nearest
        The shape that came nearest to the limits, where none keeps them.
    """

    lab: Laboratory
    budget: Budget
    seed: int
    tell: Callable[[str], None]
    best: float = -math.inf
    nearest: Shape | None = None
    said: tuple[str, ...] = ()

    @property
    def space(self) -> Space:
        """All candidates."""
        return self.lab.space

    @property
    def rungs(self) -> tuple[int, int]:
        """The ladder of strengths: one rung where masks are not varied."""
        return (LOWEST, HIGHEST) if "masks" in self.space.config.tuning.vary else (0, 0)

    def rungs_of(self, shape: Shape) -> tuple[int, int]:
        """Return the ladder of a shape: trees without masks have one of their own."""
        return ladder(shape.model) if shape.model == TREES else self.rungs

    def left(self, share: float) -> bool:
        """Return whether less than a share of the budget is spent."""
        return self.budget.left(self.lab.spent, len(self.lab.trials), share)

    def explore(self) -> list[Point]:
        """Return the borders of the shapes that were tried, the most useful first.

        Before them stands the most useful of the shapes that a few draws refuse narrowly, if it is more useful still:
        it is asked about again with many draws.
        """
        points: list[Point] = []
        near: list[Point] = []
        tried: list[Tried] = []
        moved: set[Shape] = set()
        since, strongest, counting = 0, self.rungs[1], False
        # masks and leaves have rungs of their own
        guess = {True: 0, False: 0}
        waiting = [self.space.shape()]
        # more copies under wider masks are worth most where time is short (reports/tune_files), so they come first
        space = self.space
        stages: list[Callable[[Shape], list[Shape]]] = [space.more_copies, space.trees, space.starts, space.moves]
        while tried == [] or (self.left(EXPLORING) and since < PATIENCE):
            while not waiting and points and stages:
                best = max(points, key=lambda one: one.use)
                if stages[0] == space.starts and (best.shape.model == TREES or best.rung >= LAST_RESORT):
                    # how masks stand to each other matters less where they say next to nothing, or there are none
                    stages.reverse()
                counting = stages[0] == space.more_copies
                waiting = stages.pop(0)(best.shape)
            if not waiting and not points and self.nearest is not None and self.nearest not in moved:
                # of all that no masks are enough for, what came nearest to the limits is changed further
                moved.add(self.nearest)
                waiting = self.space.moves(self.nearest, first=blame.first_change(self.lab.trials, self.nearest))
            shape = waiting.pop(0) if waiting else propose(self.space, tried, seed=self.seed)
            if shape is None:
                break
            if shape in {one.shape for one in tried}:
                continue
            border, last = self._ray(shape, guess[shape.model == TREES])
            if not tried and math.isnan(last.use):
                raise InputError(
                    f"tuning.goal: {self.space.config.tuning.goal} cannot be measured on this file, so no settings are "
                    "more useful than others; choose another goal."
                )
            if border.rung is None:
                excess = max(last.ratio - 1.0, 1e-6) if math.isfinite(last.ratio) else 10.0
                since = 0 if not points and tried and excess < min(one.excess for one in tried) else since + 1
                tried.append(Tried(shape, last.use if math.isfinite(last.use) else 0.0, excess))
                if not points and last.rung == strongest:
                    # masks that tell nothing are not enough, so no masks are: something else has to change, and whether
                    # that helps is seen under the strongest
                    guess[shape.model == TREES] = strongest
                self.nearest = min(tried, key=lambda one: one.excess).shape
                if last.rung == strongest and excess <= NARROWLY:
                    near.append(Point(shape, strongest, last.use))
                continue
            use = self._use(shape, border.rung)
            if not points or (counting and use > self.best):
                # changes of a shape that no masks are enough for are no longer asked about, and where the most copies
                # are better than few, those between are not
                waiting = []
            tried.append(Tried(shape, use, 0.0))
            points.append(Point(shape, border.rung, use))
            since = 0 if use > self.best + MARGIN else since + 1
            if use > self.best or shape.model == TREES:
                guess[shape.model == TREES] = border.rung
            if use > self.best:
                self.best = use
                self.tell(f"best so far: usefulness {use:.3f} ({told(self.space, shape)}), to be confirmed")
        better = [one for one in near if one.use > self.best]
        first = [max(better, key=lambda one: one.use)] if better else []
        return first + sorted(points, key=lambda one: -one.use)

    def _ray(self, shape: Shape, guess: int) -> tuple[Border, Trial]:
        last: list[Trial] = []

        def look(rung: int) -> Seen:
            whole, level = self.lab.rows is None, self._level(EXPLORED)
            # what trees hold by heart is what their leaves have to be large for, and they are soon fitted
            known = shape.model == TREES and whole
            off = DEAR if len(self.lab.data) > CHEAP and not known else ()
            trial = self.lab.try_out("explore", shape, rung, draws=EXPLORED, whole=whole, off=off, level=level)
            last.append(trial)
            return Seen(trial.passed, trial.use, trial.ratio)

        low, high = self.rungs_of(shape)
        first = self.best == -math.inf
        border = find_border(
            look,
            guess=guess,
            best=self.best,
            lowest=low,
            highest=high,
            # the first border may be anywhere, those of other shapes lie near it
            stride=4 if first else 1,
            margin=MARGIN,
            # a search that has nothing yet goes on until something passes, whatever that takes
            more=lambda: (first and not any(trial.passed for trial in last)) or self.left(REFINING),
        )
        return border, last[-1]

    def _use(self, shape: Shape, rung: int) -> float:
        mine = [one for one in self.lab.trials if one.stage == "explore" and (one.shape, one.rung) == (shape, rung)]
        return mine[-1].use

    def refine(self, points: Sequence[Point]) -> list[Point]:
        """Return points, the most useful first, once every limit is judged, on the whole file and more draws.

        The best two, masks and trees if both are far enough, are refined whatever is left of the budget: what is best
        on a few draws may need so much more that the other is better.
        """
        draws = count_of(self.space.config, len(self.lab.data))
        best: Point | None = None
        found: list[Point] = []
        # a few draws may refuse what many would not: that nothing passes is said only where all the gate's draws say so
        last_resort = [Point(self.nearest or self.space.shape(), min(LAST_RESORT, self.rungs[1]), -math.inf)]
        finalists = self._finalists(points) or last_resort
        for place, point in enumerate(finalists):
            if place > REFINED or (best is not None and place >= ALWAYS and not self.left(REFINING)):
                break
            if best is not None and point.use < best.use - HOPELESS:
                continue
            uses: dict[int, float] = {}

            def look(rung: int, shape: Shape = point.shape, uses: dict[int, float] = uses) -> Seen:
                trial = self.lab.try_out("refine", shape, rung, draws=draws, looks=self._looks())
                uses[rung] = trial.use
                return Seen(trial.passed, trial.use, trial.ratio)

            low, high = self.rungs_of(point.shape)
            border = find_border(
                look,
                guess=point.rung,
                best=-math.inf if best is None else best.use,
                lowest=low,
                highest=high,
                stride=1 if self.lab.rows is None and points else 4,
                margin=MARGIN,
                more=lambda found=best: found is None or self.left(CONFIRMING),  # type: ignore[misc]
            )
            if border.rung is None:
                continue
            found.append(Point(point.shape, border.rung, uses[border.rung]))
            if best is None or uses[border.rung] > best.use:
                best = found[-1]
                self.tell(f"best so far: usefulness {best.use:.3f} ({told(self.space, best.shape)}), all limits judged")
        return sorted(found, key=lambda one: -one.use)

    def _finalists(self, points: Sequence[Point]) -> list[Point]:
        """Return points in the order in which they are refined: the best, that of the other kind, the best plain one.

        The kinds are masks and trees; plain is what has all masks equally strong. It goes before another shape of masks
        where chance alone may have put that before it.
        """
        masked = [one for one in points if one.shape.model != TREES]
        plain = next((one for one in masked if one.shape == self.space.plain(one.shape)), None)
        if plain is not None and plain.use >= masked[0].use - MARGIN:
            masked = [plain, *(one for one in masked if one is not plain)]
        trees = [one for one in points if one.shape.model == TREES]
        first = [some[0] for some in (masked, trees) if some]
        first.sort(key=lambda one: -one.use)
        if plain is not None and plain not in first:
            first.append(plain)
        return [*first, *(one for one in points if one not in first)]

    def _looks(self) -> int:
        return 1 if len(self.lab.data) >= TOO_LARGE_TO_SHARPEN else SHARPENED

    def _level(self, draws: int) -> float:
        """Return the level of so few draws' intervals that ends where the confirmation will."""
        tuning = self.space.config.tuning
        return round(level_for(draws, tuning.holds, final=SHARPENED * tuning.confirm), 4)

    def confirm_first(self, refined: Sequence[Point], explored: Sequence[Point] = ()) -> Confirmed:
        """Return the first point that holds on fresh draws, or whose shape does under stronger masks.

        Where it took stronger masks, so that the next point may be more useful, that one is confirmed as well, and the
        better of the two is taken. Where no refined one holds, those are tried whose border lies lowest on the ladder,
        for there is room for stronger masks; of those with the same border the ones with the fewest copies.
        """
        steps: tuple[tuple[str, ...], ...] = ()
        known = {one.shape for one in refined}
        others = [one for one in explored if one.shape not in known]
        others.sort(key=lambda one: (one.rung, one.shape.copies, -one.use))
        held: Trial | None = None
        for point in (*refined, *others[:REFINED]):
            if held is not None and (held.use >= point.use - MARGIN or point not in refined or not self.left(1.0)):
                break
            found = self.confirm(point)
            steps += found.steps
            if found.trial is not None and (held is None or found.trial.use > held.use):
                held = found.trial
        return Confirmed(held, steps)

    def confirm(self, best: Point) -> Confirmed:
        """Return the first candidate at or above the best rung that holds on fresh draws."""
        tuning = self.space.config.tuning
        place = [0]

        def look(rung: int, times: int) -> Trial:
            place[0] += 1
            looks = self._looks() if times == 1 else 1
            return self.lab.try_out(
                "confirm", best.shape, rung, draws=tuning.confirm * times, looks=looks, place=place[0]
            )

        high, final = self.rungs[1], count_of(self.space.config, len(self.lab.data)) * self._looks()
        refined = [one for one in self.lab.trials if one.stage == "refine" and one.shape == best.shape]
        first = min(begin(refined, best.rung, holds=tuning.holds, final=final), high)
        return confirm(look, first, holds=tuning.holds, final=final, more=lambda: self.left(1.0), highest=high)

    def picture(self, chosen: Trial) -> None:
        """Make the trials that only the pictures need: strengths for few copies and many, and one column at a time."""
        from synthdp.tuning.picturing import columns, strengths

        strengths(self.lab, chosen, more=lambda: self.left(1.0))
        columns(self.lab, chosen, more=lambda: self.left(1.0))
