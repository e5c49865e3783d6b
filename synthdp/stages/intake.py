"""From files to checked records: the original, and synthetic files that are laid beside it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from synthdp.config import Config
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.synthesis.design import NOTHING_MASKED, Design, rule_for
from synthdp.table import applies, derived, io
from synthdp.table.coarsening import coarsen
from synthdp.table.foreign import File, Findings, harmonise
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Design as Part
from synthdp.table.schema import Level, Role, Schema, Variable


@dataclass(frozen=True, repr=False)
class Source:
    """Checked records and where they come from.

    Parameters
    ----------
    data
        The records.
    checksum
        SHA-256 of the file they were read from.
    table
        The file as it is, with its labels; None for records that were in memory.
    """

    data: Microdata
    checksum: str
    table: io.Table | None = None

    @classmethod
    def of(cls, config: Config) -> Self:
        """Read and check the config's data file."""
        table = read(config)
        return cls(prepare(table.frame, config, unread=table.unread), io.digest(config.data.path), table)

    @property
    def frame(self) -> pd.DataFrame:
        """The records as they came in."""
        return self.data.frame if self.table is None else self.table.frame


def load(config: Config) -> Microdata:
    """Return the checked records of the config's data file."""
    return Source.of(config).data


def read(config: Config) -> io.Table:
    """Return the config's data file as it is, with its labels and user-missing codes; dropped columns are not read."""
    return io.read_table(config.data.path, _dialect(config), drop=_dropped(config))


def _dropped(config: Config) -> list[str]:
    return [name for name, variable in config.variables.items() if variable.role is Role.DROP]


def _dialect(config: Config) -> io.Dialect:
    data = config.data
    return io.Dialect(
        encoding=data.encoding,
        decimal=data.decimal,
        separator=data.separator,
        dates=data.dates,
        row_names=data.row_names,
    )


def prepare(frame: pd.DataFrame, config: Config, *, unread: Sequence[str] = ()) -> Microdata:
    """Return the checked records of a table: missing codes set to missing, columns coarsened, dropped ones gone.

    Parameters
    ----------
    unread
        Dropped columns of the file that the table does not have, because they were not read.

    Raises
    ------
    InputError
        Listing everything that is wrong.
    """
    codes = config.data.missing_codes
    problems = [
        f"data.missing_codes.{name}: no such column in the data."
        for name in codes
        if name not in frame.columns and name not in unread
    ]
    problems += _design_problems([*frame.columns, *unread], config)
    declared = {name: variable for name, variable in config.variables.items() if name not in unread}
    try:
        given = _without_codes(frame, codes) if frame.columns.is_unique else frame
        coarse, variables = coarsen(given, declared)
    except InputError as error:
        problems += error.problems
        coarse, variables = given, declared
    try:
        data = resolve(coarse, variables)
    except InputError as error:
        raise InputError(*problems, *error.problems) from None
    if problems:
        raise InputError(*problems)
    return _with_conditions(_with_derived(_with_design(data, config), given))


def _design_problems(names: Sequence[str], config: Config) -> list[str]:
    problems = []
    for part, name in _design(config).items():
        role = config.variables.get(name, Variable()).role
        if name not in names:
            problems.append(f"data.{part}: no column {name!r} in the data.")
        elif role is not Role.KEEP:
            problems.append(f"data.{part}: {name!r} must be kept, found role: {role}; leave out its role.")
    return problems


def _design(config: Config) -> dict[Part, str]:
    named: dict[Part, str | None] = {
        "weights": config.data.weights,
        "strata": config.data.strata,
        "cluster": config.data.cluster,
    }
    return {part: name for part, name in named.items() if name is not None}


def _with_design(data: Microdata, config: Config) -> Microdata:
    parts = {name: part for part, name in _design(config).items()}
    if not parts:
        return data
    columns = [column.model_copy(update={"design": parts.get(column.name)}) for column in data.schema.columns]
    return Microdata(data.frame, Schema(columns=tuple(columns)))


def _with_derived(data: Microdata, given: pd.DataFrame) -> Microdata:
    """Return the records with derived columns that follow from what is released, after checking their formulas."""
    if not data.schema.derived():
        return data
    # a formula is checked against the columns it was made from, before they were coarsened
    before = Microdata(given[list(data.schema.names())].reset_index(drop=True), data.schema)
    problems = derived.problems(before)
    if problems:
        raise InputError(*problems)
    return Microdata(derived.recompute(data.frame, data), data.schema)


def _with_conditions(data: Microdata) -> Microdata:
    """Return the records after checking when columns apply, which is said of the columns as they are released."""
    problems = applies.problems(data)
    if problems:
        raise InputError(*problems)
    return Microdata(data.frame, applies.settled(data.schema))


def unique_share(data: Microdata) -> float:
    """Return the share of records that no other record equals on all kept columns. Cost O(n log n)."""
    names = [column.name for column in data.schema.kept()]
    if not names:
        return 0.0
    return float((~data.frame.duplicated(subset=names, keep=False)).mean())


def align(
    config: Config,
    data: Microdata,
    paths: Sequence[Path],
    *,
    groups: pd.Series | None,
    labels: io.Labels | None = None,
) -> Comparison:
    """Read synthetic files and lay them beside the original.

    ``labels`` are those of the original's file.

    ``evaluation.rows`` says whether row i of a file is record i. A folder with a release.json holds shuffled rows, so
    there the default is ``none``.
    """
    paths = [file for path in paths for file in _files(path)]
    rows = config.evaluation.rows
    if "rows" not in config.evaluation.model_fields_set and any((p.parent / "release.json").exists() for p in paths):
        rows = "none"
    tables = [io.read_table(path, _dialect_of_copy(config, path), drop=_dropped(config)) for path in paths]
    files = [File(str(path), table.frame, table.labels) for path, table in zip(paths, tables, strict=True)]
    copies, found = _checked(config, data, files, labels or io.Labels(), same_length=rows == "aligned")
    if rows not in ("aligned", "none"):
        copies = _undo_shuffle(Path(rows), paths, copies)
    beside = Comparison(
        data.frame,
        tuple(copies),
        data.schema,
        aligned=rows != "none",
        groups=groups,
        cautions=found.cautions,
        holdout=held_out(config, data),
    )
    return made_by(beside, design_of(paths))


