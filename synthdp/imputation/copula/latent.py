"""What the records say about their latents, and the mixture of normals that covariates make of them.

    y_i ~ N(Γ'h_i, Σ)

A number whose margin is continuous tells its latent exactly; ties, point masses, counts and ordered levels tell an
interval; a missing value tells nothing. A nominal column of K levels has K − 1 utilities, level 0 has utility 0, and
the level is the one of the largest utility. Intervals are those of plugged-in margins, but location and scale of the
latents in them are unknown, and utilities are as related to each other as differences of independent ones are: see
``covariance``.

References
----------
Albert and Chib (1993), JASA 88(422), 669-679, section 4 (levels as intervals or as the largest utility of a latent
normal). Hoff (2007), Annals of Applied Statistics 1(1), 265-283 (the Gaussian copula for mixed columns).

    y_i = shift_i + e_i,   e_i ~ N(0, 1),   G(y) = mean of Φ(y − shift_i),   x = F⁻¹(G(y))

Read through one normal of the same sd, F⁻¹(Φ(y / s)), values would come out with another distribution than F wherever
risk groups lie far apart.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from synthdp.imputation.copula.margins import LevelCurve, NumberCurve
from synthdp.table.microdata import Codes, Floats

Flags = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]
Levels = npt.NDArray[np.int8]
KNOWN, SOME_OPEN, ONE_SIDED, TWO_SIDED = range(4)
UTILITY_CORRELATION = 0.5


@dataclass(frozen=True, repr=False)
class Shape:
    """Which coordinate is what: the same for every record.

    Parameters
    ----------
    width
        How many latent coordinates a record has (q).
    first, size
        Of each nominal column its first utility and how many it has.
    """

    width: int
    first: Codes
    size: Codes

    @classmethod
    def of(cls, width: int, blocks: tuple[tuple[int, int], ...] = ()) -> "Shape":
        """Return the shape of q coordinates with nominal columns at (first, size)."""
        first, size = ([block[part] for block in blocks] for part in (0, 1))
        return cls(width, np.asarray(first, dtype=np.int64), np.asarray(size, dtype=np.int64))

    def owner(self) -> Codes:
        """Return of each coordinate the nominal column it belongs to, or -1."""
        found = np.full(self.width, -1, dtype=np.int64)
        for number, (first, size) in enumerate(zip(self.first, self.size, strict=True)):
            found[first : first + size] = number
        return found

    def together(self) -> Flags:
        """Return which coordinates are utilities of one column, or the same."""
        owner = self.owner()
        same: Flags = (owner[:, None] == owner[None, :]) & (owner >= 0)[:, None] | np.eye(self.width, dtype=np.bool_)
        return same

    def fixed(self) -> Flags:
        """Return which correlations are known: those between utilities of the first nominal column.

        Of a later one they are known only given the nominal columns before it (see ``covariance``).
        """
        first: Flags = self.owner() == 0
        return self.together() & first | np.eye(self.width, dtype=np.bool_)

    def start(self) -> Floats:
        """Return the correlation matrix in which nothing is related but the utilities of one column."""
        return np.where(self.together(), UTILITY_CORRELATION, 0.0) + (1 - UTILITY_CORRELATION) * np.eye(self.width)


@dataclass(frozen=True, repr=False)
class Latent:
    """The intervals, levels and covariates of n records.

    Parameters
    ----------
    shape
        Which coordinate is what.
    lower, upper
        n × q: between what each latent lies; equal when it is known, infinite when nothing is. Not read for utilities.
    codes
        n × nominal columns: the level of each, -1 when missing.
    covariates
        h, n × d.
    prior_sd
        d × q: prior sd of Γ's entries; zero where the entry is zero.
    """

    shape: Shape
    lower: Floats
    upper: Floats
    codes: Codes
    covariates: Floats
    prior_sd: Floats

    def __repr__(self) -> str:
        return f"Latent({len(self)} records x {self.shape.width} coordinates)"

    def __len__(self) -> int:
        return len(self.lower)

    @cached_property
    def packed(self) -> "Packed":
        """Return the same as the compiled loop over records wants it, for all chains together."""
        return Packed.of(self)

    def effects(self) -> tuple[Codes, Codes]:
        """Return the entries of Γ that mean something; see ``meaningful``."""
        return meaningful(self.shape, self.covariates, self.prior_sd)

    def start(self, *, rng: np.random.Generator) -> Floats:
        """Return latents inside their intervals, unrelated to each other. O(n q)."""
        y = truncated_normal(self.lower, self.upper, rng=rng)
        for b, (first, size) in enumerate(zip(self.shape.first, self.shape.size, strict=True)):
            y[:, first : first + size] = utilities_for(self.codes[:, b], int(size), rng=rng)
        return np.ascontiguousarray(y)


@dataclass(frozen=True, repr=False)
class Packed:
    """What the records say, a coordinate's values next to each other, in single precision.

    Parameters
    ----------
    lower, upper, codes, covariates
        As in ``Latent``, but q × n, nominal columns × n and d × n.
    kind
        Of each coordinate: all its latents known, some not, none known and each with at most one limit, or with two.
    open_from, open_rows
        Of each coordinate where its list begins, and the lists: the rows not known, where only some are known.
    """

    lower: Singles
    upper: Singles
    codes: Levels
    covariates: Singles
    kind: Codes
    open_from: Codes
    open_rows: Codes

    @classmethod
    def of(cls, latent: Latent) -> "Packed":
        """Pack records. O(n q)."""
        owner = latent.shape.owner()
        kind = np.full(latent.shape.width, ONE_SIDED)
        rows: list[Codes] = [np.zeros(0, dtype=np.int64) for _ in kind]
        for j in np.flatnonzero(owner < 0):
            low, high = latent.lower[:, j], latent.upper[:, j]
            unknown = low < high
            if unknown.all():
                kind[j] = ONE_SIDED if (np.isinf(low) | np.isinf(high)).all() else TWO_SIDED
            elif unknown.any():
                kind[j], rows[j] = SOME_OPEN, np.flatnonzero(unknown)
            else:
                kind[j] = KNOWN
        lower, upper, covariates = (
            np.ascontiguousarray(part.T, dtype=np.float32) for part in (latent.lower, latent.upper, latent.covariates)
        )
        open_from = np.concatenate([[0], np.cumsum([len(part) for part in rows])])
        codes = np.ascontiguousarray(latent.codes.T, dtype=np.int8)
        return cls(lower, upper, codes, covariates, kind, open_from, np.concatenate(rows))


def meaningful(shape: Shape, covariates: Floats, prior_sd: Floats) -> tuple[Codes, Codes]:
    """Return the entries of Γ but those that are zero, and but locations: constants of numbers and ordered levels.

    Margins say where a column lies; what the sampler learns of its location is only there to be uncertain.
    """
    constant = (covariates == 1).all(axis=0)
    h, j = np.nonzero((prior_sd > 0) & ~(constant[:, None] & (shape.owner() < 0)))
    return h, j


def utilities_for(codes: Codes, size: int, *, rng: np.random.Generator) -> Floats:
    """Draw utilities that choose these levels, n × size; anything where the level is missing."""
    utilities = rng.standard_normal((len(codes), size))
    below = np.where(codes == 0, 0.0, np.max(utilities, axis=1, initial=0.0))
    known = codes >= 0
    utilities[known] = np.minimum(utilities[known], below[known, None]) - 0.1
    rows = np.flatnonzero(codes > 0)
    utilities[rows, codes[rows] - 1] = below[rows] + 0.1
    return utilities


def truncated_normal(low: Floats, high: Floats, *, rng: np.random.Generator) -> Floats:
    """Draw standard normals between limits, exact in either tail; a point where the limits are equal."""
    return truncated_at(low, high, rng.random(low.shape))


def truncated_at(low: Floats, high: Floats, u: Floats) -> Floats:
    """Return the quantiles u of standard normals between limits."""
    flipped = low > 0
    a, b, v = np.where(flipped, -high, low), np.where(flipped, -low, high), np.where(flipped, 1 - u, u)
    below = ndtr(a)
    x = ndtri(below + v * (ndtr(b) - below))
    far = b < -37.0
    if far.any():  # both tails are zero in floating point
        x[far] = b[far] + np.log(v[far]) / -b[far]
    x = np.clip(x, a, b)
    return np.asarray(np.where(flipped, -x, x))


BINS, KNOTS, FARTHEST = 512, 2001, 9.0
ROUNDS = 3
LARGEST_SHARE = 0.8  # of the latents' variance that covariates may have


@dataclass(frozen=True, repr=False)
class Mixture:
    """G, as a line.

    Parameters
    ----------
    z, y
        The knots: Φ(z) = G(y).
    """

    z: Floats
    y: Floats

    @classmethod
    def of(cls, shift: Floats) -> "Mixture":
        """Return G of these shifts. O(n), and O(bins · knots)."""
        low, high = float(shift.min()), float(shift.max())
        place = np.minimum(((shift - low) / max(high - low, 1e-12) * BINS).astype(np.int64), BINS - 1)
        counts = np.bincount(place, minlength=BINS)
        used = counts > 0
        centers = np.bincount(place, shift, minlength=BINS)[used] / counts[used]
        share = counts[used] / len(shift)
        y = np.linspace(low - FARTHEST, high + FARTHEST, KNOTS)
        below, above = (ndtr(sign * (y[:, None] - centers)) @ share for sign in (1, -1))
        # from whichever tail keeps the digits
        return cls(np.where(below < above, ndtri(below), -ndtri(above)), y)

    def latents(self, z: Floats) -> Floats:
        """Return G⁻¹(Φ(z)); infinite where z is."""
        return np.where(np.isinf(z), z, np.interp(z, self.z, self.y))

    def applied(self, curve: NumberCurve | LevelCurve, scale: float) -> NumberCurve | LevelCurve:
        """Return the margin read through G, for latents that are divided by ``scale``."""
        if isinstance(curve, LevelCurve):
            return replace(curve, cuts=self.latents(curve.cuts) / scale)
        low, high = (self.latents(limit) / scale for limit in (curve.low, curve.high))
        return replace(curve, u=ndtr(self.latents(ndtri(curve.u)) / scale), low=low, high=high)


def first_shift(scores: Floats, known: Flags, moved: Floats) -> Floats:
    """Return what least squares of a column's latents on covariates says of their shifts, in residual sds.

    Parameters
    ----------
    scores
        The column's normal scores.
    known
        Whose are known.
    moved
        The covariates, n × d, of mean zero.
    """
    y, shift = scores, np.zeros(len(scores))
    for _ in range(ROUNDS):
        effects = np.linalg.lstsq(moved[known], y[known], rcond=None)[0]
        fitted = moved @ effects
        total = float(np.mean(y[known] ** 2))
        rest = max(total - float(np.mean(fitted[known] ** 2)), (1 - LARGEST_SHARE) * total)
        shift = fitted / np.sqrt(rest)
        y = Mixture.of(shift).latents(scores)
    return shift
