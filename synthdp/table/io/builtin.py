"""The formats that are built in."""

from functools import partial

from synthdp.table.io.formats import Format
from synthdp.table.io.reading import read_columnar, read_text
from synthdp.table.io.statistical import read_statistical
from synthdp.table.io.statistical_writing import StatisticalFormat, encode_statistical, name_problems
from synthdp.table.io.writing import write_feather, write_parquet, write_text


def _statistical(
    name: StatisticalFormat, endings: tuple[str, ...], *, python: str, r: str, stata: str, lettered: bool = False
) -> Format:
    return Format(
        name=name,
        endings=endings,
        read=read_statistical,
        write=partial(encode_statistical, format=name),
        python=python,
        r=r,
        stata=stata,
        lettered=lettered,
        refuses=partial(name_problems, format=name),
    )


CSV = Format(
    name="csv",
    endings=(".csv", ".txt"),
    read=read_text,
    write=partial(write_text, separator=","),
    python="read_csv(path)",
    r="read.csv(file, check.names = FALSE)",
    stata='import delimited "`file\'", clear case(preserve)',
    text=True,
)
TSV = Format(
    name="tsv",
    endings=(".tsv",),
    read=read_text,
    write=partial(write_text, separator="\t"),
    python='read_csv(path, sep="\\t")',
    r="read.delim(file, check.names = FALSE)",
    stata='import delimited "`file\'", clear case(preserve) delimiters(tab)',
    text=True,
)
PARQUET = Format(
    name="parquet",
    endings=(".parquet",),
    read=read_columnar,
    write=write_parquet,
    python="read_parquet(path)",
    r="arrow::read_parquet(file)",
)
FEATHER = Format(
    name="feather",
    endings=(".feather",),
    read=read_columnar,
    write=write_feather,
    python="read_feather(path)",
    r="arrow::read_feather(file)",
)
DTA = _statistical(
    "dta",
    (".dta",),
    python="read_stata(path, convert_categoricals=False)",
    r="haven::read_dta(file)",
    stata='use "`file\'", clear',
    lettered=True,
)
SAV = _statistical(
    "sav",
    (".sav", ".zsav", ".por"),
    python="read_spss(path, convert_categoricals=False)",
    r="haven::read_sav(file)",
    stata='import spss using "`file\'", clear',
)
XPT = _statistical(
    "xpt",
    (".xpt", ".sas7bdat"),
    python='read_sas(path, encoding="utf-8")',
    r="haven::read_xpt(file)",
    stata='import sasxport5 "`file\'", clear',
)
