"""Write the expectations anew: ``python tests/oracle/record.py [--jobs N] [CASE ...]``, from the repository's root.

Do so only when behaviour is meant to change, and read the difference first: ``--check`` shows it and writes nothing.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")  # as tests/conftest.py

sys.path.insert(0, str(Path(__file__).parent))
import keeping  # noqa: E402
from cases import CASES, observe  # noqa: E402


def record(name: str, check: bool) -> tuple[str, float, list[str]]:
    """Observe one case; write what it found, or return where that differs from what is written."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = observe(CASES[name], Path(folder).resolve())
        except Exception:
            return name, time.perf_counter() - started, traceback.format_exc().splitlines()[-12:]
    seconds = time.perf_counter() - started
    if check:
        return name, seconds, list(keeping.differences(keeping.kept(name), found))
    keeping.keep(name, found)
    return name, seconds, []


def main() -> None:
    """Read the arguments, observe, and say how long each case took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all by default")
    parser.add_argument("--check", action="store_true", help="show differences, write nothing")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    names = given.cases or sorted(CASES, key=lambda name: not CASES[name].slow)  # long ones first
    differ = 0
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        for name, seconds, lines in pool.map(record, names, [given.check] * len(names)):
            sys.stdout.write(f"{name}: {seconds:.1f} s{f', {len(lines)} differences' if lines else ''}\n")
            sys.stdout.writelines(f"  {line}\n" for line in lines[:20])
            sys.stdout.flush()
            differ += len(lines)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
