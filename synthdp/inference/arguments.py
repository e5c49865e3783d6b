"""An analysis from the arguments of a call or of a command."""

import difflib
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from synthdp.errors import InputError
from synthdp.inference.analyses import Analysis


def analysis_of(settings: Mapping[str, Any], *, sign: str = "") -> Analysis:
    """Return the analysis that arguments describe; what is wrong is said in sentences that begin with the argument.

    Parameters
    ----------
    settings
        The fields of an analysis; those that are None are left out.
    sign
        What comes before an argument's name in messages (``--`` on the command line).
    """
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        return Analysis.model_validate(given)
    except ValidationError as error:
        raise InputError(*(_sentence(problem, sign) for problem in error.errors())) from None


def _sentence(problem: Any, sign: str) -> str:
    place = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(place, Analysis.model_fields, n=1)
        return f"{sign}{place}: no such setting{f'; did you mean {near[0]!r}?' if near else '.'}"
    plain = str(problem["msg"]).removeprefix("Value error, ")
    plain = plain[:1].lower() + plain[1:]
    end = "" if plain.endswith((".", "?")) else "."
    return f"{sign}{place.replace('_', '-') if sign else place}: {plain}{end}" if place else f"{plain}{end}"
