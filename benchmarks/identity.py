"""Time and memory of the identity attacks: python benchmarks/identity.py [--sizes ...] [--candidates ...].

Targets x 5 copies, 4 categorical and 2 continuous keys, a given mean number of candidates: the tolerance shrinks as
the file grows, so that candidates per target stay the same over a series of sizes. Each run is a process of its own,
so that peak memory is its own; what is compiled is compiled before the clock starts. After each series the exponent a
in cpu seconds ~ n^a is printed (least squares on logs, and between the two largest sizes), with that of n log n beside
it, and the memory per target. With several --candidates, the exponent in their number is printed too. Then anonymeter's
linkability beside ours on 10,000 records, where --anonymeter (or ANONYMETER_PYTHON) names an interpreter that has it:
the questions differ (it links two halves of a record through one synthetic file; ours find the record in all copies),
so only the seconds are compared.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from synthdp.evaluation.comparison import Comparison

COPIES = 5
LEVELS = (2, 2, 4, 4)
COMPARED = 10_000
ANONYMETER = """
import sys, time
import pandas as pd
from anonymeter.evaluators import LinkabilityEvaluator
original, copy = (pd.read_csv(path) for path in sys.argv[1:3])
columns = list(original.columns)
began = time.perf_counter()
attack = LinkabilityEvaluator(ori=original, syn=copy, aux_cols=(columns[:3], columns[3:]), n_attacks=len(original) - 1)
attack.evaluate(n_jobs=1)
print(time.perf_counter() - began)
"""


def make(n: int, candidates: float) -> tuple[pd.DataFrame, list[pd.DataFrame], dict[str, object]]:
    from synthdp.table.schema import Variable

    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{j}": rng.integers(0, levels, n) for j, levels in enumerate(LEVELS)})
    frame["x"], frame["y"] = rng.uniform(0, 100, n), rng.uniform(0, 100, n)
    # n / 64 records share the categories; of a uniform on [0, 100] a share 2u - u², u = t/100, lies within t
    share = min(1.0, float(np.sqrt(candidates * np.prod(LEVELS) / n)))
    tolerance = 100 * (1 - float(np.sqrt(1 - share)))
    copies = [frame.assign(**{k: frame[k] + rng.normal(0, tolerance / 2, n) for k in "xy"}) for _ in range(COPIES)]
    variables = {f"c{j}": Variable(kind="nominal", key=True) for j in range(len(LEVELS))}
    variables |= {k: Variable(kind="continuous", role="replace", key=True, tolerance=tolerance) for k in "xy"}
    return frame, copies, variables


def measure(n: int, candidates: float, attack: str) -> dict[str, float | str]:
    from synthdp.evaluation.comparison import Comparison
    from synthdp.evaluation.measures import measure as measure_of
    from synthdp.table.microdata import resolve

    found: dict[str, float | str] = {}
    for size in (200, n):  # the small one compiles
        frame, copies, variables = make(size, candidates)
        data = resolve(frame, variables)
        comparison = Comparison(data.frame, tuple(copies), data.schema, aligned=True)
        began, used = time.perf_counter(), time.process_time()
        section = measure_of(attack).take(comparison, rng=np.random.default_rng(1)).section()
        found = {
            "attack": attack,
            "n": size,
            "candidates": candidates,
            "found": round(counted(comparison), 1),
            "seconds": round(time.perf_counter() - began, 2),
            "cpu_seconds": round(time.process_time() - used, 2),
            "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 3),
            "targets": section.get("sampled", {}).get("targets", size),
        }
    return found


def counted(comparison: "Comparison", targets: int = 1000) -> float:
    """Return the mean number of candidates in the first copy, of some targets: what was really held fixed."""
    from synthdp.tagging.neighbours import Keys, count_neighbours, encode_keys

    original, copy = encode_keys([comparison.original, comparison.copies[0]], comparison.schema.keys())
    few = Keys(original.cells[:targets], original.numbers[:targets], original.tolerances)
    return float(count_neighbours(few, copy).mean())


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the slope of log cost on log size."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(costs, 1e-3)), 1)[0])


def growth(runs: Sequence[dict[str, float | str]]) -> None:
    """Print how time and memory grow over a series of sizes with the candidates held fixed."""
    if len(runs) < 2:
        return
    sizes, seconds, memory = ([float(run[name]) for run in runs] for name in ("n", "cpu_seconds", "peak_gb"))
    sorting = [n * np.log(n) for n in sizes]
    bytes_per_target = (memory[-1] - memory[0]) * 1e9 / (sizes[-1] - sizes[0])
    slopes = [exponent(sizes, seconds), exponent(sizes[-2:], seconds[-2:]), exponent(sizes, sorting)]
    print(
        f"{runs[0]['attack']}, {runs[0]['candidates']:g} candidates: cpu seconds ~ n^{slopes[0]:.2f}, between the two "
        f"largest n^{slopes[1]:.2f} (n log n would be n^{slopes[2]:.2f}); peak {memory[-1]:.2f} GB, "
        f"{bytes_per_target:.0f} bytes more per target",
        flush=True,
    )


def beside(interpreter: str) -> float:
    frame, copies, _ = make(COMPARED, 50)
    with tempfile.TemporaryDirectory() as folder:
        names = [str(Path(folder) / name) for name in ("original.csv", "copy.csv")]
        for name, table in zip(names, (frame, copies[0]), strict=True):
            table.to_csv(name, index=False)
        ran = subprocess.run(
            [interpreter, "-c", ANONYMETER, *names], capture_output=True, text=True, check=True, env={**os.environ}
        )
    return float(ran.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--candidates", type=float, nargs="+", default=[50.0, 500.0])
    parser.add_argument("--attacks", nargs="+", default=["identity", "identity_likelihood"])
    parser.add_argument(
        "--anonymeter", default=os.environ.get("ANONYMETER_PYTHON"), help="a Python that has anonymeter"
    )
    parser.add_argument("--no-peer", action="store_true", help="leave out the comparison with anonymeter")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        n, candidates, attack = arguments.one
        print(json.dumps(measure(int(n), float(candidates), attack)))
        return
    for attack in arguments.attacks:
        largest = []
        for candidates in arguments.candidates:
            runs = []
            for n in sorted(arguments.sizes):
                runs.append(_apart(n, candidates, attack))
                print(runs[-1], flush=True)
            growth(runs)
            largest.append(runs[-1])
        if len(largest) > 1:
            a = exponent([float(run["candidates"]) for run in largest], [float(run["cpu_seconds"]) for run in largest])
            print(f"{attack}, n = {largest[0]['n']}: cpu seconds ~ candidates^{a:.2f}", flush=True)
    if arguments.no_peer:
        return
    if not arguments.anonymeter:
        print("anonymeter: not compared; name an interpreter that has it by --anonymeter or ANONYMETER_PYTHON.")
        return
    ours = _apart(COMPARED, 50, "identity")["seconds"]
    theirs = beside(arguments.anonymeter)
    print({"n": COMPARED, "identity, 5 copies": ours, "anonymeter linkability, 1 copy": round(theirs, 1)})


def _apart(n: int, candidates: float, attack: str) -> dict[str, float | str]:
    command = [sys.executable, __file__, "--one", str(n), str(candidates), attack]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float | str] = json.loads(ran.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
