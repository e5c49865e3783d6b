"""How long tables take: all one- and two-way tables of a million records, 20 columns, with their noise floor.

Prints seconds and peak memory.
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd

from synthdp.evaluation.comparison import Comparison, halves
from synthdp.evaluation.utility.classes import classify
from synthdp.evaluation.utility.tables import evaluate_tables
from synthdp.table.microdata import resolve

NUMERIC, TEXT = 10, 10


def draw(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return normal columns and columns of six levels."""
    values = {f"x{j}": rng.normal(size=rows) for j in range(NUMERIC)}
    return pd.DataFrame(values | {f"g{j}": rng.choice(list("abcdef"), rows) for j in range(TEXT)})


def main(rows: int, copies: int) -> None:
    """Time the parts."""
    rng = np.random.default_rng(1)
    data = resolve(draw(rows, rng), {})
    comparison = Comparison(data.frame, tuple(draw(rows, rng) for _ in range(copies)), data.schema, aligned=False)
    start = time.perf_counter()
    classes = classify(comparison)
    classified = time.perf_counter()
    entries, _ = evaluate_tables(classes, halves(comparison, rng=rng), rng=rng)
    done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{rows:,} records x {NUMERIC + TEXT} columns, {copies} copies: {len(entries)} tables")
    print(f"classes {classified - start:.1f} s, tables {done - classified:.1f} s, peak {peak:.1f} GB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=1_000_000)
    parser.add_argument("copies", type=int, nargs="?", default=1)
    main(**vars(parser.parse_args()))
