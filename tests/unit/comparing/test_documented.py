"""The study that docs/comparing.md shows: thirteen methods in at most twelve lines that mean what they say."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

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


def test_a_measure_of_ones_own_and_a_known_truth_as_the_page_has_them(monkeypatch):
    _, measured, simulated = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(20, 80, 60), "sex": ["F", "M"] * 30})
    settings = {"variables": {"age": {"role": "replace", "key": True, "tolerance": 3}}}
    space = {"synthdp": synthdp, "frame": frame, "methods": ["mi"], "settings": settings}
    made = []
    compare = synthdp.compare

    def fewer(*given, **more):
        few = {"seeds": 2, "n": 100} if "n" in more else {"seeds": 1}
        made.append(compare(*given, **{key: more[key] for key in more if key not in ("out", "jobs")} | few))
        return made[-1]

    monkeypatch.setattr(synthdp, "compare", fewer)
    exec(measured, space)
    assert set(made[0].table().query("measure == 'gap'")["target"]) == {"F", "M"}
    # the columns of the design, as the page's reader has settled them
    space["settings"] = {"variables": {name: {"role": "replace", "key": True} for name in ("x", "b1", "b2")}}
    space["settings"]["masks"] = {"x": {"method": "gaussian", "sd": 1.0}}
    exec(simulated, space)
    assert set(made[1].table().query("measure == 'truth.coverage'")["method"]) == {"(original)", "mi", "w once"}
