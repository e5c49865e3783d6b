"""A disk that is really full: a sentence, exit code 4, nothing public, nothing left over, and the run can go on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.gate.limits import OFF

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
CONFIG = f"""\
data: {{path: data.csv}}
variables: {{age: {{role: replace, key: true, bounds: [0, 120]}}}}
masks: {{age: {{method: gaussian, sd: 1.0}}}}
synthesis: {{copies: 2}}
evaluation: {{utility: [], risk: [identity]}}
release: {json.dumps(OFF.model_dump())}
"""
# run in a name space of its own, where whoever runs the tests may mount
STORY = """
import json, os, subprocess, sys
from pathlib import Path
disk = Path("disk")
def mount(size, again=False):
    options = f"size={size}" + (",remount" if again else "")
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", "disk"], check=True)
def run(*more):
    command = [sys.executable, "-m", "synthdp", "run", "config.yaml", "--out", "disk/out", "--quiet", *more]
    done = subprocess.run(command, capture_output=True, text=True)
    files = sorted(str(p.relative_to(disk)) for p in disk.rglob("*") if p.is_file())
    told.append({"code": done.returncode, "said": done.stderr, "files": files})
def pages(folder):
    return sum(-(-p.stat().st_size // 4096) for p in folder.rglob("*") if p.is_file())
told = []
mount("1m")  # the report does not fit
run()
mount("64m", again=True)
run("--resume")
secret, public = pages(disk / "out" / "confidential"), pages(disk / "out" / "public")
subprocess.run(["umount", "disk"], check=True)
mount((secret + public // 2 + 4) * 4096)  # everything but the files to publish fits
run()
mount("64m", again=True)
run("--resume")
subprocess.run(["umount", "disk"], check=True)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return what four runs said: two into a disk that is too small, each followed by one that goes on."""
    folder = tmp_path_factory.mktemp("full")
    try:
        asked = subprocess.run(
            ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip
    except OSError:
        pytest.skip("unshare, which a disk of one's own needs, is not installed")
    if asked.returncode:
        pytest.skip(f"a small disk may not be mounted here ({asked.stderr.strip().splitlines()[-1]})")
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 3000), "x": rng.normal(size=3000), "y": rng.normal(size=3000)})
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "disk").mkdir()
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", STORY],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("number", [0, 2], ids=["at the report", "while publishing"])
def test_a_full_disk_is_said_and_leaves_nothing_over(told, number):
    found = told[number]
    assert found["code"] == 4, found["said"]
    assert "the disk is full" in found["said"]
    assert len(found["said"].splitlines()) == 1
    assert not [name for name in found["files"] if "public" in name or Path(name).name.startswith(".")]


def test_the_report_was_the_first_thing_that_did_not_fit_and_then_the_copies(told):
    assert "out/confidential/report.html" not in told[0]["files"]
    assert "out/confidential/report.html" in told[2]["files"]


@pytest.mark.parametrize("number", [1, 3])
def test_the_run_goes_on_when_there_is_room(told, number):
    found = told[number]
    assert found["code"] == 0, found["said"]
    assert {"out/public/synthetic_01.csv", "out/public/synthetic_02.csv", "out/public/SHA256SUMS"} <= {*found["files"]}
    assert not [name for name in found["files"] if Path(name).name.startswith(".")]
