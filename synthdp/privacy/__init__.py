"""What can be proved, and what it costs: mechanisms, accounting, trade-off curves, audits and the ledger.

Examples
--------
>>> import numpy as np
>>> import synthdp
>>> from synthdp.privacy import accounting, events
>>> round(accounting.accountants.epsilon(events.Repeated(events.Gaussian(0.1), 100), 1e-5), 3)
4.377
>>> synthdp.privacy.Simulated(np.random.default_rng(1)).name
'simulated'
"""

import importlib
from typing import Any

_HOME = {
    "Ledger": "ledger",
    "Secure": "mechanisms",
    "Simulated": "mechanisms",
    "divergences": "tradeoff.divergences",
}
_ROOMS = {
    "accounting": "accounting.accountants",
    "audit": "audit",
    "events": "events",
    "leakage": "leakage",
    "ledger": "ledger",
    "mechanisms": "mechanisms",
    "planning": "planning",
    "series": "series",
    "tradeoff": "tradeoff",
}


def __getattr__(name: str) -> Any:
    # whoever needs an event should not have to load the audits
    if name in _HOME:
        return getattr(importlib.import_module(f"synthdp.privacy.{_HOME[name]}"), name)
    if name in _ROOMS:
        importlib.import_module(f"synthdp.privacy.{_ROOMS[name]}")
        return importlib.import_module(f"synthdp.privacy.{name}")
    raise AttributeError(f"module 'synthdp.privacy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_HOME, *_ROOMS})
