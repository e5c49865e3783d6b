"""Which score counts: chosen on one half of the fits, judged on the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.evaluation.risk.shadow.judging import FALSE_POSITIVES, Rounds, evidence, found_at, learnt_scores, mean_auc
from synthdp.evaluation.risk.shadow.scores import Marks
from synthdp.microdata import Floats


@dataclass(frozen=True, repr=False)
class Trial:
    """Every score of one game on both halves of the fits.

    Parameters
    ----------
    learning, judging
        Who was in, in the first half and in the second.
    before, after
        The scores by name, shape (fits, targets). ``after`` of a learnt score is what the whole first half taught;
        ``before`` is cross-fitted in the first half: even fits are scored by what odd fits taught and the other way
        round.
    """

    learning: Rounds
    judging: Rounds
    before: Mapping[str, Floats]
    after: Mapping[str, Floats]

    def __repr__(self) -> str:
        return f"Trial({len(self.after)} scores)"

    @classmethod
    def of(cls, marks: Sequence[Marks], names: Sequence[str], rounds: Rounds) -> "Trial":
        """Return the trial of fits that were made independently, in any order."""
        fits = len(marks)
        first, second = np.arange(fits // 2), np.arange(fits // 2, fits)
        plain = np.stack([one.scores for one in marks])
        before = {name: plain[first, :, j] for j, name in enumerate(names)}
        after = {name: plain[second, :, j] for j, name in enumerate(names)}
        learnt = {
            "queries": np.stack([one.answers for one in marks]),
            "statistics": np.stack([one.statistics for one in marks]),
        }
        for name, features in learnt.items():
            crossed = np.zeros((len(first), rounds.member.shape[1]))
            for parity in (0, 1):
                crossed[parity::2] = learnt_scores(features, rounds, first[1 - parity :: 2], first[parity::2])
            before[name] = crossed
            after[name] = learnt_scores(features, rounds, first, second)
        return cls(rounds.take(first), rounds.take(second), before, after)

    def lines(self) -> list[dict[str, Any]]:
        """Return the AUC of every score on the second half."""
        found = []
        for name, scores in self.after.items():
            estimate, _ = mean_auc(scores, self.judging)
            found.append({"score": name, "auc": estimate["value"], "low": estimate["low"], "high": estimate["high"]})
        return found

    def worst(self, *, rng: np.random.Generator) -> tuple[dict[str, Any], Floats]:
        """Return what the score that did best on the first half does on the second, and its AUC for each target."""
        promise = {name: self._promise(scores) for name, scores in self.before.items()}
        name = max(promise, key=lambda one: float(np.nanmean(promise[one])) if np.isfinite(promise[one]).any() else 0.0)
        scores = self.after[name]
        estimate, each = mean_auc(scores, self.judging)
        ratio = evidence(self.before[name], self.learning, scores)
        # of a claim that is right or not, AUC = (1 + true - false positive rate)/2
        claim, _ = mean_auc((ratio > 0).astype(np.float64), self.judging)
        gained = {end: None if claim[end] is None else 2 * claim[end] - 1 for end in ("value", "low", "high")}
        found = {
            "score": name,
            "auc": estimate["value"],
            "low": estimate["low"],
            "high": estimate["high"],
            "advantage": gained["value"],
            "advantage_low": gained["low"],
            "advantage_high": gained["high"],
            "tpr": [found_at(rate, ratio, self.judging, rng=rng) for rate in FALSE_POSITIVES],
            "worst_target": self._worst_target(promise[name], scores),
        }
        return found, each

    def _promise(self, scores: Floats) -> Floats:
        """Return the AUC of each target on the first half, within even and odd fits: their scales may differ."""
        halves = [np.arange(parity, len(scores), 2) for parity in (0, 1)]
        return np.asarray(np.mean([mean_auc(scores[half], self.learning.take(half))[1] for half in halves], axis=0))

    def _worst_target(self, promise: Floats, scores: Floats) -> dict[str, Any]:
        """Return the AUC on the second half of the target that looked worst on the first."""
        known = [target for target, _, _ in self.judging.sides() if np.isfinite(promise[target])]
        if not known:
            return {"auc": None, "low": None, "high": None}
        target = max(known, key=lambda one: float(promise[one]))
        only = Rounds(self.judging.member[:, [target]], self.judging.played[:, [target]])
        found, _ = mean_auc(scores[:, [target]], only)
        return {"auc": found["value"], "low": found["low"], "high": found["high"]}
