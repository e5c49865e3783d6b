"""The README of a release: how its user analyses the copies, in Python, R and Stata, with the right combining rule.

It is written from ``release.json`` alone, so nothing confidential can be in it. The text is in ``readme.md`` beside.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files as resources
from typing import Any

from jinja2 import Environment, StrictUndefined

from synthdp.inference.rules import RULES
from synthdp.privacy.guarantees import NEIGHBOURS, NOT_PRIVATE
from synthdp.table.io.formats import FORMATS

_NUMERIC = ("continuous", "semicontinuous", "count")
_STATA_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")


def readme(release: Mapping[str, Any]) -> str:
    """Return the README of a release, written for the person who analyses it.

    The examples take the mean of a replaced column and a regression, so that every line can be run as it stands.

    Parameters
    ----------
    release
        The contents of ``release.json``.
    """
    columns, design = release["columns"], release.get("design", {})
    format, rule = FORMATS[release["format"]], RULES[release["rule"]]
    regression = _regression(columns)
    # a page of text, in which nothing is to be escaped
    environment = Environment(trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined, autoescape=False)
    text = resources("synthdp.release").joinpath("readme.md").read_text(encoding="utf-8")
    return environment.from_string(text).render(
        files=len(release["files"]),
        records=release["records"],
        ending=release["format"],
        format=format,
        text=format.text,
        documents=bool(release.get("documents")),
        escaped=release.get("escaped_formulas", False),
        altered=bool(design.get("altered")),
        replaced=_listed(columns, "replaced"),
        kept=_listed(columns, "kept"),
        derived=", ".join(f"{code(c['name'])} = {code(c['formula'])}" for c in columns if c["role"] == "derived"),
        conditional=", ".join(
            f"{code(c['name'])} when {code(c['applies_when'])}" for c in columns if "applies_when" in c
        ),
        privacy=privacy_words(release.get("privacy", {})),
        rule=rule,
        formula=rule.formula(float(design.get("ratio", 1.0))),
        nests=int(release["imputations"]) * int(design.get("mask_draws", 1)),
        mean=_mean(columns),
        regression=regression,
        pool_syn=release["rule"] == "reiter2003",
        stata=_stata(columns, regression) if format.stata else "",
    )


def _mean(columns: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the first example: the mean of a number, else the share of the commonest level."""
    column = min(columns, key=lambda c: (c["kind"] not in _NUMERIC, c["role"] != "replaced", not _plain(c["name"])))
    name, term = column["name"], _term(column["name"])
    if column["kind"] in _NUMERIC:
        analyse = f"--model mean --formula {shlex.quote(name)}"
        if "," in name or name != name.strip():
            analyse = f"--model ols --formula {shlex.quote(f'{term} ~ 1')}"
        value = f"values = [copy[{_quoted(name)}] for copy in copies]"
        return {"analyse": analyse, "python": value, "r": f"lm({_backticked(name)} ~ 1, data = copy)"}
    tick, level = f"copy[[{_quoted(name)}]]", f"level = copies[0][{_quoted(name)}].mode()[0]"
    return {
        "analyse": f"--model proportion --formula {shlex.quote(name)}",
        "python": f"{level}\nvalues = [1.0 * (copy[{_quoted(name)}] == level) for copy in copies]",
        "r": f"lm(as.numeric({tick} == names(which.max(table({tick})))) ~ 1)",
    }


def _regression(columns: Sequence[Mapping[str, str]]) -> dict[str, str] | None:
    """Return the second example, one numeric column on another; None when there are no two."""
    usable = [c for c in columns if c["kind"] in _NUMERIC and c["role"] != "derived"]
    usable.sort(key=lambda c: (c["role"] != "replaced", not _plain(c["name"])))
    if len(usable) < 2:
        return None
    x, y = usable[0]["name"], usable[1]["name"]
    formula = f"{_term(y)} ~ {_term(x)}"
    return {
        "shell": shlex.quote(formula),
        "quoted": repr(formula),
        "r": f"lm({_backticked(y)} ~ {_backticked(x)}, data = copy)",
        "stata": f"regress {y} {x}" if _STATA_NAME.fullmatch(x) and _STATA_NAME.fullmatch(y) else "",
    }


def _stata(columns: Sequence[Mapping[str, str]], regression: Mapping[str, str] | None) -> str:
    if regression is not None and regression["stata"]:
        return regression["stata"]
    named = [c["name"] for c in columns if c["kind"] in _NUMERIC and _STATA_NAME.fullmatch(c["name"])]
    return f"regress {named[0]}" if named else ""


def _plain(name: str) -> bool:
    return name.isidentifier() and name.isascii()


def _term(name: str) -> str:
    return name if name.isidentifier() else f"Q({_quoted(name)})"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _backticked(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("`", "\\`")
    return name if _plain(name) and not name.startswith("_") else f"`{escaped}`"


def _listed(columns: Sequence[Mapping[str, str]], role: str) -> str:
    return ", ".join(code(column["name"]) for column in columns if column["role"] == role) or "none"


def code(text: str) -> str:
    """Return a text as code in Markdown, whatever characters it has.

    Examples
    --------
    >>> code("age"), code("a`b")
    ('`age`', '`` a`b ``')
    """
    text = re.sub(r"[\r\n]+", " ", text)
    if "`" not in text:
        return f"`{text}`"
    fence = "`" * (1 + max(map(len, re.findall("`+", text))))
    return f"{fence} {text} {fence}"


def privacy_words(section: Mapping[str, Any]) -> str:
    """Return what is promised about the people in the confidential file, and on which conditions."""
    said = str(section.get("statement", NOT_PRIVATE))
    if section.get("epsilon") is None:
        return said
    terms = [
        f"- ε = {section['epsilon']:g}, δ = {section['delta']:g}, all data sets together",
        f"- adjacency: {section['adjacency']}; {NEIGHBOURS[section['adjacency']]}",
        f"- unit: {section['unit']}",
        *(f"- assumed: {phrase}" for phrase in section["assumed"]),
    ]
    return "\n".join([said, "", *terms])
