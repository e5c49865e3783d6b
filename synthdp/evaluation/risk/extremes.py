"""The richest man in town: an intruder who knows of a person only that nobody has more of something, or less."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.budget import go_on
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.channel import SMALLEST_SD, MaskDraw, channel_of, even_channels
from synthdp.evaluation.risk.identity import CHANCE_LEVEL, chance_hits, refuse_without_keys
from synthdp.evaluation.risk.linking import line_up
from synthdp.evaluation.risk.public_columns import Kept
from synthdp.evaluation.risk.public_study import regress_on_kept, sort_columns
from synthdp.evaluation.risk.scoring import TIE
from synthdp.table.coded import Coded, coded
from synthdp.table.links import Link
from synthdp.table.schema import Column

NAME = "identity_extremes"
RANKS = 3
# how the intruder weighs what they see: draws, rows that may hold a rank, and people of another kind they reckon with
DRAWS = 200
MOST_ROWS = 2000
MOST_FITTED = 5000
OUTLIERS = 0.3
OUTLIER_SD = 10.0
UNSEEN = 0.5
# one outlier makes what copies share hard to see, so this intruder believes in it sooner than others
LEAST_ERRORS = 2.0


@dataclass(frozen=True, repr=False)
class ExtremesRisk:
    """What an intruder achieves who looks for the largest and smallest values.

    The intruder knows that a person has the largest value of a numeric key (or the second or third largest, or the
    smallest …) among those in the file, and nothing else. They average the copies, rows lined up, and point at the row
    that has this rank in the average, at random among ties. That it is the person's own is success.

    Parameters
    ----------
    expected_links, expected_links_rate
        Σ 1{own row has the rank}/ties over the people attacked, and the same over all records.
    expected_links_chance
        The 95% point of correct links when the rows of all copies are permuted alike.
    predicted_links
        Sum of the probability the intruder gives to the rows they point at.
    claims
        How many people were attacked: up to three at each end of every numeric key that is not released as it is. Who
        shares their value with somebody is not *the* richest, and left out; so a column cut off at a bound has none.
    one_copy
        Mean over copies of the links from one copy alone.
    columns
        The same by column.
    found, predicted
        Record by record; confidential, not part of :meth:`section`. ``found`` is the probability that the row pointed
        at is the person's own (0 for everybody else in the file), ``predicted`` what the intruder takes it for (NaN for
        everybody else). Who is extreme in several columns is attacked through the one of which the intruder is most
        confident.
    """

    expected_links: float
    expected_links_rate: float
    expected_links_chance: float
    predicted_links: float
    claims: int
    one_copy: float
    columns: tuple[Mapping[str, Any], ...]
    found: Floats
    predicted: Floats

    def __repr__(self) -> str:
        return f"ExtremesRisk({self.claims} of {len(self.found)} records)"

    @property
    def individual(self) -> Floats:
        """The probability the intruder gives to the record's own row; 0 where they point elsewhere."""
        return np.where(self.found > 0, np.nan_to_num(self.predicted), 0.0)

    @property
    def confidence(self) -> Floats:
        """The probability the intruder gives to the row they point at; NaN where they make no claim."""
        return self.predicted

    @property
    def right(self) -> Floats:
        """The probability that the claim is right."""
        return self.found

    @property
    def true_match_mask(self) -> Booleans:
        """Whether the intruder's only best row is the record's own."""
        return np.asarray(self.found == 1.0)

    def section(self) -> dict[str, Any]:
        """Return the attack's section of metrics.json: numbers about the file, none about a record."""
        links = ("expected_links", "expected_links_rate", "expected_links_chance", "predicted_links")
        names = (*links, "claims", "one_copy")
        section = {name: getattr(self, name) for name in names}
        return section | {"columns": [dict(line) for line in self.columns]}


