"""The config file: everything but the data has a default, unknown keys are errors that name the nearest valid one."""

import difflib
import re
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Discriminator, Field, Tag, ValidationError, field_validator

from synthdp.errors import InputError
from synthdp.evaluation.gate import Thresholds
from synthdp.evaluation.knowledge import Intruder
from synthdp.evaluation.propensity.settings import Propensity
from synthdp.evaluation.usefulness import UtilitySettings
from synthdp.inference.analyses import Analysis
from synthdp.masking.registry import MASKS, AnyMask
from synthdp.schema import Level, Settings, Variable
from synthdp.synthesis import imputed, sequential
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.private.fixed_total import DpExponential
from synthdp.synthesis.private.histograms import DpHistogram, DpSparseHistogram
from synthdp.synthesis.private.local import LocalNoise
from synthdp.synthesis.private.margins import DpMargins
from synthdp.synthesis.private.maskings import KAnonymity, KNoise, KPram, Pram
from synthdp.synthesis.private.registry import MASKINGS, PRIVATE
from synthdp.synthesis.sequential import Sequential
from synthdp.tagging.groups import Neighbours, Rules

Utility = Literal["pmse", "analyses", "tables", "distributions", "correlations", "prediction"]
Risk = Literal[
    "identity",
    "identity_averaged",
    "identity_linked",
    "identity_likelihood",
    "identity_bayes",
    "attribute",
    "verbatim",
    "exposure",
    "membership",
    "singling",
    "linkability",
    "inference",
    "anonymity",
    "population",
    "anonymeter",
]


def _method(default: str) -> Any:
    """Return a discriminator that reads ``method:`` and falls back to a default."""

    def choose(value: Any) -> str:
        if isinstance(value, Mapping):
            return str(value.get("method", "rules" if "rules" in value else default))
        return str(getattr(value, "method", default))

    return Discriminator(choose)


AnyGroups = Annotated[Annotated[Neighbours, Tag("neighbours")] | Annotated[Rules, Tag("rules")], _method("neighbours")]
AnySynthesis = Annotated[
    Annotated[DaMi, Tag("da_mi")]
    | Annotated[Mi, Tag("mi")]
    | Annotated[Sequential, Tag("sequential")]
    | Annotated[DpHistogram, Tag("dp_histogram")]
    | Annotated[DpSparseHistogram, Tag("dp_sparse_histogram")]
    | Annotated[DpExponential, Tag("dp_exponential")]
    | Annotated[DpMargins, Tag("dp_margins")]
    | Annotated[LocalNoise, Tag("local_noise")]
    | Annotated[KAnonymity, Tag("k_anonymity")]
    | Annotated[Pram, Tag("pram")]
    | Annotated[KPram, Tag("k_pram")]
    | Annotated[KNoise, Tag("k_noise")],
    _method("da_mi"),
]


class Data(Settings):
    """Where the confidential file is.

    Parameters
    ----------
    path
        CSV, TSV (both also with .gz), Parquet, Feather, Stata, SPSS or SAS; relative to the config file.
    encoding
        Of a text file; of an SPSS, Stata or SAS file only where it names its own wrongly.
    decimal, separator
        Of a text file: the decimal mark, and what stands between values (by default a comma; a tab in .tsv files).
    dates
        Columns that hold dates, with their form as strptime writes it, for example "%d.%m.%Y".
    row_names
        Whether the first column of a text file has no name and holds row names, as R writes them; it is left out.
    missing_codes
        Values that mean "missing", by column.
    weights, strata, cluster
        Columns of the survey's design. They are carried as kept columns; weights and strata are predictors as any
        other kept column, the cluster is not. No variance formula uses them yet.
    """

    path: Path
    encoding: str = "utf-8"
    decimal: Literal[".", ","] | None = None
    separator: Literal[",", ";", "\t", "|"] | None = None
    dates: dict[str, str] = Field(default_factory=dict)
    row_names: bool = False
    missing_codes: dict[str, tuple[Level, ...]] = Field(default_factory=dict)
    weights: str | None = None
    strata: str | None = None
    cluster: str | None = None

    @field_validator("path")
    @classmethod
    def _nameable(cls, path: Path) -> Path:
        if "\0" in str(path):
            raise ValueError("must be the name of a file")
        return path

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, encoding: str) -> str:
        try:
            "".encode(encoding)
        except LookupError:
            raise ValueError("must be an encoding, for example utf-8, windows-1252 or iso-8859-1") from None
        return encoding

    @field_validator("dates")
    @classmethod
    def _known_forms(cls, dates: dict[str, str]) -> dict[str, str]:
        if not all("%" in form for form in dates.values()):
            raise ValueError('a form is written as strptime does, for example "%d.%m.%Y"')
        return dates


