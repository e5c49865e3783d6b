"""Memorising: whether a copy holds people because they were in the file, and not because people are like that.

A record that stands in a synthetic file may be there because the model is good (anybody like that would be drawn) or
because the model holds the record. The two are told apart by people who were *not* in the file: the method is fitted
to a random half of the records, then to the other half, and every record is looked for in the copies of both fits. It
is its own control: fitted once and held out once, by the same method and among equally many rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.errors import InputError, SynthdpError
from synthdp.evaluation.combinations import alone, combine
from synthdp.evaluation.comparison import Comparison, clusters, split
from synthdp.evaluation.risk.nearest import encode_records, nearest
from synthdp.evaluation.risk.rates import mean_difference
from synthdp.table.coded import distinct
from synthdp.table.schema import Column

Refit = Callable[[Codes, np.random.Generator], Sequence[pd.DataFrame]]

FEWEST_RECORDS = 20
# fewer file-unique records than this count as so many: of three people one more or less is not a third of a risk
AT_LEAST = 250
ENOUGH = 0.02
# a value with so many holders is nobody's own: the smallest group that offices commonly accept
COMMON = 3
FEWEST_SPLITS, MANY_SPLITS, MOST_SPLITS, FAILURES = 2, 10, 30, 3
# until many halves were drawn, the upper end must be below this share of the limit: else it would always be just below
CLEARLY = 0.75
MOST_FITTED = 20_000
NEAR = 0.1
MOST_TARGETS, FEWEST_TARGETS, MOST_PAIRS = 2_000, 200, 2 * 10**8
SAME = 1e-12


def evaluate_memorised(
    comparison: Comparison,
    *,
    refit: Refit,
    rng: np.random.Generator,
    enough: float = ENOUGH,
    most_splits: int = MOST_SPLITS,
    most_fitted: int = MOST_FITTED,
) -> dict[str, Any]:
    """Fit on half of the records, and count what the copies reproduce of both halves.

    *Reproduced* is a record that is unique in the whole file on the replaced columns, and whose replaced values stand
    together in some row of a copy other than the row that was made from it. The share of the fitted half less the
    share of the other half, per copy, is the difference; of it is taken off what copies come to that know how common
    each value is, and nothing of which values go together.

    Parameters
    ----------
    comparison
        Only its original, schema and clusters are read, not its copies.
    refit
        Fits the method to these records (sorted positions) and returns copies; row k was made from record rows[k]
        wherever a copy has as many rows.
    enough
        The limit that will be held against the result: halves are drawn until they have decided about it.
    most_splits, most_fitted
        How many times the file is halved at most, and how many records a half has at most.

    Returns
    -------
    dict
        ``fitted``, ``held_out``, ``difference`` with ``low`` and ``high`` (95%): shares of the file-unique records
        (``unique``), or of min(n, 250) records where there are fewer. ``near``: the same for records to which some row
        is nearer than a tenth of the way to the next person of the file; equal to the above for coarse columns.
        ``in_any``: what stands in at least one copy. ``judged``: what the gate holds against its limit, the larger of
        ``high`` and the *lower* end of ``near``. ``splits``, ``copies``, ``records``: what it rests on.

    Raises
    ------
    InputError
        With fewer than 20 records, without a replaced column, or when the method cannot be fitted to halves.

    Notes
    -----
    *Why the replaced columns only.* Kept values of fitted records stand in the copies by design and those of the others
    do not; who is found by them is counted by exposure and linkage, not here.

    *Why the record's own row is left out.* A mask pulls a record's row towards the record. That is the mask's leak, and
    the identity intruders judge it; here it would make a pure regression look as if it remembered people. Donors give
    their values to other rows: of all that trees reproduced in a file of 1,000 with an income in thousands, an age and
    a sex, 92% stood in other rows.

    *What is taken off.* In a half that holds a person, every value of theirs is a little more common than in the other.
    A combination of shares p_j stands in m unrelated rows with probability 1 − (1 − Π p_j)^m, in the fitted half more
    often than in the other: by .04 of the unique records for three coarse columns of 300. That is taken off
    for people whose every value has at least three holders; a rarer value that is handed on gives its owner away by
    itself.

    *Why near is judged by its lower end.* Smoothed donors do not repeat a fine value to the last digit, and yet stay
    with it. But every model is nearer to the records it was fitted to, by about (parameters / n), twice that for half
    of the records; so there it must be sure. Measured (difference per copy; exact, near): trees on 3,000 records of a
    census extract .108, .153, on all 27,253 .181, .199; `mi` with trees on 1,000 simulated records, income in thousands
    .066, .070, in units .000, .029; on 200 records .015, .019, at the limit. `mi`, `da_mi` (sd 1) and sequential
    regression on the simulated files −.004 to .005, −.004 to .005; copula .015, .016 and .000, .015; ten multinomial
    regressions on the census extract .002, .007; the bundled demo .000, −.001.

    *The interval* is over records, each with its mean over splits, so it holds what the records and the draws vary. It
    is pointwise although halves are drawn until it has left the limit: at a difference near the limit it covers less.

    Cost: 2 to 30 pairs of half-fits (more than two for small files and near the limit), O(p n) to look for equal rows,
    and at most 2·10⁸ distances in each half-fit. A file of more than 40,000 records is represented by 40,000 drawn at
    random: on fewer records a model remembers no less.

    References
    ----------
    Van den Burg and Williams (2021), NeurIPS 34 (with the record less without it); Platzer and Reutterer
    (2021), Frontiers in Big Data 4, 679939 (a holdout as the yardstick of synthetic files).
    """
    columns = comparison.schema.replaced()
    n = len(comparison.original)
    if n < FEWEST_RECORDS or not columns:
        raise InputError(f"memorised: needs a replaced column and {FEWEST_RECORDS} records to halve, found {n}.")
    inside, together = _inside(comparison, 2 * most_fitted, rng)
    frame = comparison.original.iloc[inside].reset_index(drop=True)
    (codes,) = combine([comparison.original], columns, exact=True)
    halves = _Halves(frame, columns, alone(codes)[inside], rng)
    failed, found = 0, {}
    while halves.splits < most_splits:
        part = split(len(inside), share=0.5, cluster=together, rng=rng)
        try:
            made = [refit(np.sort(inside[rows]), rng) for rows in (np.flatnonzero(part), np.flatnonzero(~part))]
        except (SynthdpError, np.linalg.LinAlgError) as error:
            failed += 1
            if failed == FAILURES:
                raise InputError(
                    f"memorised: the method could not be fitted to half of the records ({_said(error)})."
                ) from None
            continue
        halves.add(part, made[0], rng)
        halves.add(~part, made[1], rng)
        found = halves.section()
        if halves.splits >= FEWEST_SPLITS and _decided(found, enough, halves.splits):
            break
    return found


@dataclass(repr=False)
class _Halves:
    """What was reproduced of every record so far, when it was fitted and when it was not.

    Parameters
    ----------
    frame
        The records that are halved.
    alone
        Which of them are unique in the whole file on the replaced columns.
    """

    frame: pd.DataFrame
    columns: Sequence[Column]
    alone: Booleans
    rng: np.random.Generator
    fits: int = 0
    copies: int = 0

    def __post_init__(self) -> None:
        n = len(self.frame)
        (coded,) = encode_records([self.frame], self.columns)
        rows = n // 2 * 5
        wanted = int(np.clip(MOST_PAIRS // rows, FEWEST_TARGETS, MOST_TARGETS))
        targets = np.sort(self.rng.permutation(n)[:wanted])
        reach = nearest(coded.take(targets), coded, skip=targets, rng=self.rng)[1][:, 0]
        self.unique = np.flatnonzero(self.alone)
        # someone with a twin cannot be told from them
        self.targets, self.reach = targets[reach > SAME], NEAR * reach[reach > SAME]
        self.codes = [distinct(self.frame[one.name], missing="none") + 1 for one in self.columns]
        fewest = np.min([np.bincount(code)[code] for code in self.codes], axis=0)
        self.common = fewest >= COMMON
        # of every record when it was fitted, and when it was not
        self.equal, self.anywhere, self.blind = np.zeros((3, 2, len(self.unique)))
        self.close, self.blind_near = np.zeros((2, 2, len(self.targets)))

    @property
    def splits(self) -> int:
        """How often the file was halved."""
        return self.fits // 2

    def add(self, fitted: Booleans, copies: Sequence[pd.DataFrame], rng: np.random.Generator) -> None:
        """Count what the copies of one half-fit reproduce."""
        place = np.where(fitted, np.cumsum(fitted) - 1, -1)
        original, *released = combine([self.frame, *copies], self.columns, exact=True)
        coded, *rows = encode_records([self.frame, *copies], self.columns)
        targets = coded.take(self.targets)
        size = int(max(code.max(initial=0) for code in (original, *released))) + 1
        equal, close = np.zeros((2, len(self.unique))), np.zeros(len(self.targets))
        for codes, near in zip(released, rows, strict=True):
            tied = place if len(codes) == int(fitted.sum()) else np.full(len(place), -1)
            own = (tied >= 0) & (codes[np.maximum(tied, 0)] == original)
            found = np.bincount(codes, minlength=size)[original] - own > 0
            equal[0] += found[self.unique]
            equal[1] = np.maximum(equal[1], found[self.unique])
            close += nearest(targets, near, skip=tied[self.targets], rng=rng)[1][:, 0] <= self.reach + SAME
        unique, aimed = (np.stack([fitted, ~fitted])[:, whom] for whom in (self.unique, self.targets))
        self.blind += self._blind(fitted, self.unique) * unique
        self.blind_near += self._blind(fitted, self.targets) * aimed
        self.equal += equal[0] / len(copies) * unique
        self.anywhere += equal[1] * unique
        self.close += close / len(copies) * aimed
        self.fits += 1
        self.copies = len(copies)

    def _blind(self, fitted: Booleans, whom: Codes) -> Floats:
        """Return how probable some records are in so many rows of unrelated values as common as in this half."""
        rows = int(fitted.sum())
        together = self.common[whom].astype(np.float64)
        for code in self.codes:
            together *= np.bincount(code[fitted], minlength=len(code) + 1)[code[whom]] / rows
        return np.asarray(-np.expm1(rows * np.log1p(-np.minimum(together, 1 - 1e-12))))

    def section(self) -> dict[str, Any]:
        """Return the ``memorised`` section of metrics.json."""
        n = len(self.frame)
        exact = _shares(self.equal, self.splits, min(n, AT_LEAST), self.copies, self.blind)
        near = _shares(self.close, self.splits, min(n, AT_LEAST), self.copies, self.blind_near)
        people = max(len(self.unique), min(n, AT_LEAST))
        told = [float(part.sum()) / self.splits / people for part in self.anywhere]
        return {
            **exact,
            "near": {"within": NEAR, "targets": len(self.targets), **near},
            "in_any": {"fitted": told[0], "held_out": told[1]},
            "judged": max(exact["high"], near["low"]),
            "unique": len(self.unique),
            "records": n,
            "splits": self.splits,
            "copies": self.copies,
        }


def _shares(counts: Floats, splits: int, least: int, copies: int, blind: Floats) -> dict[str, float]:
    """Return both shares and their difference with its interval, per record and copy, what chance gives taken off."""
    fitted, held = counts / splits
    size = len(fitted)
    share = size / max(size, least)
    if not size:
        return {"fitted": 0.0, "held_out": 0.0, "difference": 0.0, "chance": 0.0, "low": 0.0, "high": 0.0}
    chance = (blind[0] - blind[1]) / splits
    paired = mean_difference(fitted - held - chance, None)
    # one match more or less on either side, so that no match at all is not taken for certainty
    slack = np.sqrt(2) / (size * splits * copies)
    half = float(np.hypot((paired["high"] - paired["low"]) / 2, 2 * slack))
    difference = paired["value"]
    return {
        "fitted": share * float(fitted.mean()),
        "held_out": share * float(held.mean()),
        "difference": share * difference,
        "chance": share * float(chance.mean()),
        "low": share * (difference - half),
        "high": share * (difference + half),
    }


def _inside(comparison: Comparison, most: int, rng: np.random.Generator) -> tuple[Codes, Codes | None]:
    """Return the records that are halved, all or so many in whole clusters, and their clusters."""
    n, together = len(comparison.original), clusters(comparison)
    taken = np.ones(n, dtype=np.bool_) if n <= most else split(n, share=most / n, cluster=together, rng=rng)
    inside = np.flatnonzero(taken)
    return inside, None if together is None else together[inside]


def _decided(found: dict[str, Any], enough: float, splits: int) -> bool:
    """Return whether more halves would hardly change the verdict."""
    near = found["near"]
    if found["low"] > enough or near["low"] > enough:
        return True
    below = enough if splits >= MANY_SPLITS else CLEARLY * enough
    return bool(found["high"] <= below and near["difference"] <= below)


def _said(error: Exception) -> str:
    """Return why a fit failed; other errors than ours may quote values."""
    return str(error).splitlines()[0].rstrip(".") if isinstance(error, SynthdpError) else "its equations are singular"
