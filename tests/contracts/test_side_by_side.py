"""The page that sets our lines beside other tools' runs, and takes no more statements than it says, or than they do."""

import ast
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "side_by_side.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| \[(?P<task>[^\]]+)\]\(#[^)]+\) \|[^|]*\| (?P<there>[^|]*) \| (?P<here>\d+) \|$", flags=re.MULTILINE
)
BLOCK = re.compile(r"^## (?P<task>.+?)$(?P<text>.*?)(?=^## |\Z)", flags=re.MULTILINE | re.DOTALL)
CODE = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)


@pytest.mark.slow
def test_here_never_takes_more_statements_than_there_and_all_of_it_runs():
    rows = {found["task"].lower(): found for found in ROW.finditer(PAGE)}
    blocks = {found["task"].lower(): CODE.findall(found["text"]) for found in BLOCK.finditer(PAGE)}
    assert len(rows) >= 10
    assert set(rows) == set(blocks) - {"sources"}
    held: dict[str, object] = {}
    (given,) = CODE.findall(PAGE.partition("\n## ")[0])
    exec(compile(given, "given", "exec"), held)
    for task, row in rows.items():
        (code,) = blocks[task]
        statements = len(ast.parse(code).body)
        least = min(int(number) for number in re.findall(r"\d+", row["there"]))
        assert statements == int(row["here"]) <= least, task
        exec(compile(code, task, "exec"), held)
