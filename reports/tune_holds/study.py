"""Whether what tune finds holds: simulated files tuned, judged again on fresh draws, and set beside an oracle.

Sixty files of three families, each with a law of its own (``files``). Every file is tuned, its answer judged twenty
times on fresh draws (``judging``), and for some files an oracle with many more draws searches a fine grid. Families
take turns, so that a study that was stopped tells something of all of them.
"""

from functools import partial
from pathlib import Path

from reports.cells import Cell
from reports.study import Study
from reports.tune_holds.drawing import draw
from reports.tune_holds.files import FAMILIES, N
from reports.tune_holds.page import page
from reports.tune_holds.summing import summary
from reports.tune_holds.working import BUDGET, HOLDS, one_cell

FILES, ORACLES = 20, 7
SEED = 20266


def cells(files: int | None = None) -> list[Cell]:
    """Return all cells: so many files of each family."""
    numbers = range(min(files or FILES, FILES))
    whose = [(family, number) for number in numbers for family in FAMILIES]
    # judgements after the answers of all three families, so that two processes do not look for the same answer
    parts = [(part, n, family) for n in numbers for part in ("tune", "fresh") for family in FAMILIES]
    found = [{"part": part, "family": family, "number": n} for part, n, family in parts]
    return found + [{"part": "oracle", "family": family, "number": n} for family, n in whose if n < ORACLES]


STUDY = Study(
    name="tune_holds",
    cells=cells,
    work=partial(one_cell, seed=SEED, folder=Path(__file__).parent),
    results=summary,
    page=page,
    settings={"seed": SEED, "records": N, "trials": int(BUDGET), "holds": HOLDS, "files": FILES * len(FAMILIES)},
    counts=lambda lines: {"cells": len(lines), "asked": len(cells())},
    draw=draw,
    committed="found.jsonl",
)
