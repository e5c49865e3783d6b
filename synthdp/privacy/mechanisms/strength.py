"""Say when a release is noise and nothing else."""

import math

from synthdp.privacy.parameters import positive


def says_nothing(sd: float, width: float) -> bool:
    """Return whether the noise is as wide as everything the answer could be.

    A uniform guess in an interval of this width has sd width/√12, so noise of that sd tells no more than the interval.
    """
    return sd >= width / math.sqrt(12)


def drowned(where: str, sd: float, width: float) -> str | None:
    """Return a sentence when the noise tells no more than the width of possible answers; None otherwise."""
    if not says_nothing(sd, positive(width, f"{where}: width of possible answers")):
        return None
    return (
        f"{where}: the noise (sd {sd:.3g}) is wider than the answers can differ ({width:.3g}); the output is noise. "
        "Raise epsilon, narrow the bounds or use more records."
    )
