"""What a data user is told about a release: codebook, release.json and README, none of it from the true values."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthdp import __version__
from synthdp.designs import Design
from synthdp.io import Labels
from synthdp.microdata import codes
from synthdp.release import formulas
from synthdp.release.public import RELEASE_VERSION, file_names
from synthdp.schema import Column, Role, Schema

_ROLES = {Role.REPLACE: "replaced", Role.KEEP: "kept", Role.DERIVED: "derived"}


def codebook(
    schema: Schema,
    copies: Sequence[pd.DataFrame],
    *,
    declared_levels: Collection[str] = (),
    labels: Labels | None = None,
) -> pd.DataFrame:
    """Return one row per released column: name, kind, role, levels, public bounds, decimals, labels, when it applies.

    Parameters
    ----------
    schema
        The resolved columns.
    copies
        The released tables. Only levels that occur in them are listed: a level that the data had and the copies do
        not would tell that someone with it exists.
    declared_levels
        Columns whose levels the config states; these are public and listed in full.
    labels
        Those that may be published (`synthdp.io.published`).
    """
    labels = labels or Labels()
    rows = []
    for column in schema.columns:
        bounds = column.bounds if column.bounds_public and column.bounds is not None else (None, None)
        levels = column.levels if column.name in declared_levels else _released_levels(column, copies)
        rows.append(
            {
                "name": column.name,
                "kind": str(column.kind),
                "role": _ROLES[column.role],
                "levels": json.dumps(list(levels), ensure_ascii=False) if column.kind.categorical else None,
                "lower": bounds[0],
                "upper": bounds[1],
                "decimals": None if column.kind.categorical else column.decimals,
                "label": labels.variables.get(column.name),
                "value_labels": _value_labels(labels, column.name),
                "applies_when": column.applies_when,
            }
        )
    return pd.DataFrame(rows).astype({"lower": "float64", "upper": "float64", "decimals": "float64"})


def describe(
    schema: Schema,
    *,
    method: str,
    imputations: int,
    copies: int,
    mask_draw: str | None,
    rule: str,
    records: int,
    masks: Mapping[str, str],
    format: str,
    design: Design | None = None,
) -> dict[str, Any]:
    """Return the contents of ``release.json``.

    Parameters
    ----------
    schema
        The resolved columns.
    method
        How the copies were made (``da_mi``, ``mi``).
    imputations, copies
        m completed originals, and r copies of each.
    mask_draw
        ``per_copy``, ``once`` or ``once_orthogonal``; None when nothing was masked.
    rule
        The combining rule the design calls for.
    records
        Rows of each copy.
    masks
        The mask's method by column; strengths stay out, as they may depend on the record.
    format
        Of the synthetic files.
    design
        What inference depends on beyond that; None when it is not known.
    """
    return {
        "version": RELEASE_VERSION,
        "software": {"name": "synthdp", "version": __version__},
        "method": method,
        "imputations": imputations,
        "copies": copies,
        "mask_draw": mask_draw,
        "rule": rule,
        "records": records,
        "format": format,
        "files": file_names(imputations, copies, format),
        "columns": [_column(column) for column in schema.columns],
        "masks": dict(masks),
        **({"design": design.facts()} if design is not None else {}),
    }


def readme(release: Mapping[str, Any]) -> str:
    """Return the README of a release, written for the person who analyses it.

    The example takes the mean of a replaced column, so that every line can be run as it stands.

    References
    ----------
    Reiter, J. P. (2003). Inference for partially synthetic, public use microdata sets. Survey Methodology 29, 181-188.
    Raab, G. M., Nowok, B., Dibben, C. (2016). Practical data synthesis for large samples. Journal of Privacy and
    Confidentiality 7(3), 67-97.
    """
    columns = release["columns"]
    pandas_read, r_read = _READERS[release["format"]]
    single = len(release["files"]) == 1
    texts = formulas.texts(release["rule"])
    parts = {
        "files": "One synthetic data set" if single else f"{len(release['files'])} synthetic data sets",
        "single": _SINGLE if single and not formulas.takes_one(release["rule"]) else "",
        "format": release["format"],
        "records": str(release["records"]),
        "replaced": _listed(columns, "replaced"),
        "kept": _listed(columns, "kept"),
        "derived": _computed(columns),
        "conditional": _conditional(columns),
        "pandas_read": pandas_read,
        "r_read": r_read,
        **_example(columns),
    }
    whole = re.sub(r"\{(\w+)\}", lambda match: texts.get(match[1], match[0]), _README)
    return re.sub(r"\{(\w+)\}", lambda match: parts[match[1]], whole)


def _column(column: Column) -> dict[str, str]:
    described = {"name": column.name, "kind": str(column.kind), "role": _ROLES[column.role]}
    if column.derived is not None:
        described["formula"] = column.derived
    if column.applies_when is not None:
        described["applies_when"] = column.applies_when
    return described


def _value_labels(labels: Labels, name: str) -> str | None:
    found = {str(code): text for code, text in labels.values.get(name, {}).items()}
    return json.dumps(found, ensure_ascii=False) if found else None


def _released_levels(column: Column, copies: Sequence[pd.DataFrame]) -> tuple[Any, ...]:
    if not column.kind.categorical:
        return ()
    found = [np.unique(codes(copy[column.name], column)) for copy in copies]
    return tuple(column.levels[i] for i in np.unique(np.concatenate(found)) if i >= 0)


def _example(columns: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the worked example in three languages: a mean if a column is numeric, else a proportion."""
    numeric = ("continuous", "semicontinuous", "count")
    column = min(columns, key=lambda c: (c["kind"] not in numeric, c["role"] != "replaced"))
    name = column["name"]
    value, formula, r_formula = f"copy[{_quoted(name)}]", _formula_name(name), f"`{name}`"
    if column["kind"] not in numeric:
        level = '"A LEVEL"'
        value, formula = f"1.0 * ({value} == {level})", f"I(1.0 * ({formula} == {level}))"
        r_formula = f"I({r_formula} == {level})"
    return {"value": value, "formula": f"{formula} ~ 1", "r_formula": f"{r_formula} ~ 1"}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _listed(columns: Sequence[Mapping[str, str]], role: str) -> str:
    names = [f"`{column['name']}`" for column in columns if column["role"] == role]
    return ", ".join(names) if names else "none"


