"""How well members were told from others.

The score chosen on one half of the fits, judged on the other, with intervals.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from synthdp.arrays import Booleans
from synthdp.evaluation.risk.rates import LEVEL, NOTHING, Estimate, below
from synthdp.evaluation.risk.shadow.scores import Marks
from synthdp.table.microdata import Codes, Floats

# of the number of fits learnt from: what the penalty of the discriminant is chosen among
PENALTIES = 10.0 ** np.arange(-3, 3)
RESAMPLES = 200
FALSE_POSITIVES = (0.01, 0.05)


@dataclass(frozen=True, repr=False)
class Rounds:
    """Who was in which fit.

    Parameters
    ----------
    member, played
        Shape (fits, targets): whether the target was in, and whether the fit says anything about the target.
    """

    member: Booleans
    played: Booleans

    def __repr__(self) -> str:
        return f"Rounds({self.member.shape[0]} fits, {self.member.shape[1]} targets)"

    def take(self, fits: Codes) -> "Rounds":
        """Return some of the fits."""
        return Rounds(self.member[fits], self.played[fits])

    def sides(self) -> Iterator[tuple[int, Codes, Codes]]:
        """Yield each target with the fits it was in and those it was not in, where there are both."""
        for target in range(self.member.shape[1]):
            inside = np.flatnonzero(self.member[:, target] & self.played[:, target])
            outside = np.flatnonzero(~self.member[:, target] & self.played[:, target])
            if len(inside) and len(outside):
                yield target, inside, outside


def mean_auc(scores: Floats, rounds: Rounds) -> tuple[Estimate, Floats]:
    """Return the mean over targets of Pr(score when in > score when out), ties half, and the AUC of each target.

    Targets have scores of different size, so fits are compared within a target only. A fit serves many targets, whose
    scores then go together: the interval takes fits, not scores, as independent. With the placements of DeLong et al.
    (1988), V for a fit that has target i among its m_i and W among its k_i without, the AUC of target i moves by

        u_fi = (V_fi − A_i)/m_i   or   (W_fi − A_i)/k_i,       Var(mean A) ≈ F/(F − 1) · Σ_f (Σ_i u_fi / T)²

    as for clustered data in Obuchowski (1997), here with the fits as clusters; t quantiles with F − 1 degrees of
    freedom. It speaks of these targets: they were chosen, not sampled. Where every fit is told apart rightly (or
    wrongly) the variance is 0 and the interval ends where it would for one target without an error among min(m, k)
    fits: 0.025 to the power 1/min(m, k), the exact bound.

    Parameters
    ----------
    scores
        Shape (fits, targets).

    Notes
    -----
    Cost O(T F log F).

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44, 837-845. Obuchowski (1997), Biometrics 53, 567-578.
    """
    fits, count = scores.shape
    each = np.full(count, np.nan)
    moves = np.zeros(fits)
    fewest = fits
    for target, inside, outside in rounds.sides():
        ours, theirs = scores[inside, target], scores[outside, target]
        m, k = len(ours), len(theirs)
        above, beneath = below(theirs, ours), 1 - below(ours, theirs)
        each[target] = above.mean()
        moves[inside] += (above - above.mean()) / m
        moves[outside] += (beneath - beneath.mean()) / k
        fewest = min(fewest, m, k)
    judged = int(np.isfinite(each).sum())
    if judged == 0:
        return dict(NOTHING), each
    value = float(np.nanmean(each))
    # targets that were never both in and out move nothing
    taking_part = int(rounds.played.any(axis=1).sum())
    variance = float(np.sum((moves / judged) ** 2)) * taking_part / max(1, taking_part - 1)
    half = float(stdtrit(max(1, taking_part - 1), 0.5 + LEVEL / 2)) * np.sqrt(variance)
    low, high = value - half, value + half
    sure = ((1 - LEVEL) / 2) ** (1 / fewest)
    if value == 1:
        low = min(low, sure)
    if value == 0:
        high = max(high, 1 - sure)
    return {"value": value, "low": max(0.0, float(low)), "high": min(1.0, float(high))}, each


def learn(features: Floats, member: Booleans, others: Floats) -> Floats:
    """Return the score of ``others`` by a discriminant learnt from features and who was a member.

    Ridge regression of ±1 on the standardised features, which is Fisher's linear discriminant with a shrunken
    covariance; of six penalties the one with the least generalised cross-validation error (Golub, Heath and Wahba
    1979, Technometrics 21, 215-223). Cost O(F d min(F, d)) for F fits and d features.
    """
    centre, spread = features.mean(axis=0), features.std(axis=0)
    varies = spread > 1e-12
    if not varies.any():
        return np.zeros(len(others))
    x = (features[:, varies] - centre[varies]) / spread[varies]
    y = np.where(member, 1.0, -1.0) - float(np.mean(np.where(member, 1.0, -1.0)))
    u, s, v = np.linalg.svd(x, full_matrices=False)
    projected = u.T @ y
    shrunk = s**2 / (s**2 + PENALTIES[:, None] * len(y))
    error = np.sum((y[:, None] - u @ (shrunk * projected).T) ** 2, axis=0)
    best = int(np.argmin(error / (1 - (shrunk.sum(axis=1) + 1) / len(y)) ** 2))
    slope = v.T @ (projected * s / (s**2 + PENALTIES[best] * len(y)))
    return np.asarray(((others[:, varies] - centre[varies]) / spread[varies]) @ slope, dtype=np.float64)


def learnt_scores(features: Floats, rounds: Rounds, train: Codes, test: Codes) -> Floats:
    """Return for every target the scores of the test fits by what the training fits taught.

    Parameters
    ----------
    features
        Shape (fits, targets, d), or (fits, d) where they are the same for all targets.

    Returns
    -------
    Floats
        Shape (test fits, targets).
    """
    found = np.zeros((len(test), rounds.member.shape[1]))
    for target, inside, outside in rounds.take(train).sides():
        if min(len(inside), len(outside)) < 2:
            continue
        own = features[:, target] if features.ndim == 3 else features
        fits = train[np.concatenate([inside, outside])]
        found[:, target] = learn(own[fits], rounds.member[fits, target], own[test])
    return np.round(found, 9)


def evidence(train: Floats, rounds: Rounds, test: Floats) -> Floats:
    """Return log likelihood ratios of test scores: normal when in and when out, with means learnt for each target.

    What LiRA does (Carlini et al. 2022, IEEE S&P, 1897-1914), with one variance for both sides: it makes scores of
    different targets comparable, and 0 the place to decide.
    """
    found = np.zeros_like(test)
    for target, inside, outside in rounds.sides():
        ours, theirs = train[inside, target], train[outside, target]
        pooled = np.concatenate([ours - ours.mean(), theirs - theirs.mean()])
        variance = max(float(np.mean(pooled**2)), 1e-6 * (float(ours.mean() - theirs.mean()) ** 2 + 1e-12))
        middle = (ours.mean() + theirs.mean()) / 2
        found[:, target] = (ours.mean() - theirs.mean()) * (test[:, target] - middle) / variance
    return np.round(found, 9)


def found_at(fpr: float, scores: Floats, rounds: Rounds, *, rng: np.random.Generator) -> Estimate:
    """Return the share of members above the threshold that at most a share ``fpr`` of the others exceeds.

    Over all targets together; the interval is the percentile bootstrap over fits, threshold and all.
    """
    values = [_found(fpr, scores, rounds)]
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(scores), len(scores))
        values.append(_found(fpr, scores[drawn], rounds.take(drawn)))
    low, high = np.nanquantile(values[1:], ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return {"fpr": fpr, "value": values[0], "low": float(low), "high": float(high)}


def _found(fpr: float, scores: Floats, rounds: Rounds) -> float:
    ours, theirs = scores[rounds.member & rounds.played], scores[~rounds.member & rounds.played]
    if not len(ours) or not len(theirs):
        return float("nan")
    place = len(theirs) - 1 - min(int(np.floor(fpr * len(theirs) + 1e-9)), len(theirs) - 1)
    return float(np.mean(ours > np.partition(theirs, place)[place]))


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
        return [{"score": name, **_named(mean_auc(each, self.judging)[0])} for name, each in self.after.items()]

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
            **_named(estimate),
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
            return _named(NOTHING)
        target = max(known, key=lambda one: float(promise[one]))
        only = Rounds(self.judging.member[:, [target]], self.judging.played[:, [target]])
        return _named(mean_auc(scores[:, [target]], only)[0])


def _named(estimate: Estimate) -> dict[str, Any]:
    return {"auc": estimate["value"], "low": estimate["low"], "high": estimate["high"]}
