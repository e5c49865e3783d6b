"""Simulation studies, one folder each; their results are committed beside the code that makes them."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.study import Study

STUDIES = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/study.py")))


def load(name: str) -> "Study":
    """Return a study by the name of its folder."""
    found: Study = importlib.import_module(f"reports.{name}.study").STUDY
    return found
