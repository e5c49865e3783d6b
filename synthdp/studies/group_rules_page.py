"""The page of the study of masks that differ by a rule on replaced columns."""

from typing import Any

import numpy as np
import pandas as pd

from synthdp.studies.runner import table

BAND = (0.93, 0.97)


def page(results: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the page: coverage now and before, and what a copy costs."""
    rows = pd.DataFrame(results["rows"])
    count = settings["replications"]
    error = np.sqrt(0.95 * 0.05 / count)
    return f"""# Masks that differ by a rule on replaced columns

n = {settings["n"]}, M = {settings["copies"]}, {count} replications; 95% intervals by Reiter's 2003 rule. Monte Carlo
error of a coverage near 0.95: {error:.4f}. Regenerate, or go on with a run that was stopped:
`python -m synthdp.studies group_rules`.

Numbers have a mask of 0.3 sd, or 2 sd where the rule holds; z is kept, all else is replaced. Every file is drawn from
the association model; the truth is the population's, from 2 million records.

| design | replaced | rule | masks where the rule holds |
| --- | --- | --- | --- |
| two-sided | x, y | `x < -1.5 or x > 1.5` | x: sd 2 |
| two columns | x, y | `x > 1 and y < 0` | x, y: sd 2 |
| binary | b (0 or 1), x, y | `b == 1 and x > 0.5` | x: sd 2; b: alpha 0.5 instead of 2 |
| one-sided | x, y | `x > 1.5` | x: sd 2 |
| levels | c (three levels), x, y | `c == 'c' or abs(x) > 1.5` | x: sd 2; c: kept with 0.5 instead of 0.8 |

{_verdict(rows)}

{_compared(rows, pd.DataFrame(results.get("before", [])))}

## What was wrong, and what is done

The strength of a mask was a function h of the record's own values, and the model was shown h as a covariate, with its
true value. Under a rule that takes both ends of x, p(x | z, h) has two modes, and the model has one; and the group of a
record, which is confidential, told the copies more than W did. Now θ is fitted without h, and copies are drawn from

    p(x | z, w, θ)  ∝  p(x | z, θ) · Π_j p(w_j | x_j, λ_{{j,h(x)}})

in which W says of the group what it says: exactly where the joint draw is exact, by choosing a group by its weight,
drawing under its masks and taking the first draw that lies in it (`imputation/grouped.py`); by Metropolis steps on
whole records and on single columns where it is a chain (`imputation/grouped_chain.py`, design `levels`). On a single
column the draws agree with quadrature (`tests/unit/test_grouped.py`).

## Where the model is wrong

A normal model takes an outlier under a narrow mask for a record that the rule catches, whose mask is wide. With errors
of x from t with 3 degrees of freedom (40 files of 1,000, two masks as above) under `x > 1.5` and `x < -1.5` the mean
of x moved by 0.3 to 0.4 standard errors towards the side of the rule (less than 0.1 with the group as a covariate), its
sd came out 1.1 to 1.3 standard errors of the mean too small (0.4 to 0.6), and its outer quantile on that side 3.6 to
4.2 too far out (6.2 to 7.3); under a rule that takes both ends the sd was too small by 2.3 (6.9). Give heavy-tailed
columns a transform.

## Cost

Processor seconds per copy, the fit included, of 10 copies of 2,000 records, and with one set of masks for all:

{_costs(results["costs"])}
"""


def _verdict(rows: pd.DataFrame) -> str:
    ours = rows[rows["scheme"] != "original"]
    chosen = ours["term"].str.contains("quantile") | ours["term"].str.contains("where")
    said = []
    parts = (("means and regressions", ours[~chosen], BAND), ("quantiles and subgroups", ours[chosen], (BAND[0], 1.0)))
    for words, part, band in parts:
        outside = part[~part["coverage"].between(*band)]
        text = f"{len(part)} coverages of {words}: {part['coverage'].min():.3f} to {part['coverage'].max():.3f}"
        if outside.empty:
            said.append(f"{text}, all in [{band[0]}, {band[1]}].")
            continue
        named = "; ".join(f"{row.design}, {row.term}: {row.coverage:.3f}" for row in outside.itertuples())
        said.append(f"{text}. **{len(outside)} lie outside [{band[0]}, {band[1]}]**: {named}.")
    return "\n".join(said)


def _compared(rows: pd.DataFrame, before: pd.DataFrame) -> str:
    wide = rows.pivot_table(index=["design", "term"], columns="scheme", values="coverage", sort=False)
    shift = rows.pivot_table(index=["design", "term"], columns="scheme", values="shift_from_original_in_se", sort=False)
    old = wide * np.nan
    files = ""
    if not before.empty:
        old = before.pivot_table(index=["design", "term"], columns="scheme", values="coverage", sort=False)
        files = f" `before`: the group as a covariate, {int(before['replications'].min())} of the same files."
    lines = [
        (
            *index,
            *(f"{part.loc[index, 'da_mi']:.3f}" for part in (old, wide)),
            f"{wide.loc[index, 'original']:.3f}",
            f"{shift.loc[index, 'da_mi']:.2f}",
        )
        for index in wide.index
    ]
    head = ("design", "term", "before", "now", "original", "shift in se")
    return f"{table(head, lines)}\n\nShift: the mean distance from the estimate on the original.{files}"


def _costs(found: list[dict[str, Any]]) -> str:
    lines = [
        (line["design"], f"{line['with']:.4f}", f"{line['without']:.4f}", f"{line['ratio']:.2f}") for line in found
    ]
    return table(("design", "with the rule", "one mask for all", "ratio"), lines)
