"""Reading a config from a file with overrides, or from a mapping.

What is wrong with it is said in sentences that name the nearest valid key.
"""

import difflib
import re
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from synthdp.config.engine import ENGINES, Tls, beside
from synthdp.config.methods import method_config
from synthdp.config.settings import (
    MASKS,
    METHODS,
    Config,
    Data,
    EvaluationSettings,
    Promise,
    ReleaseSettings,
    ShadowGame,
    Tuning,
)
from synthdp.errors import InputError
from synthdp.evaluation.risk.intruders import Intruder
from synthdp.evaluation.utility.propensity.nulls import Propensity
from synthdp.inference.analyses import Analysis
from synthdp.synthesis import imputed, sequential
from synthdp.table.io.streams import read_text
from synthdp.table.schema import Settings, Variable
from synthdp.tagging.groups import Neighbours, Rules

# the parser's own complaint, a number that is none or has thousands of digits, brackets nested without end
MOST_VALUES = 1_000_000
NOT_YAML = (yaml.YAMLError, ValueError, RecursionError)


class Loader(yaml.SafeLoader):
    """NO is a level and no truth value, 01 and 2020-01-31 are text, a key occurs once, aliases do not multiply."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._written = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Refuse aliases that stand for each other, so that a few lines would stand for millions of values."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        alias, before = self.check_event(yaml.AliasEvent), self._written
        node = super().compose_node(parent, index)
        if not alias:
            self._written += 1
            self._sizes[id(node)] = self._written - before
            return node
        if id(node) not in self._sizes:
            raise yaml.MarkedYAMLError(None, None, "an alias stands for what it is part of", mark)
        self._written += self._sizes[id(node)]
        if self._written > MOST_VALUES:
            raise yaml.MarkedYAMLError(None, None, f"its aliases stand for more than {MOST_VALUES:,} values", mark)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse a key that occurs twice."""
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        seen: set[str] = set()
        for key in keys:
            if key.value in seen:
                raise yaml.MarkedYAMLError(None, None, f"the key {key.value!r} occurs twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in known if tag.rpartition(":")[2] not in ("bool", "int", "timestamp")]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("(true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile("[-+]?(0|[1-9][0-9]*|0x[0-9a-fA-F]+)$"), list("-+0123456789")
)


def override(raw: dict[str, Any], text: str) -> None:
    """Write KEY=VALUE, with a dotted key and a YAML value, into the mapping of a config file."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InputError(f"--set {text}: must have the form KEY=VALUE.")
    here = raw
    *parents, last = key.split(".")
    for parent in parents:
        here = here.setdefault(parent, {})
        if not isinstance(here, dict):
            raise InputError(f"--set {key}: {parent} is not a block of settings.")
    try:
        here[last] = yaml.load(value, Loader)
    except NOT_YAML:
        raise InputError(f"--set {key}: the value is not valid YAML.") from None


_METHODS: dict[str, Mapping[str, type[Settings]]] = {
    "groups": {"neighbours": Neighbours, "rules": Rules},
    "synthesis": METHODS,
    "masks": MASKS,
    "masks_by_group": MASKS,
    "engine": ENGINES,
}
# the association models of each way of synthesising
_MODELS: dict[str, Mapping[str, type[Settings]]] = {
    "da_mi": imputed.MODELS,
    "mi": imputed.MODELS,
    "sequential": sequential.MODELS,
}
# how many of the user's keys come before the method's name in a place that pydantic names
_DEPTH = {"groups": 1, "synthesis": 1, "engine": 1, "masks": 2, "masks_by_group": 3}
_SECTIONS: dict[str, type[Settings]] = {
    "data": Data,
    "variables": Variable,
    "analyses": Analysis,
    "evaluation": EvaluationSettings,
    "release": ReleaseSettings,
    "tuning": Tuning,
    "tuned": Promise,
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
    if path[0] == "engine" and len(path) > 2:
        return list(Tls.model_fields)
    owner = Config if len(path) == 1 else _METHODS[path[0]][method] if method else _SECTIONS[path[0]]
    return list(owner.model_fields)


LARGEST = 4_000_000


def load(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read a config file; ``overrides`` are KEY=VALUE with dotted keys and YAML values.

    Raises
    ------
    InputError
        Listing everything that is wrong.
    """
    text = read_text(path, "config file")
    if len(text) > LARGEST:
        raise InputError(f"{path}: a config has at most {LARGEST:,} characters, found {len(text):,}; leave out levels.")
    try:
        raw = yaml.load(text, Loader)
    except NOT_YAML as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f" at line {mark.line + 1}" if mark is not None else ""
        raise InputError(f"{path}: not valid YAML{line}{f': {problem}' if problem else ''}.") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}: a mapping with at least `data:` is required, found none.")
    for change in overrides:
        override(raw, change)
    config = parse(raw)
    changed: dict[str, Any] = {"data": config.data.model_copy(update={"path": path.parent / config.data.path})}
    changed["engine"] = beside(config.engine, path.parent)
    if config.release.recorded_in not in (None, "none"):
        folder = str(path.parent / str(config.release.recorded_in))
        changed["release"] = config.release.model_copy(update={"recorded_in": folder})
    judged: dict[str, Any] = {}
    rows = path.parent / config.evaluation.rows
    if rows.suffix and rows.is_file():
        judged["rows"] = str(rows)
    if config.evaluation.holdout is not None:
        judged["holdout"] = str(path.parent / config.evaluation.holdout)
    if judged:
        changed["evaluation"] = config.evaluation.model_copy(update=judged)
    return config.model_copy(update=changed)


def parse(raw: Mapping[str, Any]) -> Config:
    """Return the config of a mapping, or list everything that is wrong with it."""
    try:
        config = Config.model_validate(raw)
    except ValidationError as error:
        problems = [sentence(raw, problem["loc"], problem["type"], problem["msg"]) for problem in error.errors()]
        raise InputError(*dict.fromkeys(problems)) from None
    wrong: list[str] = []
    for name, block in config.methods.items():
        try:
            variant(config, name, block)
        except InputError as error:
            wrong += error.problems
    if wrong:
        raise InputError(*wrong)
    return config


def variant(config: Config, name: str, block: Any) -> Config:
    """Return the config of a method that is compared with others; see :func:`method_config`."""
    return method_config(config, name, block, parse)
