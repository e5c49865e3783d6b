"""Rows told apart by what they show of the mask they got, where masks differ by a rule on replaced columns.

A copy whose value lies where masks are narrow was most likely drawn under the narrow mask, and says much; the same
record may lie elsewhere in another copy. So rows are of one class if all their copies lie in the same group, or do not,
and got the same mask. One law for all would take narrow and wide errors for one normal error of a spread between them.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from synthdp.microdata import Codes, Microdata
from synthdp.neighbours.loops import Booleans
from synthdp.synthesis.protocol import Plan

# a class with fewer pairs is learnt from those that show the same, and if they are few, from everybody
SMALLEST_CLASS = 200


def classes_of(plan: Plan, copies: Sequence[pd.DataFrame], rows: Codes | None = None) -> Codes:
    """Return the class of every row: which mask it got, and in which group all its copies lie, if in one."""
    whole, tags = plan.released, plan.tags
    own = tags.labels.cat.codes.to_numpy(dtype=np.int64)
    count = len(tags.labels.cat.categories)
    voted = np.zeros((len(own), count), dtype=np.int64)
    for copy in copies:
        said = tags.again(Microdata(copy.reset_index(drop=True), whole.schema)).labels.cat.codes.to_numpy()
        voted[np.arange(len(own)), said] += 1
    agreed = np.where(voted.max(axis=1) == len(copies), voted.argmax(axis=1), count)
    found = own * (count + 1) + agreed
    return np.asarray(found if rows is None else found[rows], dtype=np.int64)


def told_apart(plan: Plan, classes: Sequence[Codes]) -> tuple[Codes, list[Booleans]]:
    """Return the law of every class, and from which pairs of a record and a row each law is learnt.

    Parameters
    ----------
    classes
        Of the same records, once for every time the copies were made.
    """
    pairs = np.concatenate(classes)
    kinds = len(plan.tags.labels.cat.categories) + 1
    everybody = np.ones(len(pairs), dtype=np.bool_)
    teachers, places = [everybody], np.zeros((kinds - 1) * kinds, dtype=np.int64)
    for agreed in range(kinds):
        alike = pairs % kinds == agreed
        if alike.sum() >= SMALLEST_CLASS:
            places[agreed::kinds] = len(teachers)
            teachers.append(alike)
        for place in range(agreed, len(places), kinds):
            if np.sum(pairs == place) >= SMALLEST_CLASS:
                places[place] = len(teachers)
                teachers.append(pairs == place)
    return places, teachers
