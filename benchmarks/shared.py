"""What benchmarks share with the studies, found from whatever folder they are started in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reports.markdown import table
from reports.study import SHARED

__all__ = ["SHARED", "table"]
