"""What can be read from propensity scores: pMSE, SPECKS, PO50, a histogram."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from synthdp.evaluation.utility.propensity.stacking import Stack
from synthdp.microdata import Floats

# scores closer than this are equal: records with equal values may differ in the last bits of a matrix product
DECIMALS = 10
HISTOGRAM_BINS = 30


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """The fitted probability of being synthetic, for each original and each synthetic record.

    Parameters
    ----------
    original, synthetic
        The scores of the two files' records.
    slopes
        How many independent columns a regression's design has beside the intercept; 0 for other models.
    """

    original: Floats
    synthetic: Floats
    slopes: int = 0

    @classmethod
    def of(cls, stack: Stack, fitted: Floats, slopes: int = 0) -> Self:
        """Return the fitted probabilities of stacked records as scores."""
        rounded, n = np.round(fitted, DECIMALS), len(stack.original)
        return cls(rounded[:n], rounded[n:], slopes)

    @property
    def share(self) -> float:
        """The share c of synthetic records."""
        return len(self.synthetic) / (len(self.original) + len(self.synthetic))

    @property
    def squares(self) -> Floats:
        """(p̂ − c)² of every record, the original's first."""
        return np.concatenate([(self.original - self.share) ** 2, (self.synthetic - self.share) ** 2])

    @property
    def pmse(self) -> float:
        """Mean (p̂ − c)² over all records: 0 when alike, c(1 − c) when every record is told apart."""
        return float(self.squares.mean())

    @property
    def ratio(self) -> float | None:
        """The pMSE over its null expectation (1 − c)² c k/N for k slopes and N records; None without slopes.

        Notes
        -----
        The null is that of copies drawn whole from the model fitted to the original (plug-in): their mean ratio is 1.
        Copies that are independent samples, or drawn from a posterior, give about 2. Under partial synthesis the
        kept columns agree and a ratio below 1 is normal: see ``synthdp.evaluation.utility.propensity.nulls`` for the
        nulls of other designs.

        References
        ----------
        Snoke, Raab, Nowok, Dibben, Slavković (2018), JRSS A 181(3), 663–688.
        """
        if self.slopes == 0:
            return None
        null = (1 - self.share) ** 2 * self.share * self.slopes / (len(self.original) + len(self.synthetic))
        return self.pmse / null

    @property
    def specks(self) -> float:
        """The Kolmogorov–Smirnov distance between the scores of the two files."""
        original, synthetic = np.sort(self.original), np.sort(self.synthetic)
        at = np.concatenate([original, synthetic])
        below_original = np.searchsorted(original, at, side="right") / len(original)
        below_synthetic = np.searchsorted(synthetic, at, side="right") / len(synthetic)
        return float(np.abs(below_original - below_synthetic).max())

    @property
    def po50(self) -> float:
        """The percentage of records classified correctly, beyond the 50 of a coin; each file counts half."""
        right = (self.synthetic > self.share).mean() + (self.original <= self.share).mean()
        return float(50 * right - 50)


def histogram(scores: list[Scores]) -> dict[str, list[float] | list[list[int]]]:
    """Return how many records of either file have scores in each of 30 equal bins, a list of counts per copy.

    The edges are hundredths, so that no record's score can be read from them.
    """
    every = [part for score in scores for part in (score.original, score.synthetic)]
    low = np.floor(100 * min(part.min() for part in every)) / 100
    high = np.ceil(100 * max(part.max() for part in every)) / 100
    edges = np.linspace(low, max(high, low + 0.01), HISTOGRAM_BINS + 1)

    def counts(values: Floats) -> list[int]:
        return [int(count) for count in np.histogram(values, edges)[0]]

    return {
        "edges": edges.round(6).tolist(),
        "original": [counts(score.original) for score in scores],
        "synthetic": [counts(score.synthetic) for score in scores],
    }
