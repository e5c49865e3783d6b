"""Gaussian copies: W_k = X + e_k, e_k ~ N(0, σ²), k = 1..K, for numeric columns.

Only the mean of the K copies is kept: it is sufficient for X, so nothing is lost. Information grows with K/σ².

References
----------
Jiang, Raftery, Steele, Wang (2022), JASA 117(537), section 3 (masking model for continuous quasi-identifiers).
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from synthdp.masking.evidence import GaussianEvidence
from synthdp.masking.mask import Target, two_digits
from synthdp.privacy import events
from synthdp.table.microdata import Floats
from synthdp.table.schema import Column, Settings


@dataclass(frozen=True, repr=False)
class GaussianMask:
    """The mean of the Gaussian copies: W ~ N(x, sd²), one sd per record on the working scale."""

    sd: Floats

    def draw(self, x: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw the mean of the copies."""
        return self.shift(x) + self.noise_sd(len(x)) * rng.standard_normal(len(x))

    def log_likelihood(self, w: Floats, x: Floats) -> Floats:
        """Return log N(w; x, sd²)."""
        return np.asarray(-0.5 * ((w - x) / self.sd) ** 2 - np.log(self.sd) - 0.5 * np.log(2 * np.pi))

    def evidence(self, w: Floats) -> GaussianEvidence:
        """Return N(w; x, sd²) as a function of x; missing W says nothing."""
        known = np.isfinite(w)
        return GaussianEvidence.at(np.where(known, w, 0.0), np.where(known, self.sd**-2.0, 0.0))

    def shift(self, x: Floats) -> Floats:
        """Return the expectation of W."""
        return x

    def noise_sd(self, n: int) -> Floats:
        """Return the sd of W for each of n records."""
        return np.broadcast_to(self.sd, (n,))


class Gaussian(Settings):
    """Gaussian noise on a numeric column.

    Parameters
    ----------
    sd
        Noise sd in units of the column's own standard deviation.
    scale
        Noise sd in the column's units (on the log scale when the column has ``transform: log``).
    copies
        How many noisy copies K; the same as dividing the noise variance by K.
    graded
        c: record i gets sd·√(c / s_i), s_i the number of records (itself included) that share its keys, so
        people with few neighbours are masked more.
    fewest
        With ``graded``: s_i below this counts as this. The loneliest are hidden by then; more noise on them only
        costs slopes, because they also lie farthest out (registry study: fewer matches at the same overlap).

    Examples
    --------
    >>> Gaussian(sd=0.5).describe()
    "Gaussian noise, sd 0.5 of the column's own sd"
    """

    method: Literal["gaussian"] = "gaussian"
    sd: float | None = Field(default=None, gt=0)
    scale: float | None = Field(default=None, gt=0)
    copies: int = Field(default=1, ge=1)
    graded: float | None = Field(default=None, gt=0)
    fewest: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _one_strength(self) -> Self:
        if (self.sd is None) == (self.scale is None):
            raise ValueError("give either sd (in units of the column's own sd) or scale (in the column's units)")
        return self

    def bind(self, target: Target) -> GaussianMask:
        """Return the mask with every record's sd fixed on the working scale."""
        if target.link is None:
            raise TypeError("a Gaussian mask needs a numeric column")
        sd = self.sd if self.sd is not None else (self.scale or 0.0) / target.link.spread
        strength = np.full(len(target.neighbours), sd / np.sqrt(self.copies))
        if self.graded is not None:
            strength = strength * np.sqrt(self.graded / np.maximum(target.neighbours, self.fewest))
        return GaussianMask(strength)

    def event(self, target: Target) -> events.MaskEvent:
        """Return μ-GDP with μ = √K·Δ/σ when σ and the bounds are fixed beforehand (Dong et al. 2022, Thm 2.7)."""
        if self.scale is None:
            return events.NonPrivate("the noise is scaled by the column's own sd, which comes from the data")
        if self.graded is not None:
            return events.NonPrivate("the noise grows with neighbour counts that come from the data")
        if target.link is None or target.column.bounds is None or not target.column.bounds_public:
            return events.NonPrivate("the column has no bounds fixed beforehand")
        return events.Gaussian(np.sqrt(self.copies) * target.link.width() * target.link.spread / self.scale)

    def describe(self) -> str:
        """Return the mask in plain words."""
        size = f"sd {self.sd:g} of the column's own sd" if self.sd is not None else f"sd {self.scale:g}"
        copies = f", mean of {self.copies} noisy copies" if self.copies > 1 else ""
        least = f", at least {self.fewest}" if self.fewest > 1 else ""
        graded = f", times √({self.graded:g}/neighbours{least})" if self.graded is not None else ""
        return f"Gaussian noise, {size}{copies}{graded}"

    def suits(self, column: Column) -> str | None:
        """Return why this mask does not fit the column, or None if it does."""
        return f"gaussian masks numbers, this column is {column.kind}" if column.kind.categorical else None

    def depends_on_neighbours(self) -> bool:
        """Return whether the noise is graded."""
        return self.graded is not None

    def wider(self, factor: float, levels: int) -> Self:
        """Return the mask with more noise.

        Examples
        --------
        >>> Gaussian(sd=0.5).wider(2.0, levels=2).sd
        1.0
        """
        if self.sd is not None:
            return self.model_copy(update={"sd": two_digits(self.sd * factor)})
        return self.model_copy(update={"scale": two_digits((self.scale or 0.0) * factor)})
