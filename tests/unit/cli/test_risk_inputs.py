"""Files no attack expects: every measure of risk works, or says in its own place and by name why it does not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import api
from synthdp.cli import app
from synthdp.config import parse
from synthdp.datasets import registry
from synthdp.errors import InputError
from synthdp.evaluation.measures import RISK
from synthdp.table import io

N = 200
NAMES = ["age", "sex", "race", "education", "disease_duration", "work_disability"]
BY_ROW = ("identity", "identity_averaged", "identity_likelihood", "identity_public", "identity_extremes", "odds")
# these fit the model again, so they need a run
REFITTED = ("identity_bayes", "memorised", "membership_shadow")
# the survey's weights are another matter
EVERY = tuple(name for name in RISK if name != "population")
SETTINGS: dict[str, Any] = {
    "variables": {
        "age": {"kind": "continuous", "role": "replace", "key": True, "tolerance": 3},
        "sex": {"role": "replace", "key": True, "levels": ["F", "M"]},
        "education": {"role": "replace", "key": True},
        "work_disability": {"role": "replace"},
    },
    "evaluation": {
        "risk": list(EVERY),
        "utility": ["pmse", "tables"],
        "holdout": "holdout.csv",
        "intruders": {"neighbour": {"keys": ["age"]}},
    },
}


def people(n: int = N, seed: int = 1) -> pd.DataFrame:
    return registry(n, rng=np.random.default_rng(seed))[NAMES]


def noisy(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return frame.assign(age=(frame["age"] + draw.normal(0, 5, len(frame))).round(1))


class Folder:
    """A folder with the original, the holdout and a config; judges files by ``synthdp evaluate``."""

    def __init__(self, path: Path, original: pd.DataFrame, settings: dict[str, Any]) -> None:
        self.path = path
        io.write(original, path / "data.csv", format="csv")
        io.write(people(100, seed=9), path / "holdout.csv", format="csv")
        # JSON is YAML
        (path / "config.yaml").write_text(json.dumps({"data": {"path": "data.csv"}, **settings}))

    def judge(self, *copies: pd.DataFrame, options: tuple[str, ...] = ()) -> Any:
        files = [self.path / f"copy_{number}.csv" for number in range(1, len(copies) + 1)]
        for copy, file in zip(copies, files, strict=True):
            copy.to_csv(file, index=False)
        arguments = [
            "evaluate",
            self.path / "config.yaml",
            "--synthetic",
            *files,
            "--out",
            self.path / "out",
            "--quiet",
        ]
        return CliRunner().invoke(app, [str(argument) for argument in (*arguments, *options)])

    def metrics(self, *copies: pd.DataFrame, options: tuple[str, ...] = ()) -> dict[str, Any]:
        done = self.judge(*copies, options=options)
        assert done.exit_code == 0, done.output
        found: dict[str, Any] = json.loads((self.path / "out" / "metrics.json").read_text())
        return found


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path, people(), SETTINGS)


def in_memory(frame: pd.DataFrame, copies: list[pd.DataFrame], **evaluation: Any) -> dict[str, Any]:
    judged = {**SETTINGS["evaluation"], **evaluation}
    judged.pop("holdout")
    judged["risk"] = [name for name in judged["risk"] if name not in ("membership", "singling", "inference")]
    return api.evaluate(frame, copies, SETTINGS | {"evaluation": judged})


def made(section: Any) -> bool:
    """Whether a measure was taken."""
    return isinstance(section, list) or "reason" not in section


def test_nothing_wrong_every_measure_is_taken(folder: Folder) -> None:
    frame = people()
    metrics = folder.metrics(noisy(frame, 1), noisy(frame, 2))
    taken = {name for name in EVERY if made(metrics["risk"][name])}
    assert taken == set(EVERY) - set(REFITTED)
    for name in REFITTED:
        assert metrics["risk"][name]["reason"].startswith(f"{name}: knows how the copies are made, so it needs a run")


def test_a_key_that_one_copy_lacks(folder: Folder) -> None:
    frame = people()
    done = folder.judge(frame, frame.drop(columns="age"))
    assert done.exit_code == 2
    assert "copy_2.csv: lacks the columns age; add them, or give them role: drop in the config." in done.stderr
    assert not (folder.path / "out").exists()
    with pytest.raises(InputError, match=r"^copy 2: lacks the columns age; add them"):
        in_memory(frame, [frame, frame.drop(columns="age")])
    similar = folder.judge(frame, frame.rename(columns={"age": "Age"}))
    assert "there are columns that differ in upper and lower case: rename them" in similar.stderr


def test_categories_coded_otherwise_are_the_same_people(folder: Folder) -> None:
    frame = people()
    one, two = noisy(frame, 1), noisy(frame, 2)
    plainly = folder.metrics(one, two)["risk"]
    (folder.path / "out").rename(folder.path / "plainly")
    coded = one.assign(sex=one["sex"].map({"F": 1, "M": 2}))
    upper = two.assign(education=two["education"].str.upper(), sex=two["sex"].str.lower())
    found = folder.metrics(coded, upper)
    for name in ("identity", "identity_averaged", "identity_linked", "identity_likelihood", "verbatim", "attribute"):
        assert found["risk"][name] == plainly[name], name
    assert any("sex holds codes; they were read as the levels" in sentence for sentence in found["cautions"])


def test_categories_that_cannot_be_read_are_refused_and_strangers_match_nobody(folder: Folder) -> None:
    frame = people()
    done = folder.judge(frame, frame.assign(sex=frame["sex"].map({"F": "x", "M": "y"})))
    assert done.exit_code == 2
    assert "copy_2.csv: no value of sex is a level of the original; write them as the original does" in done.stderr
    strange = frame.assign(sex=np.where(np.arange(N) < N // 2, "unknown", frame["sex"]))
    found = folder.metrics(strange)
    assert any("sex: 100 values outside the levels count as a level of their own" in said for said in found["cautions"])
    risk = found["risk"]
    assert all(made(risk[name]) for name in (*BY_ROW, "identity_linked", "attribute"))
    assert risk["identity"]["expected_match"] < risk["original"]["expected_match"]


@pytest.mark.parametrize("changed", [False, True])
def test_people_without_any_key(tmp_path: Path, changed: bool) -> None:
    frame = people()
    frame["sex"] = frame["sex"].astype(object)
    frame["education"] = frame["education"].astype(object)
    frame.loc[:9, ["age", "sex", "education"]] = None
    folder = Folder(tmp_path, frame, SETTINGS)
    copies = [noisy(frame, seed) for seed in (1, 2)]
    if changed:  # the gaps are filled, so nobody without keys has a candidate among those without
        filled = {"age": frame["age"].mean(), "sex": "F", "education": "college"}
        copies = [copy.fillna(filled) for copy in copies]
    risk = folder.metrics(*copies)["risk"]
    for name in (*BY_ROW, "identity_linked"):
        assert made(risk[name]), name
    assert risk["identity"]["no_candidate"] >= (10 if changed else 0)
    itself = folder_of(tmp_path / "itself", frame).metrics(frame)["risk"]
    # ten people without keys look alike: together they are one expected match
    others = frame.iloc[10:].reset_index(drop=True)
    known = api.evaluate(others, [others], plain_settings())["risk"]["identity"]
    assert itself["identity"]["expected_match"] == pytest.approx(known["expected_match"] + 1)


def folder_of(path: Path, frame: pd.DataFrame) -> Folder:
    path.mkdir()
    return Folder(path, frame, SETTINGS)


def plain_settings() -> dict[str, Any]:
    return SETTINGS | {"evaluation": {"risk": ["identity"], "utility": []}}


def test_a_tolerance_of_zero_means_equal(folder: Folder) -> None:
    frame = people()
    zero = ("--set", "variables.age.tolerance=0")
    risk = folder.metrics(noisy(frame, 1), options=zero)["risk"]
    x, y = frame["age"].to_numpy(), noisy(frame, 1)["age"].to_numpy()
    same = (x[:, None] == y) & (frame["sex"].to_numpy()[:, None] == frame["sex"].to_numpy())
    same &= frame["education"].to_numpy()[:, None] == frame["education"].to_numpy()
    expected = sum(same[i, i] / same[i].sum() for i in range(N) if same[i].any())
    assert risk["identity"]["expected_match"] == pytest.approx(expected)
    assert all(made(risk[name]) for name in EVERY if name not in REFITTED)


@pytest.mark.parametrize("text", [".inf", "inf", ".nan"])
def test_a_tolerance_without_end_is_refused_in_a_sentence(folder: Folder, text: str) -> None:
    done = folder.judge(people(), options=("--set", f"variables.age.tolerance={text}"))
    assert done.exit_code == 2
    assert "variables.age.tolerance: must be a finite number." in done.stderr
    done = folder.judge(people(), options=("--set", f"evaluation.intruders.neighbour.tolerance.age={text}"))
    assert done.exit_code == 2
    assert "evaluation.intruders.neighbour.tolerance.age: must be a finite number." in done.stderr
    with pytest.raises(InputError, match=r"variables\.age\.tolerance: must be a finite number\."):
        parse({"data": {"path": "x"}, "variables": {"age": {"tolerance": float("inf")}}})


def test_a_tolerance_beyond_everything_leaves_the_categories(folder: Folder) -> None:
    frame = people()
    risk = folder.metrics(noisy(frame, 1), options=("--set", "variables.age.tolerance=1e9"))["risk"]
    cells = len(frame[["sex", "education"]].drop_duplicates())
    assert risk["identity"]["expected_match"] == pytest.approx(cells)
    assert risk["identity_likelihood"]["expected_links"] > cells  # which no tolerance can hide


def test_files_of_another_size(folder: Folder) -> None:
    fully = people(350, seed=4)
    done = folder.judge(fully)
    assert done.exit_code == 2
    assert "so 200 rows are required, found 350; set evaluation.rows: none" in done.stderr
    metrics = folder.metrics(fully, people(120, seed=5), options=("--set", "evaluation.rows=none"))
    risk, utility = metrics["risk"], metrics["utility"]
    for name in BY_ROW:
        assert risk[name] == {"reason": "rows of these files cannot be traced to records (evaluation.rows: none)"}
    assert risk["identity_linked"]["reason"].startswith("identity_linked: the kept columns of copy 1 are not those")
    for name in REFITTED:
        assert risk[name]["reason"].startswith(f"{name}: ")
    assert risk["intruders"]["neighbour"]["reason"].startswith("rows of these files cannot be traced")
    by_row = {*BY_ROW, *REFITTED, "identity_linked"}
    assert [name for name in EVERY if name not in by_row and not made(risk[name])] == []
    (target,) = risk["attribute"]
    assert 0 <= target["DiSCO"] <= 100
    assert target["own_row"] is None
    assert set(utility["pmse"]) >= {"logit"}
    assert utility["tables"]
    # what was not measured does not pass for safe
    assert not metrics["gate"]["passed"]
    assert any("was not measured" in reason for reason in metrics["gate"]["reasons"])
    found = in_memory(people(), [fully], rows="none")["risk"]
    assert found["identity"] == risk["identity"]
    assert made(found["attribute"])


def test_no_measure_repeats_a_value_of_the_data(folder: Folder) -> None:
    frame = people().assign(race="Zebulon")
    frame.loc[0, "race"] = "Quixote"
    secret = folder_of(folder.path / "secret", frame)
    for copies, options in (
        ([frame, frame.drop(columns="age")], ()),
        ([frame.assign(sex="Zebulon")], ()),
        ([people(50)], ()),
        ([people(50).assign(race="Zebulon")], ("--set", "evaluation.rows=none")),
    ):
        done = secret.judge(*copies, options=options)
        assert "Zebulon" not in done.output
        assert "Quixote" not in done.output
