"""The text of a release's README; what stands in braces depends on the release (see ``guide``)."""

SINGLE = """\
With a single data set b cannot be computed: you get estimates, but no valid interval.

"""
NOT_RUBIN = """\
**Not Rubin's rule.** Software for missing data (`mi estimate` in Stata; `MIcombine` of mitools and `pool` of mice in R)
uses T = ū + (1 + 1/M) b. That is right when values were missing, and wrong here: the intervals come out too wide."""
IMPUTED = """\
Values were missing and have been imputed, so this is Rubin's rule, which software for missing data (`mi estimate` in
Stata; `MIcombine` of mitools and `pool` of mice in R) applies by itself where each file is one imputation."""
REGRESSION = """\

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
MICE = """\

The package mice has this rule, too (`pool.syn`, not `pool`):

```r
summary(mice::pool.syn(mice::as.mira(fits)), conf.int = TRUE)
```
"""
STATA = """\
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
NO_STATA = "Stata does not read these files as they are; with them as .dta or .csv, apply the formula above by a loop."
FORMULAS = """
A spreadsheet runs text that starts with `= + - @` as a formula. Open these files in statistical software, or import
their columns as text.
"""
ESCAPED = """
A spreadsheet would run text that starts with `= + - @` (or a tab) as a formula, so such text and such column names have
a `'` before them, which `synthdp analyse` takes away; elsewhere, take away one yourself. Numbers are as they are.
"""
README = """\
# A synthetic public-use file

{files} of {records} records, made by synthdp to stand for a confidential file. Analyse each data set,
then combine the results as below.

- drawn anew from a model: {replaced}
- as in the confidential file: {kept}{derived}{conditional}

`codebook.csv` describes the columns, `release.json` says how the data were made, and `sha256sum -c SHA256SUMS` (or
`synthdp verify .`) checks that nothing was damaged on the way.

The rows of each data set are in an order of their own: row 1 of one is not the person in row 1 of another. Do not link,
stack or average the data sets.
{spreadsheet}
## What is promised about privacy

{privacy}

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
