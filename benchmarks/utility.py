"""Utility measures against the clock: python benchmarks/utility.py [--data DIR] [--skip-large].

(a) the tree's pMSE with 50 permutations of each of 5 copies, 10,000 x 10 columns of SD2011, for which R synthpop was
surveyed at 247 s; rpart's own time for one of those trees, measured beside, where Rscript is installed;
(b) the default utility set (propensity scores by regression and tree, one- and two-way tables) on 100,000 x 20, M = 5.
Wall-clock and processor seconds, compiled loops warm: on a busy machine compare the latter.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from cart import survey, wide
from shared import SHARED, table

from synthdp.config import EvaluationSettings
from synthdp.evaluation.assessment import assess
from synthdp.evaluation.comparison import Comparison, Request
from synthdp.evaluation.utility.propensity import Propensity, evaluate_propensity
from synthdp.evaluation.utility.propensity.cart import Cart
from synthdp.evaluation.utility.propensity.stacking import Encoded, Stack
from synthdp.seeding import Streams
from synthdp.table.microdata import resolve

COPIES = 5
SYNTHPOP_SECONDS = 247.2  # as surveyed, on 2 cores with another job beside
R_PROGRAM = """
library(rpart)
data <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
control <- rpart.control(cp = 1e-3, minbucket = 5)
cat(system.time(rpart(factor(label) ~ ., data, method = "class", control = control))[["elapsed"]])
"""


def compared(frame: pd.DataFrame) -> Comparison:
    """Return a file beside five copies that mimic it: records drawn with replacement, numbers jittered."""
    rng = np.random.default_rng(3)
    copies = []
    for _ in range(COPIES):
        copy = frame.iloc[rng.integers(0, len(frame), len(frame))].reset_index(drop=True)
        for name in copy.select_dtypes("float"):
            copy[name] += 0.1 * frame[name].std() * rng.standard_normal(len(copy))
        copies.append(copy)
    return Comparison(frame, tuple(copies), resolve(frame, {}).schema, aligned=False)


def clock(work: Callable[[], object]) -> tuple[float, float]:
    """Return wall-clock and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def propensity(comparison: Comparison, **settings: object) -> tuple[float, float]:
    """Return the seconds of the propensity measures."""
    chosen = Propensity(**settings)
    return clock(lambda: evaluate_propensity(comparison, chosen, rng=np.random.default_rng(1)))


def default_set(comparison: Comparison) -> tuple[float, float]:
    """Return the seconds of everything that is measured about usefulness unless something else is asked for."""
    settings = EvaluationSettings()
    return clock(
        lambda: assess(
            replace(comparison, request=Request(propensity=settings.propensity)),
            utility=settings.utility,
            streams=Streams(1),
        )
    )


def one_tree(comparison: Comparison) -> tuple[float, float]:
    """Return the seconds of one tree, bins included."""
    files = [Encoded.of(frame, comparison.schema) for frame in (comparison.original, comparison.copies[0])]

    def work() -> None:
        model = Cart.of(Stack(*files))
        model.scores(model.stack.label)

    return clock(work)


def rpart(comparison: Comparison) -> str:
    """Return rpart's seconds for the same tree, or why there are none."""
    program = shutil.which("Rscript")
    if program is None:
        return "not run: no Rscript here"
    stacked = pd.concat([comparison.original.assign(label=0), comparison.copies[0].assign(label=1)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stacked.csv"
        stacked.to_csv(path, index=False)
        done = subprocess.run([program, "-e", R_PROGRAM, str(path)], capture_output=True, text=True)
    return f"{float(done.stdout.split()[-1]):.2f} s" if done.returncode == 0 else "not run: no rpart here"


def rows(arguments: argparse.Namespace) -> list[Sequence[object]]:
    found: list[Sequence[object]] = []

    def add(what: str, seconds: tuple[float, float], wanted: str = "") -> None:
        found.append((what, f"{seconds[0]:.1f} s", f"{seconds[1]:.1f} s", wanted))

    path = arguments.data / "sd2011.csv"
    if path.is_file():
        comparison = compared(survey(path, 10_000))
        propensity(comparison, models=("cart",), permutations=2)
        seconds = propensity(comparison, models=("cart",), null="permutation", permutations=50)
        times = SYNTHPOP_SECONDS / seconds[0]
        add(
            "(a) tree, 50 permutations of 5 copies", seconds, f"{times:.0f}x faster than the surveyed 247 s; wanted 20x"
        )
        found.append(("(a) one tree", f"{one_tree(comparison)[0]:.3f} s", "", f"rpart beside: {rpart(comparison)}"))
        add("(a) regression on main effects", propensity(comparison, models=("logit",)), "synthpop: 2.1 s as surveyed")
        add("(a) regression with interactions, 4 columns", propensity(_few(comparison), models=("logit_interactions",)))
        add("(a) boosting", propensity(comparison, models=("boosting",)))
    else:
        found.append(("(a) SD2011", "not run", "", f"{path} is not here"))
    if not arguments.skip_large:
        comparison = compared(wide(100_000, 20))
        add("(b) propensity: regression", propensity(comparison, models=("logit",)))
        add("(b) propensity: tree", propensity(comparison, models=("cart",)))
        add("(b) default utility set, 100,000 x 20, M = 5", default_set(comparison), "wanted 60 s")
    return found


def _few(comparison: Comparison) -> Comparison:
    names = ["sex", "age", "edu", "income"]
    frame = comparison.original[names]
    return Comparison(frame, tuple(c[names] for c in comparison.copies), resolve(frame, {}).schema, aligned=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get(SHARED, ""), help=f"default: ${SHARED}")
    parser.add_argument("--skip-large", action="store_true")
    parser.add_argument("--out", type=Path, help="also write the table there, as JSON")
    arguments = parser.parse_args()
    found = rows(arguments)
    print(table(("what", "elapsed", "processor", ""), found))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
