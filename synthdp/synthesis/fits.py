"""Fits that are made once: a search asks for the same fit again and again, under masks of every strength.

A model is fitted to X given Z, and W adds nothing about θ once X is seen: how strong masks are makes no difference to
the fit, unless the model sees risk groups or numbers of neighbours. Trials of a search share their streams of
randomness too, so that they would all find the same fit, digit by digit. Draws that are told apart by their streams
have fits of their own all the same.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from synthdp.imputation.model import Association, Posterior, Task

# records of all fits that are held at once
MOST_RECORDS = 100_000


@dataclass(eq=False, repr=False)
class Fits:
    """The fits of some models to some files, held while they are asked for.

    Parameters
    ----------
    most
        How many records they may have been made of, all of them together; the last one is held whatever its size.
    """

    most: int = MOST_RECORDS
    made: int = 0
    _held: OrderedDict[bytes, tuple[Posterior, int]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def __repr__(self) -> str:
        return f"Fits({len(self._held)} held)"

    def of(self, model: Association, task: Task, *, rng: np.random.Generator) -> Posterior:
        """Return the fit of a model, one that is held where the same was asked for with the same randomness."""
        key = _key(model, task, rng)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][0]
        found = model.fit(task, rng=rng)
        with self._lock:
            self.made += 1
            self._held[key] = found, len(task.data)
            while len(self._held) > 1 and sum(size for _, size in self._held.values()) > self.most:
                self._held.popitem(last=False)
        return found


def _key(model: Association, task: Task, rng: np.random.Generator) -> bytes:
    """Return what a fit depends on: all that the model sees, its settings, and where its randomness begins."""
    found = hashlib.blake2b(digest_size=16)
    schema = task.data.schema
    found.update(repr((model.model_dump_json(), task.sweeps, rng.bit_generator.state)).encode())
    found.update(schema.model_dump_json().encode())
    arrays: list[npt.NDArray[Any]] = [task.predictors.matrix, task.predictors.prior_sd(1.0)]
    arrays += [task.data.values(column.name) for column in schema.columns]
    parts: tuple[Mapping[str, npt.NDArray[Any]], ...] = (task.working, task.applies)
    arrays += [array for part in parts for _, array in sorted(part.items())]
    for array in arrays:
        found.update(repr((array.shape, array.dtype.str)).encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()
