"""The methods that ``compare`` lays beside each other: each is the config with some of its blocks replaced."""

from collections.abc import Mapping
from typing import Any

from synthdp.config.settings import Config
from synthdp.errors import InputError

BLOCKS = ("variables", "constraints", "groups", "masks", "masks_by_group", "synthesis")
"""The blocks that a method may replace; data, analyses and measures are the same for all of them."""


def is_blocks(block: Mapping[str, Any]) -> bool:
    """Return whether a method names blocks of the config, rather than being a synthesis block itself."""
    return "method" not in block and any(key in BLOCKS for key in block)


def method_config(config: Config, name: str, block: Any, parsed: Any) -> Config:
    """Return the config with what a method replaces.

    A number of copies that the config's own synthesis block states holds for methods that state none: methods are
    compared with equally many copies.

    Parameters
    ----------
    name
        What the method is called.
    block
        A synthesis block, or a mapping of whole blocks: ``{synthesis: …, masks: …}``.
    parsed
        The function that reads a config from a mapping.

    Raises
    ------
    InputError
        Naming the method and the key.
    """
    where = f"methods.{name}"
    if not isinstance(block, Mapping):
        raise InputError(f"{where}: must be a block of settings, such as {{method: mi}}, found {_kind(block)}.")
    whole = is_blocks(block)
    given = dict(block) if whole else {"synthesis": dict(block)}
    wrong = [key for key in given if key not in BLOCKS]
    if wrong:
        raise InputError(
            *(f"{where}.{key}: a method may replace {', '.join(BLOCKS)}, and nothing else." for key in wrong)
        )
    synthesis = given.get("synthesis")
    if isinstance(synthesis, Mapping) and "copies" not in synthesis and "copies" in config.synthesis.model_fields_set:
        given["synthesis"] = {**synthesis, "copies": config.synthesis.copies}
    try:
        found = parsed({"data": {"path": "in memory"}, **given})
    except InputError as error:
        cut = "" if whole else "synthesis"
        raise InputError(
            *(f"{where}{'.' if whole else ''}{problem.removeprefix(cut)}" for problem in error.problems)
        ) from None
    return config.model_copy(update={key: getattr(found, key) for key in given})


def _kind(value: Any) -> str:
    return "nothing" if value is None else "text" if isinstance(value, str) else type(value).__name__
