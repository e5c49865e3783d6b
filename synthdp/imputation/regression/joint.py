"""The exact joint draw of binary and numeric columns given Z and all W.

Binary columns b come first, then numbers x, all in sequence:

    P(b_j = 1 | z, b_<j) = F(η_j(z) + γ_j·b_<j),      x | z, b ~ N(μ(z) + S b, Σ)

W says k_j (precision) about each x_j around w_j, and a log weight per level about each b_j. Every cell of the binary
columns is weighed by  p(cell | z) · p(W_b | cell) · N(w; μ_cell, Σ + K⁻¹),  one is drawn, then x from its conjugate
normal. With Σ = L L' and A = I + L'KL everything is written so that both ends are exact: K = 0 (no information,
Rubin's imputation) and K → ∞ (X itself):

    quadratic form of w - μ_cell:  L⁻ᵀ (I - A⁻¹) L⁻¹,     x = μ_cell + L A⁻¹ L'K (w - μ_cell) + L A^(-1/2) ε

Drawing the columns one after the other given only their own W would ignore what a later W says about an earlier
column, and is not the posterior. Cost O(n · 2^b · (b + q) + n · q³) for b binary and q numeric columns.
"""

from dataclasses import dataclass

import numpy as np

from synthdp.imputation.families.links import LinkName, log_probability
from synthdp.masking.evidence import draw_levels, log_sum
from synthdp.table.microdata import Codes, Floats

ROWS_AT_ONCE = 65_536


@dataclass(frozen=True, repr=False)
class JointModel:
    """θ of the sequential model, arranged for the draw.

    Parameters
    ----------
    binary_beta
        d × b: coefficients of the predictors in each binary column's regression.
    binary_previous
        b × b, strictly lower triangular: coefficients γ of earlier binary columns.
    number_beta
        d × q: coefficients of the predictors, earlier numbers already substituted.
    number_shift
        b × q: how each binary column shifts the numbers' means, earlier numbers already substituted.
    root
        q × q lower triangular L with Σ = L L'.
    limits
        2 × q: smallest and largest working value of each number; draws beyond are set to it.
    """

    binary_beta: Floats
    binary_previous: Floats
    number_beta: Floats
    number_shift: Floats
    root: Floats
    limits: Floats
    link: LinkName

    def draw(
        self, design: Floats, levels: Floats, centers: Floats, precisions: Floats, *, rng: np.random.Generator
    ) -> tuple[Codes, Floats]:
        """Draw (b, x) for every record.

        Parameters
        ----------
        design
            n × d predictors.
        levels
            n × b × 2: log weight of each level from W.
        centers, precisions
            n × q: what W says about each number; precision zero says nothing.
        """
        n = len(design)
        binary = np.empty((n, self.binary_beta.shape[1]), dtype=np.int64)
        numbers = np.empty((n, self.number_beta.shape[1]))
        for start in range(0, n, ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, n))
            law = self.law(design[rows], levels[rows], centers[rows], precisions[rows])
            cells, drawn = law.draw(slice(None), rng=rng)
            binary[rows] = self.cells()[cells]
            # bounds censor, they do not truncate: the regressions were fitted to values that pile up at the bounds,
            # and redrawing would shrink the spread (measured: slopes off by 3 standard errors instead of 1)
            numbers[rows] = np.clip(drawn, *self.limits)
        return binary, numbers

    def cells(self) -> Codes:
        """Return the 2^b combinations of the binary columns, one per row."""
        b = self.binary_beta.shape[1]
        return (np.arange(2**b)[:, None] >> np.arange(b)) & 1

    def log_cell_probabilities(self, design: Floats) -> Floats:
        """Return log p(cell | z), n × 2^b."""
        cells = self.cells()
        base = design @ self.binary_beta
        total = np.zeros((len(design), len(cells)))
        for j in range(cells.shape[1]):
            # a column's probability depends on the 2^j combinations of earlier columns only
            prefixes = cells[: 2**j, :j] @ self.binary_previous[j, :j]
            eta = base[:, j, None] + prefixes
            for value, log_p in ((0, log_probability(-eta, self.link)), (1, log_probability(eta, self.link))):
                here = np.flatnonzero(cells[:, j] == value)
                total[:, here] += log_p[:, here % 2**j]
        return total

    def law(self, design: Floats, levels: Floats, centers: Floats, precisions: Floats) -> "JointLaw":
        """Return p(b, x | z, w, θ) of some records; arguments as in :meth:`draw`."""
        cells = self.cells()
        log_weights = self.log_cell_probabilities(design)
        for j in range(cells.shape[1]):
            log_weights += levels[:, j, cells[:, j]]
        mean = design @ self.number_beta
        shifts = cells @ self.number_shift
        same = len(precisions) > 0 and bool((precisions == precisions[0]).all())
        k = precisions[:1] if same else precisions
        q = k.shape[1]
        a = np.eye(q) + np.einsum("ji,nj,jk->nik", self.root, k, self.root)
        a_inverse = np.linalg.inv(a)
        root_inverse = np.linalg.inv(self.root)
        quadratic = np.einsum("ji,njk,kl->nil", root_inverse, np.eye(q) - a_inverse, root_inverse)
        offset = np.where(precisions > 0, centers - mean, 0.0)
        weighted = _apply(quadratic, offset)
        log_weights += weighted @ shifts.T - 0.5 * np.einsum("ci,nij,cj->nc", shifts, quadratic, shifts)
        gain = np.einsum("ij,njk,lk,nl->nil", self.root, a_inverse, self.root, k)
        root = np.linalg.cholesky(a)
        spread = self.root @ np.swapaxes(np.linalg.inv(root), 1, 2)
        log_scale = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) + 0.5 * (offset * weighted).sum(axis=1)
        return JointLaw(log_weights, log_scale, mean, shifts, offset, gain, spread)


@dataclass(frozen=True, repr=False)
class JointLaw:
    """p(b, x | z, w, θ) of some records, ready to be weighed and drawn from, as often as anyone asks.

    Parameters
    ----------
    log_weights
        n × 2^b: log weight of each cell of the binary columns.
    log_scale
        n: minus what all cells' weights lack to be those of W.
    mean, shifts, offset, gain, spread
        x = mean + shift + gain (offset - shift) + spread ε, the shift being the cell's.
    """

    log_weights: Floats
    log_scale: Floats
    mean: Floats
    shifts: Floats
    offset: Floats
    gain: Floats
    spread: Floats

    def log_norm(self) -> Floats:
        """Return log ∫ p(b, x | z, θ) p(w | b, x), where what W says of a number is 1 at its peak."""
        return log_sum(self.log_weights) - self.log_scale

    def draw(self, rows: slice | Codes, *, rng: np.random.Generator) -> tuple[Codes, Floats]:
        """Draw the cell, then the numbers, of some of the records, each as often as it is named."""
        drawn = draw_levels(self.log_weights[rows], rng=rng)
        shift = self.shifts[drawn]
        noise = _apply(_some(self.spread, rows), rng.standard_normal(shift.shape))
        return drawn, self.mean[rows] + shift + _apply(_some(self.gain, rows), self.offset[rows] - shift) + noise


def _some(matrices: Floats, rows: slice | Codes) -> Floats:
    return matrices if len(matrices) == 1 else matrices[rows]


def _apply(matrices: Floats, vectors: Floats) -> Floats:
    """Return matrix times vector, one matrix for all or one per row."""
    if len(matrices) == 1:
        return np.asarray(vectors @ matrices[0].T)
    return np.asarray(np.einsum("nij,nj->ni", matrices, vectors))
