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
>>> pooled = synthdp.pool(release, model="logit", formula="vote ~ age + PID")
>>> pooled.names
('Intercept', 'age', 'PID')
"""

# tab completion that reads this file shows every plain name, so what is not to be used begins with a line
import importlib as _importlib
import os as _os
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from synthdp import datasets, dp, privacy
    from synthdp.api import evaluate, pool, read, synthesize, tune

if _sys.platform != "win32":
    import resource as _resource

    if _resource.getrlimit(_resource.RLIMIT_AS)[0] != _resource.RLIM_INFINITY:
        # Arrow's own allocator would take a gigabyte of the addresses at once; it is chosen when Arrow is loaded
        _os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

__version__ = "0.8.0"

_HOME = {"read": "api", "synthesize": "api", "pool": "api", "evaluate": "api", "compare": "api", "tune": "api"}
_ROOMS = ("datasets", "dp", "privacy")
__all__ = ["__version__", "compare", "datasets", "dp", "evaluate", "pool", "privacy", "read", "synthesize", "tune"]


def __getattr__(name: str) -> _Any:
    # numpy and pandas take longer to load than `synthdp --help` may take, so nothing is loaded before it is used
    if name in _HOME:
        return getattr(_importlib.import_module(f"synthdp.{_HOME[name]}"), name)
    if name in _ROOMS:
        return _importlib.import_module(f"synthdp.{name}")
    raise AttributeError(f"module 'synthdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    # tab completion shows what is meant to be used, loaded or not
    return __all__
