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

`dp_da_mi` masks every value of every record and draws copies from the masked records alone; δ = {settings["delta"]:g},
noise simulated. Regenerate: `python -m reports dp_da_mi --data DIR`.

{found(results)}

## Coverage of 95% intervals

{settings["records"]:,} records, {settings["replications"]} files, {settings["copies"]} copies: two numbers with sd
1 and 1.2 on bounds of width 9 and 10, and a binary column. `rubin1987` is the rule that the copies call for.

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

`masked file` is W itself, moved into the bounds: the same μ as dp_da_mi. `local_noise` divides ε among columns by basic
composition and pays more noise for it. One draw each. Overlap of 95% intervals as the rule of each method has them
(below 0: apart; wide intervals overlap a narrow one by a half at most), total variation of all two-way tables, links of
the likelihood intruder.

{utility}

## Audits

Paired files of eighty records; half of the runs teach a score, the other half is counted. *at_least*: what ε must be
at least to explain the errors, at δ = 0.001.

{audits}
"""


def found(results: Results) -> str:
    """Return the findings, with their figures."""
    rows = results["coverage"]

    def covers(rule: str) -> str:
        values = [row["coverage"] for row in rows if row["rule"] == rule]
        return f"{min(values):.2f} to {max(values):.2f}"

    def width(epsilon: float, term: str, rule: str = "rubin1987") -> float:
        return float(next(r["width"] for r in rows if (r["epsilon"], r["term"], r["rule"]) == (epsilon, term, rule)))

    def overlap(method: str) -> str:
        values = [
            row["overlap"] for row in results["utility"] if row["method"] == method and row["overlap"] is not None
        ]
        return f"{min(values):.2f} to {max(values):.2f}" if values else "not estimable"

    planted = results["audit"].get("planted", [])
    refuted = sum(row["refuted"] for row in planted)
    kept: list[Results] = [row for case in ("pipeline", "mask") for row in results["audit"].get(case, [])]
    shipped = sum(row["refuted"] for row in kept)
    shares = width(5.0, "share M") / width(5.0, "share M", "file")
    ratios = [width(epsilon, "slope") / width(epsilon, "slope", "file") for epsilon in (5.0, 20.0, 100.0)]
    return f"""## What was found

* **Intervals cover by Rubin's rule** ({covers("rubin1987")} over ε and terms), and are far too short by Reiter's
  ({covers("reiter2003")}), which takes the original for known. Rubin's is right because the original is what is
  missing: for a mean its v̄ and b add up to the variance of the mean of W. Raghunathan's rule
  ({covers("raghunathan2003")}) differs by 2v̄, which is little where noise is most of the error. With 100 files one coverage is known to ± 0.04.
* **What covers is wide.** The interval of the slope is {ratios[0]:.0f} times as wide as the file's own at ε = 5,
  {ratios[1]:.0f} times at ε = 20 and {ratios[2]:.0f} times at ε = 100; that of a share
  {shares:.0f} times at ε = 5. Noise on every record tells √n times less
  than noise on a statistic, and no model can make up for that; where bounds are all that is known, coverage is above
  0.95.
* **Does modelling win what local noise loses?** It wins validity, not precision. The masked file analysed as it is
  covers {covers("masked file")}: slopes are drawn to 0 by the noise, and short intervals lie around the wrong value.
  Overlaps on three files: dp_da_mi {overlap("dp_da_mi")}, the masked file {overlap("masked file")}, local noise
  {overlap("local_noise")}, MST {overlap("dp_mst")}. A wide interval that covers overlaps a narrow one by a half.
  The one overlap of dp_da_mi below 0 (adult at ε = 5) was not explained. Where a trusted curator may release statistics,
  as MST does, two-way tables are closer, with one exception.
* **Audits**: {shipped} of {len(kept)} promises refuted as shipped, {refuted} of {len(planted)} with a mistake planted
  (parameters fitted to X, one noise for two columns, the whole budget for each, bounds read off the data). The audit of
  the whole pipeline has 800 runs, so it would find a gross mistake only; that nothing but W goes in has a test of its own.
"""
