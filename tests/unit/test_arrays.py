"""Loops that numba compiles: kept between runs where that is possible, and quick to compile."""

import importlib
import inspect
import pkgutil

from numba.core import caching
from numba.core.registry import CPUDispatcher

import synthdp
from synthdp import arrays


def double(x: float) -> float:
    return 2 * x


def test_a_loop_works_where_nothing_can_be_written(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert arrays.compiled(double)(1.5) == 3.0


def test_a_loop_is_kept_between_runs():
    assert arrays.compiled(double)._cache.cache_path


def loops() -> dict[str, CPUDispatcher]:
    found = {}
    for module in pkgutil.walk_packages(synthdp.__path__, "synthdp."):
        if module.name.startswith(("synthdp.evaluation.", "synthdp.tagging.", "synthdp.imputation.trees.")):
            for name, one in vars(importlib.import_module(module.name)).items():
                if isinstance(one, CPUDispatcher) and one.py_func.__module__ == module.name:
                    found[f"{module.name}.{name}"] = one
    return found


def test_no_loop_has_defaults():
    # numba does not find a loop whose default is an array in its cache: it would be compiled in every process
    found = loops()
    assert len(found) > 30
    for name, loop in found.items():
        assert all(one.default is one.empty for one in inspect.signature(loop.py_func).parameters.values()), name
