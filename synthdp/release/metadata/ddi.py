"""The codebook as archives exchange it: DDI Codebook 2.5, an XML file that data catalogues and statistical tools read.

The order of elements is the schema's. Statistics are those of the copies.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as xml

import pandas as pd

from synthdp.privacy.guarantees import NOT_PRIVATE
from synthdp.release.metadata.about import NOT_STATED, About
from synthdp.release.metadata.summaries import MOST_LEVELS, Summary, public_column, summarise
from synthdp.table.schema import Column, Kind

NAMESPACE = "ddi:codebook:2_5"
_SCHEMA = "http://www.ddialliance.org/Specification/DDI-Codebook/2.5/XMLSchema/codebook.xsd"
_NATURE = {Kind.NOMINAL: "nominal", Kind.BINARY: "nominal", Kind.ORDINAL: "ordinal", Kind.COUNT: "ratio"}
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ROLE_WORDS: Mapping[str, str] = {
    "replaced": "Drawn anew from a model; not the values of the confidential file.",
    "kept": "As in the confidential file.",
    "derived": "Computed from other columns of the same synthetic file.",
}
STATISTICS = "Statistics are means over the synthetic files; the smallest and largest value are those of all of them."


def ddi(about: About, codebook: pd.DataFrame, copies: Sequence[pd.DataFrame]) -> bytes:
    """Return ``ddi.xml``.

    Parameters
    ----------
    about
        The release as catalogues see it.
    codebook
        The contents of ``codebook.csv``.
    copies
        The released tables, for the statistics.
    """
    root = xml.Element(
        "codeBook",
        {
            "xmlns": NAMESPACE,
            "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "xsi:schemaLocation": f"{NAMESPACE} {_SCHEMA}",
            "version": "2.5",
        },
    )
    _study(root, about)
    for place, name in enumerate(about.files, start=1):
        _file(root, about, name, f"F{place}")
    data = add(root, "dataDscr")
    files = " ".join(f"F{place}" for place in range(1, len(about.files) + 1))
    told = {column["name"]: column for column in about.columns}
    for place, row in enumerate(codebook.astype(object).to_dict("records"), start=1):
        column = public_column({str(name): cell for name, cell in row.items()})
        _variable(data, f"V{place}", files, column, row, told.get(column.name, {}), summarise(column, copies))
    for name, label in (("README.md", "How to analyse the synthetic files"), ("datasheet.md", "Data sheet")):
        add(add(root, "otherMat", level="study", URI=name), "labl", label)
    return written(root)


def written(root: xml.Element) -> bytes:
    """Return an XML file."""
    xml.indent(root, space=" ")
    text: str = xml.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def add(parent: xml.Element, tag: str, text: str | None = None, **attributes: str) -> xml.Element:
    """Return a new element; characters that XML cannot hold become question marks."""
    found = xml.SubElement(parent, tag, {name: _FORBIDDEN.sub("?", value) for name, value in attributes.items()})
    if text is not None:
        found.text = _FORBIDDEN.sub("?", text)
    return found


def _study(root: xml.Element, about: About) -> None:
    study = add(root, "stdyDscr")
    citation = add(study, "citation")
    titles = add(citation, "titlStmt")
    add(titles, "titl", about.title)
    if about.publication.identifier:
        add(titles, "IDNo", about.doi or about.publication.identifier, agency="DOI" if about.doi else "publisher")
    makers = add(citation, "rspStmt")
    for name in [creator.name for creator in about.creators] or [NOT_STATED]:
        add(makers, "AuthEnty", name)
    made = add(citation, "prodStmt")
    add(made, "copyright", about.publication.licence or f"Licence: {NOT_STATED}")
    add(made, "software", "synthdp")
    given = add(citation, "distStmt")
    add(given, "distrbtr", about.publisher)
    add(given, "contact", about.contact, **({"email": about.mail} if about.mail else {}))
    add(given, "distDate", str(about.year), date=str(about.year))
    add(citation, "biblCit", about.citation)
    info = add(study, "stdyInfo")
    add(info, "abstract", about.description)
    add(add(info, "sumDscr"), "dataKind", "Synthetic microdata")
    add(info, "notes", STATISTICS)
    access = add(study, "dataAccs")
    use = add(access, "useStmt")
    add(use, "citReq", about.citation)
    add(use, "conditions", about.licence.words if about.licence else f"Conditions of use: {NOT_STATED}")
    add(use, "disclaimer", str((about.release.get("privacy") or {}).get("statement") or NOT_PRIVATE))
    add(
        access,
        "notes",
        "Analyse each synthetic file and combine the results as README.md says; do not link, stack or average them.",
    )


def _file(root: xml.Element, about: About, name: str, place: str) -> None:
    text = add(add(root, "fileDscr", ID=place, URI=name), "fileTxt")
    add(text, "fileName", name)
    size = add(text, "dimensns")
    add(size, "caseQnty", str(about.release["records"]))
    add(size, "varQnty", str(len(about.columns)))
    add(text, "format", str(about.release["format"]))


def _variable(
    data: xml.Element,
    place: str,
    files: str,
    column: Column,
    row: Mapping[Any, Any],
    told: Mapping[str, str],
    found: Summary,
) -> None:
    kind = column.kind
    attributes = {"ID": place, "name": column.name, "files": files, "nature": _NATURE.get(kind, "interval")}
    attributes["intrvl"] = "contin" if kind in (Kind.CONTINUOUS, Kind.SEMICONTINUOUS) else "discrete"
    attributes["representationType"] = "datetime" if kind is Kind.DATE else "code" if kind.categorical else "numeric"
    if (decimals := _number(row.get("decimals"))) is not None:
        attributes["dcml"] = f"{decimals:g}"
    variable = add(data, "var", **attributes)
    label = row.get("label")
    add(variable, "labl", label if isinstance(label, str) else column.name)
    bounds = {"min": _number(row.get("lower")), "max": _number(row.get("upper"))}
    if kind is not Kind.DATE and all(one is not None for one in bounds.values()):
        ends = {name: _shown(one) for name, one in bounds.items() if one is not None}
        add(add(variable, "valrng"), "range", UNITS="INT" if kind is Kind.COUNT else "REAL", **ends)
    if isinstance(row.get("applies_when"), str):
        add(variable, "universe", f"Records for which {row['applies_when']}")
    counts = {"vald": found.valid, "invd": found.missing}
    for name, value in (counts | found.figures).items():
        add(variable, "sumStat", _shown(value), type=name)
    add(variable, "txt", ROLE_WORDS.get(str(row["role"]), str(row["role"])))
    _categories(variable, column, row, found)
    if formula := told.get("formula"):
        add(add(variable, "derivation"), "drvcmd", formula)
    add(variable, "varFormat", type="character" if _worded(column) else "numeric")
    if column.kind.categorical and len(column.levels) > MOST_LEVELS:
        add(variable, "notes", f"{len(column.levels)} levels, listed in codebook.csv.")


def _categories(variable: xml.Element, column: Column, row: Mapping[Any, Any], found: Summary) -> None:
    if not column.kind.categorical or len(column.levels) > MOST_LEVELS:
        return
    labels = json.loads(row["value_labels"]) if isinstance(row.get("value_labels"), str) else {}
    for level, percent in zip(column.levels, found.shares or [None] * len(column.levels), strict=True):
        category = add(variable, "catgry")
        add(category, "catValu", str(level))
        if str(level) in labels:
            add(category, "labl", str(labels[str(level)]))
        if percent is not None:
            add(category, "catStat", _shown(percent), type="percent")


def _worded(column: Column) -> bool:
    return column.kind is Kind.DATE or any(isinstance(level, str) for level in column.levels)


def _number(cell: object) -> float | None:
    return float(cell) if isinstance(cell, int | float) and cell == cell else None


def _shown(value: float) -> str:
    return f"{value:.6g}"
