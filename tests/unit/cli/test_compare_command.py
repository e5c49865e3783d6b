"""``synthdp compare``: files, resuming, exit codes, and nothing published."""

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from synthdp.cli import app
from synthdp.comparing import cells

CONFIG = {
    "data": {"path": "people.csv"},
    "variables": {"age": {"role": "replace", "key": True, "tolerance": 3}},
    "synthesis": {"copies": 2},
    "analyses": [{"name": "pay", "model": "ols", "formula": "income ~ age"}],
    "evaluation": {"utility": ["analyses"], "risk": ["linkability"]},
    "methods": {"mi": {"method": "mi"}, "wide": {"masks": {"age": {"method": "gaussian", "sd": 2}}}},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    age = rng.integers(18, 80, 60)
    frame = pd.DataFrame({"age": age, "income": 1000.0 + 20 * age + rng.normal(0, 200, 60).round(1)})
    frame.to_csv("people.csv", index=False)
    for k in (1, 2):
        frame.sample(frac=1, random_state=k).to_csv(f"syn_{k}.csv", index=False)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    return tmp_path


def compare(*args):
    return CliRunner().invoke(app, ["compare", "config.yaml", *args])


def test_methods_and_files_on_one_map(folder):
    done = compare("--seeds", "2", "--files", "one=syn_1.csv", "both=syn_*.csv", "--out", "study")
    assert done.exit_code == 0, done.output
    assert "linkability.attack" in done.output
    assert "report: study/report.html" in done.output
    assert "caution: one: nothing says which row is whose" in " ".join(done.output.split())
    table = pd.read_csv(folder / "study" / "comparison.csv")
    assert set(table["method"]) == {"mi", "wide", "one", "both"}
    assert {path.name for path in (folder / "study").iterdir()} == {
        "cells", "comparison.csv", "comparison.json", "report.html",
    }  # fmt: skip
    assert (folder / "study" / "comparison.csv").stat().st_mode & 0o077 == 0
    again = compare("--seeds", "2", "--out", "study")
    assert again.exit_code == 2
    assert "the folder is not empty" in again.output
    assert compare("--seeds", "3", "--out", "study", "--resume", "--quiet").output == ""


def test_an_interrupted_study_says_how_to_go_on(folder, monkeypatch):
    def stop(self, one, seed):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cells.Cells, "_taken", stop)
        done = compare("--seeds", "1", "--out", "study")
    assert done.exit_code == 130
    assert "--out study --resume" in done.output
    assert compare("--seeds", "1", "--out", "study", "--resume", "--quiet").exit_code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--resume"], "--resume: name the study to go on with, with --out DIR."),
        (["--files", "x"], "--files x: must have the form NAME=GLOB."),
        (["--files", "mi=syn_1.csv"], "methods.mi: the name is given twice"),
        (["--files", "x=none*.csv"], "methods.x: no file matches none*.csv"),
        (["--set", "methods.mi.method=cart"], "methods.mi.method: must be one of"),
        (["--set", "methods.mi=3"], "methods.mi: must be a block of settings"),
        (["--set", "methods={}"], "methods: nothing to compare"),
    ],
)
def test_wrong_input_ends_with_a_sentence(folder, args, words):
    done = compare(*args)
    assert done.exit_code == 2
    assert words in done.output


def test_help_has_examples():
    done = CliRunner().invoke(app, ["compare", "--help"])
    assert done.exit_code == 0
    assert "synthdp compare config.yaml --files synthpop=" in done.output


def test_files_need_no_row_names_where_the_original_has_them(folder):
    pd.read_csv("people.csv").to_csv("people.csv", index_label="")
    done = compare(
        "--set", "data.row_names=true", "--seeds", "1", "--files", "one=syn_1.csv", "two=people.csv", "--out", "study"
    )
    assert done.exit_code == 0, done.output
    table = pd.read_csv(folder / "study" / "comparison.csv")
    assert table.query("method in ('one', 'two') and measure == 'analyses.overlap'")["value"].round(6).tolist() == [
        1,
        1,
    ]
