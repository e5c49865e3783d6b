"""The whole pipeline on bundled data: the first thing anyone sees."""

import hashlib
from importlib import resources
from pathlib import Path

import yaml

from synthdp import io
from synthdp.config import Config, parse
from synthdp.datasets import anes96
from synthdp.intake import prepare
from synthdp.pipeline import Outcome, execute
from synthdp.progress import Progress, Silent, Timer
from synthdp.release import write_atomic

# the data are public, so the seed may be too: everyone sees the numbers that the README shows
PUBLIC_SEED = 0x5EED_1996_0000_0000_0000_0000_0000_0001
QUICK_COPIES = 5


def settings(*, quick: bool = False) -> Config:
    """Return the demo's config."""
    raw = yaml.safe_load(_text())
    if quick:
        raw["synthesis"]["copies"] = QUICK_COPIES
    return parse(raw | {"seed": PUBLIC_SEED})


def demo(*, out: Path, quick: bool = False, jobs: int = 1, progress: Progress | None = None) -> Outcome:
    """Run the pipeline on the 1996 American National Election Study, and leave its data and config beside the result.

    Parameters
    ----------
    quick
        Fewer copies.
    """
    timer = Timer(progress or Silent())
    config = settings(quick=quick)
    with timer.stage("read"):
        frame = anes96()
        data = prepare(frame, config)
    table = io.encode(frame, format="csv")
    inputs = {"data": hashlib.sha256(table).hexdigest()}
    outcome = execute(config, data, inputs, out=out, study=False, jobs=jobs, resume=False, timer=timer)
    write_atomic(out / "anes96.csv", table, mode=0o644)
    write_atomic(out / "demo.yaml", _text().encode(), mode=0o644)
    return outcome


def _text() -> str:
    return (resources.files("synthdp") / "bundled" / "demo.yaml").read_text(encoding="utf-8")
