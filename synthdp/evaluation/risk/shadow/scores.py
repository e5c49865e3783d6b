"""What the intruder reads off the copies of one fit: a few scores of each target, answers to questions, statistics."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.evaluation.risk.shadow.questions import LARGEST, Coder, Questions, ask, compare, near
from synthdp.table.microdata import Codes, Floats

NEIGHBOURS = 5
RADII = (0.5, 1.0)
SMALLEST = 1e-9
MOST_COLUMNS, MOST_LEVELS, MOST_STATISTICS = 24, 5, 120
QUANTILES = (0.0, 0.01, 0.05, 0.5, 0.95, 0.99, 1.0)


@dataclass(frozen=True, repr=False)
class Marks:
    """What one fit says of all targets.

    Parameters
    ----------
    scores
        Shape (targets, scores), larger for members; named by :attr:`Sheet.names`.
    answers
        Square roots of the counts of rows that answer each question, shape (targets, queries).
    statistics
        Of the copies as a whole: the same for all targets.
    copies
        How many copies there were.
    """

    scores: Floats
    answers: Floats
    statistics: Floats
    copies: int = 1

    def __repr__(self) -> str:
        return f"Marks({len(self.scores)} targets)"


@dataclass(frozen=True, repr=False)
class Sheet:
    """What is needed to mark a fit, fixed before the first one.

    ``distance`` is minus the distance to the closest row, ``distance_replaced`` the same on the replaced columns only;
    ``close`` and ``closer`` count the rows within the distance, and half the distance, of the target's 5th neighbour
    in the original; ``density`` says how much nearer the 5 nearest rows are than the 5 nearest of a reference set that
    was not fitted, as a log ratio (the ratio p_G/p_R of van Breugel et al. 2023, with nearest neighbours for both
    densities);
    ``values`` adds −log(share) of every value of a replaced column that stands exactly in some row, so that rare values
    count.

    References
    ----------
    van Breugel, Sun, Qian and van der Schaar (2023), "Membership inference attacks against synthetic data through
    overfitting detection", AISTATS, PMLR 206, 3493-3514 (DOMIAS). Stadler, Oprisanu and Troncoso (2022), "Synthetic
    data - anonymisation groundhog day", USENIX Security, 1451-1468 (features of whole files).
    """

    coder: Coder
    records: Floats
    targets: Codes
    questions: Questions
    radii: Floats
    weights: Floats
    names: tuple[str, ...]
    design: tuple[tuple[int, float], ...]
    pairs: tuple[Codes, Codes]

    def __repr__(self) -> str:
        return f"Sheet({len(self.targets)} targets, {len(self.names)} scores)"

    @classmethod
    def of(cls, coder: Coder, frame: pd.DataFrame, targets: Codes, *, rng: np.random.Generator) -> "Sheet":
        """Return the sheet for these targets. Cost O(targets · n)."""
        records = coder.code(frame)
        aimed = records[targets]
        # the nearest record is the target itself
        fifth = near(aimed, records, min(NEIGHBOURS + 1, len(records)))[:, -1]
        share = np.stack([np.mean(records == one, axis=0) for one in aimed])
        replaced = coder.replaced
        names = (
            "distance",
            *(() if replaced.all() else ("distance_replaced",)),
            "close",
            "closer",
            "density",
            "values",
        )
        design = _design(coder, records)
        first, second = np.triu_indices(len(design), k=1)
        room = max(0, MOST_STATISTICS - len(_single(coder, records, design)))
        some = np.sort(rng.permutation(len(first))[:room])
        return cls(
            coder,
            records,
            targets,
            ask(coder, records, aimed, rng=rng),
            fifth[:, None] * np.asarray(RADII[::-1]),
            np.where(replaced, -np.log(share), 0.0),
            names,
            design,
            (first[some].astype(np.int64), second[some].astype(np.int64)),
        )

    def mark(self, copies: Sequence[pd.DataFrame], reference: Codes) -> Marks:
        """Return what the copies of one fit say.

        Notes
        -----
        Cost O(targets · rows · (columns + queries)) for the rows of all copies together.
        """
        rows = np.concatenate([self.coder.code(copy) for copy in copies])
        aimed = self.records[self.targets]
        asked = self.questions
        replaced: Booleans = self.coder.replaced
        found = near(aimed, rows, min(NEIGHBOURS, len(rows)))
        closest, within, seen, answers = compare(
            aimed, rows, replaced, self.radii, asked.column_of, asked.low, asked.high, asked.queries
        )
        density = -np.log(found.mean(axis=1) + SMALLEST)
        if len(reference) >= NEIGHBOURS:
            density += np.log(near(aimed, self.records[reference], NEIGHBOURS).mean(axis=1) + SMALLEST)
        by_name = {
            "distance": -found[:, 0],
            "distance_replaced": -closest,
            "close": within[:, 0].astype(np.float64),
            "closer": within[:, 1].astype(np.float64),
            "density": density,
            "values": (self.weights * seen).sum(axis=1),
        }
        return Marks(
            # sums taken in another order must still be equal, as scores are compared by rank
            np.round(np.column_stack([by_name[name] for name in self.names]), 9),
            np.sqrt(answers),
            self.statistics(rows),
            len(copies),
        )

    def statistics(self, rows: Floats) -> Floats:
        """Return means, spreads, skewness, quantiles and correlations of the columns of a file."""
        single = _single(self.coder, rows, self.design)
        values = _columns(rows, self.design)
        values = values - values.mean(axis=0)
        spread = np.sqrt(np.mean(values**2, axis=0))
        values = values / np.where(spread > 0, spread, 1.0)
        first, second = self.pairs
        return np.concatenate([single, (values.T @ values / len(values))[first, second]])


def _design(coder: Coder, records: Floats) -> tuple[tuple[int, float], ...]:
    """Return the columns of which correlations are taken: numbers (NaN), and the most frequent levels but one."""
    found: list[tuple[int, float]] = []
    for j, column in enumerate(coder.columns):
        if not column.kind.categorical:
            found.append((j, np.nan))
            continue
        levels, counts = np.unique(records[:, j], return_counts=True)
        frequent = levels[np.argsort(-counts, kind="stable")]
        found += [(j, float(level)) for level in frequent[1 : MOST_LEVELS + 1]]
    return tuple(found[:MOST_COLUMNS])


def _columns(rows: Floats, design: Sequence[tuple[int, float]]) -> Floats:
    return np.column_stack([_filled(rows[:, j]) if np.isnan(level) else rows[:, j] == level for j, level in design])


def _filled(values: Floats) -> Floats:
    missing = values >= LARGEST
    if not missing.any():
        return values
    return np.where(missing, 0.0 if missing.all() else np.median(values[~missing]), values)


def _single(coder: Coder, rows: Floats, design: Sequence[tuple[int, float]]) -> Floats:
    """Return the statistics of single columns: shares of levels; mean, sd, skewness, quantiles and gaps of numbers."""
    found: list[float] = []
    for j, level in design:
        if not np.isnan(level):
            found.append(float(np.mean(rows[:, j] == level)))
            continue
        values = _filled(rows[:, j])
        mean, sd = float(values.mean()), float(values.std())
        found += [mean, sd, float(np.mean((values - mean) ** 3)) / sd**3 if sd > 0 else 0.0]
        found += np.quantile(values, QUANTILES).tolist()
        found.append(float(np.mean(rows[:, j] >= LARGEST)))
    return np.asarray(found[:MOST_STATISTICS])
