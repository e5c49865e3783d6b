"""The registry study's page."""

from typing import Any

from synthdp.studies.runner import table

PUBLISHED = (
    ("DA-MI, published (698 records, m=5 × r=3, after repair)", 0.9871, 0.9559, 0.956, 0.9076, "–", "35.0 / 0"),
    ("norm+logit, published", 0.9064, 0.7642, 0.8004, 0.2212, "3.1 / 3", "1.5 / 0"),
    ("CART, published", 0.9098, 0.7467, 0.8701, 0.6249, "12.8 / 12", "5.3 / 0"),
)
TARGET = {"work_mean": 0.97, "ild_mean": 0.95}
LIMITS = {"averaged_expected_3": 16, "copies_expected_3": 10, "copies_expected_5": 20, "averaged_expected_5": 20}
MOST_REPAIRED = 30
BEFORE_REPAIR = 20


def page(results: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the study as Markdown."""
    rows = results["rows"]
    original = results["original"]
    head = ("method", "M", "work mean", "work lowest", "ILD mean", "ILD lowest")
    risk = ("copies, tol 3", "averaged, tol 3", "copies, tol 5", "averaged, tol 5")
    before = table((*head, *risk), [_line(row) for row in rows if not row["repair"]])
    after = table(
        (*head, *risk, "records repaired"),
        [(*_line(row), f"{row['records_repaired']:.1f}") for row in rows if row["repair"]],
    )
    authors = [row for row in rows if row["method"].startswith("authors") and row["copies"] == 15]
    return f"""# The authors' pseudo registry

{settings["records"]} records, mean over {settings["seeds"]} seeds. Overlap of 95% intervals with the original's, ten
coefficients: `work` is the probit for work disability (in the model), `ILD` the one for one-year lung disease (345
records, 28 events; the synthesis never saw it). Risk columns: expected / true matches. Original against itself:
{original["copies_expected_3"]:.1f} / {original["copies_true_3"]} at tolerance 3,
{original["copies_expected_5"]:.1f} / {original["copies_true_5"]} at 5.
Regenerate: `python -m synthdp.studies registry --data FOLDER`.

## What "0% risk" is

{_plain_sentence(authors, original)}

## A better place on the map

{_reached(rows)}

## Before repair

{before}

## After repair

Repair looks at the truth, takes the true matches at tolerance 3 one by one and gives them a neighbour's keys: that no
true match is left is how it was made, not what was found.

{after}

## Published, for comparison

{table(("method", *head[2:], "copies, tol 3", "averaged, tol 3"), PUBLISHED)}
"""


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    shares = [f"{row[name]:.3f}" for name in ("work_mean", "work_lowest", "ild_mean", "ild_lowest")]
    risks = [
        f"{row[f'{attack}_expected_{tolerance}']:.1f} / {row[f'{attack}_true_{tolerance}']:.1f}"
        for tolerance in (3, 5)
        for attack in ("copies", "averaged")
    ]
    return (row["method"], str(row["copies"]), *shares, *risks)


def _plain_sentence(authors: list[dict[str, Any]], original: dict[str, float]) -> str:
    before, after = (next(row for row in authors if row["repair"] is repaired) for repaired in (False, True))
    return (
        f"At the authors' setting (M = 15) the overlaps are {after['work_mean']:.3f} and {after['ild_mean']:.3f} and "
        f"no true match is left after repair, but before it {before['copies_expected_3']:.0f} (copies) and "
        f"{before['averaged_expected_3']:.0f} (averaged) people are expected to be found, next to "
        f"{original['copies_expected_3']:.0f} in the original file: that mask hides almost nobody. Repair changes "
        f"{after['records_repaired']:.0f} records and leaves {after['averaged_expected_3']:.0f} expected matches under "
        "averaging."
    )


def reached(rows: list[dict[str, Any]]) -> list[str]:
    """Return which settings are useful and safe at once."""
    found = []
    for row in rows:
        if not row["repair"]:
            continue
        raw = next(r for r in rows if not r["repair"] and (r["method"], r["copies"]) == (row["method"], row["copies"]))
        useful = all(row[name] >= least for name, least in TARGET.items())
        safe = all(row[name] <= most for name, most in LIMITS.items()) and row["copies_true_3"] == 0
        gentle = row["records_repaired"] <= MOST_REPAIRED and raw["averaged_expected_3"] <= BEFORE_REPAIR
        if useful and safe and gentle:
            found.append(f"{row['method']}, M = {row['copies']}")
    return found


def _reached(rows: list[dict[str, Any]]) -> str:
    wanted = (
        "Wanted after repair: work ≥ 0.97, ILD ≥ 0.95, averaged ≤ 16 (≤ 20 before), copies ≤ 10, ≤ 20 at tolerance 5, "
        "no true match, ≤ 30 records repaired. Reached by:"
    )
    return "\n".join([wanted, "", *(f"* {name}" for name in reached(rows) or ["none"])])
