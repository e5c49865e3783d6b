"""The joint draw: paths through all columns, proposed forward and weighted by how well they explain what W says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from synthdp.arrays import Codes, Floats
from synthdp.imputation.auto.design import Encoding
from synthdp.imputation.auto.impossible import Impossible
from synthdp.imputation.auto.levels import Levels, Told
from synthdp.imputation.auto.matching import Matching
from synthdp.imputation.auto.numbers import Linear
from synthdp.imputation.model import Task
from synthdp.imputation.trees.binning import Binning, Bins
from synthdp.imputation.trees.particles import Paths, choose_path
from synthdp.masking.evidence import Evidence, about_levels, about_numbers

BLOCK = 2**17
# what W says of the levels of a number
NOTHING = Told.of(np.empty((0, 0)))


@dataclass(frozen=True, repr=False)
class Branch:
    """One draw of a column's distribution, and how its values enter the trees after it."""

    name: str
    value: Linear | Levels
    absent: Linear | Levels | None
    binning: Binning
    row: int


@dataclass(frozen=True, repr=False)
class AutoParameters:
    """One draw of θ, about some of the records."""

    codes: Bins
    rows: Codes
    branches: tuple[Branch, ...]
    encodings: Mapping[str, Encoding]
    particles: int
    sweeps: int
    matching: Matching | None = None
    impossible: Impossible = field(default_factory=Impossible)

    def __repr__(self) -> str:
        return f"AutoParameters({len(self.branches)} columns)"

    def of(self, rows: Codes | slice) -> "AutoParameters":
        """Return the same θ for some of the records."""
        return replace(self, codes=self.codes[:, rows], rows=self.rows[rows], matching=None)

    def unbounded(self, rows: Codes) -> "AutoParameters":
        """Return the same θ for some of the records, one path each (exact without evidence)."""
        return replace(self.of(rows), particles=1, sweeps=0)

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw all replaced columns jointly from p(x | z, w, θ).

        Cost O(n · paths · (leaf groups + predictors)) per column.
        """
        drawn = np.empty((len(self.branches), self.codes.shape[1]))
        matching = self.matching
        alone = len(self.branches) == 1 and matching is None
        for rows in self._blocks():
            here = self.of(np.arange(self.codes.shape[1])[rows])
            heard = [_heard(evidence[branch.name][rows], branch.value) for branch in self.branches]
            paths = here.possible(here.propose(heard, 1 if alone else self.particles, rng=rng))
            # paths of a single column are draws already
            for _ in range(self.sweeps if len(self.branches) > 1 else 0):
                chosen = choose_path(paths, rng=rng)
                new = here.propose(heard, self.particles - 1, rng=rng)
                both = Paths(
                    values=np.concatenate([chosen.values[:, :, None], new.values], axis=2),
                    log_weight=np.concatenate([chosen.log_weight[:, None], new.log_weight], axis=1),
                )
                paths = here.possible(both)
            if matching is None:
                drawn[:, rows] = choose_path(paths, rng=rng).values
                continue
            values = {branch.name: paths.values[j] for j, branch in enumerate(self.branches)}
            taken, matching = matching.taken(here.rows, values, paths.log_weight, rng=rng)
            drawn[:, rows] = paths.values[:, np.arange(len(taken)), taken]
        return {branch.name: drawn[j] for j, branch in enumerate(self.branches)}

    def possible(self, paths: Paths) -> Paths:
        """Return the paths, those with levels that never go together without weight."""
        values = {branch.name: paths.values[j] for j, branch in enumerate(self.branches)}
        return Paths(paths.values, self.impossible.without(self.rows, values, paths.log_weight))

    def complete(self, task: Task, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the original's replaced columns with a draw where there is no value."""
        found: dict[str, Floats] = {}
        state = _State(self.codes.copy(), self.encodings)
        for branch in self.branches:
            x = task.working[branch.name]
            known = np.isfinite(x)
            found[branch.name] = x
            if not known.all():
                quiet = _silent(branch.value, len(x))
                found[branch.name] = np.where(known, x, self._value(branch.value, state, quiet, 1, rng=rng)[0])
            state.put(branch, x)
        return found

    def propose(self, heard: "list[_Heard]", count: int, *, rng: np.random.Generator) -> Paths:
        """Return ``count`` paths of each record, drawn forward, with their log weights."""
        n = self.codes.shape[1]
        state = _State(np.repeat(self.codes, count, axis=1), self.encodings)
        values, log_weight = np.empty((len(self.branches), n, count)), np.zeros(n * count)
        for j, branch in enumerate(self.branches):
            # before the first column a record's paths have nothing of their own
            state.shared = j == 0
            absent = np.zeros(n * count, dtype=bool)
            if branch.absent is not None:
                absent = self._value(branch.absent, state, _silent(branch.absent, n), count, rng=rng)[0] > 0
            x, norm = self._value(branch.value, state, heard[j], count, rng=rng)
            log_weight += norm
            x = np.where(absent, np.nan, x)
            values[j] = x.reshape(n, count)
            if j + 1 < len(self.branches):
                state.put(branch, x)
        return Paths(values, log_weight.reshape(n, count))

    def _value(
        self, part: Linear | Levels, state: "_State", heard: "_Heard", count: int, *, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        leaves = part.tree.apply(self.codes).repeat(count) if state.shared else part.tree.apply(state.codes)
        record = np.repeat(np.arange(self.codes.shape[1]), count)
        shift = np.empty(0)
        if part.base is not None:
            shift = part.base[self.rows][record]
            for name, slopes in part.slopes.items():
                shift = shift + state.columns(name) @ slopes
        if isinstance(part, Linear):
            return part.draw(leaves, shift, heard.center[record], heard.precision[record], rng=rng)
        return part.draw(leaves, shift, heard.levels, record, rng=rng)

    def _blocks(self) -> Iterator[slice]:
        n = self.codes.shape[1]
        count = max(-(-n * self.particles // BLOCK), 1)
        # every so-many-th record: files are often sorted, and each part should have something of all of it
        return (slice(start, n, count) for start in range(count))


@dataclass(repr=False)
class _State:
    """Paths while they are drawn: bins for the trees, encoded values for the regressions that ask for them."""

    codes: Bins
    encodings: Mapping[str, Encoding]
    shared: bool = False
    drawn: dict[str, Floats] = field(default_factory=dict)
    _encoded: dict[str, Floats] = field(default_factory=dict)

    def put(self, branch: Branch, x: Floats) -> None:
        self.codes[branch.row] = branch.binning.bins(x)
        self.drawn[branch.name] = x

    def columns(self, name: str) -> Floats:
        if name not in self._encoded:
            self._encoded[name] = self.encodings[name].columns(self.drawn[name])
        return self._encoded[name]


@dataclass(frozen=True, repr=False)
class _Heard:
    """What W says of one column, by record."""

    center: Floats
    precision: Floats
    levels: Told


def _heard(evidence: Evidence, part: Linear | Levels) -> _Heard:
    if isinstance(part, Linear):
        about = about_numbers(evidence)
        return _Heard(about.mean(), np.ascontiguousarray(about.precision), NOTHING)
    quiet = np.zeros(len(evidence))
    return _Heard(quiet, quiet, Told.of(about_levels(evidence).log_weights))


def _silent(part: Linear | Levels, n: int) -> _Heard:
    levels = 0
    if isinstance(part, Levels):
        levels = part.correction.shape[1] if part.donors is None else int(part.donors.value.max(initial=0)) + 1
    return _Heard(np.zeros(n), np.zeros(n), Told.of(np.zeros((n, levels))))
