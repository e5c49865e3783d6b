"""The only places inside synthdp that the oracle knows: when a registry moves, its new home is written here."""

from collections.abc import Iterable
from typing import Any, get_args

import numpy as np


def simulated(seed: int) -> Any:
    """Return the seeded source of DP noise; its address on the public face is ``synthdp.privacy.Simulated``."""
    from synthdp.privacy.mechanisms import Simulated

    return Simulated(np.random.default_rng(seed))


def rules() -> Iterable[str]:
    """Return the combining rules by name."""
    from synthdp.inference.rules import RULES

    return RULES


def functions() -> Iterable[str]:
    """Return the functions of expressions by name."""
    from synthdp.table.expressions import FUNCTIONS, SPECIAL

    return (*FUNCTIONS, *SPECIAL)


def measures() -> Iterable[str]:
    """Return the measures of risk by name."""
    from synthdp.evaluation.measure import Need
    from synthdp.evaluation.measures import RISK, measure

    return [name for name in RISK if Need.PLAN not in measure(name).needs]


def readable() -> Iterable[str]:
    """Return the endings of files that can be read."""
    from synthdp.table.io import FORMATS

    return [ending for format in FORMATS.values() for ending in format.endings]


def guesses() -> Iterable[str]:
    """Return the methods that ``init`` knows."""
    from synthdp.config.proposal import Method

    return get_args(Method)


def commands() -> dict[str, list[str]]:
    """Return the options of every command, ``dp mean`` and its like too."""
    import typer

    from synthdp.cli import app

    found: dict[str, list[str]] = {}

    def walk(command: Any, name: str) -> None:
        inner = getattr(command, "commands", None)
        if inner is None:
            found[name] = sorted(option for one in command.params for option in one.opts if option.startswith("--"))
        for word, sub in (inner or {}).items():
            walk(sub, f"{name} {word}".strip())

    walk(typer.main.get_command(app), "")
    return found
