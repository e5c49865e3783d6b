"""Runs over shards, by size: python benchmarks/streaming.py [--records 1e6 1e7 ...] [--jobs N] [--folder DIR].

Each is `synthdp run` on a simulated folder of Parquet files with 20 columns, 6 of them replaced (two binary, four
numbers), 5 copies, in a process of its own: processor seconds for each million records (the same on a busy machine) and
peak memory. Two ratios matter: seconds per record against the smallest file, and peak memory against the smallest file.
Limits are switched off, so that no draws are made for a verdict; what the report measures is timed. --judged leaves
them on.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from synthdp.evaluation.gate.limits import OFF

PER_FILE = 500_000
CONFIG = {
    "variables": {
        **{name: {"role": "replace", "key": True} for name in ("b1", "b2", "x1")},
        **{name: {"role": "replace", "key": False} for name in ("x2", "x3")},
        "x4": {"role": "replace", "key": False, "bounds": [0, 10_000_000], "transform": "log"},
        **{f"z{j}": {"key": False} for j in range(8)},
        **{name: {"key": False} for name in ("area", "sex", "education", "year", "group", "weight")},
    },
    "masks": {"x1": {"method": "gaussian", "sd": 1.0}, "b1": {"method": "transition", "keep": 0.8}},
    "synthesis": {"copies": 5},
    "engine": {"memory": "4 GB", "streaming": True},
}
# runs the command and prints what it took, its processes included; nothing of the benchmark itself is counted
CHILD = """
import resource, sys
from synthdp.cli import main
code = 0
try:
    main()
except SystemExit as end:
    code = end.code or 0
own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
print("TOOK", seconds, max(own.ru_maxrss, others.ru_maxrss) / 1e6, code)
"""


def make(folder: Path, records: int) -> None:
    """Write a folder of Parquet files, one at a time."""
    folder.mkdir(parents=True)
    for number, start in enumerate(range(0, records, PER_FILE)):
        rng, n = np.random.default_rng(number), min(PER_FILE, records - start)
        z = rng.normal(size=(n, 8)).round(2)
        columns = {f"z{j}": z[:, j] for j in range(8)}
        columns |= {"area": rng.integers(0, 40, n), "sex": np.where(rng.random(n) < 0.5, "m", "f")}
        columns |= {"education": rng.choice(["low", "middle", "high"], n), "year": rng.integers(1990, 2024, n)}
        columns |= {"group": rng.integers(0, 9, n), "weight": rng.gamma(3, 1, n).round(2)}
        columns["b1"] = (z[:, 0] + rng.normal(size=n) > 0).astype(int)
        columns["b2"] = np.where(z[:, 1] - z[:, 0] + rng.normal(size=n) > 0.5, "yes", "no")
        columns["x1"] = (z[:, 0] + z[:, 2] + rng.normal(size=n)).round(2)
        columns["x2"] = (columns["x1"] * 0.5 + rng.normal(size=n)).round(2)
        columns["x3"] = (z[:, 4] - columns["b1"] + rng.normal(size=n)).round(1)
        columns["x4"] = np.exp(0.3 * z[:, 5] + rng.normal(8, 0.5, n)).round()
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        pyarrow.parquet.write_table(table, folder / f"part-{number:04}.parquet")


def measure(records: int, folder: Path, *, jobs: int, judged: bool) -> dict[str, float]:
    """Return what a run takes: processor seconds for a million records, and gigabytes at its peak."""
    make(folder / "data", records)
    off = {} if judged else {name: value for name, value in OFF.model_dump().items() if value is None}
    config = CONFIG | {"data": {"path": "data"}, "release": {"recorded_in": "none"} | off}
    (folder / "config.yaml").write_text(json.dumps(config))
    command = ["run", str(folder / "config.yaml"), "--out", str(folder / "out"), "--jobs", str(jobs)]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *command], capture_output=True, text=True, env=os.environ | one, check=False
    )
    took = [line for line in done.stdout.splitlines() if line.startswith("TOOK ")]
    if not took or took[0].split()[3] != "0":
        raise SystemExit(done.stdout + done.stderr)
    seconds, peak = (float(part) for part in took[0].split()[1:3])
    manifest = json.loads((folder / "out" / "confidential" / "manifest.json").read_text())
    return {"per_million": seconds / records * 1e6, "peak": peak, **manifest["timings"]}


def main() -> None:
    """Measure every size, and print the ratios to the smallest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None, help="where there is room; by default a temporary one")
    parser.add_argument("--judged", action="store_true", help="leave the limits of the gate on")
    given = parser.parse_args()
    print("records, processor seconds per million, peak GB, seconds per record and peak against the smallest")
    first: dict[str, float] | None = None
    for records in sorted(given.records):
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            found = measure(int(records), Path(folder), jobs=given.jobs, judged=given.judged)
        first = first or found
        ratios = (found[name] / first[name] for name in ("per_million", "peak"))
        stages = ", ".join(f"{name} {found[name]:.0f} s" for name in found if name not in ("per_million", "peak"))
        print(
            f"{records:.0e}  {found['per_million']:.1f}  {found['peak']:.2f}  "
            f"{'  '.join(f'{ratio:.2f}' for ratio in ratios)}  ({stages})",
            flush=True,
        )


if __name__ == "__main__":
    main()
