"""What a caller may give, in any form that makes sense: tables or files, mappings or YAML, one copy or several.

Whatever does not make sense is refused here, in one sentence, before pandas or pydantic stumble over it.
"""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp.config import Config, load, parse
from synthdp.errors import InputError
from synthdp.stages.intake import dialect, dropped
from synthdp.synthesis.design import Design
from synthdp.synthesis.plan import Release
from synthdp.table import io

Table = pd.DataFrame | str | PathLike[str]
Settings = Config | Mapping[str, Any] | str | PathLike[str]
Copies = Release | Table | Iterable[Table]

IN_MEMORY = "in memory"
MOST_JOBS = 1024
NESTED = ("list<", "large_list<", "fixed_size_list<", "struct<", "map<")


class SeedIgnored(UserWarning):
    """A seed was given to a method that draws its noise elsewhere."""


def path_of(given: Any, called: str, of: str = "a file") -> Path:
    """Return the path that a text or a path names."""
    if not isinstance(given, str | PathLike):
        raise InputError(f"{called}: must be the name of {of}, found {_kind(given)}.")
    text = str(given)
    if not text.strip() or "\0" in text:
        raise InputError(f"{called}: must be the name of {of}, found an empty or impossible one.")
    return Path(text).expanduser()


def config_of(settings: Any) -> Config:
    """Return the config of a mapping with its blocks (``data`` may be left out), or of a YAML file."""
    if isinstance(settings, Config):
        return settings
    if isinstance(settings, str | PathLike):
        return load(path_of(settings, "settings"))
    if not isinstance(settings, Mapping):
        raise InputError(
            f"settings: must be a mapping with blocks of a config, or a YAML file, found {_kind(settings)}."
        )
    strange = [key for key in settings if not isinstance(key, str)]
    if strange:
        raise InputError(f"settings: blocks are named by text, found {_kind(strange[0])}.")
    data = settings.get("data", {})
    if isinstance(data, Mapping):
        settings = {**settings, "data": {"path": IN_MEMORY, **data}}
    return parse(settings)


def table_of(given: Any, config: Config, called: str = "frame") -> io.Table:
    """Return a table in memory as it is, or read a file as the config says that the data are written."""
    if isinstance(given, str | PathLike):
        return io.read_table(path_of(given, called), dialect(config), drop=dropped(config))
    return io.Table(frame_of(given, called), io.Labels())


def frame_of(given: Any, called: str) -> pd.DataFrame:
    """Return a table whose columns can be named, or refuse."""
    if not isinstance(given, pd.DataFrame):
        hint = "; use .to_frame()" if isinstance(given, pd.Series) else ""
        hint = "; use .to_pandas()" if hasattr(given, "to_pandas") else hint
        raise InputError(f"{called}: must be a pandas DataFrame or the name of a file, found {_kind(given)}{hint}.")
    if isinstance(given.columns, pd.MultiIndex):
        raise InputError(f"{called}: columns must have one name each, found {given.columns.nlevels} levels of names.")
    strange = next((name for name in given.columns if not isinstance(name, str)), None)
    if strange is not None:
        hint = "frame.columns = frame.columns.map(str)"
        raise InputError(f"{called}: columns must be named by text, found {_kind(strange)}; use {hint}.")
    if given.shape[1] == 0 or len(given) == 0:
        raise InputError(f"{called}: needs records and columns, found {len(given)} by {given.shape[1]}.")
    for place, name in enumerate(given.columns):
        series = given.iloc[:, place]
        if holds := _unusable(series):
            raise InputError(f"{called}: column {name!r} holds {holds}.")
    return given


def _unusable(series: pd.Series) -> str:
    """Return what a column holds that is neither number, text, level nor date, and what to do; empty if all is well."""
    inferred = pd.api.types.infer_dtype(series) if series.dtype == object else ""
    if str(series.dtype).startswith(NESTED) or (inferred == "mixed" and series.map(_contains).any()):
        return "lists or other containers; give each cell one value"
    if series.dtype.kind == "c":
        return "complex numbers; give the two parts as columns"
    held = getattr(getattr(series.dtype, "categories", series), "dtype", None)
    if inferred == "interval" or isinstance(held, pd.IntervalDtype):
        return "intervals, which no file holds; use .astype(str)"
    if inferred == "bytes":
        return "bytes; use .str.decode('utf-8')"
    if inferred == "decimal":
        return "decimals, which would be taken for levels; use .astype(float)"
    return ""


