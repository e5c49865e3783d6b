"""Which kept columns a person must decide on: who may know them cannot be guessed, and they make records unique."""

from collections.abc import Mapping
from dataclasses import replace

from synthdp.evaluation.risk.kept_sets import LARGEST_SET, SHARE
from synthdp.evaluation.risk.undecided import questions, undecided
from synthdp.guessing.guesses import Guess
from synthdp.microdata import Microdata
from synthdp.schema import Role, Schema

HARMLESS = (
    f"no key: in no set of up to {LARGEST_SET} kept columns that makes more than {SHARE:.0%} of the records unique"
)
RECOMPUTED = "no key of its own: its sources are judged"


def decided(guesses: Mapping[str, Guess], data: Microdata) -> dict[str, Guess]:
    """Return the guesses with ``key`` settled for every column, or with the question that only a person can answer.

    Parameters
    ----------
    guesses
        Roles as they will be written; keys that are known by name have ``key: True``.
    data
        The table, missing codes gone, dropped columns possibly still there.

    Notes
    -----
    Costs what ``run`` needs for the same questions (:mod:`synthdp.evaluation.risk.undecided`).
    """
    columns = tuple(
        column.model_copy(update={"role": guess.role, "key": bool(guess.key), "key_decided": guess.key is not None})
        for column in data.schema.columns
        if (guess := guesses[column.name]).role is not Role.DROP
    )
    written = Microdata(data.frame, Schema(columns=columns))
    found = undecided(written)
    asked = dict(zip((one.name for one in found), questions(written, found, most=len(found)), strict=True))
    return {name: _settled(guess, asked.get(name)) for name, guess in guesses.items()}


def _settled(guess: Guess, question: str | None) -> Guess:
    if guess.role is Role.DROP or guess.key is not None:
        return guess
    if question is not None:
        return replace(guess, decide=(*guess.decide, question))
    why = RECOMPUTED if guess.role is Role.DERIVED else HARMLESS
    return replace(guess, key=False, evidence=(*guess.evidence, why))
