"""What is written once the copies are judged: the page for the signatory, and the public files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp import release
from synthdp.config import Config
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks import inspector
from synthdp.release import Manifest
from synthdp.release.metrics import Metrics
from synthdp.report import MaskLine, ReportContent, dossier, page
from synthdp.report.dossier import Dossier
from synthdp.seeding import Streams
from synthdp.stages.gating import Judged
from synthdp.stages.shuffling import row_order
from synthdp.stages.trail import Trail
from synthdp.synthesis.plan import Release
from synthdp.table import io
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Level, Role

Inspect = Callable[[Path], Sequence[str]]


def report_content(
    config: Config,
    comparison: Comparison,
    metrics: Metrics,
    *,
    notes: tuple[str, ...],
    made: Release | None = None,
    versions: Mapping[str, str] = MappingProxyType({}),
    labels: Mapping[str, str] = MappingProxyType({}),
) -> ReportContent:
    """Return everything the report says."""
    return ReportContent(
        title="Synthetic data report",
        data_name=config.data.path.name,
        comparison=comparison,
        metrics=metrics,
        baseline_risk=metrics.original_risk,
        masks=tuple(MaskLine(str(row["column"]), str(row["group"]), str(row["mask"])) for row in metrics.masking),
        method=made.method if made is not None else "external",
        model=config.synthesis.association if made is not None else "",
        copies=len(comparison.copies),
        mask_draw=made.mask_draw if made is not None else "",
        notes=notes,
        versions=versions,
        dropped=tuple(name for name, variable in config.variables.items() if variable.role is Role.DROP),
        intruders=config.evaluation.intruders,
        labels=labels,
    )


def write_report(
    config: Config,
    judged: Judged,
    content: ReportContent,
    orders: Sequence[npt.NDArray[np.int64]],
    trail: Trail,
) -> Path:
    """Write the confidential side of a release; return the report's path."""
    nests, at_risk = content.comparison.nests, judged.records_at_risk(content.comparison)
    names = release.file_names(nests, content.copies // nests, config.release.format_of(config.data.path))
    signed = Dossier(
        content,
        day=str(trail.manifest.contents.get("started", ""))[:10],
        run=trail.manifest.run,
        study=trail.study,
        attempts=trail.attempts,
        at_risk=at_risk["record"].nunique() if judged.draws else None,
        title=config.release.title,
    )
    return release.write_confidential(
        trail.out,
        metrics=content.metrics,
        report=page.render(content),
        dossier=dossier.render(signed),
        records_at_risk=at_risk,
        rows=dict(zip(names, orders, strict=True)),
    )


def row_orders(config: Config, made: Release, streams: Streams) -> list[npt.NDArray[np.int64]]:
    """Return the order in which the rows of each copy are released."""
    rows = len(made.copies[0])
    if not config.synthesis.shuffle:
        return [np.arange(rows) for _ in made.copies]
    return [row_order(streams, m, rows) for m in range(1, len(made.copies) + 1)]


def inspection(config: Config, data: Microdata, manifest: Manifest) -> Inspect:
    """Return the scan of the files for leaks, the last thing that may keep them back."""
    return inspector(
        data.frame,
        data.schema,
        manifest=manifest.contents,
        shuffled=config.synthesis.shuffle,
        # the claim of a private method would not cover a look at the records
        records=not config.synthesis.private,
        said=release.said_of_any(),
        rng=Streams(manifest.seed).generator("scan"),
    )


def publish(
    config: Config,
    data: Microdata,
    made: Release,
    orders: Sequence[npt.NDArray[np.int64]],
    out: Path,
    table: io.Table | None,
    *,
    inspect: Inspect | None = None,
) -> dict[str, str]:
    """Write the public files once ``inspect`` has found no leak in them; return their checksums."""
    format = config.release.format_of(config.data.path)
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
        masks=mask_methods(config) if made.mask_draw != "none" else {},
        format=format,
        escaped_formulas=config.release.escape_formulas and io.FORMATS[format].text,
        documents=release.DOCUMENTS,
    )
    declared = {name: variable.levels for name, variable in config.variables.items() if variable.levels is not None}
    copies, labels = _labelled(data, made.copies, format, declared, table)
    codebook = release.codebook(data.schema, made.copies, declared_levels=declared, labels=labels)
    return release.publish(
        out,
        copies,
        codebook=codebook,
        release=described,
        readme=release.readme(described),
        format=format,
        permutations=orders,
        labels=labels,
        inspect=inspect,
        stored=io.storage(data.schema, copies),
        documents=release.documents(described, codebook, made.copies, config.release, year=datetime.now(UTC).year),
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


def mask_methods(config: Config) -> dict[str, str]:
    """Return the mask's method by column, also where only the risk groups have masks."""
    found: dict[str, list[str]] = {}
    for block in (config.masks, *config.masks_by_group.values()):
        for name, mask in block.items():
            found.setdefault(name, []).append(mask.method)
    return {name: ", ".join(dict.fromkeys(methods)) for name, methods in found.items()}
