"""What the program says of its measures, put below each heading of the glossary."""

import re
from html import escape

from synthdp.evaluation.gate.limits import LIMITS, Thresholds
from synthdp.evaluation.measure import Measure, Need
from synthdp.evaluation.measures import GATE, RISK, UTILITY

HEADING = re.compile(r"^### `(\w+)`$", flags=re.MULTILINE)
# the five words of an entry, in this order
WORDS = ("Formula", "Range", "Good", "Pitfalls", "Reference")
NEEDED = {
    Need.KEYS: "columns declared as `key: true`",
    Need.ROWS: "rows that can be traced to records (`evaluation.rows`)",
    Need.HOLDOUT: "a file of people who were not used (`evaluation.holdout`)",
    Need.TARGETS: "a column to learn (`evaluation.targets`)",
    Need.PLAN: "a run that makes the copies; files of other tools do not do",
    Need.DRAWS: "several draws of the mechanism",
}


def registered() -> dict[str, Measure]:
    """Return every measure by name: usefulness, risk, and what the gate alone asks."""
    return {name: one for side in (UTILITY, RISK, GATE) for name, one in side.items()}


def entries(text: str) -> dict[str, str]:
    r"""Return the entries of the glossary's part on measures, by name.

    >>> entries("### `pmse`\n\n- **Range:** 0 to 0.25.\n")
    {'pmse': '- **Range:** 0 to 0.25.'}
    """
    pieces = HEADING.split(text)
    return {name: entry.partition("\n## ")[0].strip() for name, entry in zip(pieces[1::2], pieces[2::2], strict=True)}


def with_facts(text: str) -> str:
    """Return the glossary with question, needs and limits below the heading of each measure."""
    measures = registered()
    return HEADING.sub(lambda found: f"{found[0]}\n\n{facts(measures[found[1]])}\n", text)


def facts(measure: Measure) -> str:
    """Return what the program itself says of a measure, as Markdown."""
    lines = [f"**{escape(measure.title or measure.name)}.** *{escape(measure.asks)}*"]
    if measure.words:
        lines.append(escape(measure.words))
    needs = [NEEDED[need] for need in Need if need in measure.needs]
    lines.append(f"Needs: {'; '.join(needs) or 'nothing but the files'}.")
    lines.append(f"Limits of the gate that read it: {', '.join(map(_limit, measure.limits)) or 'none'}.")
    body = "\n\n".join(lines)
    return f'<div class="facts" markdown="1">\n\n{body}\n\n</div>'


def _limit(name: str) -> str:
    value = getattr(Thresholds(), name, None)
    shown = "off by default" if value is None else f"{value:g}"
    return f"`{name}` ({LIMITS[name].brief}; {shown})"
