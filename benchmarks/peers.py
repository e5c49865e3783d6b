"""From file to judged copies, beside R synthpop and SDV in one run: python benchmarks/peers.py [--sizes 10000 100000].

Ten columns of SD2011, bootstrapped to n records, numbers jittered. Everybody starts a process, reads the CSV file,
makes its copies and judges them by its own default measures; seconds are those of the processor (user and system,
children and imports too), which a busy machine changes less than the clock ("wall").

  cart      sequential trees, all columns replaced, m = 5, then synthdp's default measures
  default   what `synthdp init` proposes (da_mi by auto, its masks), but all columns replaced, m = 5, default measures
  synthpop  syn(method = "cart", m = 5), compare, utility.tables, multi.disclosure, utility.gen
  verdict   `synthdp run --study` for cart: the release gate too, which draws new copies and has no peer
  sdv       GaussianCopulaSynthesizer, fit and sample of one copy, nothing judged
  one_auto, one_copula   one copy of all columns by `mi` with auto or the copula, nothing judged

Keys are sex, age, placesize and edu for everybody. synthpop's disclosure tables need numbers in groups (20 here): with
single values they take more memory than 20 GB. Its permutation null has 50 fits per copy, ours 50 over all copies and
fewer for large files: both are the defaults. Who is not done after --limit seconds is stopped, and the ratio is then a
lower bound ("at least"); the trees of its null that synthpop had begun tell what all would have taken ("projected").
Needs Rscript with synthpop (R_LIBS may say where) and a Python with sdv (--sdv); who is not there is left out by name.
Ratios are the peer's processor seconds over ours: of everything, projected, without utility.gen, of the copies alone.

Examples:
  python benchmarks/peers.py --sizes 10000
  python benchmarks/peers.py --sdv sdv-env/bin/python --out reports/peers
  python benchmarks/peers.py --only cart default --beside reports/peers/results.json   peers' seconds of an earlier run
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cart import COLUMNS, survey
from shared import SHARED, table

BESIDE = Path(__file__).parent / "beside"  # the peers' programs
KEYS = ("sex", "age", "placesize", "edu")
UNJUDGED = {"one_auto": "auto", "one_copula": "copula"}
PEER_OF = {"cart": "synthpop", "default": "synthpop", "verdict": "synthpop"} | dict.fromkeys(UNJUDGED, "sdv")
OWN = tuple(PEER_OF)
SLOWEST = "utility.gen"  # most of synthpop's time; ratios are also given without it
FITS = 5 * (1 + 50)  # of its null: for every copy the tree itself and 50 permutations
MAKING = ("syn", "fit", "sample")  # what peers call the stages that make copies
FINE = {"decimals": 1}
NUMBERS: dict[str, Any] = {"age": {"tolerance": 2} | FINE, "income": {"transform": "log", "decimals": 0}, "bmi": FINE}
SCALES = {
    "edu": ["PRIMARY/NO EDUCATION", "VOCATIONAL/GRAMMAR", "SECONDARY", "POST-SECONDARY OR HIGHER"],
    "ls": ["TERRIBLE", "UNHAPPY", "MOSTLY DISSATISFIED", "MIXED", "MOSTLY SATISFIED", "PLEASED", "DELIGHTED"],
}


def settings(what: str, path: Path) -> dict[str, Any]:
    """Return the config: kinds and masks as `init` proposes them, but every column replaced."""
    variables: dict[str, Any] = {}
    masks: dict[str, Any] = {}
    for name in COLUMNS:
        variables[name] = {"role": "replace", "key": name in KEYS}
        if name in NUMBERS:
            variables[name] |= {"kind": "continuous", "bounds_from": "data", **NUMBERS[name]}
            masks[name] = {"method": "gaussian", "sd": 1.0}
        elif name in SCALES or name in ("sex", "smoke"):
            variables[name] |= {"kind": "ordinal", "levels": SCALES[name]} if name in SCALES else {"kind": "binary"}
            masks[name] = {"method": "shifted_normal", "alpha": 1.0}
        else:
            variables[name] |= {"kind": "nominal"}
            masks[name] = {"method": "transition", "keep": 0.6}
    found = {"version": 1, "data": {"path": str(path)}, "variables": variables}
    if what in ("cart", "verdict"):
        return found | {"synthesis": {"method": "sequential", "model": {"method": "cart"}, "copies": 5}}
    if what == "default":
        return found | {"masks": masks, "synthesis": {"method": "da_mi", "model": {"method": "auto"}, "copies": 5}}
    return found | {"synthesis": {"method": "mi", "model": {"method": UNJUDGED[what]}, "copies": 1}}


def own(what: str, path: Path) -> None:
    """Make copies in this process, judge them where the peer does, and print what each stage takes."""

    def lap(name: str, work: Callable[[], Any]) -> Any:
        began, used = time.perf_counter(), time.process_time()
        value = work()
        print("STAGE", name, time.process_time() - used, time.perf_counter() - began, flush=True)
        return value

    import synthdp

    asked = settings(what, path)
    frame = lap("read", lambda: synthdp.read(path))
    made = lap("synthesise", lambda: synthdp.synthesize(frame, asked, seed=1))
    if what not in UNJUDGED:
        lap("evaluate", lambda: synthdp.evaluate(frame, made, asked))


def watched(command: Sequence[str], limit: float, errors: Path) -> dict[str, Any] | None:
    """Return what a program and its children took, by stages as far as it says so; nothing if it failed."""
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    began = time.perf_counter()
    stages: dict[str, float] = {}
    with errors.open("w") as told, tempfile.TemporaryFile("w+") as said:
        started = subprocess.Popen(
            command, stdout=said, stderr=told, env={**os.environ, **alone}, start_new_session=True
        )
        stopped = False
        while True:
            ended, status, used = os.wait4(started.pid, os.WNOHANG)
            if ended:
                break
            if not stopped and time.perf_counter() - began > limit:
                os.killpg(started.pid, signal.SIGKILL)
                stopped = True
            time.sleep(0.02)
        started.returncode = status
        said.seek(0)
        lines = said.read().splitlines()
    for line in lines:
        if line.startswith("STAGE "):
            _, name, seconds, _ = line.split()
            stages[name] = round(float(seconds), 2)
    if status and not stopped:
        return None
    cpu, wall = used.ru_utime + used.ru_stime, time.perf_counter() - began
    took = {"cpu": round(cpu, 2), "wall": round(wall, 1), "stopped": stopped, "stages": stages}
    # synthpop says which permutation it is at, so a stopped null tells what all of it would have taken
    begun = sum(len(line.split()) for line in lines if line.startswith("synthesis "))
    if stopped and begun:
        rest = cpu - sum(stages.values())
        took |= {"fits": begun, "projected": round(cpu + rest * (FITS / begun - 1))}
    return took


def command_of(who: str, path: Path, folder: Path, arguments: argparse.Namespace) -> list[str] | None:
    """Return how to start one of them; nothing where it cannot be."""
    if who == "synthpop":
        program = shutil.which(arguments.rscript)
        return program and [program, str(BESIDE / "synthpop.R"), str(path), ",".join(KEYS)]
    if who == "sdv":
        program = shutil.which(arguments.sdv)
        return program and [program, str(BESIDE / "sdv_copula.py"), str(path)]
    if who == "verdict":
        config = folder / "verdict.yaml"
        config.write_text(json.dumps(settings(who, path)))  # JSON is YAML
        out = tempfile.mkdtemp(dir=folder)
        return [sys.executable, "-m", "synthdp", "run", str(config), "--study", "--seed", "1", "--out", out]
    return [sys.executable, __file__, "--one", who, "--file", str(path)]


def ratio(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Return how many times the peer's processor seconds are mine, in all and without its slowest measure."""
    stages = theirs["stages"]
    making = sum(stages.get(name, 0.0) for name in MAKING)
    found = {
        "ratio": round(theirs["cpu"] / mine["cpu"], 1),
        "at_least": theirs["stopped"],
        "making": round(making / mine["stages"]["synthesise"], 1) if "synthesise" in mine["stages"] else None,
    }
    if "projected" in theirs:
        found["projected"] = round(theirs["projected"] / mine["cpu"], 1)
    if "syn" in stages:
        cheap = sum(seconds for name, seconds in stages.items() if name != SLOWEST)
        found["cheap"] = round(cheap / mine["cpu"], 1)
    return found


