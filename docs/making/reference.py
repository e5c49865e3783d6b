"""The reference of the Python face: a page for the functions of ``synthdp`` itself, one for each room in it."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import synthdp

INTRO = """# Python

What `import synthdp` offers. Each function of the first part is also a command or a part of one; the rooms below have
pages of their own.
"""


def pages() -> dict[str, str]:
    """Return the pages of the reference by their path, the first one about ``synthdp`` itself."""
    face = [name for name in synthdp.__all__ if not name.startswith("_")]
    rooms = [name for name in face if inspect.ismodule(getattr(synthdp, name))]
    links = "\n".join(f"* [`synthdp.{room}`]({room}.md): {_first_line(getattr(synthdp, room))}" for room in rooms)
    own = "\n\n".join(_directive(getattr(synthdp, name)) for name in face if name not in rooms)
    found = {"python/index.md": f"{INTRO}\n{links}\n\n{own}\n"}
    return found | {f"python/{room}.md": _room(getattr(synthdp, room)) for room in rooms}


def _room(module: ModuleType) -> str:
    about = _markdown((module.__doc__ or "").strip())
    return "\n\n".join([f"# {module.__name__}", about, *_members(module, set())]) + "\n"


def _members(module: ModuleType, said: set[str]) -> Iterator[str]:
    """Yield what a room offers: functions and classes, then the modules in it, each below a heading of its own."""
    offered = _offered(module)
    for found in offered:
        ours = str(getattr(found, "__module__", "")).startswith("synthdp.")
        if ours and callable(found) and (directive := _directive(found)) not in said:
            said.add(directive)
            yield directive
    for found in filter(inspect.ismodule, offered):
        lines = list(_members(found, said))
        if lines:
            yield f"## {found.__name__} {{ #{found.__name__.replace('.', '-')} }}"
            yield _code((found.__doc__ or "").strip().partition("\n\n")[0])
            yield from lines


def _offered(module: ModuleType) -> list[object]:
    """Return what a module names as its own; a package that names nothing offers its modules."""
    if hasattr(module, "__all__") or "__dir__" in vars(module):
        return [getattr(module, name) for name in getattr(module, "__all__", dir(module))]
    if hasattr(module, "__path__"):
        inner = [found.name for found in pkgutil.iter_modules(module.__path__) if not found.name.startswith("_")]
        return [importlib.import_module(f"{module.__name__}.{name}") for name in inner]
    mine = [name for name, found in vars(module).items() if getattr(found, "__module__", "") == module.__name__]
    return [getattr(module, name) for name in mine if not name.startswith("_")]


def _directive(found: object) -> str:
    """Return what mkdocstrings replaces by the documentation of a function or class, found where it is defined."""
    return f"::: {found.__module__}.{getattr(found, '__qualname__', '')}"


def _first_line(module: ModuleType) -> str:
    return _code((module.__doc__ or "").strip().partition("\n")[0])


def _markdown(docstring: str) -> str:
    """Return a module's docstring with its examples in a fence."""
    text, _, examples = docstring.partition("Examples\n--------\n")
    return _code(text.strip()) + (f"\n\n```python\n{examples.strip()}\n```" if examples else "")


def _code(text: str) -> str:
    return text.replace("``", "`")
