"""The config file: everything but the data has a default, unknown keys are errors that name the nearest valid one."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Discriminator, Field, Tag, ValidationError

from synthdp.errors import InputError
from synthdp.evaluation.gate import Thresholds
from synthdp.inference.analyses import Analysis
from synthdp.masking.registry import MASKS, AnyMask
from synthdp.schema import Level, Settings, Variable
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.tagging.groups import Neighbours, Rules

Utility = Literal["pmse", "analyses"]
Risk = Literal["identity", "identity_averaged"]


def _method(default: str) -> Any:
    """Return a discriminator that reads ``method:`` and falls back to a default."""

    def choose(value: Any) -> str:
        if isinstance(value, Mapping):
            return str(value.get("method", "rules" if "rules" in value else default))
        return str(getattr(value, "method", default))

    return Discriminator(choose)


AnyGroups = Annotated[Annotated[Neighbours, Tag("neighbours")] | Annotated[Rules, Tag("rules")], _method("neighbours")]
AnySynthesis = Annotated[Annotated[DaMi, Tag("da_mi")] | Annotated[Mi, Tag("mi")], _method("da_mi")]


class Data(Settings):
    """Where the confidential file is.

    Parameters
    ----------
    path
        CSV or Parquet; relative to the config file.
    missing_codes
        Values that mean "missing", by column.
    """

    path: Path
    missing_codes: dict[str, tuple[Level, ...]] = Field(default_factory=dict)


class Evaluation(Settings):
    """How the copies are judged.

    Parameters
    ----------
    rows
        Whether row i of a file is record i: ``aligned``, ``none``, or a file with the row order of each copy.
    utility, risk
        Which measures are taken.
    """

    rows: str = "aligned"
    utility: tuple[Utility, ...] = ("pmse", "analyses")
    risk: tuple[Risk, ...] = ("identity", "identity_averaged")


class ReleaseSettings(Thresholds):
    """The format of the public files, and the gate's thresholds."""

    format: Literal["csv", "parquet"] = "csv"


class Config(Settings):
    """A whole run, frozen.

    Examples
    --------
    >>> config = parse({"data": {"path": "original.csv"}, "variables": {"age": {"role": "replace", "key": True}}})
    >>> config.synthesis.copies
    5
    """

    version: Literal[1] = 1
    data: Data
    variables: dict[str, Variable] = Field(default_factory=dict)
    groups: AnyGroups = Neighbours()
    masks: dict[str, AnyMask] = Field(default_factory=dict)
    masks_by_group: dict[str, dict[str, AnyMask]] = Field(default_factory=dict)
    synthesis: AnySynthesis = DaMi()
    analyses: tuple[Analysis, ...] = ()
    evaluation: Evaluation = Evaluation()
    release: ReleaseSettings = ReleaseSettings()
    seed: int | None = Field(default=None, ge=0, repr=False)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the config."""
    return Config.model_json_schema()


def load(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read a config file; ``overrides`` are KEY=VALUE with dotted keys and YAML values.

    Raises
    ------
    InputError
        Listing everything that is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: a config file is required, found a folder.") from None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: the config file cannot be read as text.") from None
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark is not None else ""
        raise InputError(f"{path}: not valid YAML{line}.") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}: a mapping with at least `data:` is required, found none.")
    for override in overrides:
        _override(raw, override)
    config = parse(raw)
    data = config.data.model_copy(update={"path": path.parent / config.data.path})
    return config.model_copy(update={"data": data})


def parse(raw: Mapping[str, Any]) -> Config:
    """Return the config of a mapping, or list everything that is wrong with it."""
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        problems = [_sentence(raw, problem["loc"], problem["type"], problem["msg"]) for problem in error.errors()]
        raise InputError(*dict.fromkeys(problems)) from None


def _override(raw: dict[str, Any], text: str) -> None:
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
        here[last] = yaml.safe_load(value)
    except yaml.YAMLError:
        raise InputError(f"--set {key}: the value is not valid YAML.") from None


def _sentence(raw: Mapping[str, Any], loc: tuple[int | str, ...], kind: str, message: str) -> str:
    where, tags = _place(raw, loc)
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(loc[-1]), _valid_keys(loc, tags), n=1, cutoff=0.5)
        return f"{where}: unknown key" + (f"; did you mean {near[0]!r}?" if near else ".")
    if kind == "missing":
        return f"{where}: required, but absent."
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return f"{where}.method: {message[0].lower()}{message[1:]}."
    plain = message.removeprefix("Value error, ")
    return f"{where}: {plain[0].lower()}{plain[1:]}."


def _place(raw: Any, loc: tuple[int | str, ...]) -> tuple[str, list[str]]:
    """Return the dotted place in the user's file, and the method names pydantic put between."""
    path: list[str] = []
    tags: list[str] = []
    here = raw
    for position, part in enumerate(loc):
        listed = isinstance(here, Sequence) and isinstance(part, int) and part < len(here)
        if listed or (isinstance(here, Mapping) and part in here):
            here = here[part]
        elif position < len(loc) - 1:
            tags.append(str(part))
            continue
        elif here is not raw and not isinstance(here, Mapping):
            continue
        path.append(str(part))
    return ".".join(path) or "config", tags


def _valid_keys(loc: tuple[int | str, ...], tags: list[str]) -> list[str]:
    methods: dict[str, type[Settings]] = {mask.model_fields["method"].default: mask for mask in MASKS}
    methods |= {"da_mi": DaMi, "mi": Mi, "neighbours": Neighbours, "rules": Rules}
    sections: dict[str, type[Settings]] = {
        "data": Data,
        "variables": Variable,
        "analyses": Analysis,
        "evaluation": Evaluation,
        "release": ReleaseSettings,
    }
    if len(loc) > 1 and loc[0] == "synthesis" and "model" in loc[:-1]:
        return list(type(DaMi().model).model_fields)
    owner = methods.get(tags[-1]) if tags else sections.get(str(loc[0])) if len(loc) > 1 else Config
    return list(owner.model_fields) if owner is not None else []
