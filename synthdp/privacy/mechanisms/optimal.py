r"""The best mechanism there is for one count, by linear programming.

A count θ ∈ {0..n} is answered by i ∈ {0..n} with probability q(i | θ). ε-DP binds neighbouring counts only, which
differ by 1, so the best mechanism solves

    minimise   the worst, mean or common risk     r(θ) = Σ_i loss(i, θ) q(i | θ)
    subject to Σ_i q(i | θ) = 1,   q(i | θ) ≤ e^ε q(i | θ ± 1),   q ≥ 0.

``minimax`` minimises max_θ r(θ), ``bayes`` Σ_θ prior(θ) r(θ), ``equalizer`` the risk among mechanisms for which it is
the same at every θ. With the absolute error the first and the last agree (checked to six digits for n = 1 … 20), and
both tend to 1/sinh(ε), the error of geometric noise, as n grows.

Notes
-----
The answer of a solver keeps its constraints up to rounding only, and a share rounded to 0 would give a count away. The
matrix is therefore repaired to keep ε, which costs about what the solver was off by, and mixed with a uniform answer
by the least weight of 10⁻¹⁵, 10⁻¹⁴, … with which the whole numbers that are drawn from keep it too. Cost: a sparse
programme of (n + 1)² unknowns, 1 to 3 s at n = 70.

References
----------
Hall (2012, PhD thesis, CMU), sections 1.3.5 and 2.3.3 (outputs are printed once as 1..n and once as 0..n; 0..n here).
Ghosh, Roughgarden, Sundararajan (2012), SIAM J. Comput. 41(6). Gupte, Sundararajan (2010), PODS.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError, Unfinished
from synthdp.privacy.guarantees import epsilon_of, floats, whole
from synthdp.privacy.mechanisms.responses import Transition
from synthdp.table.microdata import Floats

Rule = Literal["minimax", "bayes", "equalizer"]
RULES = ("minimax", "bayes", "equalizer")
MOST_RECORDS = 200
LEAST_MIXED, MOST_MIXED = -15, -4
# the tightest that HiGHS takes: what a constraint is off by has to be made up for
TOLERANCE = 1e-10
# how far unknowns are scaled, as exponents; HiGHS now and then gives up on one of these
CAPS = (20.0, 12.0, 0.0)


@dataclass(frozen=True)
class CountResponse(Transition):
    """Answers to a count of 0..n: only counts that differ by 1 are neighbours, so ε is that of adjacent rows.

    Examples
    --------
    >>> made = optimal_count(1, 1.0)
    >>> made.risk().round(6).tolist()
    [0.268941, 0.268941]
    """

    name: ClassVar[str] = "optimal count"

    @property
    def epsilon(self) -> float:
        """Ln of the largest ratio between the shares of one answer for two adjacent counts; exact."""
        worst = 0.0
        for one, other in zip(self.shares, self.shares[1:], strict=False):
            for high, low in ((max(pair), min(pair)) for pair in zip(one, other, strict=True)):
                if high > low:
                    worst = max(worst, math.log1p((high - low) / low) if low else math.inf)
        return worst

    def delta(self, epsilon: float) -> float:
        """Return the exact δ(ε) between adjacent counts."""
        p, grown = self.matrix, math.exp(epsilon)
        down = np.maximum(p[1:] - grown * p[:-1], 0.0).sum(axis=1)
        up = np.maximum(p[:-1] - grown * p[1:], 0.0).sum(axis=1)
        return float(max(down.max(), up.max()))

    def risk(self, loss: "Loss" = "absolute") -> Floats:
        """Return the expected loss at every true count."""
        return np.asarray((self.matrix * losses(loss, self.levels - 1)).sum(axis=1))

    def _noise(self) -> str:
        return f"Answers to a count of 0 to {self.levels - 1}"


Loss = Literal["absolute", "squared"] | npt.ArrayLike


def losses(loss: Loss, n: int) -> Floats:
    """Return the loss of every answer (column) at every true count (row)."""
    if isinstance(loss, str):
        if loss not in ("absolute", "squared"):
            raise InputError(f"loss: must be absolute, squared or a matrix, found {loss!r}.")
        distance: Floats = np.abs(np.subtract.outer(np.arange(n + 1.0), np.arange(n + 1.0)))
        return distance if loss == "absolute" else distance**2
    matrix = floats(loss, "loss")
    if matrix.shape != (n + 1, n + 1) or not np.isfinite(matrix).all() or (matrix < 0).any():
        raise InputError(f"loss: must be {n + 1} × {n + 1} finite numbers, none below 0; rows are true counts.")
    return matrix


def optimal_count(
    n: int,
    epsilon: float,
    rule: Rule = "minimax",
    loss: Loss = "absolute",
    prior: npt.ArrayLike | None = None,
) -> CountResponse:
    """Return the ε-DP answer to a count of 0..n with the least risk.

    Parameters
    ----------
    n
        The number of records, which is public.
    rule
        What is made least: the largest risk, the mean under ``prior``, or the risk that all counts share.
    loss
        ``absolute``, ``squared``, or a matrix, rows by true count and columns by answer.
    prior
        For ``bayes``: the probability of every true count; even when absent.

    Examples
    --------
    >>> float(optimal_count(5, 1.0).risk().max().round(5))
    0.68371
    """
    n, epsilon = whole(n, "n", 1), epsilon_of(epsilon)
    if n > MOST_RECORDS:
        raise InputError(
            f"n: at most {MOST_RECORDS}, found {n}; DiscreteLaplace errs by 1/sinh(ε), as good from there."
        )
    if rule not in RULES:
        raise InputError(f"rule: must be one of {', '.join(RULES)}, found {rule!r}.")
    if prior is not None and rule != "bayes":
        raise InputError(f"prior: belongs to the rule bayes, found with {rule}.")
    costs = losses(loss, n)
    weights = _prior(prior, n)
    for cap in CAPS:
        solved = _solved(n, epsilon, rule, costs, weights, cap)
        if solved is not None:
            return _exact(solved, epsilon)
    raise Unfinished(f"optimal count: the linear programme has no solution under the rule {rule}; use minimax.")


def risk_body(epsilon: float) -> Floats:
    """Return the corners of all risks (r(0), r(1)) that ε-DP answers to a count of 0 or 1 can have, in order.

    A rhombus between (0, 1), (t, t), (1, 0) and (1 − t, 1 − t), t = 1/(1 + e^ε), of area tanh(ε/2).
    """
    t = 1 / (1 + math.exp(min(epsilon_of(epsilon), 700.0)))
    return np.array([[0.0, 1.0], [t, t], [1.0, 0.0], [1 - t, 1 - t]])


def _prior(prior: npt.ArrayLike | None, n: int) -> Floats:
    if prior is None:
        return np.full(n + 1, 1 / (n + 1))
    weights = floats(prior, "prior")
    if weights.shape != (n + 1,) or not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-9:
        raise InputError(f"prior: must be {n + 1} probabilities that sum to 1.")
    return weights


def _solved(n: int, epsilon: float, rule: Rule, costs: Floats, prior: Floats, cap: float) -> Floats | None:
    """Return the matrix q, rows by true count; the last variable of the programme is the common or largest risk."""
    from scipy import sparse
    from scipy.optimize import linprog

    size = n + 1
    place = np.arange(size * size).reshape(size, size)
    last = size * size
    # unknowns are q e^(ε|i − θ|): of one size, so that what the solver leaves over is small beside every share
    away = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    unit = np.exp(-np.minimum(epsilon * away, cap))
    rows = np.arange(2 * n * size)
    one = np.concatenate([place[:-1].ravel(), place[1:].ravel()])
    other = np.concatenate([place[1:].ravel(), place[:-1].ravel()])
    # a share is at most e^ε times its neighbour's: in these units up to e^(2ε), written with coefficients up to 1
    most = epsilon - np.log(unit.ravel()[one] / unit.ravel()[other])
    private: Any = sparse.csr_array(
        (np.concatenate([np.exp(-most), np.full(len(rows), -1.0)]), (np.r_[rows, rows], np.r_[one, other])),
        shape=(len(rows), last + 1),
    )
    true = np.repeat(np.arange(size), size)
    sums: Any = sparse.csr_array((unit.ravel(), (true, place.ravel())), (size, last + 1))
    expected: Any = sparse.csr_array(((costs * unit).ravel(), (true, place.ravel())), (size, last))
    risks: Any = sparse.hstack([expected, sparse.csr_array(np.full((size, 1), -1.0))])
    objective = np.zeros(last + 1)
    upper, equal, aims = [private], [sums], [np.ones(size)]
    if rule == "bayes":
        objective[:last] = (prior[:, None] * costs * unit).ravel()
    else:
        objective[last] = 1.0
        if rule == "minimax":
            upper.append(risks)
        else:
            equal.append(risks)
            aims.append(np.zeros(size))
    bounds = sparse.vstack(upper)
    found = linprog(
        objective,
        A_ub=bounds,
        b_ub=np.zeros(bounds.shape[0]),
        A_eq=sparse.vstack(equal),
        b_eq=np.concatenate(aims),
        method="highs",
        options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
    )
    if found.x is None:
        return None
    return np.asarray(found.x[:last], dtype=np.float64).reshape(size, size) * unit


def _exact(solved: Floats, epsilon: float) -> CountResponse:
    """Return a response that keeps ε to the last digit, as close to the solver's as it takes.

    Shares are first raised to the least matrix above them whose columns keep e^ε. Its rows no longer sum to one value;
    what each lacks to the largest is answered by geometric noise of ε/2, which is private as long as the lack itself
    changes by no more than e^(ε/2) from row to row: hence a little is added to all.
    """
    size = len(solved)
    raised = np.maximum(solved, 0.0)
    for order in (range(1, size), range(size - 2, -1, -1)):
        for k in order:
            raised[k] = np.maximum(raised[k], raised[k - order.step] * math.exp(-epsilon))
    total = raised.sum(axis=1)
    lack = total.max() - total
    lack += lack.max() / math.expm1(epsilon / 2)
    found = (raised + lack[:, None] * _geometric(size, epsilon / 2)) / (total + lack)[0]
    for exponent in range(LEAST_MIXED, MOST_MIXED + 1):
        weight = 10.0**exponent
        made = CountResponse.of((1 - weight) * found + weight / size)
        if made.epsilon <= epsilon:
            return made
    raise Unfinished("optimal count: the solver's matrix is too far from private; ask for fewer records or another ε.")


def _geometric(size: int, epsilon: float) -> Floats:
    """Return the answers of geometric noise moved to 0..n, rows by true count."""
    away = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    shares = math.tanh(epsilon / 2) * np.exp(-epsilon * away)
    # what lies beyond an end: Σ_{k ≥ d} tanh(ε/2) e^(−εk) = e^(−εd)/(1 + e^(−ε))
    shares[:, [0, -1]] = np.exp(-epsilon * away[:, [0, -1]]) / (1 + math.exp(-epsilon))
    return np.asarray(shares)
