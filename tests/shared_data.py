"""Where the shared data sets are: the folder that the environment variable SYNTHDP_SHARED_DATA names.

They are not ours to pass on, so that tests which read them are skipped where the variable is unset.
"""

import os
from pathlib import Path

SHARED = Path(os.environ.get("SYNTHDP_SHARED_DATA") or Path(__file__).with_name("shared-data")).absolute()
