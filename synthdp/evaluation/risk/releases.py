"""Several releases of the same records attacked together: each has a scatter of its own, and what they say adds up.

Averaged over all copies, one scatter would make an exact release look like a wide one. So the law of a released value
given the true one is estimated release by release, from the records it holds; a row's evidence is the sum of the log
likelihoods, and how common such a row is follows from all releases together,

    Σ_releases Σ_copies log f_release(y | x)  −  log Σ_x' p(x') Π_releases Π_copies f_release(y | x').

A record that a release does not hold has no row there: a missing number says nothing, and not being there is a level of
its own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Booleans, compiled
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.scatter import NODES, NumericLaw
from synthdp.table.microdata import Codes, Floats

Values = npt.NDArray[Any]


def shown_by_release(comparison: Comparison, key: str, copies: Values) -> list[Values]:
    """Return what each release that gave a key out shows of it, copies by rows.

    Rows of records that a release does not hold are NaN, or one more level.
    """
    if not comparison.origins:
        return [copies]
    found, begin = [], 0
    nothing = np.nan if copies.dtype.kind == "f" else int(copies.max(initial=0)) + 1
    for origin in comparison.origins:
        mine = copies[begin : begin + origin.copies]
        begin += origin.copies
        if origin.columns is None or key in origin.columns:
            found.append(mine if origin.covers is None else np.where(origin.covers, mine, nothing))
    return found


def spread_out(law: NumericLaw, x: Floats) -> NumericLaw:
    """Return a law whose unseen errors are spread over the span of the column.

    In one release of all records, rows beyond the errors ever seen are left out by sorting. In one of some records they
    cannot be, and if errors beyond were as dense as those just within, many strangers would outweigh an exact match.
    """
    known = x[np.isfinite(x)]
    table = law.log_density.copy()
    table[:, [0, -1]] -= np.log(max(1.0, abs(law.slope) * float(known.max() - known.min()) / _reach(law)))
    return replace(law, log_density=table)


def number_marginal(x: Floats, shown: Sequence[Floats], laws: Sequence[NumericLaw]) -> Floats:
    """Return log Σ_x p(x) Π f(y | x) over all releases, by quadrature around the sharpest one that shows the row.

    O(NODES · M · n). Rows of which no release shows a value get zero.
    """
    known = x[np.isfinite(x)]
    span = float(known.max() - known.min())
    counts, edges = np.histogram(known, bins=min(100, max(5, int(np.sqrt(len(known))))))
    prior = np.log((counts + 0.5) / (counts.sum() + 0.5 * len(counts)) / np.diff(edges))
    # the sharpest first
    sharpness = [_reach(law) / max(abs(law.slope), 1e-12) for law in laws]
    sorted_ = [(laws[k], shown[k]) for k in np.argsort(sharpness, kind="stable")]
    middles = (np.arange(NODES) + 0.5) / NODES
    near = np.asarray([abs(law.slope) * span > _reach(law) for law, _ in sorted_])
    nodes = [
        law.low + _reach(law) * middles if local else np.quantile(known, middles)
        for (law, _), local in zip(sorted_, near, strict=True)
    ]
    size = np.asarray([law.log_density.shape[1] for law, _ in sorted_])
    tables = np.zeros((len(sorted_), int(size.max())))
    for row, (law, _) in enumerate(sorted_):
        tables[row, : size[row]] = law.log_density.mean(axis=0)
    return _joint_marginal(
        np.ascontiguousarray(np.vstack([y for _, y in sorted_])),
        np.repeat(np.arange(len(sorted_)), [len(y) for _, y in sorted_]).astype(np.int64),
        near,
        np.stack(nodes),
        edges,
        prior,
        np.asarray([[law.intercept, law.slope, law.low, law.width] for law, _ in sorted_]),
        size,
        tables,
    )


def level_marginal_of(true: Codes, shown: Sequence[Codes], tables: Sequence[Floats]) -> Floats:
    """Return log Σ_x p(x) Π Pr(y | x) over all releases for each row."""
    levels = int(true.max()) + 1
    seen, place = np.unique(np.vstack(shown), axis=1, return_inverse=True)
    split = np.split(seen, np.cumsum([len(one) for one in shown])[:-1])
    means = [table.mean(axis=0) for table in tables]
    prior = np.log((np.bincount(true, minlength=levels) + 0.5) / (len(true) + 0.5 * levels))
    total = np.full(seen.shape[1], -np.inf)
    for level in range(levels):
        said = sum(mean[level][mine].sum(axis=0) for mean, mine in zip(means, split, strict=True))
        total = np.logaddexp(total, prior[level] + said)
    return np.asarray(total[place.ravel()], dtype=np.float64)


def _reach(law: NumericLaw) -> float:
    return float(law.width * (law.log_density.shape[1] - 2))


@compiled
def _joint_marginal(
    y: Floats,
    of: Codes,
    near: Booleans,
    nodes: Floats,
    edges: Floats,
    prior: Floats,
    laws: Floats,
    size: Codes,
    tables: Floats,
) -> Floats:
    """Return the log marginal of each row; releases sorted by sharpness, ``of`` says whose each copy is.

    ``laws`` has intercept, slope, low and width of each release. Nodes are errors of the leading release, weighted by
    the density of x, or quantiles of x of equal weight.
    """
    copies, n = y.shape
    found = np.zeros(n)
    count = nodes.shape[1]
    for i in range(n):
        lead, total, seen = -1, 0.0, 0
        for m in range(copies):
            if np.isfinite(y[m, i]) and (lead < 0 or of[m] == lead):
                lead = of[m]
                total += y[m, i]
                seen += 1
        if seen == 0:
            continue
        mean, best, rest = total / seen, -np.inf, 0.0
        step = -np.log(count)
        if near[lead]:
            step = np.log((size[lead] - 2) * laws[lead, 3] / count / abs(laws[lead, 1]))
        for q in range(count):
            at, term = nodes[lead, q], step
            if near[lead]:
                at = (mean - laws[lead, 0] - nodes[lead, q]) / laws[lead, 1]
                place = np.searchsorted(edges, at, side="right") - 1
                term += prior[min(max(place, 0), len(prior) - 1)]
            for m in range(copies):
                if np.isfinite(y[m, i]):
                    k = of[m]
                    inside = (y[m, i] - laws[k, 0] - laws[k, 1] * at - laws[k, 2]) / laws[k, 3]
                    term += tables[k, int(np.floor(min(max(inside, -1.0), size[k] - 2.0))) + 1]
            # log Σ exp, one term after the other
            if term > best:
                rest = rest * np.exp(best - term) + 1.0
                best = term
            else:
                rest += np.exp(term - best)
        found[i] = best + np.log(rest)
    return found
