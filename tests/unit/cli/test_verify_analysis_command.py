"""``synthdp verify-analysis``: checked before the data are opened, paid before they are counted, three files."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from synthdp.cli import app
from synthdp.privacy.ledger import Ledger, fingerprint
from synthdp.stages import intake


@pytest.fixture
def folder(tmp_path):
    """Return a folder with data, a config, and a request."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 600), "sex": rng.choice(["F", "M"], 600)})
    frame["income"] = (1000 + 20 * frame.age + rng.normal(0, 300, 600)).clip(0, 5000).round(2)
    frame["name"] = [f"person {i}" for i in range(600)]
    frame.to_csv(tmp_path / "people.csv", index=False)
    config = {
        "data": {"path": "people.csv"},
        "variables": {
            "age": {"kind": "count", "bounds": [18, 90]},
            "sex": {"levels": ["F", "M"]},
            "income": {"role": "replace", "kind": "continuous", "bounds": [0, 5000], "decimals": 2},
            "name": {"role": "drop"},
        },
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    write(tmp_path)
    return tmp_path


def write(folder, **more):
    question = {"ask": "sign", "term": "age", "sign": "positive"}
    given = {"model": "ols", "formula": "income ~ age + C(sex)", "epsilon": 0.5, "questions": [question], **more}
    (folder / "request.json").write_text(json.dumps(given))


def answer(folder, *args, out="out"):
    command = ["verify-analysis", folder / "request.json", "--config", folder / "config.yaml"]
    command += ["--ledger", folder / "ledger", "--out", folder / out, *args]
    return CliRunner().invoke(app, [str(part) for part in command])


def entries(folder):
    return Ledger(folder / "ledger", fingerprint(folder / "people.csv")).account().entries


def test_request_answer_and_charge_are_files(folder):
    result = answer(folder, "--cap", "1")
    assert result.exit_code == 0, result.output
    assert "the confidential coefficient of age is positive" in result.output
    found = {path.relative_to(folder / "out").as_posix() for path in (folder / "out").rglob("*") if path.is_file()}
    assert found == {"public/answer.json", "public/request.json", "confidential/charge.json"}
    public = folder / "out" / "public"
    contents = json.loads((public / "answer.json").read_text())
    assert contents["request"] == hashlib.sha256((public / "request.json").read_bytes()).hexdigest()
    (entry,) = entries(folder)
    assert (entry.epsilon, entry.source) == (0.5, "secure")
    assert entry.file == hashlib.sha256((public / "answer.json").read_bytes()).hexdigest()
    charge = json.loads((folder / "out" / "confidential" / "charge.json").read_text())
    assert (charge["number"], charge["epsilon"]) == (1, 0.5)


def test_over_the_cap_nothing_is_computed(folder, monkeypatch):
    assert answer(folder, "--cap", "0.8").exit_code == 0
    monkeypatch.setattr(intake.Source, "of", lambda config: pytest.fail("the data were opened"))
    result = answer(folder, out="again")
    assert result.exit_code == 2
    assert "over the cap" in result.output
    assert not (folder / "again").exists()
    assert len(entries(folder)) == 1


@pytest.mark.parametrize(
    "more",
    [
        {"formula": "income ~ name"},
        {"formula": "income ~ open('/etc/passwd')"},
        {"data": "other.csv"},
        {"questions": [{"ask": "sign", "term": "height", "sign": "positive"}]},
    ],
)
def test_a_request_that_makes_no_sense_is_refused_without_data(folder, more, monkeypatch):
    monkeypatch.setattr(intake.Source, "of", lambda config: pytest.fail("the data were opened"))
    (folder / "people.csv").unlink()
    write(folder, **more)
    result = answer(folder, "--cap", "1")
    assert result.exit_code == 2
    assert result.output.startswith("request")
    assert not (folder / "out").exists()
    assert not (folder / "ledger").exists()


def test_check_charges_nothing(folder):
    result = answer(folder, "--cap", "1", "--check")
    assert result.exit_code == 0
    assert "nothing was charged" in result.output
    assert not entries(folder)
    assert not (folder / "out").exists()


def test_a_folder_and_a_ledger_are_needed(folder):
    arguments = ["verify-analysis", folder / "request.json", "--config", folder / "config.yaml"]
    result = CliRunner().invoke(app, [str(part) for part in [*arguments, "--ledger", folder / "l", "--cap", "1"]])
    assert result.exit_code == 2
    assert "--out: name a folder" in result.output
    assert CliRunner().invoke(app, [str(part) for part in arguments]).exit_code == 2


def test_help_names_what_may_be_asked():
    result = CliRunner().invoke(app, ["verify-analysis", "--help"])
    assert result.exit_code == 0
    for word in ("within", "sign", "overlap", "--ledger"):
        assert word in result.output


def test_neighbouring_files_give_files_of_the_same_shape(folder):
    """Nothing but the noisy counts differs: not the notes, not the keys, not the sentences."""

    def shape(value):
        if isinstance(value, dict):
            return {
                key: shape(each) for key, each in value.items() if key not in ("noisy", "r", "probability", "answer")
            }
        return [shape(each) for each in value] if isinstance(value, list) else value

    def contents(out):
        return shape(json.loads((folder / out / "public" / "answer.json").read_text()))

    assert answer(folder, "--cap", "5", out="one").exit_code == 0
    frame = pd.read_csv(folder / "people.csv")
    frame["sex"] = "F"  # a file on which no block can be fitted
    frame.to_csv(folder / "people.csv", index=False)
    Path(folder / "ledger").unlink()
    assert answer(folder, "--cap", "5", out="two").exit_code == 0
    assert contents("one") == contents("two")
