"""What draws have in common with the file: totals of replaced columns, times kept columns and products of two of them.

    Σ_i f(x_i) · z_ij · z_ik

f is a value or its square, on the column's own scale, whether a record has a level, or no value, or a product of two
such of different columns (these times one kept column only, and of the first few features of every column); or whether
a number lies in one of eight bins (these alone). With them margins, means, variances, two-way tables and regressions
with products of two columns are kept.

A total tells of those who make it up. Levels of few records have none, and a total that few records dominate is left
alone: (Σ|t|)² / Σt², the number of equal records that would make it, must reach five. That alone would not do: copies
keep a total to within a few usual records, so that whoever knows everybody else's values learns that of a record which
is worth many usual ones. Replaced numbers more than twenty sd from the mean therefore count as twenty, mean and sd
taken with the five smallest and largest brought in to the fifth. Kept numbers count as they are: with one that stands
out far beyond the others, what its record has in the replaced columns weighs as much more in their products.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.imputation.auto.features import EQUAL, HAVE, Feature, features_of, frequent, in_turn
from synthdp.imputation.auto.strength import Strength, equals, strengths
from synthdp.imputation.model import Task
from synthdp.table.applies import needs

# the fewest records that are matched, and the least share of them that would make up a total if they were equal
FEWEST, SHARE = 200, 0.002
MOST_KEPT, MOST_CROSSED = 30, 16
LARGE, MOST_CROSSED_IN_LARGE = 5_000, 12
# records that standard errors are taken from, at most
ENOUGH = 4_000

# products of features that are added up in one go
TOGETHER = 32
# records whose features are worked out at a time
AT_A_TIME = 2_048

# a feature and two kept columns
Total = tuple[int, int, int]


@dataclass(frozen=True, repr=False)
class Totals:
    """What can be matched.

    Parameters
    ----------
    features
        Of single columns.
    crossed
        Pairs of features of different columns.
    original
        The features of the file's records: one row each.
    kept
        The kept columns, the constant first.
    equal
        Of how many equal records each total could be made up, feature by feature.
    applies
        Of columns that do not apply to everyone, to which records of the file.
    strengths, held
        Of columns with few records to a level: how strongly they go with others, and what the file's records have.
    """

    features: tuple[Feature, ...]
    crossed: tuple[tuple[int, int], ...]
    original: Floats
    kept: Floats
    equal: tuple[Floats, ...]
    applies: Mapping[str, Booleans] = field(default_factory=dict)
    strengths: tuple[Strength, ...] = ()
    held: Floats = field(default_factory=lambda: np.empty((0, 0)))

    @classmethod
    def of(cls, task: Task, names: Sequence[str], exclude: Sequence[str] = ()) -> "Totals | None":
        """Return what can be matched; None where there are too few records.

        Columns have none where whether they apply is itself drawn.
        """
        n = len(task.data)
        fixed = {column.name for column in task.data.schema.kept()}
        sure = [name for name in names if name not in task.applies or needs(task.data.schema[name]) <= fixed]
        features = [feature for name in sure for feature in features_of(task, name)]
        if n < FEWEST or not features:
            return None
        single = [k for k in in_turn(features) if features[k].low is None]
        single = single[: MOST_CROSSED if n < LARGE else MOST_CROSSED_IN_LARGE]
        crossed = [(a, b) for i, a in enumerate(single) for b in single[i + 1 :]]
        original = [
            feature.of(task.working[feature.column][:n] if feature.link is None else task.data.numbers(feature.column))
            for feature in features
        ]
        pairs = tuple((a, b) for a, b in crossed if features[a].column != features[b].column)
        matrix, kept = np.column_stack(original), _kept(task, exclude)
        applies = {name: task.applies[name][:n] for name in sure if name in task.applies}
        codes = {name: task.working[name][:n] for name in sure if name not in task.links}
        levels = {name: len(task.data.schema[name].levels) for name in codes}
        found = strengths(codes, levels, kept) if n < LARGE else ()
        held = np.array([one.at(codes) for one in found]).reshape(-1, n).T
        equal = (*_equal(matrix, pairs, kept), *equals(held, found, kept))
        return cls(tuple(features), pairs, matrix, kept, equal, applies, found, held)

    def asked(self, rows: Codes, values: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the paths of some records of the file, with no value where a column does not apply."""
        found = dict(values)
        for name, applies in self.applies.items():
            found[name] = np.where(applies[rows, None], values[name], np.nan)
        return found

    def paths(self, values: Mapping[str, Floats], used: Sequence[int] | None = None) -> Floats:
        """Return the features of paths and their products, or the used ones of them: records × paths × features.

        Where missing values are too few to be counted, a path on which a value is missing has the mean of the record's
        other paths: otherwise λ, which is not about them, would favour or avoid them.
        """
        used = range(self.many) if used is None else used
        names = {self.features[part].column: part for feature in used for part in self._parts(feature)}
        counted = {feature.column for feature in self.features if feature.absent}
        n, paths = next(iter(values.values())).shape
        # feature by feature, record beside record, which is how they are weighed
        found: Floats = np.empty((len(used), paths, n), dtype=np.float32)
        for start in range(0, n, AT_A_TIME):
            rows = slice(start, start + AT_A_TIME)
            own = {name: self.features[part].own(values[name][rows]) for name, part in names.items()}
            gaps = {name: np.isnan(x) for name, x in own.items() if name not in counted and np.isnan(x).any()}
            single = {part: self._filled(part, own, gaps) for part in {p for f in used for p in self._parts(f)}}
            for place, feature in enumerate(used):
                if feature >= self.plain:
                    drawn = {name: x[rows] for name, x in values.items()}
                    found[place, :, rows] = self.strengths[feature - self.plain].at(drawn).T
                    continue
                parts = self._parts(feature)
                term = single[parts[0]] if len(parts) == 1 else single[parts[0]] * single[parts[1]]
                found[place, :, rows] = term.T
        return found.transpose(2, 1, 0)

    def _filled(self, feature: int, own: Mapping[str, Floats], gaps: Mapping[str, Booleans]) -> Floats:
        column = self.features[feature].column
        found = self.features[feature].of(own[column])
        if column in gaps:
            known = ~gaps[column]
            mean = np.where(known, found, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
            found = np.where(known, found, mean[:, None])
        return found

    def records(self, rows: Codes, used: Sequence[int] | None = None) -> Floats:
        """Return the same of the file's records, one column each."""
        used = range(self.many) if used is None else used
        found = np.ascontiguousarray(self.original[rows].T)
        terms = np.empty((len(used), len(rows)))
        for place, feature in enumerate(used):
            if feature >= self.plain:
                terms[place] = self.held[rows, feature - self.plain]
                continue
            parts = self._parts(feature)
            terms[place] = found[parts[0]] if len(parts) == 1 else found[parts[0]] * found[parts[1]]
        return np.ascontiguousarray(terms.T)

    @property
    def plain(self) -> int:
        """How many features are of single columns, or products of two."""
        return len(self.features) + len(self.crossed)

    @property
    def many(self) -> int:
        """How many there are, with strengths, which come last."""
        return self.plain + len(self.strengths)

    def _parts(self, feature: int) -> tuple[int, ...]:
        if feature >= self.plain:
            return ()
        return (feature,) if feature < len(self.features) else self.crossed[feature - len(self.features)]

    def farthest(
        self, rows: Codes, left: Floats, reach: Floats, *, taken: Sequence[Total], most: int, near: float, bins: bool
    ) -> list[Total]:
        """Return the totals that are farthest off, in their standard errors; margins, up to half, go first.

        Where columns nearly tell each other, products of them are far off in great number. Margins of other columns
        would find no place, and what is kept of the products would move them. Cost O(n · features · kept²).

        Parameters
        ----------
        left
            What is expected of each record's features, taken off those it has.
        reach
            The sd of each feature over a record's paths. A total that all records together could move by an sd each,
            but not by twice what it is off (a strength: by what it is off), is left alone.
        most, near
            How many at most, and how far off is not worth while.
        bins
            Whether bins of numbers are looked at, by themselves, or everything else.
        """
        kept = self.kept[rows]
        some = slice(None, None, max(len(rows) // ENOUGH, 1))
        more = len(rows) / len(kept[some])
        size, square = np.abs(kept[some]), kept[some] ** 2
        asked = [
            f for f in range(left.shape[1]) if (f < len(self.features) and self.features[f].low is not None) == bins
        ]
        # a part of the file has a part of those who make up a total
        least = max(EQUAL, SHARE * len(rows)) / (len(rows) / len(self.kept))
        found: list[tuple[Floats, Codes]] = []

        def note(features: Sequence[int], off: Floats, variance: Floats, movable: Floats, equal: Floats) -> None:
            """Note which of these totals are far off; axes are features and two kept columns, or one where it is 1."""
            usable = (equal >= least) & (variance > 0) & (off <= movable)
            z = np.where(usable, off / np.sqrt(np.where(variance > 0, variance, 1.0)), 0.0)
            far = np.argwhere(z > near)
            # a product of two kept columns is one total, whichever comes first
            far = far[far[:, 1] <= far[:, 2]]
            found.append((z[tuple(far.T)], np.column_stack([np.asarray(features)[far[:, 0]], far[:, 1:]])))

        for f in asked:
            if bins or f >= len(self.features):
                continue
            off = np.abs(kept.T @ (left[:, f, None] * kept))
            variance = more * square.T @ (left[some, f, None] ** 2 * square)
            movable = more * size.T @ (reach[some, f, None] * size)
            note([f], off[None], variance[None], movable[None] / 2, self.equal[f][None])
        # bins and products have totals with one kept column only: all of them in one go
        alone = [f for f in asked if bins or f >= len(self.features)]
        if alone:
            beside = 1 if bins else kept.shape[1]
            off = np.abs(left[:, alone].T @ kept[:, :beside])
            variance = more * (left[some][:, alone] ** 2).T @ square[:, :beside]
            movable = more * reach[some][:, alone].T @ size[:, :beside]
            # everybody makes up a strength, so that it is reached from farther away
            times = np.where(np.asarray(alone) >= self.plain, 1, 2)[:, None]
            equal = np.stack([self.equal[f][0, :beside] for f in alone])
            note(alone, off[:, None], variance[:, None], (movable / times)[:, None], equal[:, None])
        return self._first([z for z, _ in found], [which for _, which in found], taken=taken, most=most)

    def _first(
        self, far: Sequence[Floats], which: Sequence[Codes], *, taken: Sequence[Total], most: int
    ) -> list[Total]:
        """Return the totals that are farthest off and not taken yet, margins before others, up to half."""
        if not far:
            return []
        z, totals = np.concatenate(far), np.concatenate(which)
        order = np.argsort(-z, kind="stable")
        margin = (totals[order, 0] < len(self.features)) & ~totals[order, 1:].any(axis=1)
        old, half = set(taken), -(-most // 2)
        # no more than these can be wanted
        ranked: list[Total] = [(f, j, k) for f, j, k in totals[order[: most + len(old)]].tolist()]
        margins: list[Total] = [(f, j, k) for f, j, k in totals[order[margin][: half + len(old)]].tolist()]
        first = [one for one in margins if one not in old][:half]
        known = old | set(first)
        return [*first, *(one for one in ranked if one not in known)][:most]


def _equal(original: Floats, crossed: Sequence[tuple[int, int]], kept: Floats) -> tuple[Floats, ...]:
    """Return of how many equal records each total could be made up, feature by feature; 0 of one that is always 0."""
    size, square = np.abs(kept), kept**2
    pairs = [(square.T @ (x[:, None] ** 2 * square), size.T @ (np.abs(x)[:, None] * size)) for x in original.T]
    # products of two features have totals with one kept column only: many of them in one go
    for start in range(0, len(crossed), TOGETHER):
        left, right = np.asarray(crossed[start : start + TOGETHER]).T
        x = np.abs(original[:, left] * original[:, right])
        sums = x.T @ size
        x *= x
        pairs += [(a[None, :], b[None, :]) for a, b in zip(x.T @ square, sums, strict=True)]
    return tuple(np.where(a > 0, b**2 / np.where(a > 0, a, 1.0), 0.0) for a, b in pairs)


def _kept(task: Task, exclude: Sequence[str]) -> Floats:
    """Return the kept columns: numbers standardised, levels that enough records have."""
    found = [np.ones(len(task.data))]
    for column in task.data.schema.kept():
        if column.name in exclude:
            continue
        if column.kind.categorical:
            codes = task.data.codes(column.name).astype(np.float64)
            found += [(codes == level).astype(np.float64) for level in frequent(codes)]
            continue
        x = task.data.numbers(column.name)
        known = np.isfinite(x)
        if known.sum() >= HAVE and x[known].std() > 0:
            found.append(np.where(known, (x - x[known].mean()) / x[known].std(), 0.0))
    return np.column_stack(found[: MOST_KEPT + 1])