def _computed(columns: Sequence[Mapping[str, str]]) -> str:
    derived = [f"`{c['name']}` = `{c['formula']}`" for c in columns if c["role"] == "derived"]
    return f"\n- computed from the others: {', '.join(derived)}" if derived else ""


def _conditional(columns: Sequence[Mapping[str, str]]) -> str:
    asked = [f"`{c['name']}` when `{c['applies_when']}`" for c in columns if "applies_when" in c]
    return f"\n- missing for all others, as it does not apply to them: {', '.join(asked)}" if asked else ""


def _formula_name(name: str) -> str:
    return name if name.isidentifier() else f"Q({_quoted(name)})"


# how a user of pandas and of R reads a file of each format
_READERS = {
    "csv": ("read_csv(path)", "read.csv(file, check.names = FALSE)"),
    "tsv": ('read_csv(path, sep="\\t")', "read.delim(file, check.names = FALSE)"),
    "parquet": ("read_parquet(path)", "arrow::read_parquet(file)"),
    "feather": ("read_feather(path)", "arrow::read_feather(file)"),
    "dta": ("read_stata(path, convert_categoricals=False)", "haven::read_dta(file)"),
    "sav": ("read_spss(path, convert_categoricals=False)", "haven::read_sav(file)"),
    "xpt": ('read_sas(path, encoding="utf-8")', "haven::read_xpt(file)"),
}

_SINGLE = """\
With a single data set b cannot be computed: you get estimates, but no valid interval.

"""

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

{single}**Not Rubin's rule.** Software for missing data (`mi estimate` in Stata; `MIcombine` of mitools and `pool` of
mice in R) uses T = ū + (1 + 1/M) b. That is right when values were missing, and wrong here: the intervals come out too
wide.

### With synthdp

    synthdp analyse . --model ols --formula '{formula}'

Models: ols, logit, probit, poisson, mean.

### With numpy and pandas

```python
import numpy as np
import pandas as pd
from pathlib import Path

copies = [pd.{pandas_read} for path in sorted(Path(".").glob("synthetic_*.{format}"))]
values = [{value} for copy in copies]
q = np.array([value.mean() for value in values])
u = np.array([value.var() / value.count() for value in values])
M = len(copies)

{python}
```

### With R

```r
files <- list.files(pattern = "^synthetic_.*[.]{format}$")
fits <- lapply(files, function(file) lm({r_formula}, data = {r_read}))
{r}
```

{reference}
"""
