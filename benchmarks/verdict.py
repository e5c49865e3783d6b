"""Time and memory of the gate's verdict: python benchmarks/verdict.py [--sizes 10000 100000 1000000] [--jobs 2].

Up to 10,000 records have 10 mixed columns, 5 of them replaced (3 continuous, 2 binary; with --chain a count and four
levels are among them, so that copies are drawn by Gibbs sampling); larger files have 20 columns, 6 replaced (2
continuous, 4 binary), as in benchmarks/scaling.py. All replaced columns are keys, M = 5, limits and draws are the
defaults. Each size runs in a process of its own, so that peak memory is its own. Up to 10,000 records one evaluation
of one release with the default measures is timed in the same process. Wanted on 2 quiet cores: 3 evaluations at
10,000, 2 minutes at 100,000, 15 minutes in 16 GB at 1,000,000. Processor seconds, which all threads share in, are the
same on a busy machine.
"""

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scaling import REPLACED, make

SMALL = 10_000
MIXED = ("age", "income", "weight", "sex", "smoker")
CHAIN = ("age", "income", "visits", "sex", "region")


def mixed(n: int) -> pd.DataFrame:
    """Return ten related columns: numbers, counts and levels."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(n, 2))
    return pd.DataFrame(
        {
            "age": np.clip(np.round(50 + 15 * z[:, 0] + 5 * rng.normal(size=n)), 18, 95),
            "income": np.round(np.exp(10 + 0.5 * z[:, 1] + 0.4 * rng.normal(size=n))),
            "visits": rng.poisson(np.exp(0.5 + 0.3 * z[:, 0])),
            "sex": rng.choice(["F", "M"], n),
            "region": rng.choice(list("NSEW"), n, p=(0.4, 0.3, 0.2, 0.1)),
            "weight": np.round(75 + 8 * z[:, 1] + 10 * rng.normal(size=n), 1),
            "score": z[:, 0] + z[:, 1] + rng.normal(size=n),
            "smoker": (z[:, 0] + rng.normal(size=n) > 0.8).astype(int),
            "health": np.clip(np.round(3 + z[:, 1] + rng.normal(size=n)), 1, 5).astype(int),
            "satisfied": rng.integers(1, 8, n),
        }
    )


def settings(n: int, *, chain: bool) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the file of that size and its config."""
    if n > SMALL:
        frame, replaced = make(n), REPLACED
        masks: dict[str, Any] = {
            name: {"method": "shifted_normal", "alpha": 1} if name[0] == "b" else {"method": "gaussian", "sd": 0.7}
            for name in replaced
        }
    else:
        frame, replaced = mixed(n), CHAIN if chain else MIXED
        wide, levels = {"method": "gaussian", "sd": 2}, {"method": "transition", "keep": 0.6}
        masks = {name: levels if name in ("sex", "region", "smoker") else wide for name in replaced}
    variables: dict[str, Any] = {
        name: {"role": "replace", "key": True} if name in replaced else {"key": False} for name in frame
    }
    if n <= SMALL:
        variables["age"] |= {"kind": "continuous", "tolerance": 2, "decimals": 0}
        variables["income"] |= {"kind": "continuous", "transform": "log", "bounds": [0, 10_000_000], "tolerance": 1000}
        variables["weight"] |= {"kind": "continuous"} | ({"tolerance": 2} if not chain else {})
        variables["visits"] |= {"kind": "count"} | ({"tolerance": 1} if chain else {})
    return frame, {"variables": variables, "masks": masks}


def measure(n: int, jobs: int, draws: int | None, profile: Path | None, *, chain: bool) -> dict[str, Any]:
    import synthdp
    from synthdp.config import parse
    from synthdp.seeding import Streams
    from synthdp.stages.draws import Draws
    from synthdp.stages.gating import judge
    from synthdp.stages.intake import prepare
    from synthdp.stages.planning import plan_of

    def planned(size: int) -> Any:
        frame, asked = settings(size, chain=chain)
        config = parse({"data": {"path": "in memory"}, **asked})
        return frame, config, plan_of(config, prepare(frame, config))

    # a small one loads what is compiled
    _, config, plan = planned(1000)
    judge(Draws(config, plan, Streams(1), jobs), count=4)
    frame, config, plan = planned(n)
    began, used = time.perf_counter(), time.process_time()
    watch = cProfile.Profile()
    if profile is not None:
        watch.enable()
    found = judge(Draws(config, plan, Streams(2), jobs), count=draws)
    if profile is not None:
        watch.disable()
        with profile.open("w") as file:
            pstats.Stats(watch, stream=file).sort_stats("cumulative").print_stats(150)
            pstats.Stats(watch, stream=file).sort_stats("tottime").print_stats(60)
    line = {
        "n": n,
        "columns": frame.shape[1],
        "jobs": jobs,
        "draws": found.draws,
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(time.process_time() - used, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        "verdict": found.verdict.judgement,
        "worst": {
            check.name: f"{check.deciding:.4g} {check.attack}"
            for check in sorted(found.verdict.checks, key=lambda one: one.deciding or 0.0)
            if check.deciding is not None
        },
    }
    if n <= SMALL:
        made = synthdp.synthesize(frame, config, seed=3)
        synthdp.evaluate(frame.head(1000), [copy.head(1000) for copy in made.copies], config, aligned=True)
        began, used = time.perf_counter(), time.process_time()
        synthdp.evaluate(frame, made, config)
        line |= {
            "evaluation_seconds": round(time.perf_counter() - began, 1),
            "evaluation_cpu": round(time.process_time() - used, 1),
        }
        line["ratio"] = round(line["seconds"] / line["evaluation_seconds"], 2)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--draws", type=int, help="instead of as many as the file's size calls for")
    parser.add_argument("--chain", action="store_true", help="replace a count and levels too")
    parser.add_argument("--profile", type=Path, help="where to write the functions that took longest")
    parser.add_argument("--one", type=int, help="measure this size in this process")
    arguments = parser.parse_args()
    if arguments.one:
        print(
            json.dumps(
                measure(arguments.one, arguments.jobs, arguments.draws, arguments.profile, chain=arguments.chain)
            )
        )
        return
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    for n in arguments.sizes:
        command = [sys.executable, __file__, "--one", str(n), "--jobs", str(arguments.jobs)]
        command += ["--draws", str(arguments.draws)] if arguments.draws else []
        command += ["--chain"] if arguments.chain else []
        done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **alone})
        print(done.stdout.splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