def made_by(comparison: Comparison, design: Design | None) -> Comparison:
    """Return a comparison that knows how its copies came about, as far as the measures depend on it."""
    if design is None:
        return comparison
    masked = design.mask_draw if design.mask_draw != NOTHING_MASKED else None
    return replace(comparison, proper=design.proper, nests=design.imputations, mask_draw=masked, rule=rule_for(design))


def design_of(paths: Sequence[Path]) -> Design | None:
    """Return how the files of one release of ours were made; None for files of other tools, or only some of a release.

    Raises
    ------
    InputError
        When the ``release.json`` beside the files is damaged.
    """
    homes = {path.parent for path in paths}
    if len(homes) != 1 or not (described := homes.pop() / "release.json").is_file():
        return None
    try:
        contents = json.loads(described.read_text(encoding="utf-8"))
        design = Design.of(contents)
        whole = sorted(contents["files"]) == sorted(path.name for path in paths)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{described}: damaged, so it does not tell how the files were made.") from None
    return design if whole else None


def held_out(config: Config, data: Microdata) -> pd.DataFrame | None:
    """Return the records of ``evaluation.holdout`` as the original's are, or None when no file is named."""
    if config.evaluation.holdout is None:
        return None
    path = Path(config.evaluation.holdout)
    table = io.read_table(path, _dialect_of_copy(config, path), drop=_dropped(config))
    files = [File(str(path), table.frame, table.labels)]
    return _checked(config, data, files, io.Labels(), same_length=False)[0][0]


def lay_beside(
    config: Config,
    data: Microdata,
    tables: Sequence[pd.DataFrame],
    *,
    groups: pd.Series | None,
    design: Design | None = None,
    aligned: bool | None = None,
) -> Comparison:
    """Lay synthetic tables in memory beside the original; ``design`` says how they came about, where that is known."""
    aligned = config.evaluation.rows != "none" if aligned is None else aligned
    files = [File(f"copy {number}", table) for number, table in enumerate(tables, start=1)]
    copies, found = _checked(config, data, files, io.Labels(), same_length=aligned)
    beside = Comparison(
        data.frame,
        tuple(copies),
        data.schema,
        aligned=aligned,
        groups=groups,
        cautions=found.cautions,
        holdout=held_out(config, data),
    )
    return made_by(beside, design)


def _checked(
    config: Config, data: Microdata, files: Sequence[File], labels: io.Labels, *, same_length: bool
) -> tuple[list[pd.DataFrame], Findings]:
    """Return the tables spelt as the original and missing codes gone, or list everything that is wrong."""
    missing = config.data.missing_codes
    given = [replace(file, frame=_without_codes(file.frame, missing)) for file in files]
    copies, found = harmonise(given, data, config.variables, labels)
    problems = found.problems
    if same_length:
        problems += [
            f"{file.name}: evaluation.rows is aligned, so {len(data)} rows are required, found {len(file.frame)}; "
            "set evaluation.rows: none for files whose rows are not the records."
            for file in files
            if len(file.frame) != len(data)
        ]
    if problems:
        raise InputError(*problems)
    return copies, found


def _files(path: Path) -> list[Path]:
    """Return the file, or the synthetic files of a release folder."""
    if not path.is_dir():
        return [path]
    folder = path if (path / "release.json").exists() else path / "public"
    found = sorted(folder.glob("synthetic_*"))
    if not found:
        raise InputError(f"{path}: a file or the folder of a release is required, found neither.")
    return found


def _dialect_of_copy(config: Config, path: Path) -> io.Dialect:
    """Return how a synthetic file is written: a release says it itself, other files are as the original is."""
    about = path.parent / "release.json"
    if not about.exists():
        return _dialect(config)
    try:
        told = json.loads(about.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{about}: not readable as JSON.") from None
    return io.Dialect(escaped=isinstance(told, dict) and told.get("escaped_formulas") is True)


def _without_codes(frame: pd.DataFrame, codes: Mapping[str, Sequence[Level]]) -> pd.DataFrame:
    """Return a table whose missing codes are missing, as numbers or as text, whichever the column holds."""
    for name, values in codes.items():
        if name in frame.columns:
            series = frame[name]
            text = not pd.api.types.is_numeric_dtype(series)
            coded = series.astype(str).isin([str(value) for value in values]) if text else _equal(series, values)
            frame = frame.assign(**{name: series.mask(coded)})
    return frame


def _equal(series: pd.Series, values: Sequence[Level]) -> pd.Series:
    numeric = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").dropna()
    return series.isin(list(numeric))


def _undo_shuffle(rows: Path, paths: Sequence[Path], copies: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return the copies in the order of the records, given the row order a run wrote."""
    orders = io.read(rows)
    aligned = []
    for path, copy in zip(paths, copies, strict=True):
        order = orders.get(path.stem)
        if order is None or sorted(order) != list(range(len(copy))):
            raise InputError(f"evaluation.rows: {rows.name} holds no row order for {path.name}.")
        position = np.empty(len(copy), dtype=np.int64)
        position[order.to_numpy(dtype=np.int64)] = np.arange(len(copy))
        aligned.append(copy.iloc[position].reset_index(drop=True))
    return aligned