def measure(n: int, arguments: argparse.Namespace, folder: Path, earlier: dict[str, Any]) -> dict[str, Any]:
    """Return the seconds of everybody on one file, and the ratios."""
    path = folder / f"survey{n}.csv"
    survey(arguments.data / "sd2011.csv", n).to_csv(path, index=False)
    found: dict[str, Any] = {who: took | {"earlier": True} for who, took in earlier.items() if who not in OWN}
    for who in arguments.only:
        command = command_of(who, path, folder, arguments)
        errors = folder / f"{who}{n}.txt"
        took = command and watched(command, arguments.limit, errors)
        if not took:
            reason = errors.read_text().strip().splitlines()[-1:] if command else ["it is not installed"]
            print(f"{n:,} {who}: not run: {' '.join(reason)}", flush=True)
            continue
        found[who] = took
        print(f"{n:,} {who}: {json.dumps(took)}", flush=True)
    for who, peer in PEER_OF.items():
        if who in found and peer in found:
            found[who] |= ratio(found[who], found[peer])
    return found


def rows(found: dict[str, dict[str, Any]]) -> list[Sequence[object]]:
    """Return the lines of the table."""
    lines: list[Sequence[object]] = []
    for n, everybody in found.items():
        for who, took in everybody.items():
            stages = ", ".join(f"{stage} {seconds:g}" for stage, seconds in took["stages"].items())
            name = f"{who}{' (earlier)' * ('earlier' in took)}"
            used = f"stopped at {took['cpu']:g} of {took.get('projected', '?')}" if took["stopped"] else took["cpu"]
            found_ratios: list[object] = [""] * 4
            if "ratio" in took:
                times = f"{'at least ' * took['at_least']}{took['ratio']:g}"
                found_ratios = [times, *(took.get(kind, "") for kind in ("projected", "cheap", "making"))]
            lines.append((f"{int(n):,}", name, used, took["wall"], stages, *found_ratios))
    return lines


