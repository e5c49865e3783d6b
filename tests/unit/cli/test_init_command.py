"""``synthdp init``: a config that check accepts and run runs, or the sentence that says what to decide."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import pipeline
from synthdp.cli import app
from synthdp.cli.starting import METHODS
from synthdp.config import load
from synthdp.evaluation.gate.limits import OFF

SECRETS = ("Zebulon", "Quixote", "73.03125")
N = 300


def invoke(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def survey(rng):
    work = rng.choice([1, 2], N)
    frame = pd.DataFrame(
        {
            "id": np.arange(N) + 1,
            "name": [f"{SECRETS[i % 2]} {i}" for i in range(N)],
            "age": rng.integers(18, 90, N),
            "sex": rng.choice(["F", "M"], N),
            "employed": work,
            "hours": np.where(work == 1, rng.integers(1, 60, N), -8),
            "score": [*rng.normal(size=N - 1), 73.03125],
        }
    )
    return frame.assign(agegr=np.where(frame["age"] < 40, "18-39", np.where(frame["age"] < 65, "40-64", "65+")))


def latin(rng):
    frame = pd.DataFrame({"âge": rng.integers(18, 90, N), "sexe": rng.choice(["F", "H"], N)})
    dates = [f"{d:02d}.{m:02d}.2020" for d, m in zip(rng.integers(1, 29, N), rng.integers(1, 13, N), strict=True)]
    return frame.assign(revenu=rng.lognormal(7, 1, N).round(2), visite=dates)


def odd(rng):
    frame = pd.DataFrame({"a: b": rng.integers(0, 40, N), "null": rng.choice(["yes", "no"], N), "empty": [None] * N})
    return frame.assign(
        **{
            "日本": rng.choice(["東京", "大阪"], N),
            "one": 1,
            'x"y': rng.normal(size=N),
            "gender": rng.integers(1, 3, N),
        }
    )


def accepted(path):
    return pipeline.check(load(path)).messages


def test_a_survey(tmp_path):
    survey(np.random.default_rng(1)).to_csv("survey.csv", index=False)
    result = invoke("init", "survey.csv")
    assert result.exit_code == 0, result.output
    assert "survey.yaml: written." in result.output
    assert "replaced: age, sex" in result.output
    assert "recomputed: agegr" in result.output
    assert "dropped: id, name" in result.output
    assert "missing codes in: hours" in result.output
    assert "hours (by employed)" in result.output
    assert "accepts it as it is. Read it before you run it: run asks about" in result.output
    text = (tmp_path / "survey.yaml").read_text(encoding="utf-8")
    assert not any(secret in text + result.output for secret in SECRETS)
    assert accepted(tmp_path / "survey.yaml")


@pytest.mark.parametrize("make", [survey, odd])
@pytest.mark.parametrize("method", ["regression", "cart", "copula"])
def test_run_accepts_it_unchanged(make, method):
    make(np.random.default_rng(2)).to_csv("data.csv", index=False)
    assert invoke("init", "data.csv", "--method", method, "--quiet").output == ""
    settings = ["synthesis.copies=2", "release.draws=12"]
    if method != "regression":  # one verdict over draws for each file is enough
        settings.append(f"release={json.dumps(OFF.model_dump())}")
    options = [word for setting in settings for word in ("--set", setting)]
    done = invoke("run", "data.yaml", "--study", "--seed", 1, *options, "--out", "out")
    assert done.exit_code in (0, 3), done.output


def test_a_copula_replaces_columns_with_gaps_and_does_not_see_crowded_ones(tmp_path):
    frame = survey(np.random.default_rng(1)).drop(columns=["id", "name"])
    frame["sex"] = frame["sex"].where(np.arange(N) % 7 > 0)
    frame["town"] = [f"town {i % 40}" for i in range(N)]
    frame["region"] = [f"region {(3 * i) % 31}" for i in range(N)]
    frame.to_csv("survey.csv", index=False)
    told = {
        method: invoke("init", "survey.csv", "--method", method, "-o", f"{method}.yaml").output for method in METHODS
    }
    assert "regression cannot replace a column with" in told["regression"]
    assert "or try --method copula." in told["regression"]
    config = load(tmp_path / "copula.yaml")
    assert (config.variables["sex"].role, config.synthesis.model.method) == ("replace", "copula")
    crowded = set(config.synthesis.model.exclude)
    assert crowded
    assert crowded == {name for name in ("town", "region") if config.variables[name].role == "keep"}
    assert "a copula takes at most 25 levels and it has" in told["copula"]


def test_another_dialect_is_tried_and_written(tmp_path):
    latin(np.random.default_rng(3)).to_csv("latin.csv", sep=";", decimal=",", encoding="cp1252")
    result = invoke("init", "latin.csv")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "latin.yaml").read_text(encoding="utf-8")
    for line in ("encoding: cp1252", 'separator: ";"', 'decimal: ","', "row_names: true", 'visite: "%d.%m.%Y"'):
        assert line in text
    assert accepted(tmp_path / "latin.yaml")


def test_row_names_of_r_are_left_out(tmp_path):
    survey(np.random.default_rng(4)).to_csv("r.csv")
    assert "accepts it" in invoke("init", "r.csv").output
    assert "row_names: true" in (tmp_path / "r.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["age,sex\n30,F\n", '""\n1\n'])
def test_row_names_need_a_nameless_column_beside_others(tmp_path, text):
    (tmp_path / "r.csv").write_text(text)
    (tmp_path / "r.yaml").write_text("data: {path: r.csv, row_names: true}\n")
    result = invoke("check", "r.yaml")
    assert result.exit_code == 2
    assert "data.row_names is for files whose first column has no name; leave it out." in result.output


def test_the_config_may_lie_elsewhere(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "configs").mkdir()
    survey(np.random.default_rng(5)).to_csv("data/survey.csv", index=False)
    assert "accepts it" in invoke("init", "data/survey.csv", "-o", "configs/mine.yaml").output
    assert 'path: "../data/survey.csv"' in (tmp_path / "configs/mine.yaml").read_text(encoding="utf-8")


def test_nothing_is_overwritten(tmp_path):
    survey(np.random.default_rng(6)).to_csv("survey.csv", index=False)
    (tmp_path / "survey.yaml").write_text("mine")
    result = invoke("init", "survey.csv")
    assert result.exit_code == 2
    assert "survey.yaml: exists already and is not overwritten; choose another name with -o." in result.output
    assert (tmp_path / "survey.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("init", "absent.csv"), "absent.csv: no such file."),
        (("init", "."), "cannot tell the format"),
        (
            ("init", "data.csv", "--method", "magic"),
            "--method: must be auto, regression, cart or copula, found 'magic'.",
        ),
        (("init", "data.csv", "-o", "no/such/folder.yaml"), "folder.yaml: the file cannot be written."),
        (("init", "broken.csv"), "a quotation mark is never closed"),
        (("init", "nothing.csv"), "nothing.csv: the file is empty."),
        (("init", "lines.csv"), "lines.csv: the file is empty."),
        (("init", "names.csv"), "names.csv: the file has column names but no records."),
        (("init", "gaps.csv"), "gaps.csv: no column holds a value, so there is nothing to guess from"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path, args, sentence):
    survey(np.random.default_rng(7)).to_csv("data.csv", index=False)
    (tmp_path / "broken.csv").write_text('age,sex\n30,"F\n')
    for name, text in {"nothing": "", "lines": "\n\n", "names": "age,sex\n", "gaps": "age,sex\n,\n,\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    result = invoke(*args)
    assert result.exit_code == 2
    assert sentence in re.sub(r"\s+", " ", result.output)
    assert not list(tmp_path.glob("*.yaml"))


def test_where_nothing_can_be_replaced_check_says_so(tmp_path):
    rng = np.random.default_rng(8)
    gaps = np.where(rng.random(N) < 0.1, np.nan, rng.integers(18, 90, N))
    pd.DataFrame({"age": gaps, "constant": 1}).to_csv("few.csv", index=False)
    result = invoke("init", "few.csv", "--method", "regression")
    assert result.exit_code == 0
    assert "few.yaml will ask for this first" in result.output
    assert "no column has role: replace" in result.output


def test_help_has_examples():
    assert "synthdp init survey.csv" in invoke("init", "--help").output


def test_a_folder_of_parquet_is_told_how_to_go_on(tmp_path):
    (tmp_path / "census").mkdir()
    pd.DataFrame({"age": [1, 2]}).to_parquet(tmp_path / "census" / "a.parquet")
    result = CliRunner().invoke(app, ["init", str(tmp_path / "census"), "-o", str(tmp_path / "c.yaml")])
    assert result.exit_code == 2
    assert "name one of them, and write the folder as data.path in the config." in " ".join(result.output.split())
