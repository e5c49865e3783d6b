"""The README of a release: how its user analyses the copies, in Python, R and Stata, with the right combining rule.

It is written from ``release.json`` alone, so nothing confidential can be in it.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from synthdp.inference.rules import RULES, Formula
from synthdp.privacy.guarantees import NEIGHBOURS, NOT_PRIVATE
from synthdp.release import readme_text
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
    columns = release["columns"]
    format = FORMATS[release["format"]]
    files = len(release["files"])
    design = release.get("design", {})
    rule = RULES[release["rule"]]
    formula = rule.formula(float(design.get("ratio", 1.0)))
    nests = int(release["imputations"]) * int(design.get("mask_draws", 1))
    parts = {
        "files": "One synthetic data set" if files == 1 else f"{files} synthetic data sets",
        "single": readme_text.SINGLE if files < rule.fewest else "",
        "format": release["format"],
        "records": str(release["records"]),
        "replaced": _listed(columns, "replaced"),
        "kept": _listed(columns, "kept"),
        "derived": _computed(columns),
        "conditional": _conditional(columns),
        "spreadsheet": _spreadsheet(release),
        "privacy": _privacy(release.get("privacy", {})),
        "source": formula.source,
        "steps": formula.steps,
        "warning": readme_text.IMPUTED if rule.imputed else readme_text.NOT_RUBIN,
        "pandas_read": format.python,
        "r_read": format.r,
        "stata_read": format.stata,
        "python_size": _size(nests, files, "M = len(copies)", " = ", "; "),
        "python_rule": formula.python,
        "r_size": _size(nests, files, "M <- length(fits)", " <- ", "; "),
        "r_rule": formula.r,
        "mata_size": _size(nests, files, "M = rows(q)", " = ", "\n"),
        "mata_rule": formula.mata,
        **_shown(formula),
        **_mean(columns),
        "reference": formula.reference,
    }
    regression = _regression(columns)
    stata = _stata(columns, regression) if format.stata else None
    text = readme_text.README
    text = text.replace("{regression}", readme_text.REGRESSION if regression else "")
    text = text.replace("{mice}", readme_text.MICE if release["rule"] == "reiter2003" else "")
    text = text.replace("{stata}", readme_text.STATA if stata else readme_text.NO_STATA)
    parts |= regression or {}
    parts |= {"r_fit": (regression or {}).get("r_lm", parts["r_mean"])} | (stata or {})
    return re.sub(r"\{(\w+)\}", lambda match: parts[match[1]], text)


def _mean(columns: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the first example: a mean if a column is numeric, else the share of a level."""
    column = min(columns, key=lambda c: (c["kind"] not in _NUMERIC, c["role"] != "replaced", not _plain(c["name"])))
    name, term = column["name"], _term(column["name"])
    if column["kind"] in _NUMERIC:
        analyse = f"--model mean --formula {shlex.quote(name)}"
        if "," in name or name != name.strip():
            analyse = f"--model ols --formula {shlex.quote(f'{term} ~ 1')}"
        value = f"values = [copy[{_quoted(name)}] for copy in copies]"
        return {"analyse": analyse, "values": value, "r_mean": f"lm({_backticked(name)} ~ 1, data = copy)"}
    level = f"level = copies[0][{_quoted(name)}].mode()[0]"
    value = f"{level}\nvalues = [1.0 * (copy[{_quoted(name)}] == level) for copy in copies]"
    tick = f"copy[[{_quoted(name)}]]"
    return {
        "analyse": f"--model proportion --formula {shlex.quote(name)}",
        "values": value,
        "r_mean": f"lm(as.numeric({tick} == names(which.max(table({tick})))) ~ 1)",
    }


def _regression(columns: Sequence[Mapping[str, str]]) -> dict[str, str] | None:
    """Return the second example, one numeric column on another; None when there are no two."""
    usable = [c for c in columns if c["kind"] in _NUMERIC and c["role"] != "derived"]
    usable.sort(key=lambda c: (c["role"] != "replaced", not _plain(c["name"])))
    if len(usable) < 2:
        return None
    x, y = usable[0]["name"], usable[1]["name"]
    return {
        "formula": f"{_term(y)} ~ {_term(x)}",
        "shell_formula": shlex.quote(f"{_term(y)} ~ {_term(x)}"),
        "quoted_formula": repr(f"{_term(y)} ~ {_term(x)}"),
        "r_lm": f"lm({_backticked(y)} ~ {_backticked(x)}, data = copy)",
        "stata_fit": f"regress {y} {x}" if _STATA_NAME.fullmatch(x) and _STATA_NAME.fullmatch(y) else "",
    }


def _stata(columns: Sequence[Mapping[str, str]], regression: Mapping[str, str] | None) -> dict[str, str] | None:
    if regression is not None and regression["stata_fit"]:
        return {"stata_fit": regression["stata_fit"]}
    named = [c["name"] for c in columns if c["kind"] in _NUMERIC and _STATA_NAME.fullmatch(c["name"])]
    return {"stata_fit": f"regress {named[0]}"} if named else None


def _shown(formula: Formula) -> dict[str, str]:
    """Return how each language prints the result: with degrees of freedom, or with a normal interval."""
    if formula.exact:
        return {
            "python_show": "print(q.mean(axis=0), np.sqrt(T))",
            "frame_show": '{"estimate": q.mean(axis=0), "se": np.sqrt(T)}',
            "r_show": "data.frame(estimate = rowMeans(q), se = sqrt(T))",
            "mata_show": "(mean(q)', sqrt(T)')",
            "mata_columns": "estimate, se",
        }
    return {
        "python_show": "print(q.mean(axis=0), np.sqrt(T), nu)",
        "frame_show": '{"estimate": q.mean(axis=0), "se": np.sqrt(T), "df": nu}',
        "r_show": "data.frame(estimate = rowMeans(q), se = sqrt(T), df = nu)",
        "mata_show": "(mean(q)', sqrt(T)', nu')",
        "mata_columns": "estimate, se, df",
    }


def _size(nests: int, files: int, count: str, gets: str, between: str) -> str:
    """Return the lines that set M and, for copies in nests, m and r."""
    return count if nests == 1 else between.join([count, f"m{gets}{nests}", f"r{gets}{files // nests}"])


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
    names = [f"`{column['name']}`" for column in columns if column["role"] == role]
    return ", ".join(names) if names else "none"


def _computed(columns: Sequence[Mapping[str, str]]) -> str:
    derived = [f"`{c['name']}` = `{c['formula']}`" for c in columns if c["role"] == "derived"]
    return f"\n- computed from the others: {', '.join(derived)}" if derived else ""


def _privacy(section: Mapping[str, Any]) -> str:
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


def _spreadsheet(release: Mapping[str, Any]) -> str:
    """Return what to know before such a file is opened in a spreadsheet; the other formats are not."""
    if not FORMATS[release["format"]].text:
        return ""
    return readme_text.ESCAPED if release.get("escaped_formulas") else readme_text.FORMULAS


def _conditional(columns: Sequence[Mapping[str, str]]) -> str:
    asked = [f"`{c['name']}` when `{c['applies_when']}`" for c in columns if "applies_when" in c]
    return f"\n- missing for all others, as it does not apply to them: {', '.join(asked)}" if asked else ""
