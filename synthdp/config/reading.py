"""Reading a config: from a file with overrides, or from a mapping."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from synthdp.config.sentences import sentence
from synthdp.config.settings import Config
from synthdp.config.text import NOT_YAML, Loader, override
from synthdp.errors import InputError
from synthdp.io.streams import read_text

LARGEST = 4_000_000


def load(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read a config file; ``overrides`` are KEY=VALUE with dotted keys and YAML values.

    Raises
    ------
    InputError
        Listing everything that is wrong.
    """
    text = read_text(path, "config file")
    if len(text) > LARGEST:
        raise InputError(f"{path}: a config has at most {LARGEST:,} characters, found {len(text):,}; leave out levels.")
    try:
        raw = yaml.load(text, Loader)
    except NOT_YAML as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f" at line {mark.line + 1}" if mark is not None else ""
        raise InputError(f"{path}: not valid YAML{line}{f': {problem}' if problem else ''}.") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}: a mapping with at least `data:` is required, found none.")
    for change in overrides:
        override(raw, change)
    config = parse(raw)
    changed: dict[str, Any] = {"data": config.data.model_copy(update={"path": path.parent / config.data.path})}
    if config.release.recorded_in not in (None, "none"):
        folder = str(path.parent / str(config.release.recorded_in))
        changed["release"] = config.release.model_copy(update={"recorded_in": folder})
    judged: dict[str, Any] = {}
    rows = path.parent / config.evaluation.rows
    if rows.suffix and rows.is_file():
        judged["rows"] = str(rows)
    if config.evaluation.holdout is not None:
        judged["holdout"] = str(path.parent / config.evaluation.holdout)
    if judged:
        changed["evaluation"] = config.evaluation.model_copy(update=judged)
    return config.model_copy(update=changed)


def parse(raw: Mapping[str, Any]) -> Config:
    """Return the config of a mapping, or list everything that is wrong with it."""
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        problems = [sentence(raw, problem["loc"], problem["type"], problem["msg"]) for problem in error.errors()]
        raise InputError(*dict.fromkeys(problems)) from None
