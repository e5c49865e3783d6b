r"""Text that a spreadsheet would take for a formula, in text files.

Excel, LibreOffice and Google Sheets run a cell that starts with ``=``, ``+``, ``-`` or ``@`` as a formula, whatever
quotation marks surround it in the file; a tab, a carriage return or a line feed before it is skipped by some. A
quotation mark ``'`` before the text stops that. Text that already starts with such marks gets one more, so that taking
one away gives back exactly what was there. Numbers are not touched: a spreadsheet reads ``-5`` as the number it is.
"""

import re
from typing import Any

import pandas as pd
import pyarrow.compute as pc

_DANGEROUS = r"\A('*[=+\-@\t\r\n])"
_ESCAPED = re.compile(r"\A'('*[=+\-@\t\r\n])")


def escaped(column: Any) -> Any:
    """Return an Arrow column of text in which no value starts a formula.

    Examples
    --------
    >>> import pyarrow as pa
    >>> escaped(pa.array(["=1+1", "plain", "'@x"])).to_pylist()
    ["'=1+1", 'plain', "''@x"]
    """
    return pc.replace_substring_regex(column, _DANGEROUS, r"'\1")


def unescaped(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as it was before `escaped`, column names too. Cost O(n), and a search per distinct text."""
    found = {str(name): _plain(series) for name, series in frame.items()}
    return frame.assign(**found).set_axis([_word(str(name)) for name in frame.columns], axis=1)


def _word(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _plain(series: pd.Series) -> pd.Series:
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.rename_categories(lambda word: _word(word) if isinstance(word, str) else word)
    if not (pd.api.types.is_string_dtype(series.dtype) or series.dtype == object):
        return series
    words = {word: _word(word) for word in series.dropna().unique() if isinstance(word, str)}
    if all(word == plain for word, plain in words.items()):
        return series
    return series.map(words, na_action="ignore").astype(series.dtype)
