"""What README.md shows is what happens: its program is run, its config is read."""

import contextlib
import io
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from synthdp.config import parse
from synthdp.stages.intake import prepare

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")

# libraries of linear algebra differ in the last digits, and a draw near a rounding border may fall on either side
RELATIVE = 0.02


def block(language: str) -> str:
    found, *_ = re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)
    return str(found)


def words(text: str) -> list[str | float]:
    numbers = re.compile(r"-?\d+(\.\d+)?")
    return [float(word) if numbers.fullmatch(word) else word for word in re.findall(r"-?[\d.]+\d|\w+|[^\w\s-]", text)]


def test_the_program_prints_what_stands_below_it():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block("python"), "README.md", "exec"), {})
    shown, found = words(block("text")), words(printed.getvalue())
    assert len(shown) == len(found)
    for expected, actual in zip(shown, found, strict=True):
        assert actual == (pytest.approx(expected, rel=RELATIVE) if isinstance(expected, float) else expected)


def test_the_config_fits_the_file_it_names():
    config = parse(yaml.safe_load(block("yaml")))
    data = prepare(pd.read_csv(ROOT / "data" / config.data.path), config)
    assert [column.name for column in data.schema.replaced()] == list(config.masks)
