"""Sequential CART against the clock: python benchmarks/cart.py [--data DIR] [--skip-large].

(a) 10,000 x 10 mixed columns of SD2011 (bootstrap of its 5,000 rows, numbers jittered), all replaced, m = 5;
(b) 100,000 x 20; (c) the same file with a factor of 500 levels instead of 20, as predictor and as response. Seconds are
the best of three runs after the compiled loops are warm; ours with synthpop's settings (leaves of 5, independent
draws), and once with our defaults. The same sequence by scikit-learn's trees, which take levels as numbers, runs beside
(a) and (b). R synthpop runs beside (a) where Rscript and the package are installed; otherwise only its surveyed time
stands there, which was measured on another day.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from shared import SHARED, table

from synthdp.imputation.trees.binning import Binned
from synthdp.imputation.trees.cart import Cart
from synthdp.imputation.trees.tree import Tree
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

COLUMNS = ("sex", "age", "placesize", "edu", "socprof", "marital", "income", "ls", "smoke", "bmi")
SYNTHPOP_SECONDS = 26.0  # as surveyed, m = 5, on 2 cores with another job beside
AS_SYNTHPOP = Cart(min_leaf=5, dealing="independent")
R_PROGRAM = """
library(synthpop)
data <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
cat(system.time(syn(data, method = "cart", m = 5, seed = 1, print.flag = FALSE))[["elapsed"]])
"""


def survey(path: Path, n: int) -> pd.DataFrame:
    """Return a bootstrap of the survey, its numbers jittered so that they are no longer duplicates."""
    rng = np.random.default_rng(1)
    frame = pd.read_csv(path)[list(COLUMNS)]
    frame = frame.iloc[rng.integers(0, len(frame), n)].reset_index(drop=True)
    for name in ("age", "income", "bmi"):
        frame[name] += 0.01 * frame[name].std() * rng.standard_normal(n)
    return frame


def wide(n: int, levels: int) -> pd.DataFrame:
    """Return 12 numbers, a factor of many levels in their middle, and 7 factors of few, all related."""
    rng = np.random.default_rng(2)
    z = rng.normal(size=(n, 3))
    columns: dict[str, np.ndarray] = {}
    position = 0.5 + 0.15 * z[:, 0] + 0.1 * rng.normal(size=n)
    for j in range(12):
        columns[f"x{j}"] = z[:, j % 3] + rng.normal(size=n)
        if j == 5:
            columns["many"] = np.clip((levels * position).astype(int), 0, levels - 1)
    for j in range(7):
        columns[f"c{j}"] = np.clip((2 + j / 2 + z[:, j % 3] + rng.normal(size=n)).astype(int), 0, 2 + j)
    frame = pd.DataFrame(columns)
    return frame.astype({name: str for name in frame if name[0] in "cm"})


def seconds(
    frame: pd.DataFrame, jobs: int, repeats: int = 3, *, proper: bool = False, model: Cart = AS_SYNTHPOP
) -> float:
    """Return the time of binning, growing and drawing five copies of all columns."""
    data = resolve(frame, {name: Variable(role="replace") for name in frame.columns})
    plan, method = Plan(data, tag(data, None)), Sequential(model=model, copies=5, proper=proper)
    return best(lambda: method.synthesize(plan, streams=Streams(1), jobs=jobs), repeats)


def by_sklearn(frame: pd.DataFrame) -> None:
    """Make five copies as a short script would: a scikit-learn tree per column, donors drawn from its leaves.

    Levels, and whether a number is missing, are codes that trees split as numbers; nothing is smoothed.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    rng = np.random.default_rng(1)
    coded = np.column_stack(
        [
            frame[name].fillna(frame[name].min() - 1) if frame[name].dtype.kind == "f" else pd.factorize(frame[name])[0]
            for name in frame.columns
        ]
    ).astype(float)
    copies = [np.empty_like(coded) for _ in range(5)]
    for j, name in enumerate(frame.columns):
        if j == 0:
            for copy in copies:
                copy[:, 0] = rng.choice(coded[:, 0], len(coded))
            continue
        kind = DecisionTreeRegressor if frame[name].dtype.kind == "f" else DecisionTreeClassifier
        tree = kind(min_samples_leaf=5, min_samples_split=15, random_state=0).fit(coded[:, :j], coded[:, j])
        leaf = tree.apply(coded[:, :j])
        order = np.argsort(leaf, kind="stable")
        for copy in copies:
            reached = tree.apply(copy[:, :j])
            first, last = (np.searchsorted(leaf[order], reached, side=side) for side in ("left", "right"))
            copy[:, j] = coded[order[first + (rng.random(len(coded)) * (last - first)).astype(int)], j]


