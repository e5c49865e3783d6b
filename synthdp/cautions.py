"""What a person should know of the columns before a run: near-copies, coarsened columns, the survey's design."""

from synthdp import relations
from synthdp.microdata import Microdata


def of(data: Microdata, seen: Microdata | None = None) -> list[str]:
    """Return warnings about the columns, in sentences without values.

    Parameters
    ----------
    data
        The original with all columns that are released.
    seen
        Without the columns that no synthesizer may hold; the same by default.
    """
    schema = data.schema
    found = [
        f"Allowed: {r.sentence}" if r.exact else r.sentence for r in relations.find(data if seen is None else seen)
    ]
    coarsened = [f"{c.name} ({', '.join(c.coarsened)})" for c in schema.columns if c.coarsened]
    if coarsened:
        found.append(
            f"Coarsened before anything else: {', '.join(coarsened)}. The original that copies are compared with is "
            "the coarser one."
        )
    design = [f"{c.name} ({c.design})" for c in schema.columns if c.design is not None]
    if design:
        found.append(
            f"Columns of the survey's design are released as they are: {', '.join(design)}. An analysis "
            "takes account of them in its standard errors where it names them (weights, strata, cluster)."
        )
    return found
