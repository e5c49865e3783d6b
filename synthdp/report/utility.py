"""How useful the copies are: analyses repeated on them, whether they can be told apart, one column at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import NOT_COMPUTED, Table, entries, find, is_number, listing, number, percent
from synthdp.inference.rules import RULES
from synthdp.report.content import ReportContent
from synthdp.report.marginals import Histogram, Marginal, Shares, Summary, differing, kept_but_changed, marginals
from synthdp.report.plots import Figure, forest, marginal
from synthdp.report.words import day, interval, plain_term

LOW_OVERLAP = 0.5
SURE = 0.05
SMALLEST_P = 0.0001


@dataclass(frozen=True)
class AnalysisView:
    """One analysis, done on the original and pooled over the copies."""

    name: str
    subtitle: str
    mean: str
    lowest: str
    findings: str
    figures: tuple[Figure, ...]
    table: Table | None
    absent: str
    agreement: str = ""
    fit: str = ""
    spread: str = ""


@dataclass(frozen=True)
class MarginalView:
    """One replaced column: its plot and the table beside it."""

    figure: Figure
    table: Table


def analyses(content: ReportContent) -> tuple[AnalysisView, ...]:
    """Return every analysis that was repeated on the copies."""
    return tuple(_analysis(found) for found in entries(find(content.metrics, "utility", "analyses")))


def _analysis(found: Mapping[str, Any]) -> AnalysisView:
    terms = entries(found.get("terms"))
    rule = str(found.get("rule") or "")
    parts = [str(found[key]) for key in ("model", "formula") if found.get(key)]
    if rule:
        parts.append(f"pooled by the rule of {RULES[rule].words if rule in RULES else rule}")
    same = [_same_finding(term) for term in terms]
    judged = [value for value in same if value is not None]
    return AnalysisView(
        name=str(found.get("name", "analysis")),
        subtitle=" · ".join(parts),
        mean=number(found.get("mean_ci_overlap")),
        lowest=number(found.get("min_ci_overlap")),
        findings=f"{sum(judged)} of {len(judged)}" if judged else NOT_COMPUTED,
        figures=forest(str(found.get("name", "analysis")), terms),
        table=_coefficients(terms, same) if terms else None,
        absent="" if terms else str(found.get("reason") or "the analysis gave no estimates"),
        agreement=_agreement(terms),
        fit=_fit(found.get("lack_of_fit")),
        spread=_spread(found.get("spread")),
    )


def _spread(found: Any) -> str:
    """Return what single copies and two halves of the original give, in words."""
    low, high, noise = (find(found, key) for key in ("low", "high", "noise"))
    said = f"Single copies overlap by {number(low)} to {number(high)}. " if is_number(low) and is_number(high) else ""
    if is_number(noise):
        said += f"Two random halves of the original overlap by {number(noise)}: what a second survey would give."
    return said.strip()


def _agreement(terms: list[Mapping[str, Any]]) -> str:
    """Return for how many coefficients sign and significance agree."""
    signs = [term["sign_agrees"] for term in terms if isinstance(term.get("sign_agrees"), bool)]
    sure = [term["significance_agrees"] for term in terms if isinstance(term.get("significance_agrees"), bool)]
    if not signs or not sure:
        return ""
    return f"The sign agrees for {sum(signs)} of {len(signs)}, the significance for {sum(sure)} of {len(sure)}."


def _fit(found: Any) -> str:
    """Return the test of all coefficients together in words, by the spread between copies where there is one."""
    beside = find(found, "from_copies")
    test = beside if is_number(find(beside, "p_value")) else found
    p = find(test, "p_value")
    if not is_number(p):
        return ""
    spread = "the copies differ from each other" if test is beside else "copies from the fitted model would differ"
    verdict = f"more than {spread}" if p < SURE else f"no more than the way {spread} explains"
    said = f"p = {number(p)}" if p >= SMALLEST_P else f"p < {number(SMALLEST_P)}"
    return f"All coefficients together (lack of fit, {said}): the copies differ from the original {verdict}."


def _coefficients(terms: list[Mapping[str, Any]], same: list[bool | None]) -> Table:
    rows = tuple(
        (
            plain_term(str(term.get("term", ""))),
            interval(term.get("original")),
            interval(term.get("synthetic")),
            _overlap(term.get("ci_overlap")),
            number(term.get("std_diff")),
            NOT_COMPUTED if agrees is None else "yes" if agrees else "✘ no",
        )
        for term, agrees in zip(terms, same, strict=True)
    )
    head = ("Term", "Original (95% interval)", "Synthetic (95% interval)", "Overlap", "Difference", "Same finding")
    return Table("Estimates from the original and from the copies together", head, rows, "lrrrrl")


def _overlap(value: Any) -> str:
    return f"▼ {number(value)}" if is_number(value) and value < LOW_OVERLAP else number(value)


def _same_finding(term: Mapping[str, Any]) -> bool | None:
    """Return whether both intervals say the same: above zero, below zero, or cannot tell."""
    sides: list[int] = []
    for name in ("original", "synthetic"):
        low, high = find(term, name, "low"), find(term, name, "high")
        if not is_number(low) or not is_number(high):
            return None
        sides.append(int(low > 0) - int(high < 0))
    return sides[0] == sides[1]


def columns(content: ReportContent) -> tuple[MarginalView, ...]:
    """Return every replaced column, original against copies.

    Files of other tools may come without a word on what was replaced: what differs is then shown as well.
    """
    shapes = marginals(content.comparison)
    if content.method == "external":
        shapes += differing(content.comparison)
    return tuple(MarginalView(marginal(shape), _table(shape)) for shape in shapes)


def kept(content: ReportContent) -> str:
    """Return what can be said about the kept columns."""
    names = [column.name for column in content.comparison.schema.kept()]
    if not names:
        return "No column was kept as it is."
    aligned = content.comparison.aligned
    changed = kept_but_changed(content.comparison) if aligned else _differing(content)
    if changed:
        verb = "differs" if len(changed) == 1 else "differ"
        said = f"Attention: {listing(list(changed))} should be as in the original, but {verb} in at least one copy."
        return said + (" If they were replaced, say so (role: replace)." if content.method == "external" else "")
    if not aligned:
        return (
            f"The kept columns ({listing(names)}) are meant to be identical to the original. The rows of these files "
            "are not lined up with the original records, so this was not checked."
        )
    return (
        f"The kept columns ({listing(names)}) are identical to the original in every copy by construction, and this "
        "was checked; there is nothing to compare."
    )


def _differing(content: ReportContent) -> tuple[str, ...]:
    return tuple(shape.column.name for shape in differing(content.comparison))


def _table(shape: Marginal) -> Table:
    return _numbers(shape) if isinstance(shape, Histogram) else _levels(shape)


def _numbers(shape: Histogram) -> Table:
    def row(name: str, found: Summary) -> tuple[str, ...]:
        name += f", {percent(found.missing)} missing" if found.missing > 0 else ""
        if shape.scale == "date":
            return name, day(found.q05), day(found.median), day(found.q95)
        return name, *(number(value) for value in (found.mean, found.sd, found.q05, found.median, found.q95))

    head = ("", *(() if shape.scale == "date" else ("Mean", "SD")), "5%", "Median", "95%")
    rows = (row("Original", shape.summaries[0]), row("Copies", shape.summaries[1]))
    return Table(f"{shape.column.name}: original, and mean over copies", head, rows, "l" + "r" * (len(head) - 1))


def _levels(shape: Shares) -> Table:
    rows = tuple(
        (level, percent(original), percent(sum(cells) / len(cells)), _range(cells))
        for level, original, *cells in zip(shape.levels, shape.original, *shape.copies, strict=True)
    )
    head = ("Level", "Original", "Copies", "lowest to highest")
    return Table(f"{shape.column.name}: share of records", head, rows, "lrrr")


def _range(shares: list[float]) -> str:
    return f"{number(100 * min(shares))} to {percent(max(shares))}"
