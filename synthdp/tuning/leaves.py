"""Trees drawn forward as a candidate beside masks: no W, and how large leaves are is what hides people.

``method: sequential`` with the model ``cart`` is the family that synthpop's users know. A value is dealt from a leaf of
so many donors, so that the size of the leaf plays the part that the strength of masks plays elsewhere: larger leaves,
less risk, less use. So the same ladder is climbed, a factor of 2^(1/4) a rung, and the same border looked for.
"""

from collections.abc import Mapping
from typing import Any

from synthdp.config import Config
from synthdp.config.settings import AnySynthesis
from synthdp.stages.kept_advice import reworded
from synthdp.synthesis.imputed import DaMi
from synthdp.tuning.rays import HIGHEST, LOWEST, factor_of

TREES = "sequential cart"
# donors of a leaf on rung 0, and the fewest there are: synthpop's
MIDDLE, FEWEST = 20, 5
# the rung on which leaves have the fewest donors
LEAST = -8
# what both methods have, and mean alike
SHARED = ("shuffle", "repair")


def leaf_of(rung: int) -> int:
    """Return the fewest donors of a leaf on a rung.

    Examples
    --------
    >>> leaf_of(LEAST), leaf_of(0), leaf_of(4)
    (5, 20, 40)
    """
    return max(FEWEST, round(MIDDLE * factor_of(rung)))


def ladder(model: str) -> tuple[int, int]:
    """Return the lowest and the highest rung for a model."""
    return (LEAST if model == TREES else LOWEST, HIGHEST)


def trees_of(config: Config, copies: int, rung: int) -> AnySynthesis | None:
    """Return the synthesis block of trees on a rung; None where the config asks for what they do not do."""
    given = config.synthesis
    if not isinstance(given, DaMi) or given.imputations > 1 or given.missing != "keep":
        return None
    block: Mapping[str, Any] = {
        "method": "sequential",
        "model": {"method": "cart", "min_leaf": leaf_of(rung)},
        "copies": copies,
        **{name: getattr(given, name) for name in SHARED if name in given.model_fields_set},
    }
    other = reworded(config, "synthesis", block)
    return None if other is None else other.synthesis
