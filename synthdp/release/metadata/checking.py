"""Whether the documents of a release can be read, and describe the release they lie beside."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as xml

from synthdp.release.metadata.ddi import NAMESPACE

_RELEASE = "release.json"


def document_problems(folder: Path, release: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the documents that ``release.json`` lists, one sentence each.

    Notes
    -----
    Releases made before 0.6 list none. What a person may write otherwise, such as a title, is not compared.
    """
    problems = []
    for name in release.get("documents") or ():
        path = folder / name
        try:
            if path.suffix == ".json":
                json.loads(path.read_bytes())
            elif path.suffix == ".xml":
                problems += _described(path, xml.parse(path).getroot(), release)
            else:
                path.read_text(encoding="utf-8")
        except (OSError, ValueError, RecursionError, xml.ParseError):
            problems.append(f"{path}: cannot be read as what its name says.")
    return problems


def _described(path: Path, root: xml.Element, release: Mapping[str, Any]) -> list[str]:
    """Hold the columns and files of a DDI codebook against the release."""
    if root.tag != f"{{{NAMESPACE}}}codeBook":
        return []
    within = {"ddi": NAMESPACE}
    columns = [one.get("name") for one in root.findall("ddi:dataDscr/ddi:var", within)]
    files = [one.get("URI") for one in root.findall("ddi:fileDscr", within)]
    stated = [str(column.get("name")) for column in release.get("columns") or ()]
    problems = []
    # a name with characters that XML cannot hold is written with question marks
    if len(columns) != len(stated) or any(a != b and "?" not in str(a) for a, b in zip(columns, stated, strict=True)):
        problems.append(f"{path}: the columns are not those of {_RELEASE}.")
    if files != list(release["files"]):
        problems.append(f"{path}: the synthetic files are not those of {_RELEASE}.")
    return problems
