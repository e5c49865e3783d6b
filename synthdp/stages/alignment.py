"""Synthetic files of any tool, read or in memory, laid beside the original."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from synthdp.config import Config
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.inference.rules import unfit, unknown_rule
from synthdp.stages.intake import dialect, dropped, without_codes
from synthdp.stages.tracing import NO_TRACE, UNLIKELY, shared_with, traced
from synthdp.synthesis.design import NOTHING_MASKED, Design, rule_for
from synthdp.table import io
from synthdp.table.foreign import File, Findings, harmonise
from synthdp.table.microdata import Microdata

UNKNOWN_DESIGN = (
    "Every column is replaced, so these files may be fully synthetic, yet their estimates are combined as those of "
    "partially synthetic files; where that is so, give each analysis rule: raab2016 (rule='raab2016'), or say how they "
    "were made (design={'replaced': 'all', 'proper': False})."
)


@dataclass(frozen=True, repr=False)
class Known:
    """What a caller says of copies, beyond the config.

    Parameters
    ----------
    design
        How they came about, as far as measures depend on it.
    rule
        The combining rule of analyses that name none; by default the one that the design calls for.
    aligned
        Whether row i of every copy was made from record i; None leaves it to ``evaluation.rows``.
    sure
        Whether that needs no trace in the files, because we made the copies ourselves.
    holdout
        Records that the synthesis never saw.
    """

    design: Design | None = None
    rule: str | None = None
    aligned: bool | None = None
    sure: bool = False
    holdout: pd.DataFrame | None = None

    def __repr__(self) -> str:
        return f"Known({self.rule or 'no rule'})"

    def check(self, copies: int) -> None:
        """Refuse a rule that nobody knows or that does not fit the design, and a design of other files."""
        if self.rule is not None:
            raised = unknown_rule(self.rule) or (unfit(self.rule, self.design) if self.design is not None else None)
            if raised:
                raise InputError(f"rule: {raised}" + ("" if raised[-1] in ".?" else "."))
        if self.design is not None and not self.sure and self.design.files != copies:
            raise InputError(f"design: is that of {self.design.files} copies, found {copies}.")


def align(
    config: Config,
    data: Microdata,
    paths: Sequence[Path],
    *,
    groups: pd.Series | None,
    labels: io.Labels | None = None,
    known: Known | None = None,
) -> Comparison:
    """Read synthetic files and lay them beside the original.

    ``labels`` are those of the original's file, ``known`` what the caller says of the copies.

    ``evaluation.rows`` says whether row i of a file is record i. A folder with a release.json holds shuffled rows, so
    there the default is ``none``; elsewhere it is ``aligned``, unless nothing in the files shows it.
    """
    known = known or Known()
    paths = [file for path in paths for file in _files(path)]
    rows, said = config.evaluation.rows, "rows" in config.evaluation.model_fields_set
    if known.aligned is not None and rows in ("aligned", "none"):
        rows, said = "aligned" if known.aligned else "none", True
    if not said and any((p.parent / "release.json").exists() for p in paths):
        rows, said = "none", True
    tables = [_table_of(config, path) for path in paths]
    files = [File(str(path), table.frame, table.labels) for path, table in zip(paths, tables, strict=True)]
    copies, found = _checked(config, data, files, labels or io.Labels(), same_length=rows == "aligned")
    if rows not in ("aligned", "none"):
        copies = _undo_shuffle(Path(rows), paths, copies)
    known = replace(known, design=known.design or design_of(paths))
    return _laid(config, data, copies, found, groups=groups, aligned=rows != "none", said=said, known=known)


def lay_beside(
    config: Config,
    data: Microdata,
    tables: Sequence[pd.DataFrame],
    *,
    groups: pd.Series | None,
    design: Design | None = None,
    aligned: bool | None = None,
    known: Known | None = None,
) -> Comparison:
    """Lay synthetic tables in memory beside the original; ``known`` is all that the caller says of them."""
    known = known or Known(design=design, aligned=aligned)
    aligned = config.evaluation.rows != "none" if known.aligned is None else known.aligned
    said = known.aligned is not None or "rows" in config.evaluation.model_fields_set
    files = [File(f"copy {number}", table) for number, table in enumerate(tables, start=1)]
    copies, found = _checked(config, data, files, io.Labels(), same_length=aligned)
    return _laid(config, data, copies, found, groups=groups, aligned=aligned, said=said, known=known)


def _laid(
    config: Config,
    data: Microdata,
    copies: Sequence[pd.DataFrame],
    found: Findings,
    *,
    groups: pd.Series | None,
    aligned: bool,
    said: bool,
    known: Known,
) -> Comparison:
    """Return a comparison that knows how its copies came about, as far as the measures depend on it."""
    doubt: tuple[str, ...] = ()
    if aligned and not known.sure and not traced(data, copies):
        # what somebody said is obeyed; what nobody said must not turn "not measured" into "nobody is found"
        aligned, doubt = said, (UNLIKELY if said else NO_TRACE,)
    holdout = held_out(config, data, known.holdout)
    if holdout is not None:
        doubt = (*doubt, *shared_with(data, holdout))
    laid = Comparison(
        data.frame,
        tuple(copies),
        data.schema,
        aligned=aligned,
        groups=groups,
        cautions=(*doubt, *found.cautions),
        holdout=holdout,
    )
    design = known.design
    known.check(len(copies))
    if design is None:
        if known.rule is None and not data.schema.kept() and any(one.rule is None for one in config.analyses):
            laid = replace(laid, cautions=(*laid.cautions, UNKNOWN_DESIGN))
        return replace(laid, rule=known.rule)
    masked = design.mask_draw if design.mask_draw != NOTHING_MASKED else None
    rule = known.rule or rule_for(design)
    return replace(laid, proper=design.proper, nests=design.imputations, mask_draw=masked, rule=rule)


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


def held_out(config: Config, data: Microdata, given: pd.DataFrame | None = None) -> pd.DataFrame | None:
    """Return the records of ``evaluation.holdout`` as the original's are, or None when no file is named.

    ``given`` records, in memory already, take the place of the file.
    """
    if given is not None:
        files = [File("holdout", given)]
    elif config.evaluation.holdout is None:
        return None
    else:
        path = Path(config.evaluation.holdout)
        table = _table_of(config, path)
        files = [File(str(path), table.frame, table.labels)]
    return _checked(config, data, files, io.Labels(), same_length=False)[0][0]


def _checked(
    config: Config, data: Microdata, files: Sequence[File], labels: io.Labels, *, same_length: bool
) -> tuple[list[pd.DataFrame], Findings]:
    """Return the tables spelt as the original and missing codes gone, or list everything that is wrong."""
    missing = config.data.missing_codes
    given = [replace(file, frame=without_codes(file.frame, missing)) for file in files]
    copies, found = harmonise(given, data, config.variables, labels)
    problems = found.problems
    if same_length:
        problems += [
            f"{file.name}: evaluation.rows is aligned, so {len(data)} rows are required, found {len(file.frame)}; "
            "set evaluation.rows: none (aligned=False) for files whose rows are not the records."
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


def _table_of(config: Config, path: Path) -> io.Table:
    """Return a file beside the original; it need not have row names where the original has them."""
    how = _dialect_of_copy(config, path)
    try:
        return io.read_table(path, how, drop=dropped(config))
    except InputError:
        if not how.row_names:
            raise
        return io.read_table(path, replace(how, row_names=False), drop=dropped(config))


def _dialect_of_copy(config: Config, path: Path) -> io.Dialect:
    """Return how a synthetic file is written: a release says it itself, other files are as the original is."""
    about = path.parent / "release.json"
    if not about.exists():
        return dialect(config)
    try:
        told = json.loads(about.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{about}: not readable as JSON.") from None
    return io.Dialect(escaped=isinstance(told, dict) and told.get("escaped_formulas") is True)


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
