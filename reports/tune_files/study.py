"""From a stranger's file to a release: `init`, `tune`, `run` on ten files, beside hand settings and synthpop's trees.

``--data`` names the folder of the ten files; a folder `work` in it holds what the commands wrote, which is confidential
where files are. Usefulness and risks of all three come from fresh draws before the same gate: the mean overlap of the
panel's intervals, that of one regression of which tune is not told, and every risk that has a limit.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from reports.cells import Cell, Line
from reports.study import Results, Study, commit
from reports.tune_files.commands import BUDGET, release
from reports.tune_files.comparing import deciding
from reports.tune_files.files import FILES, HAND_COPIES, HAND_NOISE, LARGER_LEAVES, LEAVES, hand
from reports.tune_files.measuring import measured, settings_of, trees
from reports.tune_files.page import page
from synthdp.errors import SynthdpError
from synthdp.stages.intake import read

PARTS = ("ours", "trees", "hand")
# draws of hand settings (three times as many where they leave doubt) and of the trees' files: of these fewer in larger
# files, where a mean over records settles sooner
FEW, SOME, MANY = 2, 6, 12
TOO_LARGE, LARGE = 20_000, 3_000
# settings of the trees at or below our risk, after which larger leaves are not tried
ENOUGH_HELD = 2
BY_NAME = {one.name: one for one in FILES}


def cells(count: int | None) -> Iterator[Cell]:
    """Yield three parts of every file, file by file, so that a run that is stopped leaves whole rows."""
    yield from ({"file": one.name, "part": part} for one in FILES[:count] for part in PARTS)


def one_cell(file: str, part: str, *, data: Path) -> dict[str, Any]:
    """Return what one part of one file comes to, and which code made it."""
    return {"code": commit()} | _part(file, part, data)


def _part(file: str, part: str, data: Path) -> dict[str, Any]:
    given = BY_NAME[file]
    work = data.resolve() / "work" / given.stem
    if part == "ours":
        found = release(given, data.resolve(), work)
        tuned = work / "tuned" / "tuned.yaml"
        return found | (
            {"measured": measured(settings_of(tuned, given), work / "config.yaml")} if tuned.exists() else {}
        )
    if part == "hand":
        return {"tried": _by_hand(file, work)}
    return _by_trees(file, work)


def _by_hand(file: str, work: Path) -> list[dict[str, Any]]:
    """Judge hand settings by rising noise; once one passes, stronger noise at as many copies is not tried."""
    given, config = BY_NAME[file], work / "config.yaml"
    written = yaml.safe_load(config.read_text(encoding="utf-8"))
    found = []
    for copies in HAND_COPIES:
        for noise in HAND_NOISE:
            changed = {
                "masks": hand(written["masks"], noise),
                "synthesis": {**written["synthesis"], "copies": copies},
            }
            try:
                one = measured(settings_of(config, given, changed), config, draws=MANY)
            except SynthdpError as error:
                # what cannot be made is not let through
                one = {
                    "passed": False,
                    "panel": None,
                    "regression": None,
                    "risks": {},
                    "seconds": 0,
                    "said": str(error),
                }
            found.append({"noise": noise, "copies": copies, **one})
            if one["passed"]:
                break
    return found


def _by_trees(file: str, work: Path) -> dict[str, Any]:
    """Let synthpop draw the same columns with leaves of several sizes, as many copies as the tuned settings make.

    ``alike``: the tuned settings judged on as many draws as the trees' files, for the ends of intervals depend on that.
    Leaves grow until two sizes are at or below our risk.
    """
    given, tuned, asked = BY_NAME[file], work / "tuned" / "tuned.yaml", work / "config.yaml"
    if not tuned.exists():
        return {"tried": []}
    config = settings_of(tuned, given)
    records = len(read(config).frame)
    draws = FEW if records > TOO_LARGE else SOME if records > LARGE else MANY
    alike = measured(config, asked, draws=draws, looks=1)
    found: list[dict[str, Any]] = []
    for leaf in (*LEAVES, *LARGER_LEAVES):
        held = sum(_held(one, alike) for one in found)
        if held == ENOUGH_HELD or (leaf in LARGER_LEAVES and (held or 4 * leaf > records)):
            break
        made, said, seconds = trees(config, leaf=leaf, draws=draws, work=work / "trees")
        one = {"leaf": leaf, "said": said, "seconds_of_r": round(seconds, 1)}
        found.append(one if made is None else one | measured(config, asked, mechanism=made, draws=draws))
        if made is None:
            break
    return {"alike": alike, "tried": found}


def _held(one: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Return whether a setting of the trees is at our risk or below it, whichever limit binds."""
    pairs = [(deciding(one, name), deciding(ours, name)) for name, known in ours["risks"].items() if known["limit"]]
    known = [(its, mine) for its, mine in pairs if its is not None and mine is not None]
    return bool(known) and all(its <= mine for its, mine in known)


def gathered(lines: list[Line]) -> Results:
    """Return the lines by file."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        known = {name: value for name, value in line.items() if name not in ("file", "part")}
        found.setdefault(line["file"], {})[line["part"]] = known
    return {"files": found}


STUDY = Study(
    name="tune_files",
    cells=cells,
    work=one_cell,
    results=gathered,
    page=page,
    settings={
        "budget": BUDGET,
        "leaves": [*LEAVES, *LARGER_LEAVES],
        "noise": list(HAND_NOISE),
        "copies": list(HAND_COPIES),
    },
    counts=lambda lines: {"files": len({line["file"] for line in lines})},
    reads_data=True,
    committed="found.jsonl",
)
