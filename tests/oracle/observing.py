"""What the oracle sees: commands by the command line's own entry, files as bytes, numbers as numbers, pages as text.

Nothing here names a module of synthdp other than its public face, so that the oracle outlives any move inside.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

CONFIGS = Path(__file__).parent / "configs"
# what is said only where a stage takes long, which depends on the machine
_VERDICT = r"verdict on the draws: [^\n]*(?:\n(?!\w+: )[^\n]*follow)?"
PATIENCE = re.compile(rf"^(?:[a-z]+: \d+ of \d+|{_VERDICT})\n", re.MULTILINE)
# elapsed times, dates and versions differ from run to run or from release to release; nothing else may
TIMES = re.compile(r"\b\d+(?:\.\d+)?(?: × 10[⁻⁰-⁹]+)? (?:s|min|h)\b|\d+:\d\d:\d\d")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
VERSIONED = {"release.json": re.compile(rb'("name": "synthdp",\s+"version": )"[^"]*"')}
# the year of publication, where the config does not state it
DATED = ("CITATION.cff", "datacite.json", "datasheet.md", "ddi.xml", "dublin_core.xml")
TIMED_TABLES = ("Time per stage", "Programs and versions")
UNREPEATABLE = {"run", "started", "finished", "timings", "versions", "config_sha256"}


def synthdp(*arguments: str, timed: bool = True) -> dict[str, Any]:
    """Run a command in this process, in the current folder; return its exit code and what it printed."""
    from synthdp.cli import main

    out, err = io.StringIO(), io.StringIO()
    before, columns = sys.argv, os.environ.get("COLUMNS")
    sys.argv, os.environ["COLUMNS"] = ["synthdp", *arguments], "80"
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as leaving:
        code = leaving.code
    finally:
        sys.argv = before
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
    return {"exit": code or 0, "out": plain(out.getvalue(), timed), "err": plain(err.getvalue(), timed)}


def plain(text: str, timed: bool = True) -> str:
    """Return text without this machine's folder, and without moments and durations."""
    text = text.replace(str(Path.cwd()), "HERE")
    return TIMES.sub("TIME", MOMENT.sub("MOMENT", PATIENCE.sub("", text))) if timed else text


def run(config: str, *arguments: str, out: str | None = None) -> dict[str, Any]:
    """Run a config of the oracle and return everything it left, as `results` does."""
    folder = out or f"out_{config}"
    said = synthdp("run", f"{config}.yaml", "--out", folder, *arguments)
    return {"said": said, **results(Path(folder))}


def evaluate(config: str, *arguments: str, out: str) -> dict[str, Any]:
    """Judge files by a config of the oracle and return everything that was written."""
    said = synthdp("evaluate", f"{config}.yaml", "--out", out, *arguments)
    return {"said": said, **judged(Path(out))}


def results(out: Path) -> dict[str, Any]:
    """Return the checksums of public files, and the numbers and words of confidential ones."""
    found: dict[str, Any] = {"public": public(out / "public"), **judged(out / "confidential")}
    manifest = out / "confidential" / "manifest.json"
    if manifest.exists():
        held = repeatable(json.loads(manifest.read_text()))
        found["manifest"] = held | {"public": sorted(held.get("public") or ())}
    at_risk = out / "confidential" / "records_at_risk.csv"
    if at_risk.exists():
        found["records_at_risk"] = table(pd.read_csv(at_risk))
    rows = out / "confidential" / "rows.parquet"
    if rows.exists():
        found["rows"] = digest(pd.read_parquet(rows))
    return found


def public(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every public file.

    The version of synthdp in ``release.json`` and the year in documents are blanked before, and SHA256SUMS, which
    repeats that file's checksum, is read by ``synthdp verify`` instead.
    """
    found = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name == "SHA256SUMS":
            continue
        content = path.read_bytes()
        if path.name in VERSIONED:
            content = VERSIONED[path.name].sub(rb'\1"VERSION"', content)
        if path.name in DATED:
            content = content.replace(str(datetime.now(UTC).year).encode(), b"YEAR")
        found[path.name] = hashlib.sha256(content).hexdigest()
    return found


def judged(folder: Path) -> dict[str, Any]:
    """Return metrics.json without its timings, and what the report says."""
    found: dict[str, Any] = {}
    if (folder / "metrics.json").exists():
        found["metrics"] = repeatable(json.loads((folder / "metrics.json").read_text()))
    if (folder / "report.html").exists():
        found["report"] = Page.of((folder / "report.html").read_text(encoding="utf-8"))
    return found


def repeatable(value: Any) -> Any:
    """Return what a file of JSON says without moments, durations, versions and the random names of runs."""
    if isinstance(value, dict):
        return {name: repeatable(inner) for name, inner in value.items() if name not in UNREPEATABLE}
    if isinstance(value, list):
        return [repeatable(inner) for inner in value]
    return plain(value) if isinstance(value, str) else value


class Page(HTMLParser):
    """Collects the ids, headings and words of a page, without scripts, styles and tables of times and versions."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.headings: list[str] = []
        self.words: list[str] = []
        self.figures = ""
        self._silent = ""
        self._heading = ""
        self._table: int | None = None

    @classmethod
    def of(cls, text: str) -> dict[str, Any]:
        """Return what a page says."""
        page = cls()
        page.feed(text)
        page.close()
        figures = json.loads(page.figures) if page.figures else []
        drawn = [
            {
                "id": figure["id"],
                "title": (figure["layout"].get("title") or {}).get("text"),
                "traces": [f"{trace.get('type')}: {trace.get('name')}" for trace in figure["data"]],
            }
            for figure in figures
        ]
        return {"ids": page.ids, "headings": page.headings, "words": page.words, "figures": drawn}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if tag in ("script", "style"):
            self._silent = "figures" if given.get("id") == "figures" else tag
        elif tag in ("h1", "h2", "h3", "h4"):
            self._heading = tag
        elif tag == "table":
            self._table = len(self.words)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._silent = ""
        elif tag == self._heading:
            self._heading = ""
        elif tag == "table" and self._table is not None:
            if any(word in TIMED_TABLES for word in self.words[self._table :]):
                del self.words[self._table :]
            self._table = None

    def handle_data(self, data: str) -> None:
        if self._silent == "figures":
            self.figures += data
        words = "" if self._silent else " ".join(plain(data).split())
        if words:
            self.words.append(words)
            if self._heading:
                self.headings.append(f"{self._heading} {words}")


def settings(config: str) -> dict[str, Any]:
    """Return a config of the oracle as a mapping, without the path of its data."""
    read = yaml.safe_load((CONFIGS / f"{config}.yaml").read_text(encoding="utf-8"))
    return {name: value for name, value in read.items() if name != "data"}


def digest(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the shape, the types and the SHA-256 of a table's values, every float to its last bit."""
    text = frame.to_csv(index=False, lineterminator="\n", date_format="%Y-%m-%dT%H:%M:%S")
    types = {str(name): str(frame[name].dtype) for name in frame.columns}
    return {"rows": len(frame), "types": types, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def table(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a table as lists of plain values."""
    return {str(name): simple(frame[name].tolist()) for name in frame.columns}


def simple(value: Any) -> Any:
    """Return a value as JSON can hold it; numbers that are none become text."""
    if isinstance(value, dict):
        return {str(name): simple(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [simple(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return simple(value.tolist())
    if isinstance(value, np.generic):
        return simple(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
