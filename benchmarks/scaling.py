"""Time and memory of fit + draw as the file grows: python benchmarks/scaling.py [--sizes 10000 100000 1000000].

20 columns, 6 of them replaced (2 continuous, 4 binary), M = 5. Each size runs in a process of its own, so that peak
memory is its own. Results go to reports/scaling.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from shared import table

REPLACED = ("b0", "b1", "b2", "b3", "x0", "x1")


def make(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    columns = {f"z{j}": rng.normal(size=n) for j in range(12)}
    columns |= {f"c{j}": rng.integers(0, 2, n) for j in range(2)}
    level = 0.5 * columns["z0"] + 0.3 * columns["z1"]
    for j in range(4):
        columns[f"b{j}"] = (level + rng.normal(size=n) > 0.2 * j).astype(int)
    columns["x0"] = level + columns["b0"] + rng.normal(size=n)
    columns["x1"] = 0.5 * columns["x0"] + columns["b1"] + rng.normal(size=n)
    return pd.DataFrame(columns)


def measure(n: int, jobs: int) -> dict[str, float]:
    from synthdp.masking.categorical import ShiftedNormal
    from synthdp.masking.gaussian import Gaussian
    from synthdp.seeding import Streams
    from synthdp.synthesis.imputed import DaMi
    from synthdp.synthesis.plan import Plan
    from synthdp.table.microdata import resolve
    from synthdp.table.schema import Variable
    from synthdp.tagging.groups import tag

    data = resolve(make(n), {name: Variable(role="replace") for name in REPLACED})
    masks = {name: ShiftedNormal(alpha=1) if name[0] == "b" else Gaussian(sd=0.7) for name in REPLACED}
    plan = Plan(data, tag(data, None), masks)
    began = time.perf_counter()
    DaMi(copies=5).synthesize(plan, streams=Streams(1), jobs=jobs)
    return {
        "n": n,
        "jobs": jobs,
        "seconds": round(time.perf_counter() - began, 2),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("reports/scaling"))
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one, arguments.jobs)))
        return
    rows = []
    for n in arguments.sizes:
        command = [sys.executable, __file__, "--one", str(n), "--jobs", str(arguments.jobs)]
        rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        print(rows[-1], flush=True)
    slope = np.polyfit(np.log([row["n"] for row in rows]), np.log([row["seconds"] for row in rows]), 1)[0]
    save(arguments.out, rows, float(slope))


def save(out: Path, rows: list[dict[str, float]], slope: float) -> None:

    from reports import figures

    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps({"rows": rows, "slope": round(slope, 3)}, indent=1) + "\n")
    figures.scaling(rows, out / "scaling.svg")
    lines = table(("records", "jobs", "seconds", "peak GB"), [tuple(row.values()) for row in rows])
    (out / "README.md").write_text(
        f"""# Time of fit + draw

20 columns, 6 replaced (2 continuous, 4 binary), M = 5. Time grows as n^{slope:.2f} (1 is linear).
Regenerate: `python benchmarks/scaling.py`.

![seconds against records](scaling.svg)

{lines}
"""
    )


if __name__ == "__main__":
    main()