def copies_of(given: Any) -> Release | list[Path] | list[pd.DataFrame]:
    """Return a release as it is, files as paths, and tables as a list; one stands for a list of one."""
    if isinstance(given, Release):
        if not given.copies:
            raise InputError("copies: needs at least one copy, found none.")
        return given
    if isinstance(given, str | PathLike | pd.DataFrame):
        given = [given]
    if isinstance(given, Mapping | pd.Series | bytes) or not isinstance(given, Iterable):
        raise InputError(f"copies: must be a release, tables or files, found {_kind(given)}.")
    each = list(given)
    if not each:
        raise InputError("copies: needs at least one copy, found none.")
    if any(isinstance(one, Release) for one in each):
        raise InputError("copies: one release at a time; a list holds tables or files.")
    named = [isinstance(one, str | PathLike) for one in each]
    if all(named):
        return [path_of(one, f"copy {number}") for number, one in enumerate(each, start=1)]
    if any(named):
        raise InputError("copies: must be all tables or all files, found both; read the files first.")
    return [frame_of(one, f"copy {number}") for number, one in enumerate(each, start=1)]


def design_of(given: Any, copies: int) -> Design | None:
    """Return a design as it is, or from a mapping with its fields; by default every file is a copy."""
    if given is None or isinstance(given, Design):
        return given
    known = [field.name for field in fields(Design)]
    example = "such as {'replaced': 'all', 'proper': False}"
    if not isinstance(given, Mapping):
        raise InputError(f"design: must be a Design or a mapping {example}, found {_kind(given)}.")
    unknown = [str(key) for key in given if key not in known]
    if unknown:
        raise InputError(f"design: unknown key {unknown[0]!r}; choose from {', '.join(known)}.")
    absent = [name for name in ("replaced", "proper") if name not in given]
    if absent:
        raise InputError(f"design: {' and '.join(absent)} must be told, {example}.")
    nests = [given.get(name, 1) for name in ("imputations", "mask_draws")]
    if not all(isinstance(count, int) and count >= 1 for count in nests):
        raise InputError("design: imputations and mask_draws must be whole numbers of 1 or more.")
    if given["replaced"] not in ("none", "some", "all"):
        raise InputError("design.replaced: must be none, some or all.")
    if not isinstance(given["proper"], bool):
        raise InputError(f"design.proper: must be True or False, found {_kind(given['proper'])}.")
    return Design(**{"copies": copies // (nests[0] * nests[1]), **given})


def seed_of(given: Any) -> int | None:
    """Return a seed that is a whole number of 0 or more, or None."""
    if given is None:
        return None
    found = _whole(given)
    if found is None or found < 0:
        said = "a negative number" if found is not None else _kind(given)
        raise InputError(f"seed: must be a whole number of 0 or more, found {said}.")
    return found


def jobs_of(given: Any) -> int:
    """Return how many processes or threads may work."""
    found = _whole(given)
    if found is None or not 1 <= found <= MOST_JOBS:
        raise InputError(f"jobs: must be a whole number from 1 to {MOST_JOBS:,}.")
    return found


def folder_of(given: Any) -> Path | None:
    """Return the folder that a text or a path names, or None."""
    return None if given is None else path_of(given, "out", "a folder")


def limits_of(given: Any) -> list[str]:
    """Return limits on risks as the command line writes them."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            "max_risk: must be a mapping from limits to numbers, such as {'max_individual': 0.2}, "
            f"found {_kind(given)}."
        )
    return [f"{name}={value}" for name, value in (given or {}).items()]


def names_of(given: Any, called: str) -> list[str]:
    """Return the names in a list; one alone is no list, nor is a table."""
    if isinstance(given, str):
        raise InputError(f"{called}: must be a list of columns, found text; write [{given!r}].")
    if isinstance(given, pd.DataFrame) or not isinstance(given, Iterable):
        raise InputError(f"{called}: must be a list of columns, found {_kind(given)}.")
    return list(given)


def truth_of(given: Any, called: str) -> bool | None:
    """Return a truth value, or None."""
    if given is not None and not isinstance(given, bool):
        raise InputError(f"{called}: must be True or False, found {_kind(given)}.")
    return given


def text_of(given: Any, called: str) -> str | None:
    """Return a text, or None."""
    if given is not None and not isinstance(given, str):
        raise InputError(f"{called}: must be text, found {_kind(given)}.")
    return given


def say_if_ignored(config: Config, seed: int | None) -> None:
    """Warn that a seed does not repeat a method whose noise comes from a secure source."""
    if seed is not None and config.synthesis.private and not config.synthesis.simulated:
        warnings.warn(
            f"seed: does not repeat {config.synthesis.method}, whose noise comes from a secure source that no seed "
            'reaches; for a study that publishes nothing, set synthesis: {"source": "simulated"}.',
            SeedIgnored,
            stacklevel=3,
        )


def _contains(cell: Any) -> bool:
    return isinstance(cell, list | tuple | dict | set | np.ndarray | pd.DataFrame | pd.Series)


def _whole(given: Any) -> int | None:
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        return None
    return int(given.__index__())


def _kind(given: Any) -> str:
    """Return what something is, never what it holds."""
    return "None" if given is None else f"{type(given).__name__}"