HEAD = ("records", "who", "CPU s", "wall s", "CPU s by stage", "ratio", "projected", f"no {SLOWEST}", "copies alone")


def save(out: Path, found: dict[str, Any], page: str) -> None:
    """Write the results and their page."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(found, indent=1) + "\n")
    about = (__doc__ or "").split("\n\n", 1)[1].split("Examples:")[0].strip()
    head = "# From file to judged copies, beside synthpop and SDV"
    again = "Regenerate: `python benchmarks/peers.py --sdv PYTHON --out reports/peers`.\n"
    (out / "README.md").write_text("\n\n".join((head, about, page, again)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--only", nargs="+", choices=(*OWN, "synthpop", "sdv"), default=[*OWN, "sdv", "synthpop"])
    parser.add_argument("--data", type=Path, default=os.environ.get(SHARED, ""), help=f"default: ${SHARED}")
    parser.add_argument("--limit", type=float, default=1500, help="seconds after which a program is stopped")
    parser.add_argument("--rscript", default="Rscript", help="the R that has synthpop")
    parser.add_argument("--sdv", default="python-with-sdv", help="a Python that has sdv")
    parser.add_argument("--beside", type=Path, help="take peers from this results.json instead of running them")
    parser.add_argument("--out", type=Path, help="also write results.json and README.md into this folder")
    parser.add_argument("--one", choices=OWN, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        own(arguments.one, arguments.file)
        return
    earlier = json.loads(arguments.beside.read_text()) if arguments.beside else {}
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.csv"
        survey(arguments.data / "sd2011.csv", 1000).to_csv(small, index=False)
        for who in set(OWN) & set(arguments.only):  # loads and compiles what the large files then find
            watched(command_of(who, small, Path(folder), arguments) or [], arguments.limit, Path(folder) / "small.txt")
        found = {str(n): measure(n, arguments, Path(folder), earlier.get(str(n), {})) for n in arguments.sizes}
    page = table(HEAD, rows(found))
    print(page)
    if arguments.out is not None:
        save(arguments.out, found, page)


if __name__ == "__main__":
    main()
