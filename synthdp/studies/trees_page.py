"""The page of the ``trees`` study."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthdp.studies.runner import table

ANALYSES = ("straight", "curved")
INTRUDERS = {
    "mean_individual": "uses the copies as they are",
    "mean_individual_averaged": "averages the copies first",
}


def page(results: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return the page."""
    outcome = settings["outcome"]
    measures = (*INTRUDERS, *(f"overlap_{name}" for name in ANALYSES))
    points = [
        (row["curve"], row["setting"], *(_with_error(row, name, "{:.4f}") for name in measures))
        for row in results["rows"]
    ]
    climbs = [
        (
            row["curve"],
            row["analysis"],
            f"{row['rise']:+.3f} ± {row['error']:.3f}",
            "yes" if row["every_step"] else "no",
        )
        for row in results["rises"]
    ]
    return f"""# Trees given a mask

The simulated registry, n = {settings["n"]}, {settings["replications"]} data sets, M = {settings["copies"]}. Age, sex
and education are replaced and are the keys (tolerance {settings["tolerance"]:g} years); `{outcome}` is excluded from
every model. Analyses: logit of `{outcome}` on age, sex, education, diffuse and fvc (`straight`), and with the square
of age (`curved`; the truth is curved). Overlap is the mean interval overlap of all terms with the original's; risk is
`mean_individual` of the matching intruder. W is drawn per copy unless the name says once. `no mask` of the regression
is method `mi`. Plain CART is method `sequential`; its dial is the smallest leaf. ± is one Monte Carlo error.
Regenerate: `python -m synthdp.studies trees`.

![overlap against mask and against risk](trees.svg)

## Does overlap for an unseen outcome rise with what the mask lets through?

{table(("model", "analysis", "rise from no mask to the clearest", "no step down"), climbs)}

## Is it better than plain CART at equal risk?

Overlap of each model minus that of plain CART, at the risk that plain CART has at each setting of its own dial. Empty
where that risk lies outside what the model reaches in more than half of the data sets: with the same leaf, trees
without a mask are as risky as plain CART, and a mask only adds to it.

{"".join(_intruder(results["equal_risk"], risk) for risk in INTRUDERS)}## Every point

{table(("model", "setting", *measures), points)}
"""


def _intruder(rows: Sequence[Mapping[str, Any]], risk: str) -> str:
    here = [row for row in rows if row["risk"] == risk]
    lines = [
        (row["plain"], row["curve"], row["inside"], *(_with_error(row, f"overlap_{a}", "{:+.3f}") for a in ANALYSES))
        for row in here
    ]
    return f"""### The intruder {INTRUDERS[risk]}

Beyond two Monte Carlo errors, over both analyses:

{chr(10).join(_counts(here))}

{table(("plain CART", "model", "data sets inside", *ANALYSES), lines)}

"""


def _counts(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for curve in dict.fromkeys(row["curve"] for row in rows):
        found = Counter(
            _verdict(row[f"overlap_{a}"], row[f"overlap_{a}_error"])
            for row in rows
            for a in ANALYSES
            if row["curve"] == curve and row[f"overlap_{a}"] is not None
        )
        yield f"* {curve}: better in {found['better']}, even in {found['even']}, worse in {found['worse']}"


def _verdict(gain: float, error: float) -> str:
    return "even" if abs(gain) <= 2 * error else "better" if gain > 0 else "worse"


def _with_error(row: Mapping[str, Any], name: str, form: str) -> str:
    if row[name] is None:
        return ""
    places = form[form.index(".") + 1]
    return f"{form.format(row[name])} ± {row[f'{name}_error']:.{places}f}"
