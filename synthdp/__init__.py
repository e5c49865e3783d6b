"""Multiply-imputed synthetic public-use files whose statistics can be trusted, with measured disclosure risk.

Examples
--------
>>> import synthdp
>>> voters = synthdp.datasets.anes96()
>>> settings = {
...     "variables": {"age": {"role": "replace", "key": True, "tolerance": 3}},
...     "masks": {"age": {"method": "gaussian", "sd": 1.0}},
... }
>>> release = synthdp.synthesize(voters, settings, seed=1)
>>> release
Release(da_mi: 5 copies x 944 records)
>>> pooled = synthdp.pool(release.copies, model="logit", formula="vote ~ age + PID")
>>> pooled.names
('Intercept', 'age', 'PID')
"""

import importlib
import os
import sys
from typing import Any

if sys.platform != "win32":
    import resource

    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        # Arrow's own allocator would take a gigabyte of the addresses at once; it is chosen when Arrow is loaded
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

__version__ = "0.4.0"

_HOME = {"read": "table.io", "synthesize": "api", "pool": "api", "evaluate": "api", "compare": "api"}
_ROOMS = ("datasets", "dp", "privacy")
__all__ = ["__version__", "compare", "datasets", "dp", "evaluate", "pool", "privacy", "read", "synthesize"]


def __getattr__(name: str) -> Any:
    # numpy and pandas take longer to load than `synthdp --help` may take, so nothing is loaded before it is used
    if name in _HOME:
        return getattr(importlib.import_module(f"synthdp.{_HOME[name]}"), name)
    if name in _ROOMS:
        return importlib.import_module(f"synthdp.{name}")
    raise AttributeError(f"module 'synthdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    # tab completion shows what is meant to be used, loaded or not
    return __all__
