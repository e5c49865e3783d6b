"""Shares of levels under utilities that are related by one half, and the constants that have given shares.

Level k of K is chosen when v_k = m_k + ε_k is the largest, ε independent normals of variance ½, m_0 = 0: differences to
v_0 have variance one and correlations of one half.

    p_k = ∫ φ(t) Π_{l≠k} Φ(t + √2 (m_k − m_l)) dt
"""

from functools import lru_cache

import numpy as np
from scipy.special import ndtr, roots_hermitenorm

from synthdp.table.microdata import Floats

NODES = 80
ROUNDS, CLOSE = 60, 1e-9
FARTHEST = 1.0  # a step of a constant


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    t, weights = roots_hermitenorm(NODES)
    return t, weights / np.sqrt(2 * np.pi)


def _grid(m: Floats) -> tuple[Floats, Floats, Floats]:
    """Return weights, t + √2(m_k − m_l) (nodes × k × l), and Φ of it, one where k = l."""
    t, weights = _nodes()
    away = np.sqrt(2) * (m[:, None] - m)
    z = t[:, None, None] + away
    below = ndtr(z)
    below[:, np.arange(len(m)), np.arange(len(m))] = 1.0
    return weights, z, below


def shares(m: Floats) -> Floats:
    """Return the shares of levels 1 to K − 1 from their constants.

    Examples
    --------
    >>> shares(np.zeros(2)).round(6).tolist()
    [0.333333, 0.333333]
    """
    weights, _, below = _grid(np.concatenate([[0.0], m]))
    return np.asarray((weights @ below.prod(axis=2))[1:])


def slopes(m: Floats) -> Floats:
    """Return ∂p_k/∂m_l of levels 1 to K − 1. O(K³)."""
    weights, z, below = _grid(np.concatenate([[0.0], m]))
    k = len(m) + 1
    found = np.zeros((k, k))
    for other in range(k):
        without = np.delete(below, other, axis=2).prod(axis=2)
        density = np.exp(-(z[:, :, other] ** 2) / 2) / np.sqrt(2 * np.pi)
        found[:, other] = -np.sqrt(2) * (weights @ (without * density))
    found[np.arange(k), np.arange(k)] = 0.0
    found[np.arange(k), np.arange(k)] = -found.sum(axis=1)
    return found[1:, 1:]


def constants(wanted: Floats, start: Floats | None = None) -> Floats:
    """Return the constants under which levels 1 to K − 1 have these shares, by Newton's method from ``start``."""
    m = np.zeros(len(wanted)) if start is None else start
    for _ in range(ROUNDS):
        lacking = wanted - shares(m)
        if np.abs(lacking).max(initial=0.0) < CLOSE:
            break
        m = m + np.clip(np.linalg.solve(slopes(m), lacking), -FARTHEST, FARTHEST)
    return m
