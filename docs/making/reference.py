"""The reference of the Python face: a page for the functions of ``synthdp`` itself, one for each room in it."""

import inspect
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
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    inner = []
    for name in names:
        found = getattr(module, name)
        if inspect.ismodule(found):
            if found.__name__.startswith("synthdp."):
                inner.append(found)
        elif callable(found) and getattr(found, "__module__", "").startswith("synthdp."):
            if hasattr(module, "__all__") or found.__module__.startswith(module.__name__):
                directive = _directive(found)
                if directive not in said:
                    said.add(directive)
                    yield directive
    for found in inner:
        # a module of a module is an inner matter unless the room says that it offers it
        if hasattr(module, "__all__") or found.__name__.count(".") == module.__name__.count(".") + 1:
            lines = list(_members(found, said)) if found.__name__.count(".") <= 2 else []
            if lines:
                yield f"## {found.__name__} {{ #{found.__name__.replace('.', '-')} }}"
                yield _code((found.__doc__ or "").strip().partition("\n\n")[0])
                yield from lines


def _directive(found: object) -> str:
    """Return what mkdocstrings replaces by the documentation of a function or class, found where it is defined."""
    return f"::: {found.__module__}.{found.__qualname__}"  # type: ignore[attr-defined]


def _first_line(module: ModuleType) -> str:
    return _code((module.__doc__ or "").strip().partition("\n")[0])


def _markdown(docstring: str) -> str:
    """Return a module's docstring with its examples in a fence."""
    text, _, examples = docstring.partition("Examples\n--------\n")
    return _code(text.strip()) + (f"\n\n```python\n{examples.strip()}\n```" if examples else "")


def _code(text: str) -> str:
    return text.replace("``", "`")
