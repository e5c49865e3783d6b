"""Does ``init`` decide what a person would? Fifteen files that the project never used, each with a key written before.

The key (key.json) says for every column which roles and kinds are right, and whether an intruder may know it. The files
are not ours to pass on: each block of the key names the package that holds its file, and ``--data`` the folder they
were written to (gather.py there is a list of how).
"""

import json
from pathlib import Path
from typing import Any, get_args

from reports.cells import Line
from reports.markdown import table_of
from reports.study import Results, Study
from synthdp.config.proposal import Method, Proposal, propose
from synthdp.table import io
from synthdp.table.schema import Design

KEY = Path(__file__).parent / "key.json"
BEFORE = Path(__file__).parent / "before.json"
METHOD: Method = "auto"
PARTS: tuple[Design, ...] = get_args(Design)
SETS = {"tuned": "Ten files that init was built on", "held_out": "Five files that it saw once, afterwards"}


def key() -> dict[str, Any]:
    """Return the blocks of the key by file."""
    found: dict[str, Any] = json.loads(KEY.read_text(encoding="utf-8"))["files"]
    return found


def judge(proposal: Proposal, block: dict[str, Any]) -> dict[str, Any]:
    """Return which columns and which parts of the design are right, and how many keys are left to a person."""
    wrong: list[dict[str, str]] = []
    asked = 0
    for guess in proposal.columns:
        right = block["columns"][guess.name]
        faults = []
        if str(guess.role) not in right["role"]:
            faults.append(f"{guess.role}, not {' or '.join(right['role'])}")
        kept = str(guess.role) in ("replace", "keep")
        if kept and right["kind"] and str(guess.kind) not in right["kind"]:
            faults.append(f"{guess.kind}, not {' or '.join(right['kind'])}")
        if kept and (right["key"], guess.key) in ((True, False), (True, None), (False, True)):
            faults.append(f"key {str(guess.key).lower()}, not {str(right['key']).lower()}")
        asked += kept and guess.key is None
        wrong += [{"column": guess.name, "what": "; ".join(faults)}] if faults else []
    design = {part: proposal.design.get(part) for part in PARTS}
    right_parts = [part for part in PARTS if design[part] in (block["design"][part] or [None])]
    return {
        "columns": len(proposal.columns),
        "right": len(proposal.columns) - len(wrong),
        "asked": asked,
        "design": len(right_parts),
        "wrong": wrong
        + [{"column": f"data.{part}", "what": f"found {design[part]}"} for part in PARTS if part not in right_parts],
    }


def one_file(file: str, *, data: Path) -> dict[str, Any]:
    """Return how well the columns of one file are guessed."""
    table = io.read_table(data / file)
    return judge(propose(table.frame, method=METHOD, labels=table.labels), key()[file])


def results(lines: list[Line]) -> Results:
    """Return the files of each set, and the share of columns that are right in it."""
    found: Results = {}
    before = json.loads(BEFORE.read_text(encoding="utf-8")) if BEFORE.exists() else {}
    for name in SETS:
        files = [
            line | {"before": before.get(line["file"]), "source": key()[line["file"]]["source"]}
            for line in lines
            if key()[line["file"]]["set"] == name
        ]
        columns = sum(line["columns"] for line in files)
        if columns:
            right = sum(line["right"] for line in files)
            parts = {"design": sum(line["design"] for line in files), "parts": len(PARTS) * len(files)}
            found[name] = {"files": files, "columns": columns, "right": right, "share": right / columns} | parts
    return found


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    sections = []
    for name, found in results.items():
        wrong = [
            {"file": line["file"], "column": one["column"], "what": one["what"]}
            for line in found["files"]
            for one in line["wrong"]
        ]
        rows = [line | {"before": "–" if line["before"] is None else line["before"]} for line in found["files"]]
        head = ("file", "from", "columns", "right", "right before", "key left to a person", "design, of 3")
        sections.append(
            f"## {SETS[name]}: {found['right']} of {found['columns']} columns right ({found['share']:.1%})\n\n"
            f"Design (weights, strata, cluster; none where there is none): {found['design']} of {found['parts']}.\n\n"
            + table_of(rows, ("file", "source", "columns", "right", "before", "asked", "design"), head)
            + ("\n\nWrong:\n\n" + table_of(wrong) if wrong else "")
        )
    return f"""# What `init` guesses

A column is right when its role is one that the key accepts, its kind too (where it is released as it is or drawn), and
when `key: true` stands where the key says that an intruder may know the column, and nowhere else. Where `init` leaves
`key` to a person (`null`, and `run` asks) that counts as right unless the key says true; how often is in the table.
Where two decisions are defensible the key lists both. Each key was committed before `init` was run on its files.
Regenerate: `python -m reports init --data DIR`, with the files in DIR (method `{settings["method"]}`).

{chr(10).join(section + chr(10) for section in sections)}"""


STUDY = Study(
    name="init",
    cells=lambda asked: ({"file": file} for file in list(key())[:asked]),
    work=one_file,
    results=results,
    page=page,
    settings={"method": METHOD},
    counts=lambda lines: {"files": len(lines)},
    reads_data=True,
)