def evaluate_extremes(
    comparison: Comparison, *, rng: np.random.Generator, mask_draw: MaskDraw = "per_copy", permutations: int = 200
) -> ExtremesRisk:
    """Look for the three largest and smallest values of every numeric key that copies changed.

    Parameters
    ----------
    comparison
        Aligned copies, as the worst intruder would have lined them up; rows that are not aligned are lined up through
        the kept columns, as ``identity_linked`` does.
    rng
        For the intruder's own draws, and the permutations behind the chance level.
    mask_draw
        How copies were masked, as their ``release.json`` says; only the intruder's confidence depends on it.

    Raises
    ------
    InputError
        If there is no key or no copy, or rows cannot be lined up.

    Notes
    -----
    The confidence is worked out from the copies alone. Let u be what kept columns leave open of x. With one replaced
    column, b the share of the variance of u that copies have in common, and in units of the sd of u, the average of M
    copies is a u + e, where a = √b and Var e = (1 − b)/M for masks drawn per copy (or noise), a = b and Var e =
    b(1 − b) + (1 − b)/M for masks drawn once; for several columns see ``risk.channel``. What copies share because they
    share the kept columns says nothing of x, and is taken off copy by copy. From one copy b cannot be seen and is taken
    for a half. The u are normal, but for an outlier in every third file, ten times as far out, so that one is taken for
    one. Every row is drawn 200 times from this posterior, and the confidence is how often the row pointed at has its
    rank again. For copies that share nothing it is about one in the number of rows; where masks leave less than can be
    told from noise, and for outliers that masks hide well, it errs on the timid side. Cost: O(M n log n) for each
    column, and a regression on at most 5,000 rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> draw = np.random.default_rng(1)
    >>> income = np.append(draw.normal(0, 1, 200), 40.0)
    >>> data = resolve(pd.DataFrame({"income": income}), {"income": Variable(role="replace", key=True)})
    >>> copies = tuple(pd.DataFrame({"income": income + draw.normal(0, 2, 201)}) for _ in range(3))
    >>> files = Comparison(data.frame, copies, data.schema, aligned=True)
    >>> float(evaluate_extremes(files, rng=draw).found[200])
    1.0
    """
    refuse_without_keys(comparison, NAME)
    files = comparison if comparison.aligned else line_up(comparison, rng=rng)
    n = len(files.original)
    found, predicted = np.zeros(n), np.full(n, np.nan)
    winner, alone = np.full(n, -1, dtype=np.int64), np.zeros(n)
    lines = []
    told = _told(files, mask_draw, rng)
    for column in files.schema.keys():
        go_on()
        if column.kind.categorical:
            continue
        true, shown = _values(files, column)
        if np.array_equal(np.broadcast_to(true, shown.shape), shown, equal_nan=True):
            continue
        model = told.get(column.name)
        claims = [claim for sign in (1, -1) for claim in _claims(sign, true, shown, model, files.copies[0], rng)]
        lines.append({"column": column.name, "claims": len(claims), "right": sum(claim.share for claim in claims)})
        for claim in claims:
            if not predicted[claim.target] >= claim.confidence:
                found[claim.target], predicted[claim.target] = claim.share, claim.confidence
                winner[claim.target], alone[claim.target] = claim.row, claim.alone
    targets = np.flatnonzero(np.isfinite(predicted))
    chance = chance_hits(winner[targets], targets, n, permutations, rng=rng) if len(targets) else [0.0]
    return ExtremesRisk(
        expected_links=float(found.sum()),
        expected_links_rate=float(found.sum()) / n,
        expected_links_chance=float(np.quantile(chance, CHANCE_LEVEL, method="higher")),
        predicted_links=float(predicted[targets].sum()),
        claims=len(targets),
        one_copy=float(alone.sum()),
        columns=tuple(lines),
        found=found,
        predicted=predicted,
    )


@dataclass(frozen=True, repr=False)
class _Claim:
    """One person, the row pointed at (one of the tied), and how likely that is right in truth, and to the intruder."""

    target: int
    row: int
    share: float
    confidence: float
    alone: float


def _values(files: Comparison, column: Column) -> tuple[Floats, Floats]:
    """Return true and released values on the column's working scale, copies by rows."""
    link = Link(0.0, 1.0, column.transform, column.bounds)
    with np.errstate(invalid="ignore", divide="ignore"):
        true, *shown = (link.forward(coded(frame).numbers(column)) for frame in (files.original, *files.copies))
    return true, np.stack(shown)


def _claims(
    sign: int, true: Floats, shown: Floats, told: "_Told | None", first: pd.DataFrame, rng: np.random.Generator
) -> list[_Claim]:
    """Return the claims at the upper end (``sign`` 1) or the lower one (-1)."""
    true, shown = sign * true, sign * shown
    targets = _extremes(true)
    present = np.isfinite(shown)
    held = np.flatnonzero(present.any(axis=0))
    if not targets or not len(held):
        return []
    mean = np.where(present, shown, 0.0).sum(axis=0)[held] / present.sum(axis=0)[held]
    confidence = np.zeros(RANKS)
    if told is not None:
        top = np.argsort(-mean, kind="stable")[:MOST_ROWS]
        expected = sign * told.expected(coded(first).take(held[top]))
        confidence = _confidence((mean[top] - expected) / told.sd, expected / told.sd, told, len(held), rng)
    claims = []
    for rank, target in targets.items():
        rows = held[_at(mean, rank)]
        share = float(np.isin(target, rows)) / len(rows)
        alone = [float(np.isin(target, there)) / len(there) for there in (_at_known(copy, rank) for copy in shown)]
        sure = float(confidence[rank]) / len(rows)
        claims.append(_Claim(target, int(rng.choice(rows)), share, sure, float(np.mean(alone))))
    return claims