class Evaluation(Settings):
    """How the copies are judged.

    Parameters
    ----------
    rows
        Whether row i of a file is record i: ``aligned``, ``none``, or a file with the row order of each copy.
    utility, risk
        Which measures are taken. ``distributions``, ``correlations`` and ``prediction`` only when asked for, and so
        ``identity_bayes``, which makes the copies 2 to 10 times more.
    targets
        Columns that matter most: ``prediction`` learns them from the others, attribute risk guesses them.
    table_ways, table_columns, most_tables
        Of how many columns tables are, of which (all by default), and how many of each number of ways at most:
        where there are more, so many are drawn at random.
    subgroups
        A column whose levels are judged one by one; by default the risk groups, where rows are aligned.
    holdout
        A file of records that the synthesis never saw: what an intruder achieves against them is the baseline for
        attribute, membership and singling-out attacks.
    intruders
        More intruders by name: who knows some of the keys, knows them with error, is not sure of the target.
    propensity
        How synthetic records are told from original ones (``pmse``).
    """

    rows: str = "aligned"
    utility: tuple[Utility, ...] = ("pmse", "analyses", "tables")
    risk: tuple[Risk, ...] = (
        "identity",
        "identity_averaged",
        "identity_linked",
        "identity_likelihood",
        "attribute",
        "verbatim",
        "exposure",
    )
    holdout: str | None = None
    propensity: Propensity = Propensity()
    intruders: dict[str, Intruder] = Field(default_factory=dict)
    targets: tuple[str, ...] = ()
    table_ways: tuple[Literal[1, 2, 3], ...] = (1, 2)
    table_columns: tuple[str, ...] = ()
    most_tables: int = Field(default=500, ge=1)
    subgroups: str | None = None

    def utility_settings(self) -> UtilitySettings:
        """Return what the measures of usefulness need to know beside the files."""
        return UtilitySettings(
            targets=self.targets,
            ways=self.table_ways,
            columns=self.table_columns,
            most=self.most_tables,
            subgroups=self.subgroups,
        )

    @field_validator("rows")
    @classmethod
    def _known_rows(cls, rows: str) -> str:
        if rows not in ("aligned", "none") and Path(rows).suffix.lower() not in (".csv", ".parquet"):
            raise ValueError("must be aligned, none, or a .csv or .parquet file with the row order of each copy")
        return rows


class ReleaseSettings(Thresholds):
    """The format of the public files (``same``: as the data came in), and the gate's thresholds.

    Parameters
    ----------
    recorded_in
        Where releases are recorded, so that all releases of the same data are judged together: a folder, or ``none``.
        Default: what the environment variable ``SYNTHDP_REGISTER`` says, else ``synthdp-register`` beside the data.
    """

    format: Literal["csv", "tsv", "parquet", "feather", "dta", "sav", "xpt", "same"] = "csv"
    recorded_in: str | None = None


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
    constraints: tuple[str, ...] = ()
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
    schema = Config.model_json_schema()
    blocks = [schema["properties"][name] for name in ("groups", "synthesis")]
    blocks += [schema["$defs"][method.__name__]["properties"]["model"] for method in (DaMi, Mi, Sequential)]
    for block in blocks:
        # a block without `method:` may fit several methods; the default one is meant
        block["anyOf"] = block.pop("oneOf")
    return schema


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
        raw = yaml.load(text, _Loader)
    except _NOT_YAML as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f" at line {mark.line + 1}" if mark is not None else ""
        raise InputError(f"{path}: not valid YAML{line}{f': {problem}' if problem else ''}.") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}: a mapping with at least `data:` is required, found none.")
    for override in overrides:
        _override(raw, override)
    config = parse(raw)
    changed: dict[str, Any] = {"data": config.data.model_copy(update={"path": path.parent / config.data.path})}
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
        return Config.model_validate(raw)
    except ValidationError as error:
        problems = [_sentence(raw, problem["loc"], problem["type"], problem["msg"]) for problem in error.errors()]
        raise InputError(*dict.fromkeys(problems)) from None


# the parser's own complaint, a number that is none or has thousands of digits, brackets nested without end
_NOT_YAML = (yaml.YAMLError, ValueError, RecursionError)


class _Loader(yaml.SafeLoader):
    """YAML as people mean it: NO is a level and no truth value, 01 and 2020-01-31 are text, a key occurs once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for position, key in enumerate(keys):
            if any(key.value == earlier.value for earlier in keys[:position]):
                raise yaml.MarkedYAMLError(None, None, f"the key {key.value!r} occurs twice", key.start_mark)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in known if tag.rpartition(":")[2] not in ("bool", "int", "timestamp")]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("(true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile("[-+]?(0|[1-9][0-9]*|0x[0-9a-fA-F]+)$"), list("-+0123456789")
)


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
        here[last] = yaml.load(value, _Loader)
    except _NOT_YAML:
        raise InputError(f"--set {key}: the value is not valid YAML.") from None


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
_EVALUATION: dict[str, type[Settings]] = {"intruders": Intruder, "propensity": Propensity}
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


def _sentence(raw: Mapping[str, Any], loc: tuple[int | str, ...], kind: str, message: str) -> str:
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
