"""Report and dossier of a release in shards: the pages of a run in memory, figures and pictures of the sample."""

from dataclasses import replace
from pathlib import Path

from synthdp import release
from synthdp.config import Config
from synthdp.evaluation.comparison import Comparison
from synthdp.release import Manifest
from synthdp.release.metrics import Metrics
from synthdp.report import dossier, page
from synthdp.report.dossier import Dossier
from synthdp.stages.publishing import report_content
from synthdp.stages.sharded.judging import JudgedShards
from synthdp.synthesis.plan import Release


def write_pages(
    out: Path,
    config: Config,
    found: JudgedShards,
    comparison: Comparison,
    metrics: Metrics,
    manifest: Manifest,
    *,
    notes: tuple[str, ...],
    study: bool,
) -> Path:
    """Write the confidential side of a release in shards; return the report's path."""
    made = Release.of(config.synthesis, found.plan, comparison.copies, seconds={})
    told = (*notes, *found.judged.notes)
    content = replace(
        report_content(
            config, comparison, metrics, made=made, notes=told, versions=manifest.contents.get("versions", {})
        ),
        sampled_from=found.sample.records,
    )
    at_risk = found.records_at_risk()
    signed = Dossier(
        content,
        day=str(manifest.contents.get("started", ""))[:10],
        run=manifest.run,
        study=study,
        at_risk=at_risk["record"].nunique() if found.judged.draws else None,
        title=config.release.title,
    )
    return release.write_confidential(
        out,
        metrics=metrics,
        report=page.render(content),
        dossier=dossier.render(signed),
        records_at_risk=at_risk,
    )
