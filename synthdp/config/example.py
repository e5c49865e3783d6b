"""An analysis that somebody might make of a table, as an example: an outcome on who people are."""

from collections.abc import Iterator, Sequence
from keyword import iskeyword

from synthdp.config.decisions import Guess
from synthdp.table.guess import names, vocabulary
from synthdp.table.schema import Kind, Role

PREDICTORS = ("sex", "age", "education", "origin", "marital", "place", "household")
GIVEN = ("birth", "age", "sex", "origin", "place")  # nobody explains these
MOST_PREDICTORS = 3
MODELS = {Kind.BINARY: "logit", Kind.COUNT: "poisson"}
QUOTES = frozenset("'\"\\")
NUMBERS = (Kind.CONTINUOUS, Kind.SEMICONTINUOUS, Kind.COUNT)


def example(columns: Sequence[Guess]) -> list[str]:
    """Return the lines of a config that show an analysis, commented out."""
    usable = [guess for guess in columns if _usable(guess)]
    chosen = ((outcome, _predictors(usable, outcome)) for outcome in _outcomes(usable))
    model, formula = "ols", "y ~ x"
    for outcome, predictors in chosen:
        if predictors:
            model, left = _model(outcome)
            formula = f"{left} ~ {' + '.join(predictors)}"
            break
    return [
        "# What users of the file will want to estimate; the report compares each with the original.",
        "# analyses:",
        f'#   - {{name: example, model: {model}, formula: "{formula}"}}',
    ]


def _usable(guess: Guess) -> bool:
    """Return whether a column may stand in a formula: released, no part of the design, with a name to quote."""
    released = guess.role in (Role.REPLACE, Role.KEEP) and not guess.technical
    named = guess.name.isprintable() and not set(guess.name) & QUOTES
    return released and named and not guess.constant and guess.kind not in (None, Kind.DATE)


def _model(outcome: Guess) -> tuple[str, str]:
    """Return the model of an outcome, and its side of the formula: of two texts, whether it is the second."""
    if outcome.kind is Kind.BINARY and outcome.levels != (0, 1):
        second = outcome.levels[1]
        level = f"'{second}'" if isinstance(second, str) else repr(second)
        return "logit", f"np.where({_named(outcome)} == {level}, 1, 0)"
    return MODELS.get(outcome.kind or Kind.CONTINUOUS, "ols"), _named(outcome)


def _outcomes(usable: Sequence[Guess]) -> Iterator[Guess]:
    """Yield outcomes, the likeliest first: by name, then numbers that nobody would know, then the rest.

    A year, a place, the number of a wave or of a person is no outcome, whatever its values; nor is a scale of texts.
    """
    about = {guess.name: names.topic(guess.name) for guess in usable}
    fit = [guess for guess in usable if about[guess.name] not in GIVEN and _outcome(guess)]
    yield from (guess for guess in fit if names.means(guess.name, vocabulary.OUTCOMES[0]))
    yield from (guess for guess in fit if about[guess.name] == "income")
    for table in vocabulary.OUTCOMES[1:]:
        yield from (guess for guess in fit if names.means(guess.name, table))
    yield from sorted(fit, key=lambda guess: (guess.kind not in NUMBERS, bool(guess.key)))


def _outcome(guess: Guess) -> bool:
    when = names.is_time(guess.name) and not names.means(guess.name, vocabulary.OUTCOMES[2])
    where = vocabulary.PERSONS | vocabulary.COORDINATES
    if when or names.is_identifier(guess.name) or names.means(guess.name, where):
        return False
    plain = all(
        not isinstance(level, str) or (level.isprintable() and not set(level) & QUOTES) for level in guess.levels
    )
    if guess.kind is Kind.ORDINAL:
        return not any(isinstance(level, str) for level in guess.levels)
    return guess.kind in NUMBERS or (guess.kind is Kind.BINARY and bool(guess.levels) and plain)


def _predictors(usable: Sequence[Guess], outcome: Guess) -> list[str]:
    """Return terms: who somebody is first, then what else is replaced, then the rest."""
    others = [guess for guess in usable if guess.name != outcome.name]
    about = {guess.name: names.topic(guess.name) for guess in others}
    mine = names.topic(outcome.name)
    few = [guess for guess in others if guess.kind is not Kind.NOMINAL or 0 < len(guess.levels) <= len(PREDICTORS)]
    chosen = [
        guess for topic in PREDICTORS for guess in [one for one in others if about[one.name] == topic != mine][:1]
    ]
    rest = [guess for guess in few if about[guess.name] is None or about[guess.name] != mine]
    chosen += sorted(rest, key=lambda guess: guess.role is not Role.REPLACE)
    return list(dict.fromkeys(_term(guess) for guess in chosen))[:MOST_PREDICTORS]


def _term(guess: Guess) -> str:
    numbers = guess.kind in NUMBERS or guess.kind is Kind.ORDINAL or guess.levels == (0, 1)
    return _named(guess) if numbers else f"C({_named(guess)})"


def _named(guess: Guess) -> str:
    """Return a column as a formula names it."""
    plain = guess.name.isidentifier() and not iskeyword(guess.name)
    return guess.name if plain else f"Q('{guess.name}')"