def best(work: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def one_tree(levels: int, as_response: bool) -> float:
    """Return the time of one tree on 20,000 records that has, or explains, a factor of so many levels."""
    frame = wide(20_000, levels)
    data = resolve(frame, {name: Variable(role="replace") for name in frame.columns})
    binned = Binned.of(data, data.schema.names())
    name = "many" if as_response else "c6"
    response, classes = data.codes(name).astype(float), len(data.schema[name].levels)
    others = [other for other in binned.names if other != name]
    return best(lambda: Tree.grow(binned, others, response, classes=classes), 5)


def first_use() -> float:
    """Return the time of a small run in a process that finds no compiled loops."""
    program = "import cart; print(cart.seconds(cart.wide(2_000, 20), 1, 1))"
    with tempfile.TemporaryDirectory() as cache:
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": path}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def synthpop(frame: pd.DataFrame) -> str:
    """Return R synthpop's seconds on the same file, or why there are none."""
    program = shutil.which("Rscript")
    if program is None:
        return "not run: no Rscript here"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.csv"
        frame.to_csv(path, index=False)
        done = subprocess.run([program, "-e", R_PROGRAM, str(path)], capture_output=True, text=True)
    return f"{float(done.stdout.split()[-1]):.1f} s" if done.returncode == 0 else "not run: no synthpop here"


def rows(arguments: argparse.Namespace) -> list[Sequence[object]]:
    path = arguments.data / "sd2011.csv"
    found: list[Sequence[object]] = []
    found.append(("first use after installation: 2,000 x 20, loops compiled", f"{first_use():.1f} s", "once"))
    found.append(("first use in a process: 2,000 x 20, loops loaded", f"{seconds(wide(2_000, 20), 1, 1):.2f} s", ""))
    if path.is_file():
        frame = survey(path, 10_000)
        for jobs in (1, 2):
            took = seconds(frame, jobs)
            against = f"{SYNTHPOP_SECONDS / took:.0f}x faster than synthpop's surveyed 26 s; wanted 10x"
            found.append((f"(a) SD2011 10,000 x 10, m = 5, {jobs} jobs", f"{took:.2f} s", against))
        found.append(("(a) proper: new trees for every copy, 2 jobs", f"{seconds(frame, 2, proper=True):.2f} s", ""))
        found.append(
            ("(a) our defaults: leaf chosen, dealt evenly, 1 job", f"{seconds(frame, 1, model=Cart()):.2f} s", "")
        )
        found.append(("(a) scikit-learn's trees beside, 1 job", f"{best(lambda: by_sklearn(frame)):.2f} s", ""))
        found.append(("(a) R synthpop beside", synthpop(frame), ""))
    else:
        found.append(("(a) SD2011", "not run", f"{path} is not here"))
    if not arguments.skip_large:
        found.append(("(b) 100,000 x 20, m = 5, 2 jobs", f"{seconds(wide(100_000, 20), 2, 1):.1f} s", "wanted 60 s"))
        beside = best(lambda: by_sklearn(wide(100_000, 20)), 1)
        found.append(("(b) scikit-learn's trees beside, 1 job", f"{beside:.1f} s", "ours: 1 job below"))
        found.append(("(b) 1 job", f"{seconds(wide(100_000, 20), 1, 1):.1f} s", ""))
    few, many = (seconds(wide(10_000, levels), 1) for levels in (20, 500))
    found.append(("(c) 10,000 x 20, factor of 500 levels / of 20", f"{many / few:.2f}", "wanted 2"))
    for what, as_response in (("a predictor", False), ("the response", True)):
        ratio = one_tree(500, as_response) / one_tree(20, as_response)
        found.append((f"(c) one tree, the factor is {what}", f"{ratio:.2f}", "wanted 2"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get(SHARED, ""), help=f"default: ${SHARED}")
    parser.add_argument("--skip-large", action="store_true")
    parser.add_argument("--out", type=Path, help="also write the table there, as JSON")
    arguments = parser.parse_args()
    found = rows(arguments)
    print(table(("what", "measured", ""), found))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
