"""What a cell of a study depends on, as a checksum: data, settings, functions. None of it can be read back."""

import functools
import hashlib
import json
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np
import pandas as pd


def of_frame(frame: pd.DataFrame) -> str:
    """Return the checksum of a table: names, types and values.

    Examples
    --------
    >>> one = pd.DataFrame({"x": [1, 2]})
    >>> of_frame(one) == of_frame(one.copy()), of_frame(one) == of_frame(one[::-1])
    (True, False)
    """
    said = hashlib.sha256(repr([(str(name), str(kind)) for name, kind in frame.dtypes.items()]).encode())
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        try:
            values = pd.util.hash_pandas_object(column, index=False)
        except TypeError:  # values that cannot be hashed, such as lists
            values = pd.util.hash_pandas_object(column.astype(str), index=False)
        said.update(np.ascontiguousarray(values.to_numpy()).tobytes())
    return said.hexdigest()


def of_function(function: Callable[..., Any]) -> str:
    """Return the checksum of what a function does: its code, its defaults and what it encloses.

    Functions that it calls by a global name are known by that name alone.
    """
    if isinstance(function, functools.partial):
        return joined(of_function(function.func), [_value(one) for one in function.args], _named(function.keywords))
    inner = getattr(function, "__wrapped__", None) or getattr(function, "__func__", function)
    code = getattr(inner, "__code__", None)
    if code is None:
        own = getattr(vars(type(function)).get("__call__"), "__code__", None)
        return joined(_where(function), of_object(function), _code(own) if own is not None else None)
    cells = [_value(cell.cell_contents) for cell in getattr(inner, "__closure__", None) or ()]
    defaults = [_value(one) for one in getattr(inner, "__defaults__", None) or ()]
    bound = getattr(function, "__self__", None)
    return joined(
        _where(inner),
        _code(code),
        cells,
        defaults,
        _named(getattr(inner, "__kwdefaults__", None) or {}),
        None if bound is None else of_object(bound),
    )


def of_object(value: Any) -> str:
    """Return the checksum of an object as it would be pickled; of its type alone where it cannot be."""
    from joblib import hash as pickled

    if hasattr(value, "model_dump"):
        return joined(_where(type(value)), value.model_dump(mode="json"))
    try:
        return joined(_where(type(value)), pickled(value))
    except Exception:  # whatever an object of somebody else's raises when it is pickled
        return joined(_where(type(value)))


def of_part(value: Any) -> str:
    """Return the checksum of a mask, model or synthesizer of somebody's own: its settings, and what its methods do."""
    written = {name: of_function(one) for name, one in vars(type(value)).items() if hasattr(one, "__code__")}
    return joined(of_object(value), written)


def joined(*parts: Any) -> str:
    """Return the checksum of several parts that JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _value(value: Any) -> str:
    if isinstance(value, pd.DataFrame):
        return of_frame(value)
    return of_function(value) if callable(value) and not isinstance(value, type) else of_object(value)


def _named(values: Any) -> dict[str, str]:
    return {str(name): _value(one) for name, one in dict(values).items()}


def _where(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"


def _code(code: CodeType) -> list[Any]:
    """Return what makes up a function's code; line numbers and file names do not matter."""
    inner = [_code(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return [code.co_code.hex(), inner, list(code.co_names), list(code.co_varnames)]
