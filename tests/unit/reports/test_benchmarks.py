"""Every benchmark starts, from whatever folder: its imports follow the package."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "shared"))
def test_a_benchmark_says_what_it_takes(name, tmp_path):
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--help"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert f"usage: {name}.py" in found.stdout
