"""Shadow fits against the clock: python benchmarks/shadow.py [--fits 1000] [--jobs 2] [--method da_mi] [--copies 5].

The membership game for 100 targets of 10,000 x 9 mixed columns, three of them kept (none with --replace-all); wanted:
1,000 fits within 10 minutes on 2 cores. Fewer fits are extrapolated, what does not grow with them left out.
"""

import argparse
import os
import time

import numpy as np
import pandas as pd
from shared import table

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.shadow import evaluate_shadow
from synthdp.masking.gaussian import Gaussian
from synthdp.stages.draws import PlanShadows
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.plan import Plan, Synthesizer
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

WANTED = 600.0
KEPT = ("x5", "b2", "c2")


def people(n: int, *, replace_all: bool) -> Microdata:
    """Return nine related columns: five numbers, two binary, two of a few levels."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(n, 2))
    columns: dict[str, np.ndarray] = {
        "x1": z[:, 0] + rng.normal(size=n),
        "x2": z[:, 1] + rng.normal(size=n),
        "x3": z[:, 0] - z[:, 1] + rng.normal(size=n),
        "x4": rng.gamma(2.0, size=n) + z[:, 0],
        "x5": rng.normal(size=n),
        "b1": (z[:, 0] + rng.normal(size=n) > 0).astype(int),
        "b2": (z[:, 1] + rng.normal(size=n) > 0).astype(int),
        "c1": np.clip((2 + z[:, 0] + rng.normal(size=n)).astype(int), 0, 4).astype(str),
        "c2": np.clip((2 + z[:, 1] + rng.normal(size=n)).astype(int), 0, 3).astype(str),
    }
    kept = () if replace_all else KEPT
    return resolve(
        pd.DataFrame(columns), {name: Variable(role="keep" if name in kept else "replace") for name in columns}
    )


def method(name: str, copies: int) -> Synthesizer:
    return {"da_mi": DaMi(copies=copies), "mi": Mi(copies=copies), "cart": Sequential(copies=copies)}[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--targets", type=int, default=100)
    parser.add_argument("--method", choices=("da_mi", "mi", "cart"), default="da_mi")
    parser.add_argument("--copies", type=int, default=5)
    parser.add_argument("--replace-all", action="store_true")
    asked = parser.parse_args()
    data = people(asked.records, replace_all=asked.replace_all)
    masks = {name: Gaussian(sd=1.0) for name in ("x1", "x2", "x3", "x4")} if asked.method == "da_mi" else {}
    refit = PlanShadows(method(asked.method, asked.copies), Plan(data, tag(data, None), masks=masks))
    comparison = Comparison(data.frame, (), data.schema, aligned=False)
    marks: list[float] = []
    spent: list[float] = []

    def advance(done: int, total: int) -> None:
        marks.append(time.perf_counter())
        spent.append(time.process_time())

    began, busy = time.perf_counter(), time.process_time()
    found = evaluate_shadow(
        comparison,
        refit,
        rng=np.random.default_rng(1),
        fits=asked.fits,
        targets=asked.targets,
        jobs=asked.jobs,
        advance=advance,
    ).section()
    ended, busy = time.perf_counter(), time.process_time() - busy
    # the first fits wait for processes to start and loops to load
    warm = len(marks) // 10
    each = (marks[-1] - marks[warm]) / (len(marks) - 1 - warm)
    whole = ended - began + each * (1000 - asked.fits)
    # of one process: what other people's jobs take does not count
    core = (spent[-1] - spent[warm]) / (len(spent) - 1 - warm)
    alone = busy + core * (1000 - asked.fits)
    rows = [
        ("seconds until the first fit was done", f"{marks[0] - began:.1f} s", ""),
        (f"one fit, marked, {asked.jobs} processes", f"{each:.3f} s", f"{asked.jobs * each:.2f} core-seconds at most"),
        (f"judging {asked.fits} fits", f"{ended - marks[-1]:.1f} s", ""),
        ("1,000 fits, all told", f"{whole:.0f} s", f"wanted {WANTED:.0f} s"),
        ("load of the machine", f"{os.getloadavg()[0]:.1f}", f"{os.cpu_count()} cores"),
        *(
            [
                ("processor seconds of one fit, marked", f"{core:.3f} s", "the same on a busy machine"),
                ("1,000 fits, processor seconds by 2 cores", f"{alone / 2:.0f} s", f"wanted {WANTED:.0f} s"),
            ]
            if asked.jobs == 1
            else []
        ),
        (f"AUC of {found['score']}", f"{found['auc']:.3f}", f"{found['low']:.3f} to {found['high']:.3f}"),
    ]
    print(table(("what", "measured", ""), rows))


if __name__ == "__main__":
    main()
