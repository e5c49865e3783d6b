"""The README of a release: how its user analyses the copies, in Python, R and Stata, with the right combining rule.

It is written from ``release.json`` alone, so nothing confidential can be in it.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from synthdp.release.formulas import Formula, formula_of

_NUMERIC = ("continuous", "semicontinuous", "count")
# how a user of pandas, of R and of Stata reads a file of each format
_READERS = {
    "csv": (
        "read_csv(path)",
        "read.csv(file, check.names = FALSE)",
        'import delimited "`file\'", clear case(preserve)',
    ),
    "tsv": (
        'read_csv(path, sep="\\t")',
        "read.delim(file, check.names = FALSE)",
        'import delimited "`file\'", clear case(preserve) delimiters(tab)',
    ),
    "parquet": ("read_parquet(path)", "arrow::read_parquet(file)", ""),
    "feather": ("read_feather(path)", "arrow::read_feather(file)", ""),
    "dta": ("read_stata(path, convert_categoricals=False)", "haven::read_dta(file)", 'use "`file\'", clear'),
    "sav": (
        "read_spss(path, convert_categoricals=False)",
        "haven::read_sav(file)",
        'import spss using "`file\'", clear',
    ),
    "xpt": ('read_sas(path, encoding="utf-8")', "haven::read_xpt(file)", 'import sasxport5 "`file\'", clear'),
}
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
    pandas_read, r_read, stata_read = _READERS[release["format"]]
    files = len(release["files"])
    design = release.get("design", {})
    formula = formula_of(release["rule"], float(design.get("ratio", 1.0)))
    nests = int(release["imputations"]) * int(design.get("mask_draws", 1))
    parts = {
        "files": "One synthetic data set" if files == 1 else f"{files} synthetic data sets",
        "single": _SINGLE if files < formula.fewest else "",
        "format": release["format"],
        "records": str(release["records"]),
        "replaced": _listed(columns, "replaced"),
        "kept": _listed(columns, "kept"),
        "derived": _computed(columns),
        "conditional": _conditional(columns),
        "source": formula.source,
        "steps": formula.steps,
        "warning": _IMPUTED if formula.imputed else _NOT_RUBIN,
        "pandas_read": pandas_read,
        "r_read": r_read,
        "stata_read": stata_read,
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
    stata = _stata(columns, regression) if stata_read else None
    text = _README
    text = text.replace("{regression}", _REGRESSION if regression else "")
    text = text.replace("{mice}", _MICE if release["rule"] == "reiter2003" else "")
    text = text.replace("{stata}", _STATA if stata else _NO_STATA)
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


def _conditional(columns: Sequence[Mapping[str, str]]) -> str:
    asked = [f"`{c['name']}` when `{c['applies_when']}`" for c in columns if "applies_when" in c]
    return f"\n- missing for all others, as it does not apply to them: {', '.join(asked)}" if asked else ""


_SINGLE = """\
With a single data set b cannot be computed: you get estimates, but no valid interval.

"""
_NOT_RUBIN = """\
**Not Rubin's rule.** Software for missing data (`mi estimate` in Stata; `MIcombine` of mitools and `pool` of mice in R)
uses T = ū + (1 + 1/M) b. That is right when values were missing, and wrong here: the intervals come out too wide."""
_IMPUTED = """\
Values were missing and have been imputed, so this is Rubin's rule, which software for missing data (`mi estimate` in
Stata; `MIcombine` of mitools and `pool` of mice in R) applies by itself where each file is one imputation."""
_REGRESSION = """\

The same for a regression, all coefficients at once:

```python
import statsmodels.formula.api as smf

fits = [smf.ols({quoted_formula}, data=copy).fit() for copy in copies]
q = np.array([fit.params for fit in fits])
u = np.array([np.diag(fit.cov_params()) for fit in fits])
{python_rule}
print(pd.DataFrame({frame_show}, index=fits[0].params.index))
```

    synthdp analyse . --model ols --formula {shell_formula}

or, in Python, `synthdp.pool(".", model="ols", formula={quoted_formula})`.
"""
_MICE = """\

The package mice has this rule, too (`pool.syn`, not `pool`):

```r
summary(mice::pool.syn(mice::as.mira(fits)), conf.int = TRUE)
```
"""
_STATA = """\
```stata
local files : dir "." files "synthetic_*.{format}"
local files : list sort files
foreach file of local files {
    {stata_read}
    quietly {stata_fit}
    matrix q = nullmat(q) \\ e(b)
    matrix u = nullmat(u) \\ vecdiag(e(V))
}
mata:
q = st_matrix("q")
u = st_matrix("u")
{mata_size}
{mata_rule}
{mata_show}    // one row per coefficient, the constant last: {mata_columns}
end
```"""
_NO_STATA = "Stata does not read these files as they are; with them as .dta or .csv, apply the formula above by a loop."
_README = """\
# A synthetic public-use file

{files} of {records} records, made by synthdp to stand for a confidential file. Analyse each data set,
then combine the results as below.

- drawn anew from a model: {replaced}
- as in the confidential file: {kept}{derived}{conditional}

`codebook.csv` describes the columns, `release.json` says how the data were made, and `sha256sum -c SHA256SUMS` (or
`synthdp verify .`) checks that nothing was damaged on the way.

The rows of each data set are in an order of their own: row 1 of one is not the person in row 1 of another. Do not link,
stack or average the data sets.

## How to analyse them

Compute your estimate q and its variance u (the squared standard error) in each of the M data sets as if it were the
original. Then ({source}):

{steps}

{single}{warning}

### With synthdp

    synthdp analyse . {analyse}

It knows the rule. `synthdp analyse --help` lists the models, from means and tables to Cox regression, and the options
for survey weights, strata and clusters.

### With numpy and pandas

```python
import numpy as np
import pandas as pd
from pathlib import Path

copies = [pd.{pandas_read} for path in sorted(Path(".").glob("synthetic_*.{format}"))]
{values}
q = np.array([value.mean() for value in values])
u = np.array([value.var() / value.count() for value in values])
{python_size}
{python_rule}
{python_show}
```
{regression}
### With R

```r
files <- list.files(pattern = "^synthetic_.*[.]{format}$")
fits <- lapply(files, function(file) {
  copy <- {r_read}
  {r_fit}
})
q <- do.call(cbind, lapply(fits, coef))
u <- do.call(cbind, lapply(fits, function(fit) diag(vcov(fit))))
{r_size}
{r_rule}
{r_show}
```
{mice}
### With Stata

{stata}

{reference}
"""
