"""What propensity scores say (pMSE, SPECKS, PO50), and what the pMSE is when the synthesis is right.

=================  ==================================================================================================
``formula``        logistic regression, full synthesis: a closed form
``permutation``    any model, full synthesis: labels exchanged among all records, as for two independent samples
``within_record``  any model, rows aligned: labels swapped within each record by a coin
``pairs``          any model, two copies or more: one copy judged against another
=================  ==================================================================================================

Proper synthesis draws θ* given the original X, then S given θ*. Given the parameters, X and S are then two draws from
the same distribution, record by record and given whatever was kept or masked, and averaged over the posterior they
still are: swapping x_i and s_i changes nothing in law. The within-record null is therefore exact for every classifier,
and so is the permutation null where the records are alike beforehand (nothing kept, no mask).

Synthesis from the fitted model (plug-in) varies around the original itself and not around what the original varies
around, so whatever the model fits has 1 − c of that variance, and the nulls are multiplied by 1 − c. That is exact for
a regression, whose pMSE is a quadratic form. It is what synthpop does for trees too, where it is a convention: what
the synthesis does not fit has all the variance, and a tree that looks there gives a ratio up to 1/(1 − c) however right
the model is; and small differences may be pruned away. Two copies differ from each other twice as much as either from
the original, proper or not, so that null needs to know neither; for a share c its factor is 8 c²(1 − c)². It stands on
few values when there are few copies, which makes the ratio vary and its mean too large (by 10 to 20% for M = 3).

References
----------
Snoke, Raab, Nowok, Dibben, Slavković (2018), JRSS A 181(3), 663–688 (formula and permutations for plug-in synthesis).
Raab, Nowok, Dibben (2021), arXiv:2109.12717 (pairs of copies). The exactness of swaps is our own remark; the study
``python -m reports nulls`` checks all of it by simulation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, Self, get_args

import numpy as np
from pydantic import Field

from synthdp.budget import go_on
from synthdp.evaluation.utility.distances import kolmogorov_smirnov
from synthdp.evaluation.utility.propensity.stacking import Stack
from synthdp.table.microdata import Floats
from synthdp.table.schema import Settings

Model = Literal["logit", "logit_interactions", "cart", "boosting"]
NullKind = Literal["formula", "permutation", "pairs", "within_record"]


class Propensity(Settings):
    """How synthetic records are told from original ones, and what is expected when the synthesis is right.

    Parameters
    ----------
    models
        ``logit`` (main effects), ``logit_interactions`` (and products of every two columns), ``cart`` (a pruned
        classification tree, as rpart grows it), ``boosting`` (gradient boosting, scored on records it did not see).
    null
        What the pMSE is compared with; ``auto`` takes the one that fits how the copies were made.
    permutations
        How often labels are exchanged per copy where the null has no formula; by default so that there are 50 over all
        copies, fewer for large files and for boosting.
    proper
        Whether the synthesis drew its parameters from their posterior. By default as the run's own method does; files
        of other tools are taken to be drawn from the fitted model (plug-in), which is what most tools do.

    Examples
    --------
    >>> Propensity(models=["cart"]).permutations is None
    True
    """

    models: tuple[Model, ...] = Field(default=("logit", "cart"), min_length=1)
    null: NullKind | Literal["auto"] = "auto"
    permutations: int | None = Field(default=None, ge=2)
    proper: bool | None = None


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
        return kolmogorov_smirnov(np.sort(self.original), np.sort(self.synthetic))

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


FEWEST_FOR_SD = 3


class Classifier(Protocol):
    """A model that tells the records of one stack apart."""

    @property
    def stack(self) -> Stack:
        """The records."""
        ...

    def scores(self, label: Floats) -> Floats:
        """Return each record's probability of the label 1, fitted to these labels."""
        ...


@dataclass(frozen=True, repr=False)
class Null:
    """The distribution of a pMSE when the synthesis is right.

    Parameters
    ----------
    kind
        How it was found.
    expected, sd
        Its mean and standard deviation; the latter is None where too few values stand behind it.
    per_record
        The expected (p̂ − c)² of every stacked record; None where it is not known.
    values
        The simulated values behind it, or None for a formula.
    records
        How many records both files have together.
    """

    kind: str
    expected: float
    sd: float | None
    per_record: Floats | None = None
    values: Floats | None = None
    records: int = 0

    def ratio(self, value: float) -> float:
        """Return a pMSE over its expectation."""
        return value / self.expected

    def standardised(self, value: float) -> float | None:
        """Return how many standard deviations a pMSE lies above its expectation."""
        return (value - self.expected) / self.sd if self.sd else None


def choose(
    wanted: str, *, logit: bool, paired: bool, partial: bool, proper: bool, copies: int
) -> tuple[NullKind | None, str]:
    """Return the kind of null that fits the design, or None and the reason why there is none.

    Parameters
    ----------
    wanted
        The user's choice; ``auto`` chooses.
    logit
        Whether the model has a formula.
    paired
        Whether row i of each copy is record i.
    partial
        Whether a column was kept.
    proper
        Whether parameters were drawn from their posterior; masks may then tie record i to row i.
    """
    if wanted == "auto":
        if paired and (partial or proper):
            return "within_record", ""
        if not partial:
            return ("formula" if logit else "permutation"), ""
        if copies >= 2:
            return "pairs", ""
        return None, "some columns are kept, rows cannot be traced and there is one copy: no null fits"
    if wanted == "within_record" and not paired:
        return None, "the within-record null needs aligned rows (evaluation.rows)"
    if wanted == "pairs" and copies < 2:
        return None, "the null of pairs needs two copies"
    if wanted == "formula" and not logit:
        return None, "only a logistic regression has a formula"
    kinds: dict[str, NullKind] = {kind: kind for kind in get_args(NullKind)}
    return kinds[wanted], ""


def relabelled(
    classifier: Classifier, *, kind: NullKind, proper: bool, times: int, rng: np.random.Generator
) -> Null | None:
    """Return the null of labels exchanged so many times, within the records or among all of them."""
    stack = classifier.stack
    scale = 1.0 if proper else 1 - stack.share
    values, per_record = np.empty(times), np.zeros(len(stack))
    for t in range(times):
        go_on()
        label = stack.relabel(swap=kind == "within_record", rng=rng)
        squares = scale * Scores.of(stack, classifier.scores(label)).squares
        values[t] = squares.mean()
        per_record += squares / times
    return _of_values(kind, values, per_record, len(stack))


def between(values: Sequence[float], stack: Stack) -> Null | None:
    """Return the null of pMSEs of one copy against another, for the sizes of a stack."""
    factor = 8 * stack.share**2 * (1 - stack.share) ** 2
    return _of_values("pairs", factor * np.asarray(values), None, len(stack))


def pool(found: Sequence[Null | None]) -> list[Null | None]:
    """Return each copy's null with the simulated values of all copies of its size behind it."""
    pooled: list[Null | None] = []
    for null in found:
        if null is None or null.values is None:
            pooled.append(null)
            continue
        others = [o.values for o in found if o is not None and o.values is not None and o.records == null.records]
        pooled.append(_of_values(null.kind, np.concatenate(others), null.per_record, null.records))
    return pooled


def _of_values(kind: str, values: Floats, per_record: Floats | None, records: int) -> Null | None:
    expected = float(values.mean())
    if expected <= 0:
        return None
    sd = float(values.std(ddof=1)) if len(np.unique(values)) >= FEWEST_FOR_SD else None
    return Null(kind, expected, sd, per_record, values, records)
