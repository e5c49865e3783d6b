"""Draws of a PyMC model's variables, and how PyMC is called: compiled by numba, and silent."""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from synthdp.microdata import Floats

COMPILE = {"mode": "NUMBA"}  # no C compiler is needed


@dataclass(frozen=True, repr=False)
class Draws:
    """Draws of a model's variables, and what the release says of them.

    Parameters
    ----------
    values
        Of each variable, draws × its shape.
    """

    values: Mapping[str, Floats]
    row: Mapping[str, object]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def pick(self, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return one draw of θ."""
        at = int(rng.integers(len(self)))
        return {name: values[at] for name, values in self.values.items()}


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PyMC from talking: what matters of a run is in its diagnostics."""
    loggers = [logging.getLogger(name) for name in ("pymc", "pytensor")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
