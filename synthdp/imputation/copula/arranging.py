"""Columns in the order in which a joint draw visits them, as the arrays its compiled loops read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from synthdp.imputation.copula.coding import Coding, Curve, Item
from synthdp.imputation.copula.margins import LevelCurve, LevelMargin, NumberCurve
from synthdp.imputation.copula.rare import drawn
from synthdp.imputation.copula.steps import CHOICE, INTERVAL, LEVELS, NUMBER, UTILITY, Block, Knots, Layout
from synthdp.masking.evidence import Evidence, GaussianEvidence, about_levels
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Role


@dataclass(frozen=True, repr=False)
class Spot:
    """One column of the draw.

    Parameters
    ----------
    item, curve
        The column and its margin.
    about
        What W says of it; None when it is kept.
    flat
        Whether it is replaced and W says nothing of it, in any record.
    first
        Its first coordinate, in the order of the draw.
    shares
        Of its rare levels, where it has such.
    """

    item: Item
    curve: Curve
    about: Evidence | None
    flat: bool
    first: int = 0
    shares: Floats | None = None

    @property
    def kind(self) -> int:
        """What the compiled loops call it."""
        if self.about is None or self.flat:
            return CHOICE if self.item.nominal else INTERVAL
        return UTILITY if self.item.nominal else LEVELS if isinstance(self.curve, LevelCurve) else NUMBER

    @property
    def last(self) -> int:
        """Its last coordinate."""
        return self.first + self.item.width - 1

    @property
    def name(self) -> str:
        """The column's name."""
        return self.item.column.name

    def levels(self) -> Codes:
        """Return the positions of its levels in the order of the model's; one of them for all that are rare."""
        if isinstance(self.curve, LevelCurve):
            return np.arange(len(self.curve.cuts) - 1)
        return self.item.order

    def weights(self, rows: slice) -> Floats:
        """Return what W says of the levels, in that order, the largest one."""
        if self.about is None:
            raise ValueError("W says nothing of a kept column")
        log_weights = about_levels(self.about).log_weights[rows]
        mine = log_weights[:, self.levels()]
        if self.item.pool is not None and self.shares is not None:
            with np.errstate(divide="ignore"):
                mine[:, -1] = logsumexp(log_weights[:, self.item.pool.levels] + np.log(self.shares), axis=1)
        return np.asarray(np.exp(mine - mine.max(axis=1, keepdims=True)))

    def rare(self, rows: Codes, *, rng: np.random.Generator) -> Codes:
        """Return which of the rare levels these records have: their own if they are kept and known, or drawn."""
        pool, shares = self.item.pool, self.shares
        if pool is None or shares is None:
            raise ValueError("the column has no rare levels")
        chances = np.tile(shares, (len(rows), 1))
        if self.about is None:
            known = np.flatnonzero(self.item.codes[rows] >= 0)
            chances[known] = pool.member[np.searchsorted(pool.rows, rows[known]), None] == np.arange(len(shares))
        elif not self.flat:
            log_weights = about_levels(self.about).log_weights[rows][:, pool.levels]
            chances = chances * np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        return pool.levels[drawn(chances, rng=rng)]


@dataclass(frozen=True, repr=False)
class Arrangement:
    """All columns of a joint draw: kept ones first, those of which W says nothing last.

    Parameters
    ----------
    spots
        The columns in that order.
    order
        Of each coordinate of the draw, which one of the model it is.
    layout
        What the compiled loops read.
    coding, gamma
        The model's columns, and the effects of covariates.
    """

    spots: tuple[Spot, ...]
    order: Codes
    layout: Layout
    coding: Coding
    gamma: Floats

    @classmethod
    def of(
        cls,
        coding: Coding,
        r: Floats,
        gamma: Floats,
        curves: Sequence[Curve],
        evidence: Mapping[str, Evidence],
        weights: Floats,
    ) -> "Arrangement":
        """Return the arrangement for one draw of the parameters. O(n) per column, O(q⁴) for the coefficients."""
        found = []
        for item, curve in zip(coding.items, curves, strict=True):
            about = evidence[item.column.name] if item.column.role is Role.REPLACE else None
            _check(curve, about)
            shares = None if item.pool is None else item.pool.shares(weights)
            found.append(Spot(item, curve, about, _says_nothing(about), shares=shares))
        # numbers of kept columns are known for most records: all else is drawn given them
        found.sort(key=lambda spot: (spot.flat, spot.about is not None, not isinstance(spot.curve, NumberCurve)))
        firsts = np.cumsum([0, *(spot.item.width for spot in found)])
        spots = tuple(replace(spot, first=int(at)) for spot, at in zip(found, firsts[:-1], strict=True))
        order = np.concatenate([np.arange(s.item.first, s.item.first + s.item.width) for s in spots])
        return cls(spots, order, _layout(spots, r[np.ix_(order, order)], coding.scale[order]), coding, gamma)

    def block(self, rows: slice) -> Block:
        """Return what is known of some records."""
        covariates = self.coding.covariates[rows]
        n, q = len(covariates), len(self.order)
        lower, upper = np.full((n, q), -np.inf), np.full((n, q), np.inf)
        codes, w, precision, chances = [], [], [], []
        for spot in self.spots:
            about, curve, j = spot.about, spot.curve, spot.first
            if spot.kind == INTERVAL and curve is not None and about is None:
                scale = self.layout.scale[j]
                low, high = curve.bounds(rows)
                lower[:, j], upper[:, j] = low * scale, high * scale
            elif spot.kind == CHOICE and about is None:
                codes.append(spot.item.codes[rows])
            elif spot.flat:
                continue
            elif isinstance(about, GaussianEvidence):
                some = about[rows]
                w.append(some.mean())
                precision.append(some.precision)
            elif about is not None:
                chances.append(spot.weights(rows))
        mean = covariates @ self.gamma[:, self.order]
        return Block(
            mean,
            lower,
            upper,
            np.column_stack([np.zeros((n, 0), dtype=np.int64), *codes]),
            np.column_stack([np.zeros((n, 0)), *w]),
            np.column_stack([np.zeros((n, 0)), *precision]),
            np.column_stack([np.zeros((n, 0)), *chances]),
        )

    def masked(self) -> list[Spot]:
        """Return the replaced columns that the chain moves."""
        return [spot for spot in self.spots if spot.kind in (NUMBER, LEVELS, UTILITY)]

    def drawn(self) -> list[Spot]:
        """Return the replaced columns, and the kept ones that have missing values."""
        return [spot for spot in self.spots if spot.about is not None or spot.item.missing().any()]

    def values(self, spot: Spot, rows: slice, found: Floats, *, rng: np.random.Generator) -> Floats:
        """Return a column's working values, or positions in the levels, from what ``run_rows`` found of some records.

        A kept column has its own values where they are known.
        """
        masked = spot.kind in (NUMBER, LEVELS, UTILITY)
        if spot.curve is not None:
            y = found[:, spot.first]
            if masked:
                return y
            margin = spot.item.margin
            if spot.about is not None or margin is None:
                return spot.curve.value(y / self.layout.scale[spot.first])
            at = margin.rows[rows]
            known = at if isinstance(margin, LevelMargin) else margin.values[at]
            gaps = np.flatnonzero(at < 0)
            own = known.astype(np.float64)
            own[gaps] = spot.curve.value(y[gaps] / self.layout.scale[spot.first])
            return own
        if masked:
            place = found[:, spot.last].astype(np.int64)
        else:
            utilities = found[:, spot.first : spot.last + 1]
            place = np.where(utilities.max(axis=1) > 0, utilities.argmax(axis=1) + 1, 0)
        level = spot.item.order[place]
        if spot.item.pool is not None:
            at = np.flatnonzero(place == spot.item.width)
            level[at] = spot.rare(rows.start + at, rng=rng)
        return level.astype(np.float64)


