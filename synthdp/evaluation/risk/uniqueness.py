"""Who shares their keys with whom.

k-anonymity, l-diversity, t-closeness, and uniqueness in the population by survey weights.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from synthdp.errors import InputError
from synthdp.evaluation.combinations import (
    classes,
    combine,
    require_columns,
    require_keys,
    require_targets,
    require_weights,
)
from synthdp.evaluation.comparison import Comparison
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column, Kind

SMALL = (2, 3, 5)
CHUNK = 2**22


def evaluate_anonymity(comparison: Comparison, *, targets: Sequence[str] = ()) -> dict[str, Any]:
    """Describe the classes of records that are alike on the keys, in the original and in every copy.

    ``k`` is the size of the smallest class, so the intruder who knows the keys and nothing else is right with
    probability at most 1/k; ``below`` has the share of records in classes smaller than 2, 3 and 5. For each target:
    ``l_distinct``, the smallest number of values in a class; ``l_entropy``, the smallest exp(entropy) of a class;
    ``t``, the largest distance between the distribution in a class and that of the whole file.

    Notes
    -----
    These describe a file, not an attack: a synthetic row with k = 1 need not be anybody. Numeric keys and targets are
    in classes of width 2 × tolerance; missing is a value (of an ordered target, the last). t is the earth mover's
    distance with unit distance between levels of nominal and binary targets, ½ Σ|p − q|, and with rank distance for
    ordered ones, Σ_i |Σ_{j≤i} (p_j − q_j)|/(v − 1) for v values. Cost O(n log n), and O(classes · v) for ordered
    targets, in pieces.

    References
    ----------
    Sweeney (2002), IJUFKS 10(5), 557-570; Machanavajjhala et al. (2007), ACM TKDD 1(1);
    Li, Li and Venkatasubramanian (2007), ICDE.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> data = resolve(pd.DataFrame({"age": list("aabb"), "ill": list("xyxx")}), {"age": Variable(key=True)})
    >>> found = evaluate_anonymity(Comparison(data.frame, (), data.schema, aligned=True), targets=["ill"])["original"]
    >>> found["k"], found["targets"][0]["l_distinct"], found["targets"][0]["t"]
    (2, 1, 0.25)
    """
    keys = require_keys(comparison.schema, "anonymity")
    wanted = require_targets(targets, comparison.schema.columns, "anonymity")
    require_columns(comparison.copies, [*keys, *wanted], "anonymity")
    frames = [comparison.original, *comparison.copies]
    cells = combine(frames, keys)
    values = {target: classes(frames, target) for target in wanted}
    found = [
        describe(cells[number], {target: coded[number] for target, coded in values.items()})
        for number in range(len(frames))
    ]
    return {"keys": [key.name for key in keys], "original": found[0], "copies": found[1:]}


def describe(cells: Codes, targets: dict[Column, Codes]) -> dict[str, Any]:
    """Return the measures of one file, given the class of each record and the value of each target."""
    if not len(cells):
        return {"k": None, "classes": 0, "below": [], "targets": []}
    _, cell = np.unique(cells, return_inverse=True)
    sizes = np.bincount(cell)
    of_record = sizes[cell]
    return {
        "k": int(sizes.min()),
        "classes": len(sizes),
        "below": [{"k": k, "rate": float((of_record < k).mean())} for k in SMALL],
        "targets": [_diversity(cell, sizes, target, value) for target, value in targets.items()],
    }


def _diversity(cell: Codes, sizes: Codes, target: Column, value: Codes) -> dict[str, Any]:
    _, value = np.unique(value, return_inverse=True)
    width = int(value.max()) + 1
    pairs, counts = np.unique(cell * width + value, return_counts=True)
    owner, level = pairs // width, pairs % width
    share = counts / sizes[owner]
    entropy = np.bincount(owner, weights=-share * np.log(share), minlength=len(sizes))
    overall = np.bincount(value, minlength=width) / len(value)
    nominal = target.kind in (Kind.NOMINAL, Kind.BINARY)
    far = _nominal(owner, level, share, overall) if nominal else _ordered(owner, level, share, overall)
    return {
        "target": target.name,
        "l_distinct": int(np.bincount(owner).min()),
        "l_entropy": float(np.exp(entropy.min())),
        "t": float(far.max()),
    }


def _nominal(owner: Codes, level: Codes, share: Floats, overall: Floats) -> Floats:
    """Return ½ Σ|p − q| of each class; values that a class lacks add their whole share."""
    present = np.bincount(owner, weights=np.abs(share - overall[level]))
    lacking = 1 - np.bincount(owner, weights=overall[level])
    return np.asarray((present + lacking) / 2, dtype=np.float64)


def _ordered(owner: Codes, level: Codes, share: Floats, overall: Floats) -> Floats:
    width, total = len(overall), int(owner.max()) + 1
    if width == 1:
        return np.zeros(total)
    far = np.empty(total)
    step = max(1, CHUNK // width)
    for start in range(0, total, step):
        stop = min(start + step, total)
        rows = slice(*np.searchsorted(owner, [start, stop]))
        dense = np.zeros((stop - start, width))
        dense[owner[rows] - start, level[rows]] = share[rows]
        far[start:stop] = np.abs(np.cumsum(dense - overall, axis=1)).sum(axis=1) / (width - 1)
    return far


def evaluate_population(comparison: Comparison) -> dict[str, Any]:
    """Estimate how many sample uniques are population uniques, and the risk of a link to the population.

    The intruder holds a register of the whole population with the keys, and the original records without names. A
    record whose class has F people in the population is found with probability 1/F. F is unknown; given the f records
    of the class in the sample it is taken as negative binomial,

        Pr(F = h | f) = C(h − 1, f − 1) π^f (1 − π)^(h − f),   h ≥ f,   π = f / Σ weights of the class,

    so Pr(F = 1 | f = 1) = π and E(1/F | f) = (π/f) · ₂F₁(1, 1; f + 1; 1 − π).

    Returns
    -------
    dict
        ``sample_unique``; ``population_unique`` (expected number of sample uniques that are population uniques) and
        its share; ``expected_links`` (sum of E(1/F) over records) and its rate; ``max_individual``.

    Raises
    ------
    InputError
        Without keys or weights, or when a weight is missing or below 1.

    Notes
    -----
    The model is exact when sampling is Bernoulli with probability π and class sizes follow Pr(F) ∝ 1/F (many small
    classes, a few large ones), and wrong otherwise: with classes of nearly equal size it overstates population
    uniqueness (checked by simulation in the tests). The risk is that of the original, before any synthesis. O(n).

    References
    ----------
    Benedetti and Franconi (1998), Statistical and technological solutions for controlled data dissemination, NTTS
    pre-proceedings 1, 225-232; Polettini (2003), ISTAT, on the series for E(1/F); the estimator of μ-Argus 4.
    """
    keys = require_keys(comparison.schema, "population")
    given = [column for column in comparison.schema.columns if column.design == "weights"]
    if not given:
        raise InputError("population: needs the survey's weights; set data.weights to their column.")
    weights = require_weights(comparison.original, given[0], "population")
    (cells,) = combine([comparison.original], [key for key in keys if key != given[0]])
    return population_risk(cells, weights)


def population_risk(cells: Codes, weights: Floats) -> dict[str, Any]:
    """Return the measures of :func:`evaluate_population` for coded classes."""
    n = len(cells)
    sample = np.bincount(cells)
    share = np.minimum(sample / np.maximum(np.bincount(cells, weights=weights), 1e-300), 1.0)
    unique = sample == 1
    risk = inverse_size(sample, share)[cells]
    return {
        "sample_unique": int(unique.sum()),
        "population_unique": float(share[unique].sum()),
        "population_unique_rate": float(share[unique].sum()) / n,
        "expected_links": float(risk.sum()),
        "expected_links_rate": float(risk.mean()),
        "max_individual": float(risk.max()),
    }


def inverse_size(sample: Codes, share: Floats) -> Floats:
    """Return E(1/F | f) for f records sampled at rate π, as a series that is stable for large f.

    Examples
    --------
    >>> inverse_size(np.array([1, 1]), np.array([1.0, 0.5])).round(4).tolist()
    [1.0, 0.6931]
    """
    from scipy.special import hyp2f1

    return np.asarray(share / sample * hyp2f1(1.0, 1.0, sample + 1.0, 1 - share), dtype=np.float64)
