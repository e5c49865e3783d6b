"""What the pMSE is when the synthesis is right: it depends on how the copies came about.

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
``python -m synthdp.studies nulls`` checks all of it by simulation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, get_args

import numpy as np

from synthdp.evaluation.utility.propensity.scores import Scores
from synthdp.evaluation.utility.propensity.settings import NullKind
from synthdp.evaluation.utility.propensity.stacking import Stack
from synthdp.microdata import Floats

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
