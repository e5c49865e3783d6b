"""Kept columns that tell a replaced one for nearly all records: replaced too, or asked about."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from synthdp.config import roles
from synthdp.config.decisions import Guess
from synthdp.config.roles import COARSER, Method
from synthdp.table import telling
from synthdp.table.microdata import Microdata
from synthdp.table.relations import Relation
from synthdp.table.schema import Role

MOST_REPLACED_TOO = 4  # more tell it as the members of a group are alike, not as a table of states would


def protect(guesses: dict[str, Guess], data: Microdata, method: Method) -> bool:
    """Replace the columns that tell a replaced one, or ask; return whether a column was replaced.

    Where many columns tell the same one, those who share it share much else (the pupils of a school): whether it is
    worth hiding is then for a person to say.
    """
    kept = [name for name, one in guesses.items() if one.role is Role.KEEP and not one.keep_anyway]
    replaced = [name for name, one in guesses.items() if one.role is Role.REPLACE]
    found = telling.find(data, kept=[name for name in kept if not guesses[name].technical], replaced=replaced)
    changed = False
    for name in dict.fromkeys(relation.replaced[0] for relation in found):
        about = [relation for relation in found if relation.replaced[0] == name]
        if len(about) > MOST_REPLACED_TOO:
            guesses[name] = _asked(guesses[name], about)
            continue
        for relation in about:
            guess = guesses[relation.kept]
            if guess.role is Role.KEEP:
                guesses[relation.kept] = _too(guess, data.frame[guess.name], relation, method)
                changed |= guesses[relation.kept].role is Role.REPLACE
    return changed


def _asked(guess: Guess, about: Sequence[Relation]) -> Guess:
    """Return a replaced column that many others tell, with the question what to do."""
    one = about[0]
    named = " with ".join((one.kept, *one.beside))
    sentence = (
        f"{len(about)} kept columns tell it, alone or in twos ({named} for {one.share or 0:.0%} of the records), as "
        "those who share it share much else; keep it and what goes with it, or drop, coarsen or replace those too."
    )
    return replace(guess, decide=(*guess.decide, sentence))


def _too(guess: Guess, series: pd.Series, relation: Relation, method: Method) -> Guess:
    """Return a column that tells a replaced one: replaced too where the method can, else kept and asked about."""
    if roles.obstacle(guess, series, method) is None:
        too = replace(guess, evidence=(*guess.evidence, f"{relation.told}, so replaced too"))
        return roles.replaced_too(roles.known(too, series, relation.told), series)
    return replace(guess, decide=(*guess.decide, f"{relation.told}, which is replaced; {COARSER}."))
