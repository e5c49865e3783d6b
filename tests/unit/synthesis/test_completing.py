"""Missing values imputed m times before r copies are made of each: what is drawn, what stays, how it is released."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp.cli import app
from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.evaluation.gate.limits import OFF
from synthdp.imputation.copula.model import Copula
from synthdp.imputation.regression.association import Regression
from synthdp.imputation.trees.masked import MaskedCart
from synthdp.masking.categorical import ShiftedNormal
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.stages.planning import plan_of as checked
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.nesting import completer, incomplete
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

SEED = 0xC0FFEE_5EED_0000_0000_1234
QUICK = Copula(least_ess=2, most_r_hat=5)
MODELS = {"regression": Regression(), "cart": MaskedCart(particles=4, sweeps=1), "copula": QUICK}
VARIABLES = {
    "age": Variable(role="replace", key=True, bounds=(0, 110), tolerance=3),
    "sex": Variable(role="replace", key=True),
    "income": Variable(applies_when="job == 'YES'"),
    "health": Variable(kind="ordinal", levels=("bad", "fair", "good")),
}
MASKS = {"age": Gaussian(sd=1.0), "sex": ShiftedNormal(alpha=1.0)}


def people(n: int = 240) -> pd.DataFrame:
    """Return records with missing values in every column but ``z``; income applies to those with a job."""
    rng = np.random.default_rng(7)
    z = rng.normal(size=n)
    age = np.round(np.clip(50 + 8 * z + 8 * rng.normal(size=n), 18, 95), 1)
    job = np.where(rng.random(n) < 0.6, "YES", "NO")
    frame = pd.DataFrame(
        {
            "z": z,
            "age": age,
            "sex": np.where(z + rng.normal(size=n) > 0, "f", "m"),
            "job": job,
            "income": np.where(job == "YES", np.round(1000 + 20 * (age - 50) + 100 * rng.normal(size=n)), np.nan),
            "health": np.array(["bad", "fair", "good"])[rng.integers(3, size=n)],
        }
    )
    for name in ("age", "sex", "job", "health", "income"):
        frame.loc[rng.random(n) < 0.12, name] = None
    frame.loc[frame["job"].isna(), "income"] = np.nan
    return frame


def plan_of(frame: pd.DataFrame, variables=None, masks=MASKS, constraints=()) -> Plan:
    data = resolve(frame, VARIABLES if variables is None else variables)
    return Plan(data, tag(data, Neighbours(k=3)), masks, constraints=constraints)


def method(model="regression", m=2, r=2, kind=DaMi, **settings):
    return kind(model=MODELS[model], imputations=m, copies=r, missing="impute", **settings)


class TestCompleting:
    @pytest.mark.parametrize("model", MODELS)
    def test_what_is_known_stays_and_what_applies_is_filled_in(self, model):
        frame = people()
        release = method(model).synthesize(plan_of(frame), streams=Streams(3))
        assert len(release.copies) == 4
        for copy in release.copies:
            for name in ("z", "job", "health", "income"):
                known = frame[name].notna()
                assert copy.loc[known, name].astype(object).eq(frame.loc[known, name].astype(object)).all()
            assert copy.drop(columns="income").notna().all(axis=None)
            assert ((copy["job"] == "YES") == copy["income"].notna()).all()

    @pytest.mark.parametrize("model", MODELS)
    def test_copies_of_one_original_share_its_imputations(self, model):
        frame = people()
        copies = method(model).synthesize(plan_of(frame), streams=Streams(3)).copies
        gaps = frame["health"].isna()
        health = [copy.loc[gaps, "health"].tolist() for copy in copies]
        assert health[0] == health[1]
        assert health[2] == health[3]
        assert health[0] != health[2]
        assert not copies[0]["age"].equals(copies[1]["age"])

    @pytest.mark.parametrize("model", MODELS)
    def test_imputed_values_go_with_the_others(self, model):
        rng = np.random.default_rng(1)
        z = rng.normal(size=600)
        frame = pd.DataFrame({"z": z, "u": 0.9 * z + 0.3 * rng.normal(size=600), "x": z + rng.normal(size=600)})
        gaps = rng.random(600) < 0.3
        frame.loc[gaps, "u"] = np.nan
        plan = plan_of(frame, {"x": Variable(role="replace")}, {})
        copy = method(model, m=2, r=1, kind=Mi).synthesize(plan, streams=Streams(1)).copies[0]
        # 180 pairs with a correlation of .95: four standard errors of Fisher's z, and what trees lose in their leaves
        found = np.arctanh(np.corrcoef(copy.loc[gaps, "u"], copy.loc[gaps, "z"])[0, 1])
        assert abs(found - np.arctanh(0.9 / np.sqrt(0.9))) < 4 / np.sqrt(gaps.sum() - 3) + 0.3 * (model == "cart")

    def test_columns_that_may_apply_are_incomplete_and_excluded_ones_are_not(self):
        frame = people()
        frame.loc[frame["job"].eq("YES") & frame["income"].isna(), "job"] = None
        data = resolve(frame, VARIABLES)
        # income has a value wherever the job is known to be there, but who has none may turn out to have one
        assert not (frame["income"].isna() & frame["job"].eq("YES")).any()
        assert incomplete(data) == ("age", "sex", "job", "income", "health")
        assert incomplete(data, ("health", "income")) == ("age", "sex", "job")

    def test_an_excluded_column_keeps_its_gaps(self):
        model = Regression(exclude=("health",))
        made = Mi(model=model, imputations=2, copies=1, missing="impute").synthesize(
            plan_of(people(), masks={}), streams=Streams(1)
        )
        assert made.copies[0]["health"].isna().equals(people()["health"].isna())

    @pytest.mark.parametrize("model", MODELS)
    def test_constraints_hold_of_completed_originals(self, model):
        rng = np.random.default_rng(4)
        low = rng.normal(size=200)
        frame = pd.DataFrame({"x": rng.normal(size=200), "low": low, "high": low + rng.exponential(size=200)})
        frame.loc[rng.random(200) < 0.2, "high"] = np.nan
        plan = plan_of(frame, {"x": Variable(role="replace")}, {}, ("low <= high",))
        for copy in method(model, kind=Mi).synthesize(plan, streams=Streams(1)).copies:
            assert (copy["low"] <= copy["high"]).all()

    def test_a_model_that_cannot_impute_is_a_mistake_of_the_caller(self):
        plan = plan_of(people())
        with pytest.raises(TypeError, match="cannot impute"):
            completer(Sequential().model, plan.data, lambda *_: None, (), rng=np.random.default_rng(1))


class TestDesign:
    def test_the_rule_is_reiter_2004_or_rubins_for_one_copy_of_each(self):
        plan = plan_of(people())
        made = method(m=3, r=2).design(plan)
        assert (made.imputed, made.imputations, made.copies, made.files) == (True, 3, 2, 6)
        assert method(m=3, r=2, kind=Mi).synthesize(plan, streams=Streams(1)).rule == "reiter2004"
        assert method(m=2, r=1, kind=Mi).synthesize(plan, streams=Streams(1)).rule == "rubin1987"

    @pytest.mark.parametrize("model", MODELS)
    def test_the_first_ones_are_the_same_for_more_and_for_any_number_of_jobs(self, model):
        plan = plan_of(people())
        few = method(model, m=2, r=1).synthesize(plan, streams=Streams(3)).copies
        told = []
        many = method(model, m=3, r=2).synthesize(
            plan, streams=Streams(3), jobs=4, advance=lambda done, total: told.append((done, total))
        )
        for a, b in zip(few, (many.copies[0], many.copies[2]), strict=True):
            pd.testing.assert_frame_equal(a, b)
        assert told == [(2, 6), (4, 6), (6, 6)]

    def test_progress_counts_all_copies(self):
        told = []
        method(kind=Mi).synthesize(plan_of(people()), streams=Streams(3), advance=lambda *at: told.append(at))
        assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]

    @pytest.mark.parametrize("mask_draw", ["per_copy", "once", "once_orthogonal"])
    def test_w_is_made_from_the_completed_original(self, mask_draw):
        plan = plan_of(people(), masks={"age": Gaussian(sd=1e-3), "sex": ShiftedNormal(alpha=1.0)})
        made = method(mask_draw=mask_draw).synthesize(plan, streams=Streams(2))
        age = [copy["age"] for copy in made.copies]
        # such a mask lets nearly everything through: copies of one original agree, others differ where it was imputed
        gaps = people()["age"].isna()
        assert (age[0] - age[1]).abs().max() < 1 < (age[0] - age[2])[gaps].abs().max()
        assert made.mask_draw == mask_draw
        assert all(row["mu"] is None for row in made.masking)
        said = {row["column"]: str(row["statement"]) for row in made.masking}
        assert "missing values were imputed from the records' own values" in said["sex"]

    def test_strength_of_masks_is_seen_where_it_differs(self):
        plan = plan_of(people(), masks={"age": Gaussian(sd=0.5, graded=30), "sex": ShiftedNormal(alpha=1.0)})
        made = method().synthesize(plan, streams=Streams(2))
        assert len(made.copies) == 4

    def test_the_copulas_chains_are_told_for_each_original(self):
        made = method("copula").synthesize(plan_of(people().assign(same=1.0)), streams=Streams(3))
        assert [row.get("imputation") for row in made.chain if "r_hat" in row] == [None, 1, 2]
        assert [row["column"] for row in made.chain if "left_out" in row] == ["same"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            (
                {"missing": "keep"},
                "synthesis.imputations: must be 1 with missing: keep, found 2; set missing: impute.",
            ),
            (
                {"complete": True},
                "synthesis.imputations: no value is missing that could be imputed, found 2; set imputations: 1.",
            ),
            (
                {"imputations": 1},
                "synthesis.missing: model regression imputes before copies are made, not with them; set imputations: 5 "
                "(copies are then made of each), or use copula, or missing: keep.",
            ),
            (
                {"date": True},
                "variables.born: model regression cannot impute its missing values; use copula, list it in "
                "synthesis.model.exclude, or set role: drop.",
            ),
            ({"empty": True}, "variables.health: has no value to learn from; set role: drop."),
        ],
    )
    def test_one_sentence_each(self, settings, sentence):
        frame, variables = people(), dict(VARIABLES)
        if settings.pop("complete", False):
            frame = frame.dropna().reset_index(drop=True)
        if settings.pop("date", False):
            frame["born"] = pd.Timestamp("1960-01-01") + pd.to_timedelta(np.arange(len(frame)), unit="D")
            frame.loc[:9, "born"] = pd.NaT
        if settings.pop("empty", False):
            frame["health"] = pd.Series([None] * len(frame), dtype=object)
        plan = plan_of(frame, variables)
        chosen = method().model_copy(update=settings)
        assert chosen.problems(plan) == [sentence]
        if "born" in frame:
            assert method("copula").problems(plan) == []

    def test_a_model_without_imputations(self):
        other = method().model_copy(update={"model": Sequential().model})
        found = other.problems(plan_of(people()))
        assert found == ["synthesis.imputations: model cart cannot impute; use copula, or missing: keep."]
        found = other.model_copy(update={"imputations": 1}).problems(plan_of(people()))
        assert found[-1] == "synthesis.missing: model cart cannot impute; use copula, or missing: keep."

    def test_other_methods_have_one_original(self):
        with pytest.raises(InputError, match=r"synthesis\.imputations"):
            parse({"data": {"path": "x.csv"}, "synthesis": {"method": "sequential", "imputations": 2}})

    def test_orthogonal_noise_needs_complete_columns_only_without_imputation(self):
        assert method(mask_draw="once_orthogonal").problems(plan_of(people())) == []


class TestNotes:
    def test_what_whoever_signs_should_know(self):
        plan = plan_of(people())
        (filled,) = DaMi().notes(plan)
        assert filled.startswith("Missing values of age, sex are filled in, so every copy stands for a completed file")
        assert DaMi().notes(replace(plan, data=resolve(people()[["z"]].fillna(0), {}))) == []
        said = method(m=3, r=2, mask_draw="once").notes(plan)
        assert said[0] == (
            "Missing values are imputed 3 times and 2 copies made of each completed original: 6 files (age, sex, job, "
            "income, health)."
        )
        assert said[1].startswith("Imputed cells of kept columns are drawn given the records' true values")
        assert said[2] == "W is drawn once for each completed original: intervals come out a little too wide."
        replaced = replace(plan, data=resolve(people()[["z", "age"]], {"age": VARIABLES["age"]}))
        assert len(method().notes(replaced)) == 1


CONFIG = f"""\
data: {{path: people.csv}}
variables:
  age: {{role: replace, key: true, bounds: [0, 110], tolerance: 3}}
  sex: {{role: replace, key: true}}
  income: {{applies_when: "job == 'YES'"}}
  health: {{kind: ordinal, levels: [bad, fair, good]}}
