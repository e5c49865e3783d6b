"""Time and memory of the identity attacks: python benchmarks/identity.py [--sizes ...] [--candidates ...].

Targets x 5 copies, 4 categorical and 2 continuous keys, a given mean number of candidates. Each run is a process of
its own, so that peak memory is its own; what is compiled is compiled before the clock starts. Then anonymeter's
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
from pathlib import Path

import numpy as np
import pandas as pd

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
    from synthdp.schema import Variable

    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{j}": rng.integers(0, levels, n) for j, levels in enumerate(LEVELS)})
    frame["x"], frame["y"] = rng.uniform(0, 100, n), rng.uniform(0, 100, n)
    # n / 64 records share the categories; a square of side 2 tolerances has its share of them
    tolerance = min(50.0, 50 * float(np.sqrt(candidates * np.prod(LEVELS) / n)))
    copies = [frame.assign(**{k: frame[k] + rng.normal(0, tolerance / 2, n) for k in "xy"}) for _ in range(COPIES)]
    variables = {f"c{j}": Variable(kind="nominal", key=True) for j in range(len(LEVELS))}
    variables |= {k: Variable(kind="continuous", role="replace", key=True, tolerance=tolerance) for k in "xy"}
    return frame, copies, variables


def measure(n: int, candidates: float, attack: str) -> dict[str, float | str]:
    from synthdp.evaluation.attacks import IDENTITY
    from synthdp.evaluation.comparison import Comparison
    from synthdp.microdata import resolve

    found: dict[str, float | str] = {}
    for size in (200, n):  # the small one compiles
        frame, copies, variables = make(size, candidates)
        data = resolve(frame, variables)
        comparison = Comparison(data.frame, tuple(copies), data.schema, aligned=True)
        began, used = time.perf_counter(), time.process_time()
        section = IDENTITY[attack](comparison, rng=np.random.default_rng(1)).section()
        found = {
            "attack": attack,
            "n": size,
            "candidates": candidates,
            "seconds": round(time.perf_counter() - began, 1),
            "cpu_seconds": round(time.process_time() - used, 1),
            "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
            "targets": section.get("sampled", {}).get("targets", size),
        }
    return found


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
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        n, candidates, attack = arguments.one
        print(json.dumps(measure(int(n), float(candidates), attack)))
        return
    for attack in arguments.attacks:
        for candidates in arguments.candidates:
            for n in arguments.sizes:
                print(_apart(n, candidates, attack), flush=True)
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
