"""Programs from end to end: a config through the command line, and a PyMC model of the user's own."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats
from typer.testing import CliRunner

from synthdp.cli import app
from synthdp.evaluation.gate import Thresholds
from synthdp.imputation.pymc.own import OwnPymc
from synthdp.masking.categorical import Transition
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

pm = pytest.importorskip("pymc")

pytestmark = pytest.mark.slow


def people(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    z = rng.normal(size=n)
    age = np.round(np.clip(45 + 6 * z + 6 * rng.standard_t(5, size=n), 1, 99), 1)
    sex = np.where(0.1 * (age - 45) + rng.logistic(size=n) > 0, "f", "m")
    return pd.DataFrame({"z": z.round(3), "age": age, "sex": sex})


def test_a_config_through_the_command_line(tmp_path):
    frame = people(250)
    frame.to_csv(tmp_path / "people.csv", index=False)
    model = {
        "method": "pymc",
        "columns": {"age": {"family": "student_t", "formula": "1 + bs(z, df=3)"}, "sex": {"formula": "1 + z + age"}},
        "draws": 300,
        "tune": 300,
    }
    config = {
        "data": {"path": "people.csv"},
        "variables": {
            "age": {"role": "replace", "key": True, "bounds": [0, 100]},
            "sex": {"role": "replace", "key": True},
        },
        "masks": {"age": {"method": "gaussian", "sd": 0.7}, "sex": {"method": "transition", "keep": 0.8}},
        "synthesis": {"method": "da_mi", "model": model, "copies": 2, "sweeps": 8},
        "release": dict.fromkeys(Thresholds.model_fields),  # not about the gate
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    out = tmp_path / "out"
    command = ["run", str(tmp_path / "config.yaml"), "--out", str(out), "--quiet", "--seed", str(2**65 + 1)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    metrics = json.loads((out / "confidential" / "metrics.json").read_text())
    rows = {row["column"]: row for row in metrics["chain"] if row.get("model") == "pymc"}
    assert set(rows) == {"age", "sex"}
    assert all(row["r_hat"] < 1.05 and row["ess"] >= 100 and row["sampler"].startswith("nuts") for row in rows.values())
    for number in (1, 2):
        copy = pd.read_csv(out / "public" / f"synthetic_{number:02d}.csv")
        assert sorted(copy["z"]) == sorted(frame["z"])
        assert copy["age"].between(0, 100).all()


def build(data):
    """Return p(age | z) student-t, p(sex | age) logit, on the columns' own scale."""
    with pm.Model() as model:
        level, slope = pm.Normal("level", 45, 10), pm.Normal("slope", 0, 10)
        pm.StudentT("age", nu=5, mu=level + slope * data["z"], sigma=pm.HalfNormal("sd", 10), observed=data["age"])
        turn = pm.Normal("turn", 0, 1)
        pm.Bernoulli("sex", logit_p=turn * (data["age"] - 45), observed=data["sex"])
    return model


def plan(n: int = 800) -> Plan:
    variables = {"age": Variable(role="replace", key=True), "sex": Variable(role="replace", levels=("m", "f"))}
    data = resolve(people(n), variables)
    masks = {"age": Gaussian(sd=0.7), "sex": Transition(keep=0.8)}
    return Plan(data, tag(data, Neighbours(k=3)), masks, {})


MODEL = OwnPymc(build=build, draws=300, tune=300)


@pytest.fixture(scope="module")
def posterior():
    task, _ = prepare(plan(), MODEL, 20)
    return MODEL.fit(task, rng=np.random.default_rng(1))


class TestOwnModel:
    def test_it_is_drawn_from_and_claims_nothing(self, posterior, monkeypatch):
        # the same records, so the posterior is theirs: compiling once is enough
        monkeypatch.setattr(OwnPymc, "fit", lambda self, task, rng: posterior)
        method, original = DaMi(model=MODEL, copies=2), plan().data.frame
        assert method.problems(plan()) == []
        release = method.synthesize(plan(), streams=Streams(5), jobs=2)
        said = {row["column"]: row["statement"] for row in release.masking}
        assert "the association model is the user's own" in said["sex"]
        assert [row["column"] for row in release.chain if "r_hat" in row] == ["the model"]
        for copy in release.copies:
            assert stats.ks_2samp(copy["age"], original["age"]).pvalue > 1e-4
            association = [f["age"].corr((f["sex"] == "f").astype(float)) for f in (original, copy)]
            assert abs(association[0] - association[1]) < 4.5 * np.sqrt(2 / len(original))

    def test_candidates_from_the_model_target_the_posterior(self, posterior):
        parameters = posterior.draw(rng=np.random.default_rng(2))
        task = posterior.task
        n, link = len(task.data), task.links["age"]
        says = {
            "age": GaussianEvidence.at(np.full(n, 0.8), np.full(n, 2.0)),
            "sex": LevelEvidence(np.log(np.tile([0.3, 0.7], (n, 1)))),
        }
        z = posterior.built.columns["z"]
        before = z.get_value()
        z.set_value(np.full(n, 0.4))  # all records alike, so that one quadrature serves all
        drawn, again = (parameters.draw(says, rng=np.random.default_rng(3)) for _ in range(2))
        z.set_value(before)
        assert all((drawn[name] == again[name]).all() for name in says)
        theta = dict(zip((v.name for v in posterior.built.model.free_RVs), parameters.columns[0].theta, strict=True))
        grid = np.linspace(-15, 15, 200_001)
        age = link.inverse(grid)
        density = stats.t.pdf(age, 5, theta["level"] + 0.4 * theta["slope"], theta["sd"]) * np.exp(-((grid - 0.8) ** 2))
        p = stats.logistic.cdf(theta["turn"] * (age - 45))
        cdf = np.cumsum(density * (0.3 * (1 - p) + 0.7 * p))
        assert stats.kstest(drawn["age"], lambda at: np.interp(at, grid, cdf / cdf[-1])).pvalue > 1e-3
