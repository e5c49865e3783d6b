"""The page of the study."""

from reports.markdown import table_of
from reports.study import Results


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    covered = {
        rule: table_of(
            [row for row in results["coverage"] if row["rule"] == rule],
            ("epsilon:g", "term", "coverage:.3f", "se:.3f", "width:.3g"),
            ("ε", "term", "coverage", "Monte Carlo se", "median width"),
        )
        for rule in dict.fromkeys(row["rule"] for row in results["coverage"])
    }
    utility = table_of(
        results["utility"],
        ("file", "epsilon:g", "method", "runs", "overlap:.2f", "total_variation:.3f", "links:.1f", "chance:.1f"),
        ("file", "ε", "method", "runs", "mean CI overlap", "two-way total variation", "links", "by chance"),
    )
    audits = table_of([row for rows in results["audit"].values() for row in rows])
    return f"""# DA-MI with a finite ε

`dp_da_mi` masks every value of every record and draws copies from the masked records alone; δ =
{settings["delta"]:g}, noise
simulated. Regenerate: `python -m reports dp_da_mi --data DIR`.

{FOUND}

## Coverage of 95% intervals

{settings["records"]:,} records, {settings["replications"]} files, {settings["copies"]} copies: two numbers with sd 1
and 1.2 on bounds
of width 9 and 10, and a binary column. `rubin1987` is the rule that the copies call for.

### rubin1987

{covered.get("rubin1987", "")}

### reiter2003, for copies of a known original

{covered.get("reiter2003", "")}

### raghunathan2003, for samples from a fitted population

{covered.get("raghunathan2003", "")}

### The masked file, analysed as it is

{covered.get("masked file", "")}

### The confidential file

{covered.get("file", "")}

## Beside other methods at equal ε

`masked file` is W itself, moved into the bounds: the same μ as dp_da_mi. `local_noise` divides ε among columns by
basic composition
and pays more noise for it. Overlap of 95% intervals as the rule of each method has them (below 0: apart; wide intervals
overlap a narrow one by a half at most), total variation of all two-way tables, links of the likelihood intruder.

{utility}

## Audits

Paired files of six records; half of the runs teach a score, the other half is counted. *at_least*: what ε must be at
least to
explain the errors, at δ = 0.001.

{audits}
"""


FOUND = """## What was found

"""
