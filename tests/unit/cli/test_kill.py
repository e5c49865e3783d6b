"""kill -9 at any moment leaves no half release, and going on gives the very files an undisturbed run gives."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from synthdp import release
from synthdp.datasets import registry
from synthdp.evaluation.gate.limits import OFF
from synthdp.table import io

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SEED = 0x9E3779B97F4A7C15F39CC0605CEDC834
PATIENCE = 120
CONFIG = f"""\
data: {{path: registry.csv}}
variables:
  age: {{role: replace, key: true, bounds: [18, 90], tolerance: 3}}
  sex: {{role: replace, key: true}}
  education: {{role: replace, key: true}}
masks:
  age: {{method: gaussian, sd: 1.0}}
  sex: {{method: shifted_normal, alpha: 1.0}}
  education: {{method: shifted_normal, alpha: 1.0}}
synthesis: {{copies: 6}}
evaluation: {{utility: [], risk: [identity]}}
release: {json.dumps(OFF.model_dump())}
"""


class Run:
    """One real ``synthdp run`` in its own process."""

    def __init__(self, config, out, *, jobs, resume=False):
        self.out = out
        options = ["--out", out, "--seed", SEED, "--jobs", jobs, "--quiet", *(["--resume"] if resume else [])]
        command = [sys.executable, "-m", "synthdp", "run", config, *options]
        self.process = subprocess.Popen([str(part) for part in command], cwd=ROOT, stderr=subprocess.PIPE, text=True)

    def finish(self):
        errors = self.process.communicate(timeout=PATIENCE)[1]
        assert self.process.returncode == 0, errors

    def wait_for(self, pattern):
        """Wait until a file shows up in the folder, or the run is over; return the moment."""
        while self.process.poll() is None and not list(self.out.glob(pattern)):
            time.sleep(0.0005)
        return time.monotonic()

    def kill(self):
        """Kill the process outright."""
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)


def contents(out):
    return {path.name: path.read_bytes() for path in (out / "public").iterdir()}


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("registry")
    io.write(registry(1500, rng=np.random.default_rng(11)), folder / "registry.csv", format="csv")
    (folder / "config.yaml").write_text(CONFIG)
    return folder / "config.yaml"


@pytest.fixture(scope="module")
def undisturbed(config, tmp_path_factory):
    """Return the public files of a run that nobody disturbed, and how long its work and its publishing took."""
    run = Run(config, tmp_path_factory.mktemp("undisturbed") / "out", jobs=1)
    began, hidden, shown = (run.wait_for(name) for name in ("confidential/manifest.json", ".public-*", "public"))
    run.finish()
    return contents(run.out), shown - began, shown - hidden


def test_the_number_of_jobs_changes_no_byte(config, undisturbed, tmp_path):
    run = Run(config, tmp_path / "out", jobs=2)
    run.finish()
    assert contents(run.out) == undisturbed[0]


@pytest.mark.parametrize("moment", range(4))
def test_killed_at_a_random_moment(config, undisturbed, tmp_path, moment):
    expected, working, publishing = undisturbed
    share = float(np.random.default_rng([29, moment]).random())
    jobs = 1 + moment % 2
    run = Run(config, tmp_path / "out", jobs=jobs)
    # half of the moments anywhere in the work, half in the short time when public/ is being made
    if moment < 2:
        run.wait_for("confidential/manifest.json")
        time.sleep(share * working)
    else:
        run.wait_for(".public-*")
        time.sleep(share * publishing)
    run.kill()

    if (run.out / "public").exists():
        assert release.verify(run.out) == []
        assert contents(run.out) == expected

    again = Run(config, run.out, jobs=3 - jobs, resume=True)
    again.finish()
    assert contents(run.out) == expected
    assert sorted(path.name for path in run.out.iterdir()) == ["confidential", "public"]
    manifest = json.loads((run.out / "confidential" / "manifest.json").read_text())
    assert (manifest["status"], manifest["seed"]) == ("published", SEED)


def test_a_secret_seed_survives_the_kill(config, tmp_path):
    text = config.read_text()
    (tmp_path / "config.yaml").write_text(text.replace("registry.csv", str(config.parent / "registry.csv")))
    command = [sys.executable, "-m", "synthdp", "run", str(tmp_path / "config.yaml"), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
    manifest = tmp_path / "out" / "confidential" / "manifest.json"
    while not manifest.exists():
        assert process.poll() is None
        time.sleep(0.001)
    process.kill()
    process.communicate()
    seed = json.loads(manifest.read_text())["seed"]
    subprocess.run([*command, "--resume", "--quiet"], cwd=ROOT, check=True, timeout=PATIENCE)
    assert json.loads(manifest.read_text())["seed"] == seed
    assert seed >= 2**64
