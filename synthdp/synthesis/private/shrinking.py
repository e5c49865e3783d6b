r"""What is assumed of a model of scores before anything is known: its prior.

A level of a column without order is N(0, 1.5²) on the log scale, and a group of an ordered one N(0, 20²): strong
products are offset by them, and a tight prior would hold back both. What a pair adds is a multivariate t with 4 degrees
of freedom and scale √(s_a s_b), s = 2 for a score and 0.5 for other coordinates: pairs that the noise hides stay near
independence, where a flat prior would let a rare level take any odds. Two scores of sds d_a and d_b add a Cauchy of
scale π/(4 d_a d_b). For normal columns that is nearly a uniform correlation r: their parameter is κ = r/(1 − r²) over
d_a d_b, the density of κ is 1/(4κ²) far out, and so is this one's. With few groups r stands still from some κ on, so a
normal factor of sd 2 on the log odds ratio of neighbours ends it.

References
----------
Gelman, Jakulin, Pittau, Su (2008), Annals of Applied Statistics 2(4) (t priors for logistic regressions).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from synthdp.synthesis.private.halves import Halves
from synthdp.table.microdata import Codes, Floats

LEVEL_SD, GROUP_SD = 1.5, 20.0
DEGREES = 4.0
SCORE, CORNER = 2.0, 0.5
ODDS_SD = 2.0
"""Of the log odds ratio of neighbouring groups: scores of few groups know no correlation from a still larger one."""
LEAST_SPREAD = 0.1
"""Of a score on [−1, 1], where the margin says less."""


@dataclass(frozen=True)
class Shrunk:
    """The prior: normal for margins, multivariate t for each block of what a pair adds.

    Parameters
    ----------
    block, scales, sizes, degrees
        The block of each parameter (−1 for margins), and by block its scale, how many parameters it has, and the
        degrees of freedom.
    normal
        The precision of a normal factor beside; 0 where there is none.
    """

    block: Codes
    scales: Floats
    sizes: Floats
    degrees: Floats
    normal: Floats

    @classmethod
    def of(cls, model: Halves, spreads: Sequence[float | None]) -> "Shrunk":
        """Return the prior of a model, given the sd of each column's score (None where there is none)."""
        block, normal = np.full(model.parameters, -1, dtype=np.int64), np.zeros(model.parameters)
        scales: list[float] = []
        degrees: list[float] = []
        for pair, span in model.products.items():
            shape = [model.vectors[v].shape[1] for v in pair]
            places = np.arange(span.start, span.stop).reshape(shape)
            parts = [
                [(slice(0, size), None)] if spread is None else [(slice(0, 1), spread), (slice(1, size), None)]
                for spread, size in zip((spreads[v] for v in pair), shape, strict=True)
            ]
            for (rows, one), (columns, two) in product(*parts):
                held = places[rows, columns].ravel()
                if not held.size:
                    continue
                block[held] = len(scales)
                both = one is not None and two is not None
                own, other = (CORNER if spread is None else SCORE for spread in (one, two))
                scales.append(
                    math.pi / (4 * one * two) if one is not None and two is not None else math.sqrt(own * other)
                )
                degrees.append(1.0 if both else DEGREES)
                if both:
                    steps = [max(len(model.vectors[v]) - 1, 1) / 2 for v in pair]
                    normal[held] = 1 / (ODDS_SD * steps[0] * steps[1]) ** 2
        sizes = np.bincount(block[block >= 0], minlength=len(scales)).astype(np.float64)
        for span, spread in zip(model.mains, spreads, strict=True):
            normal[span] = 1 / (LEVEL_SD if spread is None else GROUP_SD) ** 2
        return cls(block, np.array(scales), sizes, np.array(degrees), normal)

    def __call__(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Return −log density, its gradient, and the precision of a normal with the same gradient."""
        inside = self.block >= 0
        squares = np.bincount(self.block[inside], theta[inside] ** 2, minlength=len(self.scales))
        width = self.degrees * self.scales**2
        precision = np.zeros(len(theta))
        precision[inside] = ((self.degrees + self.sizes) / (width + squares))[self.block[inside]]
        value = 0.5 * float(((self.degrees + self.sizes) * np.log1p(squares / width)).sum())
        precision += self.normal
        return value + 0.5 * float(self.normal @ theta**2), precision * theta, precision


def spread_of(score: Floats, counts: Floats) -> float:
    """Return the sd of a score by noisy counts."""
    weights = np.maximum(counts, 0.0) + 1e-9
    mean = float(np.average(score, weights=weights))
    return max(math.sqrt(float(np.average((score - mean) ** 2, weights=weights))), LEAST_SPREAD)
