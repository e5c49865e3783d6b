"""Gradient boosting that tells synthetic from original records, scored on records it was not fitted to."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from synthdp.evaluation.utility.propensity.stacking import Stack
from synthdp.microdata import Codes, Floats

FOLDS = 3
TREES = 60
LEAVES = 15
# beyond this scikit-learn takes no levels: they are then split by threshold, as numbers are
MOST_LEVELS = 255


@dataclass(frozen=True, repr=False)
class Boosting:
    """scikit-learn's histogram gradient boosting, cross-fitted over three folds.

    Both rows of a record are in the same fold: otherwise the kept columns would lead from the one that was fitted to
    the label of the other.

    Notes
    -----
    Cost O(trees · N · columns) for each fold: about 0.7 s of one core for 20,000 stacked records and 10 columns.
    """

    stack: Stack
    codes: Floats
    folds: Codes

    @classmethod
    def of(cls, stack: Stack, rng: np.random.Generator) -> Self:
        """Return the model of a stack, columns put into bins and records into folds."""
        folds = rng.permutation(len(stack.original) if stack.paired else len(stack)) % FOLDS
        codes = stack.bins().T.astype(np.float64)
        return cls(stack, codes, np.tile(folds, 2) if stack.paired else folds)

    def scores(self, label: Floats) -> Floats:
        """Return each record's probability as the models of the other folds give it."""
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        found = np.full(len(label), label.mean())
        for fold in range(FOLDS):
            inside = self.folds == fold
            if inside.all() or not inside.any() or len(np.unique(label[~inside])) < 2:
                continue
            model = HistGradientBoostingClassifier(
                max_iter=TREES,
                max_leaf_nodes=LEAVES,
                categorical_features=~np.asarray(self.stack.ordered) & (self.codes.max(axis=0) < MOST_LEVELS),
                early_stopping=False,
                random_state=0,  # without early stopping nothing is drawn
            )
            # threads that wait for each other's turn take many times longer on a machine with other work
            with threadpool_limits(1, user_api="openmp"):
                model.fit(self.codes[~inside], label[~inside])
                found[inside] = model.predict_proba(self.codes[inside])[:, 1]
        return found
