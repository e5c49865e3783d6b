"""Time and memory of reading a large CSV file: python benchmarks/reading.py [--gigabytes 2].

40 columns: an identifier, 9 of free text (these 10 are dropped in some rows of the table), 12 of answers in words, 10
codes, 5 amounts, 3 years. Each case runs in a process of its own; a limit is one of its address space, as ``ulimit -v``
sets it. Results go to reports/reading. The file is made for the purpose and removed.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ANSWERS = ("strongly agree", "agree", "neither agree nor disagree", "disagree", "strongly disagree")
DROPPED = ("person_id", *(f"note{i}" for i in range(9)))
BLOCK = 50_000
CASES: tuple[tuple[float, bool], ...] = ((0, False), (0, True), (0.8, False), (0.8, True), (0.6, True), (0.45, True))


def make(path: Path, gigabytes: float) -> None:
    import pandas as pd  # not before the limit is set: pandas loads Arrow, which then chooses its allocator

    rng = np.random.default_rng(1)
    columns: dict[str, object] = {"person_id": np.arange(BLOCK)}
    columns |= {
        f"note{i}": [f"free text number {j} of person" for j in rng.integers(0, 10**9, BLOCK)] for i in range(9)
    }
    columns |= {f"att{i}": rng.choice(ANSWERS, BLOCK) for i in range(12)}
    columns |= {f"code{i}": rng.integers(1, 8, BLOCK) for i in range(10)}
    columns |= {f"amount{i}": rng.gamma(2, 1000, BLOCK).round(2) for i in range(5)}
    columns |= {f"year{i}": rng.integers(1920, 2020, BLOCK) for i in range(3)}
    text = pd.DataFrame(columns).to_csv(index=False, header=False).encode()
    with path.open("wb") as file:
        file.write(",".join(columns).encode() + b"\n")
        for _ in range(max(round(gigabytes * 1e9 / len(text)), 1)):
            file.write(text)


def measure(path: Path, limit: float, drop: bool) -> dict[str, object]:
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (int(limit * 1e9),) * 2)
    from synthdp.errors import InputError
    from synthdp.table import io

    began = time.perf_counter(), time.process_time()
    try:
        frame = io.read(path, drop=DROPPED if drop else ())
        found = f"{len(frame):,} x {frame.shape[1]}, {frame.memory_usage(deep=True).sum() / 1e9:.2f} GB"
        categorical = int((frame.dtypes == "category").sum())
        peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)
    except InputError as error:
        # the peak is at least that of the process that started this one, so it says nothing here
        found, categorical, peak = str(error).replace(str(path), path.name), 0, None
    return {
        "limit_gb": limit or None,
        "dropped": len(DROPPED) if drop else 0,
        "found": found,
        "categorical": categorical,
        "seconds": round(time.perf_counter() - began[0], 1),
        "cpu_seconds": round(time.process_time() - began[1], 1),
        "peak_gb": peak,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--out", type=Path, default=Path("reports/reading"))
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        path, limit, drop = args.one
        print(json.dumps(measure(Path(path), float(limit), drop == "True")))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.csv"
        make(path, args.gigabytes)
        size = path.stat().st_size / 1e9
        rows = []
        for share, drop in CASES:
            command = [sys.executable, __file__, "--one", str(path), str(round(share * size, 2)), str(drop)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append(json.loads(done.stdout))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "results.json").write_text(json.dumps({"file_gb": round(size, 2), "cases": rows}, indent=1) + "\n")
    (args.out / "README.md").write_text(page(size, rows))


def page(size: float, rows: list[dict[str, object]]) -> str:
    lines = [
        "# Reading a file that is larger than memory",
        "",
        f"A CSV file of {size:.2f} GB and 40 columns, written and read by `python benchmarks/reading.py`, each case in "
        "a process of its own. The limit is one of address space (`ulimit -v`) in GB; about 0.4 of it goes to Python "
        "and its libraries. Where plain text would not fit, it is held as codes (categorical columns). Seconds of the "
        "clock depend on what else the machine does.",
        "",
        "| limit | columns dropped | table, or what is said | categorical | seconds | CPU seconds | peak RSS, GB |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['limit_gb'] or 'none'} | {row['dropped']} | {row['found']} | {row['categorical']} | {row['seconds']} "
        f"| {row['cpu_seconds']} | {row['peak_gb'] or '–'} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
