"""Say when a release is noise and nothing else."""

from synthdp.privacy.parameters import positive


def drowned(where: str, sd: float, width: float) -> str | None:
    """Return a sentence when the noise's sd is above half the width of possible answers; None otherwise.

    An answer that is known to lie in an interval of that width has an error of at most half of it before anything is
    released, so such a release tells next to nothing.
    """
    if sd <= positive(width, f"{where}: width of possible answers") / 2:
        return None
    return (
        f"{where}: the noise (sd {sd:.3g}) is wider than the answers can differ ({width:.3g}); the output is noise. "
        "Raise epsilon, narrow the bounds or use more records."
    )
