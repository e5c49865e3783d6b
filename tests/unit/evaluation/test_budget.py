"""A budget of time a measure: what is skipped is said in its place, and never helps a release to pass."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import budget, pipeline
from synthdp.cli import app
from synthdp.config import Config, parse
from synthdp.errors import InputError
from synthdp.evaluation.assessment import skipped_of
from synthdp.evaluation.measure import Need
from synthdp.evaluation.measures import measure
from synthdp.plugins import names
from synthdp.report.summary import rows

NO_TIME = 1e-9
N = 120


def written(folder: Path) -> tuple[Path, list[Path]]:
    """Return an original and two copies in which people are easily found."""
    draw = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": draw.normal(50, 12, N).round(1),
            "sex": draw.choice(["F", "M"], N),
            "income": draw.normal(30, 5, N).round(2),
            "vote": draw.choice(["NO", "YES"], N),
        }
    )
    frame.to_csv(folder / "original.csv", index=False)
    copies = [folder / f"copy{number}.csv" for number in (1, 2)]
    for path in copies:
        frame.assign(age=(frame["age"] + draw.normal(0, 0.1, N)).round(1)).to_csv(path, index=False)
    return folder / "original.csv", copies


def config(path: Path, **evaluation: Any) -> Config:
    return parse(
        {
            "data": {"path": str(path)},
            "variables": {
                "age": {"kind": "continuous", "role": "replace", "key": True, "tolerance": 1},
                "sex": {"role": "replace", "key": True},
                "vote": {"role": "replace", "key": False},
                "income": {"key": False},
            },
            "analyses": [{"name": "trend", "model": "ols", "formula": "age ~ income"}],
            "evaluation": {"targets": ["vote"], "intruders": {"neighbour": {"keys": ["age"]}}, **evaluation},
        }
    )


def test_every_measure_can_be_skipped_and_says_so_in_its_place(tmp_path: Path) -> None:
    path, copies = written(tmp_path)
    asked = {side: [name for name in names("measures", side) if fits(name)] for side in ("utility", "risk")}
    outcome = pipeline.evaluate(config(path, budget=NO_TIME, **asked), synthetic=copies, out=tmp_path / "out")
    found = json.loads((tmp_path / "out" / "metrics.json").read_text())
    skipped = {*skipped_of(found["utility"]), *skipped_of(found["risk"])}
    assert skipped >= {"pmse", "analyses", "tables", "panel", "prediction", "k_marginal", "identity_likelihood"}
    assert found["utility"]["tables"] == {
        "reason": "tables: skipped after 1e-09 seconds (evaluation.budget); raise it, or set it to null.",
        "skipped": True,
    }
    # no figure of a measure that was left half-way
    assert all(set(found[side][name]) == {"reason", "skipped"} for side in asked for name in skipped_of(found[side]))
    assert "pmse" in dict(outcome.summary)["skipped, over evaluation.budget"]
    assert "skipped after 1e-09 seconds" in outcome.report.read_text()


def fits(name: str) -> bool:
    needs = measure(name).needs
    return not needs & {Need.PLAN, Need.DRAWS, Need.HOLDOUT}


def test_a_budget_changes_no_check_of_the_gate(tmp_path: Path) -> None:
    path, copies = written(tmp_path)
    found = [
        pipeline.evaluate(config(path, budget=budget), synthetic=copies, out=tmp_path / str(budget)).metrics.gate
        for budget in (None, NO_TIME)
    ]
    assert found[0]["verdict"] == found[1]["verdict"] == "refused"
    assert found[0]["checks"] == found[1]["checks"]


def test_nothing_is_skipped_where_there_is_time(tmp_path: Path) -> None:
    path, copies = written(tmp_path)
    metrics = pipeline.evaluate(config(path, budget=600), synthetic=copies, out=tmp_path / "out").metrics
    assert not skipped_of(metrics["utility"])
    assert not skipped_of(metrics["risk"])
    assert not any("budget" in label for label, _ in rows(metrics))


def test_a_budget_must_be_above_zero(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"evaluation\.budget: .*greater than 0"):
        config(tmp_path / "x.csv", budget=0)


def test_the_console_names_what_was_skipped(tmp_path: Path) -> None:
    path, copies = written(tmp_path)
    settings = config(path, budget=NO_TIME).model_dump(mode="json", exclude_unset=True)
    (tmp_path / "config.yaml").write_text(json.dumps(settings))
    done = CliRunner().invoke(
        app, ["evaluate", str(tmp_path / "config.yaml"), "--synthetic", *map(str, copies), "--out", str(tmp_path / "o")]
    )
    assert done.exit_code == 0, done.output
    assert "skipped, over evaluation.budget" in done.output


def test_an_inner_budget_ends_with_its_work() -> None:
    with budget.within(None):
        with pytest.raises(budget.OverBudget), budget.within(0.0):
            budget.go_on()
        budget.go_on()
