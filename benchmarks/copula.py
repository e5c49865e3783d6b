"""The copula against the clock: python benchmarks/copula.py [--sizes 100000 1000000] [--r-hat 1.02] [--ess 60].

20 columns (8 continuous, 6 binary, 4 ordinal, 2 nominal of 5 levels), 5% of the cells missing, 6 columns replaced under
masks, M = 5; each size in a process of its own, so that peak memory is its own. Then the time of a sweep with 10,000
records of 10 columns. R sbgcop and synthpop run beside where Rscript and they are installed; otherwise only surveyed
times stand there, which were measured on another day. Results go to reports/copula_speed with --out.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from shared import table

REPLACED = ("x0", "x1", "b0", "b1", "o0", "g0")
MISSING = 0.05
SBGCOP_SECONDS = 0.12  # a sweep at n = 10,000, p = 10, as surveyed
LARGEST_PEER = 100_000  # synthpop's trees would take hours with more
LIMITS = {100_000: 60.0, 1_000_000: 720.0}  # wanted seconds of fit and draws
SBGCOP = """
library(sbgcop)
y <- as.matrix(read.csv(commandArgs(TRUE)[1]))
used <- system.time(sbgcop.mcmc(y, nsamp = 20, verb = FALSE))
cat((used[["user.self"]] + used[["sys.self"]]) / 20)
"""
# processor seconds: R works on one core, and others may be busy
SYNTHPOP = """
library(synthpop)
data <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
levels <- substr(names(data), 1, 1) != "x"
data[levels] <- lapply(data[levels], factor)
how <- ifelse(names(data) %in% strsplit(commandArgs(TRUE)[2], ",")[[1]], "cart", "")
used <- system.time(syn(data, method = how, m = 5, seed = 1, print.flag = FALSE))
cat(used[["user.self"]] + used[["sys.self"]])
"""


def make(n: int, *, continuous: int = 8, binary: int = 6, ordinal: int = 4, nominal: int = 2) -> pd.DataFrame:
    """Return columns that three factors move, some cells missing."""
    rng = np.random.default_rng(1)
    factors = rng.standard_normal((n, 3))

    def moved(j: int) -> np.ndarray:
        return 0.8 * factors[:, j % 3] + 0.4 * factors[:, (j + 1) % 3] + rng.standard_normal(n)

    columns: dict[str, Any] = {}
    for j in range(continuous):
        columns[f"x{j}"] = np.exp(0.5 * moved(j)) if j % 4 == 3 else moved(j)
    for j in range(binary):
        columns[f"b{j}"] = (moved(j) > 0.25 * j).astype(float)
    for j in range(ordinal):
        columns[f"o{j}"] = np.digitize(moved(j), [-1.2, 0.0, 0.9, 1.8][: max(j + 1, 2)]).astype(float)
    for j in range(nominal):
        liking = [0.6 * factors[:, (j + k) % 3] + 0.2 * (1 - k) + 0.9 * rng.gumbel(size=n) for k in range(4)]
        columns[f"g{j}"] = np.array(list("abcde"))[np.column_stack([np.full(n, 0.6), *liking]).argmax(axis=1)]
    frame = pd.DataFrame(columns)
    for name in frame:
        frame[name] = frame[name].where(rng.random(n) >= MISSING)
    return frame


def variables(frame: pd.DataFrame) -> dict[str, Any]:
    """Return what each column is."""
    from synthdp.table.schema import Variable

    kinds = {"x": "continuous", "b": "binary", "o": "ordinal", "g": "nominal"}
    return {
        str(name): Variable(kind=kinds[str(name)[0]], role="replace" if name in REPLACED else "keep") for name in frame
    }


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return time and memory of one size, fit and draws apart."""
    from synthdp.imputation.copula.model import Copula
    from synthdp.masking.categorical import Transition
    from synthdp.masking.gaussian import Gaussian
    from synthdp.seeding import Streams
    from synthdp.synthesis.imputed import DaMi
    from synthdp.synthesis.plan import Plan
    from synthdp.table.microdata import resolve
    from synthdp.tagging.groups import tag

    model = Copula(least_ess=arguments.ess, most_r_hat=arguments.r_hat, shortcut=arguments.shortcut)
    masks = {name: Gaussian(sd=0.7) if name[0] == "x" else Transition(keep=0.8) for name in REPLACED}
    spent: dict[str, float] = {}
    fit = Copula.fit

    def timed(self: Copula, *given: Any, **named: Any) -> Any:
        began = time.perf_counter()
        found = fit(self, *given, **named)
        spent["fit"] = time.perf_counter() - began
        return found

    def run(n: int, settings: Copula) -> tuple[float, Any]:
        data = resolve(make(n), variables(make(10)))
        plan = Plan(data, tag(data, None), masks)
        began, used = time.perf_counter(), time.process_time()
        release = DaMi(model=settings, copies=5).synthesize(plan, streams=Streams(1), jobs=arguments.jobs)
        spent["cpu"] = time.process_time() - used
        return time.perf_counter() - began, release

    run(500, Copula(least_ess=2, most_r_hat=5))  # loops loaded
    Copula.fit = timed  # type: ignore[method-assign]
    seconds, release = run(arguments.one, model)
    said = next(row for row in release.chain if row.get("model") == "copula")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {
        "n": arguments.one,
        "seconds": round(seconds, 1),
        "fit": round(spent["fit"], 1),
        "cpu": round(spent["cpu"], 1),
        "peak_gb": round(peak, 2),
        **{name: said.get(name, said.get("by", "")) for name in ("sweeps", "ess", "tail_ess", "r_hat")},
        "wanted": LIMITS.get(arguments.one, ""),
    }


