"""Privacy loss distributions in dp-accounting's form, loaded when the first one is asked for.

Events with few outcomes are put on the grid by splitting each outcome between its two neighbours so that both
probabilities keep their sums ("connect the dots"): pessimistic, and wrong only to second order of the grid.

References
----------
Doroshenko, Ghazi, Kamath, Kumar, Manurangsi (2022), "Connect the dots: tighter discrete approximations of privacy loss
distributions", PoPETs 2022(4).
"""

import math
from collections import defaultdict
from functools import cache
from typing import Any

COARSEST, FINEST = 2.0**-6, 2.0**-22
GRID_PER_SPREAD = 2.0**-12


@cache
def _library() -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def grid_for(spread: float) -> float:
    """Return a power of 2 near 2⁻¹² of the composed loss's spread: then errors in ε are near 10⁻⁶ of it."""
    return min(COARSEST, max(FINEST, 2.0 ** math.floor(math.log2(spread * GRID_PER_SPREAD))))


def of_mechanism(noise: str, *numbers: float, grid: float) -> Any:
    """Return the distribution of a mechanism that dp-accounting knows by this name, from its own parameters."""
    dots = {"use_connect_dots": True} if noise.startswith("discrete") else {}
    make = getattr(_library(), f"from_{noise}_mechanism")
    return make(*numbers, value_discretization_interval=grid, **dots)


def widest_variation(epsilon: float, delta: float) -> float:
    """Return the largest total variation that (ε, δ)-DP allows: δ + (1−δ)·tanh(ε/2)."""
    return delta + (1 - delta) * math.tanh(epsilon / 2)


def atoms(epsilon: float, delta: float, eta: float, grid: float) -> Any:
    """Return the dominating pair of the DP-TV region: outcomes of loss ∞, ε, 0 and −ε."""
    telling = (eta - delta) / math.tanh(epsilon / 2)
    up = telling / (1 + math.exp(-epsilon))
    masses: dict[int, float] = defaultdict(float)
    for loss, mass in ((epsilon, up), (0.0, max(0.0, 1 - delta - telling)), (-epsilon, telling - up)):
        below, above = math.floor(loss / grid), math.ceil(loss / grid)
        if below == above:
            masses[below] += mass
            continue
        # keep Σp and Σp·e^−loss
        high = mass * math.expm1(below * grid - loss) / math.expm1((below - above) * grid)
        masses[above] += high
        masses[below] += mass - high
    rounded = {place: mass for place, mass in masses.items() if mass > 0}
    return _library().PrivacyLossDistribution.create_from_rounded_probability(rounded, delta, grid)