def _extremes(true: Floats) -> dict[int, int]:
    """Return who has which rank from the top, 0 the first; nobody who shares their value."""
    known = np.flatnonzero(np.isfinite(true))
    order = known[np.argsort(-true[known], kind="stable")][: RANKS + 1]
    found = {}
    for rank, record in enumerate(order[:RANKS]):
        beside = [order[k] for k in (rank - 1, rank + 1) if 0 <= k < len(order)]
        if len(known) > 1 and all(true[other] != true[record] for other in beside):
            found[rank] = int(record)
    return found


def _at(values: Floats, rank: int) -> Codes:
    """Return the rows whose value is the one at a rank from the top."""
    rank = min(rank, len(values) - 1)
    at = np.partition(values, len(values) - 1 - rank)[len(values) - 1 - rank]
    return np.flatnonzero(np.abs(values - at) <= TIE * max(1.0, abs(float(at))))


def _at_known(copy: Floats, rank: int) -> Codes:
    known = np.flatnonzero(np.isfinite(copy))
    return known[_at(copy[known], rank)] if len(known) else np.array([-1], dtype=np.int64)


def _confidence(y: Floats, expected: Floats, told: "_Told", n: int, rng: np.random.Generator) -> Floats:
    """Return for each rank how probable it is that the row there in the average is there in truth.

    ``y`` are averages less what is expected of them, from the top; both in sds of what kept columns leave open.
    """
    slope, error = told.slope, max(told.error, SMALLEST_SD**2)
    plain, wide = slope**2 + error, (slope * OUTLIER_SD) ** 2 + error
    odds = OUTLIERS / n * np.sqrt(plain / wide) * np.exp(np.minimum(0.5 * y**2 * (1 / plain - 1 / wide), 700.0))
    far = rng.random((DRAWS, len(y))) < odds / (1 + odds)
    drawn = rng.standard_normal(far.shape)
    # two kinds of people only, so roots and quotients are taken of two numbers
    prior = np.array([1.0, OUTLIER_SD**2])
    gain = prior * slope / (prior * slope**2 + error)
    sd = np.sqrt(prior * (1 - gain * slope))
    beyond = np.nonzero(far)
    wide = expected[beyond[1]] + gain[1] * y[beyond[1]] + sd[1] * drawn[beyond]
    drawn *= sd[0]
    drawn += expected + gain[0] * y
    drawn[beyond] = wide
    again = np.zeros(RANKS)
    for rank in range(min(RANKS, len(y))):
        top = drawn.argmax(axis=1)
        again[rank] = np.mean(top == rank)
        drawn[np.arange(DRAWS), top] = -np.inf
    return again


@dataclass(frozen=True, repr=False)
class _Told:
    """What the average of the copies says of one column: slope · u + e, u being what kept columns leave open.

    ``sd`` is that of u on the column's working scale; slope and the variance of e are in its units.
    """

    sd: float
    slope: float
    error: float
    slopes: Floats
    kept: Kept

    def expected(self, file: Coded) -> Floats:
        """Return what kept columns predict."""
        return np.asarray(self.kept.matrix(file) @ self.slopes)


def _told(files: Comparison, mask_draw: MaskDraw, rng: np.random.Generator) -> dict[str, _Told]:
    """Work out from aligned copies what their average tells, for every number that was replaced."""
    kept, replaced, gaps = sort_columns(files)
    fit = regress_on_kept(files, kept, replaced, gaps, most_rows=MOST_FITTED, rng=rng)
    copies, rows, _ = fit.residuals.shape
    if copies == 1:
        (channel,) = even_channels(fit.total, [UNSEEN])
    else:
        pairs = copies * (copies - 1) // 2 * rows
        channel = channel_of(fit.total, fit.within(), pairs=pairs, mask_draw=mask_draw, errors=LEAST_ERRORS)
    variance, slope, error = channel.by_column(copies)
    found = {}
    for place in fit.coding.places:
        at = place.first
        if not place.levels and variance[at] > 0:
            sd = float(np.sqrt(variance[at]))
            found[place.column.name] = _Told(
                sd, float(slope[at]), float(error[at] / variance[at]), fit.slopes[:, at], fit.kept
            )
    return found