def sweep_seconds(repeats: int = 5) -> tuple[float, pd.DataFrame]:
    """Return the best time of a sweep, one chain, with 10,000 records of 10 columns; and these."""
    from synthdp.imputation.copula.chain import Sampler
    from synthdp.imputation.copula.latent import Latent, Shape
    from synthdp.imputation.copula.margins import LevelMargin, NumberMargin

    frame = make(10_000, continuous=5, binary=3, ordinal=2, nominal=0)
    lower, upper = np.empty(frame.shape), np.empty(frame.shape)
    for j, name in enumerate(frame):
        x = frame[name].to_numpy()
        codes = np.where(np.isnan(x), -1, x).astype(np.int64)
        margin = NumberMargin.of(x) if name[0] == "x" else LevelMargin(codes, codes, int(codes.max()) + 1)
        lower[:, j], upper[:, j] = margin.at(np.ones(len(frame))).bounds()
    no_levels, constant = np.zeros((len(frame), 0), dtype=np.int64), np.ones((len(frame), 1))
    latent = Latent(Shape.of(10), lower, upper, no_levels, constant, np.ones((1, 10)))
    sampler = Sampler(latent, rng=np.random.default_rng(1))
    sampler.run(1, every=100)
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        sampler.run(1, every=100)
        times.append((time.perf_counter() - began) / 100)
    return min(times), frame


def peer(program: str, name: str, frame: pd.DataFrame, *given: str) -> str:
    """Return the seconds an R package takes on the same records, or why there are none."""
    command = shutil.which("Rscript")
    if command is None:
        return "not run: no Rscript here"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.csv"
        frame.to_csv(path, index=False)
        done = subprocess.run([command, "-e", program, str(path), *given], capture_output=True, text=True)
    return f"{float(done.stdout.split()[-1]):.3g} s" if done.returncode == 0 else f"not run: no {name} here"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--ess", type=float, default=60.0)
    parser.add_argument("--r-hat", type=float, default=1.02)
    parser.add_argument("--shortcut", choices=("auto", "always", "never"), default="never")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments)))
        return
    rows = []
    for n in arguments.sizes:
        given = ["--jobs", str(arguments.jobs), "--ess", str(arguments.ess), "--r-hat", str(arguments.r_hat)]
        given += ["--shortcut", arguments.shortcut]
        command = [sys.executable, __file__, "--one", str(n), *given]
        rows.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))
        print(rows[-1], flush=True)
    own, frame = sweep_seconds()
    beside: dict[str, Any] = {
        "sweep_ms": round(1000 * own, 2),
        "surveyed_ratio": round(SBGCOP_SECONDS / own, 1),
        "sbgcop": peer(SBGCOP, "sbgcop", frame),
        "synthpop": {
            n: peer(SYNTHPOP, "synthpop", make(n), ",".join(REPLACED)) for n in arguments.sizes if n <= LARGEST_PEER
        },
    }
    print(beside)
    if arguments.out is not None:
        save(arguments.out, arguments, rows, beside)


def save(out: Path, arguments: argparse.Namespace, rows: list[dict[str, Any]], beside: dict[str, Any]) -> None:
    """Write the results and their page."""
    out.mkdir(parents=True, exist_ok=True)
    trees = ", ".join(f"{n:,} records {seconds}" for n, seconds in beside["synthpop"].items())
    settings = {"ess": arguments.ess, "r_hat": arguments.r_hat, "jobs": arguments.jobs}
    (out / "results.json").write_text(json.dumps({"settings": settings, "rows": rows, **beside}, indent=1) + "\n")
    heads = (
        "records",
        "seconds",
        "of these fit",
        "CPU seconds",
        "peak GB",
        "sweeps",
        "ESS",
        "tail ESS",
        "R-hat",
        "wanted s",
    )
    (out / "README.md").write_text(
        f"""# Time of the copula

20 columns (8 continuous, 6 binary, 4 ordinal, 2 nominal of 5 levels), 5% missing, 6 replaced, M = 5, two chains until
the worst entry has an effective sample size of {arguments.ess:g} and R-hat {arguments.r_hat:g}.

{table(heads, [tuple(row.values()) for row in rows])}

A sweep with 10,000 records of 10 columns takes {beside["sweep_ms"]:g} ms, one thread: {beside["surveyed_ratio"]:g}
times as fast as sbgcop's surveyed 120 ms (another day's measurement). sbgcop in the same run: {beside["sbgcop"]}.
synthpop's trees on the same files, m = 5, processor seconds: {trees}.

Regenerate: `python benchmarks/copula.py --out reports/copula_speed`.
"""
    )


if __name__ == "__main__":
    main()
