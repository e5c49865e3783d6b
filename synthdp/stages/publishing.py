"""What is written once the copies are judged.

The page for the signatory, the public files, and the register's entry.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from synthdp import release
from synthdp.config import Config
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Verdict
from synthdp.release import attempts
from synthdp.release.held import Held
from synthdp.release.register import NAME, Register
from synthdp.report.content import MaskLine, ReportContent
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Release
from synthdp.table import io
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Level, Role

NONE = "none"
VARIABLE = "SYNTHDP_REGISTER"


@contextmanager
def holding(
    register: Register | None, frame: pd.DataFrame, waiting: Callable[[str], None] | None
) -> Iterator[Held | None]:
    """Hold the data from looking for earlier releases to recording this one; None where no register is kept."""
    if register is None:
        yield None
        return
    with register.session(frame, waiting=waiting) as held:
        yield held


class Attempts:
    """The attempt of one run, beside all others on the same data.

    It is written down as interrupted before any work is done, so that a run that is killed leaves a trace too.
    """

    def __init__(self, held: Held | None, run: str, config: str) -> None:
        self._held, self._run, self._config = held, run, config
        if held is not None:
            held.attempt(run, verdict="interrupted", config=config)

    def end(self, verdict: Verdict | Literal["study"]) -> dict[str, Any]:
        """Write down how the attempt ended; return what ``gate`` says of it."""
        if isinstance(verdict, str):
            return self._end(verdict, (), ())
        refused = {one.name for one in verdict.checks if not one.passed and one.accepted is None}
        accepted = {one.name for one in verdict.checks if one.accepted is not None}
        return self._end(verdict.judgement, sorted(refused), sorted(accepted))

    def leak(self) -> dict[str, Any]:
        """Write down that the scan for leaks stopped it."""
        return self._end("refused", ["leak"], ())

    def section(self) -> dict[str, Any]:
        """Return what the manifest says of the attempts."""
        return section(self._held)

    def _end(self, verdict: Any, reasons: Any, accepted: Any) -> dict[str, Any]:
        if self._held is None:
            return {"attempt": None, "attempts": attempts.lines(None)}
        self._held.attempt(self._run, verdict=verdict, config=self._config, reasons=reasons, accepted=accepted)
        found = self._held.attempts()
        return {"attempt": len(found), "attempts": attempts.lines(found)}


def section(held: Held | None) -> dict[str, Any]:
    """Return what a manifest says of the attempts on the data that are held."""
    return attempts.section(held.attempts() if held is not None else None)


def register_of(config: Config, out: Path) -> tuple[Register | None, tuple[str, ...]]:
    """Return the register of releases, and what a person should know of where it is.

    The config says where, else the environment variable ``SYNTHDP_REGISTER`` (one place for a whole agency). Without
    either it lies beside the data; where nothing may be written there, beside the folder of the run.
    """
    chosen = config.release.recorded_in or os.environ.get(VARIABLE)
    if chosen is not None:
        return (None if chosen == NONE else Register(Path(chosen))), ()
    home = config.data.path.resolve().parent
    if os.access(home, os.W_OK):
        return Register(home / NAME), ()
    beside_run = out.resolve().parent / NAME
    caution = (
        "The folder of the data cannot be written to, so this release is recorded beside the folder of the run: a "
        "release made elsewhere is not judged together with it. Name one place for all releases in release.recorded_in."
    )
    return Register(beside_run), (caution,)


def report_content(
    config: Config,
    comparison: Comparison,
    metrics: Mapping[str, Any],
    made: Release | None,
    notes: tuple[str, ...],
    versions: Mapping[str, str],
) -> ReportContent:
    """Return everything the report says."""
    masking = metrics["privacy"]["masking"]
    return ReportContent(
        title="Synthetic data report",
        data_name=config.data.path.name,
        comparison=comparison,
        metrics=metrics,
        baseline_risk=metrics["risk"].get("original", {}),
        masks=tuple(MaskLine(str(row["column"]), str(row["group"]), str(row["mask"])) for row in masking),
        method=made.method if made is not None else "external",
        model=_model(config) if made is not None else "",
        copies=len(comparison.copies),
        mask_draw=made.mask_draw if made is not None else "",
        notes=notes,
        versions=versions,
        dropped=tuple(name for name, variable in config.variables.items() if variable.role is Role.DROP),
        intruders=config.evaluation.intruders,
    )


def row_orders(config: Config, made: Release, streams: Streams) -> list[Any]:
    """Return the order in which the rows of each copy are released."""
    rows = len(made.copies[0])
    if not config.synthesis.shuffle:
        return [np.arange(rows) for _ in made.copies]
    return [streams.generator("shuffle", m).permutation(rows) for m in range(1, len(made.copies) + 1)]


def format_of(config: Config) -> str:
    """Return the format of the public files."""
    return io.format_like(config.data.path) if config.release.format == "same" else config.release.format


def publish(
    config: Config,
    data: Microdata,
    made: Release,
    orders: list[Any],
    out: Path,
    table: io.Table | None,
    *,
    inspect: Callable[[Path], Sequence[str]] | None = None,
) -> dict[str, str]:
    """Write the public files once ``inspect`` has found no leak in them; return their checksums."""
    format = format_of(config)
    imputations = made.design.imputations if made.design is not None else 1
    described = release.describe(
        data.schema,
        method=made.method,
        imputations=imputations,
        copies=len(made.copies) // imputations,
        mask_draw=made.mask_draw if made.mask_draw != "none" else None,
        rule=made.rule,
        design=made.design,
        privacy=made.privacy,
        records=len(data),
        masks=_mask_methods(config) if made.mask_draw != "none" else {},
        format=format,
        escaped_formulas=config.release.escape_formulas and io.FORMATS[format].text,
    )
    declared = {name: variable.levels for name, variable in config.variables.items() if variable.levels is not None}
    copies, labels = _labelled(data, made.copies, format, declared, table)
    return release.publish(
        out,
        copies,
        codebook=release.codebook(data.schema, made.copies, declared_levels=declared, labels=labels),
        release=described,
        readme=release.readme(described),
        format=format,
        permutations=orders,
        labels=labels,
        inspect=inspect,
        stored=io.storage(data.schema, copies),
    )


def _labelled(
    data: Microdata,
    copies: Sequence[pd.DataFrame],
    format: str,
    declared: Mapping[str, Sequence[Level]],
    table: io.Table | None,
) -> tuple[Sequence[pd.DataFrame], io.Labels]:
    """Return the copies with the user-missing codes of kept columns, and the labels that may go with them."""
    if table is None:
        return copies, io.Labels()
    kept = {column.name for column in data.schema.kept()}
    coarse = {column.name for column in data.schema.columns if column.coarsened}
    # after recoding, a code no longer means what its label says
    given = replace(table.labels, values={name: v for name, v in table.labels.values.items() if name not in coarse})
    copies = io.restored(copies, table.codes, kept=kept, labels=given, format=format)
    return copies, io.published(given, copies, kept=kept, declared=declared)


def _model(config: Config) -> str:
    """Return the association model's name; empty for methods that have none."""
    return str(getattr(getattr(config.synthesis, "model", None), "method", ""))


def _mask_methods(config: Config) -> dict[str, str]:
    """Return the mask's method by column, also where only the risk groups have masks."""
    found: dict[str, list[str]] = {}
    for block in (config.masks, *config.masks_by_group.values()):
        for name, mask in block.items():
            found.setdefault(name, []).append(mask.method)
    return {name: ", ".join(dict.fromkeys(methods)) for name, methods in found.items()}