masks: {{age: {{method: gaussian, sd: 1.0}}, sex: {{method: shifted_normal, alpha: 1.0}}}}
synthesis: {{imputations: 3, copies: 2, missing: impute}}
analyses: [{{name: income, model: ols, formula: "income ~ age"}}]
evaluation: {{utility: [analyses], risk: [identity]}}
release: {json.dumps(OFF.model_dump() | {"recorded_in": "none"})}
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nested")
    people().to_csv(folder / "people.csv", index=False)
    (folder / "config.yaml").write_text(CONFIG)
    run(folder, "out", jobs=1)
    return folder / "out"


def run(folder, name, *, jobs):
    options = ["--out", str(folder / name), "--seed", str(SEED), "--jobs", str(jobs), "--quiet"]
    found = CliRunner().invoke(app, ["run", str(folder / "config.yaml"), *options])
    assert found.exit_code == 0, found.output


class TestCommandLine:
    NAMES = tuple(f"synthetic_0{i}_0{j}.csv" for i in (1, 2, 3) for j in (1, 2))

    def test_files_are_named_after_original_and_copy(self, out):
        assert sorted(path.name for path in (out / "public").glob("synthetic*")) == list(self.NAMES)
        told = json.loads((out / "public" / "release.json").read_text())
        assert (told["imputations"], told["copies"], told["rule"]) == (3, 2, "reiter2004")
        rows = pd.read_parquet(out / "confidential" / "rows.parquet")
        assert [f"{name}.csv" for name in rows.columns] == list(self.NAMES)

    def test_manifest_report_and_metrics_say_how_many(self, out):
        manifest = json.loads((out / "confidential" / "manifest.json").read_text())
        block = manifest["config"]["synthesis"]
        assert (block["imputations"], block["copies"]) == (3, 2)
        report = (out / "confidential" / "report.html").read_text()
        assert "2 of each of 3 completed originals" in report
        assert "imputed 3 times and 2 copies made of each" in report
        analysis = json.loads((out / "confidential" / "metrics.json").read_text())["utility"]["analyses"][0]
        assert analysis["rule"] == "reiter2004"
        assert analysis["mean_ci_overlap"] is not None

    def test_analyse_combines_by_reiter_2004_unasked(self, out):
        command = ["analyse", str(out), "--model", "ols", "--formula", "income ~ age"]
        found = CliRunner().invoke(app, command)
        assert found.exit_code == 0
        assert "6 copies in 3 nests combined by reiter2004" in found.output
        refused = CliRunner().invoke(app, [*command, "--rule", "reiter2003"])
        assert refused.exit_code == 2
        assert "imputed 3 times: too short" in refused.output

    def test_the_number_of_jobs_changes_no_byte(self, out):
        run(out.parent, "again", jobs=2)
        for path in (out / "public").iterdir():
            assert path.read_bytes() == (out.parent / "again" / "public" / path.name).read_bytes()

    def test_check_says_so_before_anything_is_done(self, out):
        found = CliRunner().invoke(app, ["check", str(out.parent / "config.yaml")])
        assert "imputed 3 times and 2 copies made of each completed original: 6 files" in found.output


def test_a_plan_is_checked_with_the_design_in_mind():
    settings = {
        "data": {"path": "in memory"},
        "variables": {"age": {"role": "replace"}},
        "synthesis": {"method": "mi", "imputations": 2, "copies": 2, "missing": "impute"},
        "analyses": [{"name": "a", "model": "mean", "formula": "age", "rule": "reiter2003"}],
    }
    with pytest.raises(InputError, match="imputed 2 times: too short; use reiter2004"):
        checked(parse(settings), resolve(people()[["z", "age"]], {"age": Variable(role="replace")}))
