"""An analysis that somebody might make of a table, as an example: an outcome on who people are."""

from collections.abc import Iterator, Sequence
from keyword import iskeyword

from synthdp.config.decisions import Guess
from synthdp.table.guess import names, vocabulary
from synthdp.table.schema import Kind, Role

PREDICTORS = ("sex", "age", "education", "origin", "marital", "place", "household")
GIVEN = ("birth", "age", "sex", "origin")  # nobody explains these
MOST_PREDICTORS = 3
MODELS = {Kind.BINARY: "logit", Kind.COUNT: "poisson"}
NUMBERS = (Kind.CONTINUOUS, Kind.SEMICONTINUOUS, Kind.COUNT)


def example(columns: Sequence[Guess]) -> list[str]:
    """Return the lines of a config that show an analysis, commented out."""
    usable = [guess for guess in columns if _usable(guess)]
    outcome = next(_outcomes(usable), None)
    others = [guess for guess in usable if outcome is None or guess.name != outcome.name]
    predictors = list(dict.fromkeys(_predictors(others, outcome)))[:MOST_PREDICTORS]
    model, formula = "ols", "y ~ x"
    if outcome is not None and predictors:
        model = MODELS.get(outcome.kind or Kind.CONTINUOUS, "ols") if _counted(outcome) else "ols"
        formula = f"{outcome.name} ~ {' + '.join(predictors)}"
    return [
        "# What users of the file will want to estimate; the report compares each with the original.",
        "# analyses:",
        f'#   - {{name: example, model: {model}, formula: "{formula}"}}',
    ]


def _usable(guess: Guess) -> bool:
    """Return whether a column may stand in a formula: released, no part of the design, with a plain name."""
    released = guess.role in (Role.REPLACE, Role.KEEP) and not guess.technical
    named = guess.name.isidentifier() and not iskeyword(guess.name)
    return released and named and not guess.constant and guess.kind not in (None, Kind.DATE)


def _counted(outcome: Guess) -> bool:
    """Return whether the outcome is a count, or 0 and 1."""
    return outcome.kind is Kind.COUNT or outcome.levels == (0, 1)


def _outcomes(usable: Sequence[Guess]) -> Iterator[Guess]:
    """Yield outcomes, the likeliest first: by name, then numbers that nobody would know, then other numbers."""
    about = {guess.name: names.topic(guess.name) for guess in usable}
    fit = [guess for guess in usable if guess.kind in NUMBERS or guess.levels == (0, 1)]
    fit = [guess for guess in fit if about[guess.name] not in GIVEN]
    yield from (guess for guess in fit if names.means(guess.name, vocabulary.OUTCOMES[0]))
    yield from (guess for guess in fit if about[guess.name] == "income")
    for table in vocabulary.OUTCOMES[1:]:
        yield from (guess for guess in fit if names.means(guess.name, table))
    numbers = [guess for guess in fit if guess.kind in NUMBERS]
    yield from sorted(numbers, key=lambda guess: bool(guess.key))
    yield from fit


def _predictors(others: Sequence[Guess], outcome: Guess | None) -> Iterator[str]:
    """Yield terms: who somebody is first, then what else is there."""
    about = {guess.name: names.topic(guess.name) for guess in others}
    mine = names.topic(outcome.name) if outcome is not None else None
    few = [guess for guess in others if guess.kind is not Kind.NOMINAL or 0 < len(guess.levels) <= len(PREDICTORS)]
    for topic in PREDICTORS:
        yield from [_term(guess) for guess in others if about[guess.name] == topic != mine][:1]
    yield from (_term(guess) for guess in few if about[guess.name] is None or about[guess.name] != mine)


def _term(guess: Guess) -> str:
    numbers = guess.kind in NUMBERS or guess.kind is Kind.ORDINAL or guess.levels == (0, 1)
    return guess.name if numbers else f"C({guess.name})"
