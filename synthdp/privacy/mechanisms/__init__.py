"""Mechanisms: what is released, with how much noise, and what it costs.

How to use them (names are stable)::

    from synthdp.privacy.mechanisms import Bounds, Gaussian, Laplace, Secure, Simulated, sensitivity

    bounds = Bounds(18, 90)                                   # from the config, never from the data
    moved = bounds.clip(ages)                                 # .values, .outside (count), .sentence("age")
    mechanism = Laplace.calibrated(sensitivity.mean(bounds, n, "replace"), epsilon=0.5)
    noisy = mechanism.release(moved.values.mean(), source=Secure())       # Simulated(rng) in studies and tests
    mechanism.event()                                         # for privacy.accounting and the ledger
    mechanism.caution(bounds.width)                           # a sentence when the output is only noise

Every mechanism is a frozen settings object with ``sensitivity`` (value, norm, adjacency, origin), a constructor
``calibrated(sensitivity, *, epsilon[, delta])``, ``release(value, *, source)``, ``event()`` and ``describe()``. A
sensitivity whose bounds have ``origin="data"`` makes the event NonPrivate; ``origin="paid"`` says that the bounds
were themselves released by a mechanism that is in the ledger. Scales: ``Laplace.scale`` is b in e^{−|x|/b};
``Gaussian.sd`` is σ. ``release`` works on arrays in one batch and returns an array of the same shape.
"""

from synthdp.privacy.guarantees import Adjacency
from synthdp.privacy.mechanisms import local, sensitivity, smooth
from synthdp.privacy.mechanisms.additive import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from synthdp.privacy.mechanisms.mechanism import Mechanism, Secure, Simulated, Source
from synthdp.privacy.mechanisms.optimal import CountResponse, optimal_count
from synthdp.privacy.mechanisms.responses import Kary, Transition, binary
from synthdp.privacy.mechanisms.selection import Exponential, PermuteAndFlip, ReportNoisyMax, SparseVector
from synthdp.privacy.mechanisms.sensitivity import Bounds, Clipped, Sensitivity
from synthdp.privacy.mechanisms.shaped import BoundedLaplace, KNorm, gamma
from synthdp.privacy.mechanisms.smooth import SmoothNoise

__all__ = [
    "Adjacency",
    "BoundedLaplace",
    "Bounds",
    "Clipped",
    "CountResponse",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Gaussian",
    "KNorm",
    "Kary",
    "Laplace",
    "Mechanism",
    "PermuteAndFlip",
    "ReportNoisyMax",
    "Secure",
    "Sensitivity",
    "Simulated",
    "SmoothNoise",
    "Source",
    "SparseVector",
    "Transition",
    "binary",
    "gamma",
    "local",
    "optimal_count",
    "sensitivity",
    "smooth",
]