def _check(curve: Curve, about: Evidence | None) -> None:
    if about is not None and isinstance(curve, NumberCurve) is not isinstance(about, GaussianEvidence):
        raise TypeError("evidence about a number and about levels cannot be taken for each other")


def _says_nothing(about: Evidence | None) -> bool:
    if isinstance(about, GaussianEvidence):
        return not about.precision.any()
    if about is None:
        return False
    log_weights = about_levels(about).log_weights
    return bool((log_weights == log_weights[:, :1]).all())


def _layout(spots: Sequence[Spot], r: Floats, scale: Floats) -> Layout:
    q = len(r)
    kind, column, first, size = (np.zeros(q, dtype=np.int64) for _ in range(4))
    tally = np.full(q, -1, dtype=np.int64)
    lines: list[tuple[Floats, Floats]] = []
    cuts = [np.zeros(0)]
    seen = dict.fromkeys((CHOICE, LEVELS), 0)
    masked = 0
    for spot in spots:
        mine = slice(spot.first, spot.last + 1)
        kind[mine], first[mine], size[mine] = spot.kind, spot.first, spot.item.width
        if spot.flat:
            continue
        if spot.kind == CHOICE:
            column[mine] = seen[CHOICE]
            seen[CHOICE] += 1
        elif spot.kind == NUMBER and isinstance(spot.curve, NumberCurve):
            column[mine] = len(lines)
            lines.append((spot.curve.x, spot.curve.u))
        elif spot.kind in (LEVELS, UTILITY):
            column[mine] = seen[LEVELS]
            seen[LEVELS] += len(spot.levels())
            if isinstance(spot.curve, LevelCurve):
                first[mine], size[mine] = sum(map(len, cuts)), len(spot.curve.cuts)
                cuts.append(spot.curve.cuts * scale[spot.first])
        if spot.kind in (NUMBER, LEVELS, UTILITY):
            tally[spot.last] = masked
            masked += 1
    active = sum(spot.item.width for spot in spots if not spot.flat)
    utilities = [(s.first, s.last + 1) for s in spots if s.item.nominal and not s.flat]
    weights, sd = np.zeros((2, q, q)), np.ones((2, q))
    weights[0], sd[0] = _forward(r, utilities)
    precision = np.linalg.inv(r[:active, :active])
    sd[1, :active] = 1 / np.sqrt(np.diag(precision))
    weights[1, :active, :active] = -precision / np.diag(precision)
    np.fill_diagonal(weights[1], 0.0)
    to_u, to_x = Knots.of(lines), Knots.of([(u, x) for x, u in lines])
    return Layout(active, kind, column, first, size, tally, scale, to_u, to_x, np.concatenate(cuts), weights, sd)


def _forward(r: Floats, utilities: Sequence[tuple[int, int]]) -> tuple[Floats, Floats]:
    """Return the coefficients of earlier coordinates, and of utilities of the same column, in each expectation; sds."""
    q = len(r)
    coefficients, sd = np.zeros((q, q)), np.ones(q)
    end = {j: after for begins, after in utilities for j in range(begins, after)}
    for j in range(q):
        given = np.delete(np.arange(end.get(j, j)), [j] if j in end else [])
        if len(given):
            solved = np.linalg.solve(r[np.ix_(given, given)], r[given, j])
            coefficients[given, j] = solved
            sd[j] = np.sqrt(1 - r[given, j] @ solved)
    return coefficients, sd
