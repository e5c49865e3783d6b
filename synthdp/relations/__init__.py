"""Which kept columns give a replaced column away.

A kept column that is a function of a replaced one (logpopul of popul, agegr of age) tells its value, or its range,
whatever the mask hides; so does one that determines it, and one that does either together with a third column (bmi
of height and weight). A relation is *exact* when no record contradicts it and chance cannot explain that, and *near*
when the kept column is a copy up to little noise.

Notes
-----
Chance: a column in which most values occur once determines every other column. So a function x -> y counts when the
repeated values of x agree on y although pairs of records taken at random would not (probability under 1e-9), or when
sorting by x brings equal y together (the chance of that is L! Π nₗ! / n! for L values of y that nₗ records have). The
search looks at 2,000 records first and at all of them only where those show no contradiction: O(n log n) per pair.
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from synthdp.microdata import Microdata
from synthdp.relations.formulas import formulas
from synthdp.relations.pairs import relate
from synthdp.relations.values import FEWEST_RECORDS, Relation, Values
from synthdp.schema import Schema

__all__ = ["Relation", "find", "refused"]

MOST_SCREENED = 2_000
MOST_PAIRS = 20_000


def find(
    data: Microdata, *, kept: Sequence[str] | None = None, replaced: Sequence[str] | None = None
) -> tuple[Relation, ...]:
    """Return the relations between kept and replaced columns, at most one per pair, exact ones first.

    Parameters
    ----------
    data
        The records; fewer than 30 show nothing.
    kept, replaced
        Which columns to look at, when roles are not decided yet; by default as the schema says.
    """
    schema = data.schema
    kept = [column.name for column in schema.kept()] if kept is None else kept
    replaced = [column.name for column in schema.replaced()] if replaced is None else replaced
    rows = len(data)
    if rows < FEWEST_RECORDS or not kept or not replaced:
        return ()
    screen = np.unique(np.linspace(0, rows - 1, min(rows, MOST_SCREENED)).astype(np.int64))
    columns = {name: Values.of(data, schema[name]) for name in {*kept, *replaced}}
    pairs = ((k, r) for k in kept for r in replaced if k != r)
    found = []
    for k, r in islice(pairs, MOST_PAIRS):
        kind = relate(columns[k], columns[r], screen)
        found += [Relation(kind, k, (r,))] if kind is not None else []
    known = {relation.kept for relation in found}
    found += list(formulas([k for k in kept if k not in known], replaced, kept, columns, screen))
    return tuple(sorted(found, key=lambda relation: not relation.exact))


def refused(relation: Relation, schema: Schema) -> bool:
    """Return whether a relation stops the run: exact, and not allowed by ``keep_anyway``."""
    return relation.exact and not schema[relation.kept].keep_anyway
