"""What is wrong with a config, in sentences about the user's file that name the nearest valid key."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from synthdp.config.settings import Config, Data, Evaluation, ReleaseSettings, ShadowGame
from synthdp.evaluation.risk.knowledge import Intruder
from synthdp.evaluation.utility.propensity.settings import Propensity
from synthdp.inference.analyses import Analysis
from synthdp.masking.registry import MASKS
from synthdp.schema import Settings, Variable
from synthdp.synthesis import imputed, sequential
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.private.registry import MASKINGS, PRIVATE
from synthdp.synthesis.sequential import Sequential
from synthdp.tagging.groups import Neighbours, Rules

_METHODS: dict[str, dict[str, type[Settings]]] = {
    "groups": {"neighbours": Neighbours, "rules": Rules},
    "synthesis": {"da_mi": DaMi, "mi": Mi, "sequential": Sequential, **PRIVATE, **MASKINGS},
    "masks": {mask.model_fields["method"].default: mask for mask in MASKS},
}
_METHODS["masks_by_group"] = _METHODS["masks"]
# the association models of each way of synthesising
_MODELS: dict[str, Mapping[str, type[Settings]]] = {
    "da_mi": imputed.MODELS,
    "mi": imputed.MODELS,
    "sequential": sequential.MODELS,
}
# how many of the user's keys come before the method's name in a place that pydantic names
_DEPTH = {"groups": 1, "synthesis": 1, "masks": 2, "masks_by_group": 3}
_SECTIONS: dict[str, type[Settings]] = {
    "data": Data,
    "variables": Variable,
    "analyses": Analysis,
    "evaluation": Evaluation,
    "release": ReleaseSettings,
}
_EVALUATION: dict[str, type[Settings]] = {"intruders": Intruder, "propensity": Propensity, "shadow": ShadowGame}
_PLAIN = {
    "missing": "required, but absent",
    "tuple_type": "must be a list",
    "too_short": "must not be empty",
    "too_long": "has too many entries",
    "path_type": "must be the name of a file",
    "string_type": "must be text",
    **dict.fromkeys(("[key]", "invalid_key"), "must be text; put it in quotes"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be a block of settings"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
}


def sentence(raw: Mapping[str, Any], loc: tuple[int | str, ...], kind: str, message: str) -> str:
    """Return a problem that pydantic found as a sentence about the user's file."""
    section = str(loc[0])
    if loc[-1] == "[key]":
        loc, kind = loc[:-1], "[key]"
    depth = _DEPTH.get(section, len(loc))
    method = str(loc[depth]) if depth < len(loc) else None
    inner = loc[depth + 1 :]
    model = str(inner[1]) if method in _MODELS and inner[:1] == ("model",) and len(inner) > 1 else None
    place = loc[:depth] + (inner[:1] + inner[2:] if model else inner)
    path, value = _walk(raw, place)
    # a key of the user's own may hold a line break, and a sentence is one line
    where = ".".join(part if part.isprintable() else repr(part) for part in path)
    if kind == "extra_forbidden":
        return f"{where}: unknown key{_nearest(path[-1], _keys(path, method, model))}"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        known, given = list(_MODELS[method] if method else _METHODS[section]), _given_method(value)
        found = "it is absent." if given is None else f"found {str(given)!r}{_nearest(str(given), known)}"
        return f"{where}.method: must be one of {', '.join(known)}; {found}"
    if len(path) < len(place):
        return f"{where}: must be a number, text, true or false."
    plain = _PLAIN.get(kind) or message.removeprefix("Value error, ").replace("Input should be", "must be", 1)
    return f"{where}: {plain[0].lower()}{plain[1:]}" + ("" if plain[-1] in ".?" else ".")


def _walk(raw: Any, loc: tuple[int | str, ...]) -> tuple[list[str], Any]:
    """Return the keys that exist in the user's file, or would if they were not absent, and the value they lead to."""
    path: list[str] = []
    for part in loc:
        if isinstance(raw, Mapping):
            raw = next((value for key, value in raw.items() if str(key) == str(part)), None)
        elif isinstance(raw, Sequence) and isinstance(part, int) and part < len(raw):
            raw = raw[part]
        else:  # pydantic goes on with the types it tried
            break
        path.append(str(part))
    return path, raw


def _given_method(block: Any) -> Any:
    return block.get("method") if isinstance(block, Mapping) else None


def _nearest(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else "."


def _keys(path: Sequence[str], method: str | None, model: str | None) -> list[str]:
    """Return the valid keys where an unknown one was found."""
    if method and model:
        return list(_MODELS[method][model].model_fields)
    if path[0] == "evaluation" and len(path) > 2:
        return list(_EVALUATION[path[1]].model_fields)
    owner = Config if len(path) == 1 else _METHODS[path[0]][method] if method else _SECTIONS[path[0]]
    return list(owner.model_fields)
