"""What a stranger types: init, answers to its questions, check, tune, run; what came of each, and how long it took."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from reports.tune_files.files import File
from synthdp import read

# trials, as many as tune makes by default: a clock says little on a machine that other work keeps busy
BUDGET = "36"


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    code: int
    said: str
    seconds: float


def synthdp(*arguments: str | Path, cwd: Path) -> Done:
    """Run a command of synthdp and return how it ended and the processor seconds it took."""
    before = _used()
    done = subprocess.run(
        [sys.executable, "-m", "synthdp", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120"},
    )
    return Done(done.returncode, (done.stdout + done.stderr).strip(), _used() - before)


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def answered(settings: Mapping[str, Any], file: File) -> dict[str, Any]:
    """Return what init wrote with its questions answered."""
    variables = {name: dict(block) for name, block in settings["variables"].items()}
    masks = dict(settings.get("masks", {}))
    for name, answer in file.answers.items():
        variables[name] |= answer
        if answer.get("role") == "drop":
            variables[name] = {"role": "drop"}
        if answer.get("role") in ("drop", "keep"):
            masks.pop(name, None)
    return {**settings, "variables": variables, "masks": masks}


def release(file: File, data: Path, work: Path) -> dict[str, Any]:
    """Take a file from the stranger's folder to a release, and return what every step came to.

    The search that is in the folder already is gone on with.
    """
    work.mkdir(parents=True, exist_ok=True)
    config, tuned = work / "config.yaml", work / "tuned"
    found: dict[str, Any] = {"records": len(read(data / file.name))}
    (work / "first.yaml").unlink(missing_ok=True)
    done = synthdp("init", data / file.name, "-o", work / "first.yaml", cwd=work)
    found["init"] = {"code": done.code, "seconds": round(done.seconds, 1)}
    settings = answered(yaml.safe_load((work / "first.yaml").read_text(encoding="utf-8")), file)
    config.write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")
    done = synthdp("check", config, cwd=work)
    found["check"] = {"code": done.code, "seconds": round(done.seconds, 1)}
    if done.code:
        return found | {"problem": done.said}
    began = time.perf_counter()
    more = ["--resume"] if (tuned / "trials.sqlite").exists() else []
    done = synthdp("tune", config, "--budget", BUDGET, "--seed", SEED, "--out", tuned, "--quiet", *more, cwd=work)
    found["tune"] = {"code": done.code, "seconds": round(done.seconds, 1), "wall": round(time.perf_counter() - began)}
    if done.code:
        return found | {"problem": done.said}
    number = 1
    while (out := work / f"out{number}").exists():
        number += 1
    done = synthdp("run", tuned / "tuned.yaml", "--out", out, "--quiet", cwd=work)
    found["run"] = {"code": done.code, "seconds": round(done.seconds, 1)}
    metrics = out / "confidential" / "metrics.json"
    gate = json.loads(metrics.read_text(encoding="utf-8"))["gate"] if metrics.exists() else {}
    found["verdict"] = gate.get("verdict", "none")
    return found | ({"problem": done.said} if done.code else {})


# of the trials, which publish nothing; the release's own seed is secret, as it is for everybody
SEED = "20261118"
