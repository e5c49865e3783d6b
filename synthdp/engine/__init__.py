"""Where the work runs: this process, processes beside it, or a cluster. What comes of it is the same everywhere."""

from synthdp.engine.local import Local
from synthdp.engine.waist import Engine

__all__ = ["Engine", "Local"]
