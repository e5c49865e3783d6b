"""Descriptions for the JSON Schema: what the docstrings of settings say of each field, for editors to show."""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from synthdp.table.schema import Settings

SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", re.DOTALL | re.MULTILINE)
FIELD = re.compile(r"^(\S[^\n]*)\n((?:[ ]{4}[^\n]*\n?|\n)+)", re.MULTILINE)
# what is the same wherever it stands, or too plain for a docstring
COMMON: Mapping[str, str] = {
    "method": "Which one this block describes; its other words are those of that method.",
    "copies": "How many copies are made.",
    "imputations": "How many completed originals copies are made of.",
    "shuffle": "Whether the rows of each copy are released in a random order of their own.",
    "repair": "Whether records that are still named alone and rightly take a neighbour's synthetic keys.",
    "format": "Of the public files; same: as the data came in.",
    "k": "Fewest records of a group.",
    "most_groups": "Into how many groups a column of numbers is cut at most.",
    "keep": "Probability that a level stays.",
    "alpha": "How far apart the levels are in standard deviations of the noise: 0 says nothing, large gives away.",
}


def describe(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with a description on every property that a docstring, its own or a parent's, tells of."""
    known = {cls.__name__: cls for cls in _all(Settings)}
    blocks = {schema.get("title", ""): schema, **schema.get("$defs", {})}
    for name, block in blocks.items():
        texts = dict(COMMON)
        for cls in reversed(known[name].__mro__ if name in known else ()):
            texts |= fields(cls.__dict__.get("__doc__"))
        for field, about in block.get("properties", {}).items():
            if "description" not in about and field in texts:
                about["description"] = texts[field]
        if "description" in block:
            # the fields have theirs now, and an editor shows one paragraph
            block["description"] = " ".join(block["description"].split("\n\n")[0].split())
    return schema


def fields(docstring: str | None) -> dict[str, str]:
    """Return what a numpydoc docstring says of each parameter.

    Examples
    --------
    >>> fields('''A mask.
    ...
    ... Parameters
    ... ----------
    ... low, high
    ...     The bounds,
    ...     both included.
    ... ''')
    {'low': 'The bounds, both included.', 'high': 'The bounds, both included.'}
    """
    section = SECTION.search(inspect.cleandoc(docstring or ""))
    found: dict[str, str] = {}
    for names, text in FIELD.findall(section[1]) if section else ():
        found |= {name.strip(): " ".join(text.split()) for name in names.split(",")}
    return found


def _all(cls: type[Settings]) -> Iterator[type[Settings]]:
    for child in cls.__subclasses__():
        yield child
        yield from _all(child)
