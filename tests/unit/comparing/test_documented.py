"""The study that docs/comparing.md shows: thirteen methods in at most twelve lines that mean what they say."""

import re
from pathlib import Path

import synthdp
from synthdp.comparing.methods import contenders
from synthdp.config import parse

PAGE = Path(__file__).parents[3] / "docs" / "comparing.md"


class Drawn:
    plot = type("Plots", (), {"map": staticmethod(lambda: None)})


def test_thirteen_methods_in_twelve_lines(monkeypatch, tmp_path):
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S).group(1)
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    assert max(map(len, code.splitlines())) <= 120
    asked = []

    def compare(*given, **more):
        asked.append((given, more))
        return Drawn

    monkeypatch.setattr(synthdp, "compare", compare)
    exec(code, {})
    (((_, methods, settings), _),) = asked
    monkeypatch.chdir(tmp_path)
    for name in ("synthpop_full", "synthpop_partial", "sdv"):
        (tmp_path / "files" / name).mkdir(parents=True)
        (tmp_path / "files" / name / "1.csv").write_text("age\n1\n")
    found = contenders(parse({"data": {"path": "registry.csv"}, **settings}), methods)
    assert len(found) == 13
