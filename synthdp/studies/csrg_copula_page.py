"""The page of the study ``csrg_copula``."""

from typing import Any

from synthdp.studies.registry_page import PUBLISHED
from synthdp.studies.runner import table

HEAD = (
    "setting",
    "repair",
    "work, published MI: mean",
    "lowest",
    "work, our MI: mean",
    "lowest",
    "ILD, our MI: mean",
    "lowest",
    "copies, tol 3",
    "averaged, tol 3",
    "copies, tol 5",
    "averaged, tol 5",
    "repaired",
    "seconds",
)


def page(results: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    original, same = results["original"], results["benchmarks_overlap"]
    return f"""# The authors' pseudo registry with its missing values, by the copula

{settings["records"]} records, {settings["incomplete"]} incomplete; {settings["imputations"]} completed originals
× {settings["copies"]} copies, combined by Reiter (2004); mean over {settings["seeds"]} seeds. Overlap of 95% intervals,
ten coefficients: `work` is the probit for work disability against the authors' multiple imputation (R package mi) and
against ours (20 completed originals of the copula, Rubin's rule); `ILD` the probit for one-year lung disease, whose
columns no model saw, against ours (only complete cases are published). The two imputations themselves overlap by
{same["mean"]:.3f} on average ({same["lowest"]:.3f} at worst), which is how far two imputations of one file differ.
Risk columns: expected / true matches; the original against itself {original["copies_expected_3"]:.1f} /
{original["copies_true_3"]} at tolerance 3, {original["copies_expected_5"]:.1f} / {original["copies_true_5"]} at 5.
Seconds: 5 completions, 6 fits and 15 copies, by the clock, on two cores that other work had most of.
Regenerate: `python -m synthdp.studies csrg_copula --data FOLDER`.

{table(HEAD, [_line(row) for row in results["rows"]])}

Repair looks at the truth and gives true matches at tolerance 3 a neighbour's keys: that none is left is how it was
made. In the authors' setting W is drawn once for each completed original, which is as near to their once for all
copies as completed originals allow; in ours per copy. The imputation that `ILD` is held against is by the same copula,
which the published overlaps did not have the favour of.

## Published, for comparison

From the authors' result files, on the same records.

{table(("method", "work mean", "lowest", "ILD mean", "lowest", "copies, tol 3", "averaged, tol 3"), PUBLISHED)}
"""


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    shares = [f"{row[f'{name}_{part}']:.3f}" for name in ("work", "work_ours", "ild") for part in ("mean", "lowest")]
    risks = [
        f"{row[f'{attack}_expected_{tolerance}']:.1f} / {row[f'{attack}_true_{tolerance}']:.1f}"
        for tolerance in (3, 5)
        for attack in ("copies", "averaged")
    ]
    repaired = "yes" if row["repair"] else "no"
    return (row["method"], repaired, *shares, *risks, f"{row['records_repaired']:.0f}", f"{row['seconds']:.0f}")
