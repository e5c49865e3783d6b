"""How files score on NIST's scoreboard: k-marginal, unique exact matches, pMSE, impossible records; and their cost.

Makes one copy by each method (all of reports/nist by default), or reads files that other tools made, and prints what
they score on the census extract; ``python -m reports nist`` is the whole study, with seeds and held-out halves.
"""

import argparse
import time
from pathlib import Path

import pandas as pd
from shared import table

from reports.nist.methods import METHODS, settings_of
from reports.nist.scoring import SETS, extract, scores, spelled
from reports.nist.study import levels_of, made
from reports.study import shared_data

HEAD = ("file", "k-marginal", "subsample equivalent", "UEM %", "pMSE", "impossible %", "processor s")


def _line(name: str, original: pd.DataFrame, copy: pd.DataFrame, seconds: float | None) -> list[str]:
    found = scores(original, copy)
    share, cost = found["subsample"], "–" if seconds is None else f"{seconds:.1f}"
    shown = [f"{found['k_marginal']:.1f}", "–" if share is None else f"{share:.0%}", f"{found['uem']:.1f}"]
    return [name, *shown, f"{found['pmse']:.5f}", f"{found['impossible']:.2f}", cost]


def main(columns: str, methods: list[str], files: list[str], seed: int, data: Path | None) -> None:
    """Print the scores."""
    original = extract(shared_data(data), SETS[columns])
    rows = []
    for name in methods or ([] if files else [one for one, entry in METHODS.items() if columns in entry.sets]):
        settings = settings_of(name, columns, levels_of(original))
        began = time.process_time()
        copy = made(original, settings, seed=seed)
        rows.append(_line(name, original, copy, time.process_time() - began))
    for given in files:
        name, _, path = given.partition("=")
        copy = spelled(pd.read_csv(path, dtype=str, keep_default_na=False)[list(original.columns)])
        rows.append(_line(name, original, copy, None))
    print(table(HEAD, rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("columns", choices=SETS, nargs="?", default="demographic")
    parser.add_argument("--methods", nargs="*", default=[], choices=METHODS, metavar="METHOD", help="by name")
    parser.add_argument("--files", nargs="*", default=[], metavar="NAME=FILE", help="CSV files that other tools made")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, help="folder of the shared data sets")
    main(**vars(parser.parse_args()))
