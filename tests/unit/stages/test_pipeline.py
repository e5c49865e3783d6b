"""A whole run on the small registry: what it leaves where, what it never shows, and how it repeats."""

import getpass
import io as text_io
import json
import platform
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp import api, pipeline, release
from synthdp.config import load, parse
from synthdp.errors import InputError
from synthdp.evaluation.assessment import assess, records_at_risk
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Thresholds
from synthdp.progress import Silent, Timer
from synthdp.release import DOCUMENTS
from synthdp.release.metrics import json_text
from synthdp.report.summary import rows as summary_rows
from synthdp.seeding import SMALLEST_SECRET_SEED, Streams, fresh_seed
from synthdp.stages.draws import Draws
from synthdp.stages.gating import judge, judge_copies
from synthdp.stages.intake import Source
from synthdp.stages.planning import plan_of
from synthdp.table import io
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "data" / "registry_small.yaml"
SEED = 0xC0FFEE_5EED_0000_0000_1234
COPIES, DRAWS = 5, 12
UNGATED = [f"release.{name}=null" for name in Thresholds.model_fields if name != "limits"]
FILES = [f"synthetic_0{number}.csv" for number in range(1, COPIES + 1)]
IDENTITY = {
    "expected_match", "expected_match_rate", "expected_match_reference", "true_match", "true_match_rate",
    "true_match_chance", "false_match_rate", "no_candidate", "mean_individual", "max_individual", "mean_unconditional",
}  # fmt: skip


class Listener(Silent):
    def __init__(self):
        self.stages, self.steps, self.told = [], [], []

    @contextmanager
    def stage(self, name):
        self.stages.append(name)
        yield

    def advance(self, done, total):
        self.steps.append((done, total))

    def tell(self, sentence):
        self.told.append((self.stages[-1], sentence))


LISTENER = Listener()


def gated(*overrides, seed=SEED):
    """Return the example, judged by the fewest draws; one record's chance is not averaged out by so few."""
    limits = [f"release.draws={DRAWS}", "release.max_individual=0.9"]
    return load(EXAMPLE, [*([] if seed is None else [f"seed={seed}"]), *limits, *overrides])


def config(*overrides, seed=SEED):
    """Return the example without its gate, for what has nothing to do with the verdict."""
    return gated(*UNGATED, *overrides, seed=seed)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def tables(out, names=FILES):
    return [io.read(out / "public" / name) for name in names]


@pytest.fixture(scope="module")
def original():
    return io.read(ROOT / "data" / "registry_small.csv")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a run of the example that passed its gate, and its folder."""
    out = tmp_path_factory.mktemp("run") / "out"
    return pipeline.run(gated(), out=out, progress=LISTENER), out


# what a run leaves


def test_the_layout(finished):
    outcome, out = finished
    assert outcome.passed
    assert sorted(path.name for path in out.iterdir()) == ["confidential", "public"]
    assert sorted(contents(out / "public")) == sorted(
        [*FILES, "codebook.csv", "release.json", "README.md", "SHA256SUMS", *DOCUMENTS]
    )
    assert sorted(contents(out / "confidential")) == sorted(
        ["report.html", "dossier.html", "metrics.json", "records_at_risk.csv", "rows.parquet", "manifest.json"]
    )
    assert (outcome.report, outcome.public) == (out / "confidential" / "report.html", out / "public")
    assert release.verify(out) == []


def test_metrics_have_the_stable_keys(finished):
    outcome, out = finished
    metrics = json.loads((out / "confidential" / "metrics.json").read_text())
    assert json_text(metrics) == json_text(outcome.metrics)
    assert set(metrics) == {"version", "utility", "risk", "privacy", "gate", "chain", "timings"}
    assert metrics["version"] == 1
    assert {"value", "ratio", "per_copy"} <= set(metrics["utility"]["pmse"]["logit"])
    for measure in ("specks", "po50"):
        assert len(metrics["utility"][measure]["per_copy"]) == COPIES
    names = [analysis["name"] for analysis in metrics["utility"]["analyses"]]
    assert names == ["work disability", "lung disease"]
    for analysis in metrics["utility"]["analyses"]:
        assert {"name", "rule", "terms", "mean_ci_overlap", "min_ci_overlap"} <= set(analysis)
        assert analysis["rule"] == "reiter2003"
        for term in analysis["terms"]:
            assert {"term", "original", "synthetic", "ci_overlap", "std_diff"} <= set(term)
            assert {"estimate", "se", "low", "high"} <= set(term["original"]) & set(term["synthetic"])
    assert {"mean", "worst", "n"} <= set(metrics["utility"]["panel"])
    for attack in ("identity", "identity_averaged", "original"):
        assert set(metrics["risk"][attack]) >= IDENTITY
    assert metrics["risk"]["original"]["max_individual"] == 1
    assert metrics["privacy"]["epsilon"] is None
    masked = {(line["column"], line["group"]) for line in metrics["privacy"]["masking"]}
    groups = ("low", "medium", "high")
    assert masked == {(column, group) for column in ("age", "sex", "education") for group in groups}
    for line in metrics["privacy"]["masking"]:
        assert {"column", "group", "mu", "statement"} <= set(line)
        assert line["mu"] is None
        assert line["statement"] == (
            "Nothing formal is claimed: risk groups were computed from the data and are not public."
        )
    gate = metrics["gate"]
    assert (gate["verdict"], gate["passed"], gate["basis"], gate["draws"]) == ("passed", True, "draws", DRAWS)
    assert (gate["reasons"], gate["accepted"], gate["advice"], gate["attempt"]) == ([], [], {}, None)
    for line in gate["checks"]:
        assert {"name", "attack", "value", "low", "high", "limit", "passed"} <= set(line)
    # every limit that is set is held against something; of what is replaced all are keys, so nothing is left to learn
    limits = {name for name in set(Thresholds.model_fields) - {"limits"} if gated().limits.limit(name) is not None}
    assert {line["name"] for line in gate["checks"]} == limits - {"max_attribute_gain"}
    stages = {"read", "tag", "synthesise", "synthesise.fit", "synthesise.draw", "judge", "evaluate"}
    assert stages <= set(metrics["timings"])
    assert all(seconds >= 0 for seconds in metrics["timings"].values())


def test_the_manifest_has_what_a_repetition_needs(finished):
    _, out = finished
    manifest = json.loads((out / "confidential" / "manifest.json").read_text())
    assert (manifest["seed"], manifest["status"], manifest["study"]) == (SEED, "published", False)
    assert manifest["inputs"] == {"data": io.digest(ROOT / "data" / "registry_small.csv")}
    assert "seed" not in manifest["config"]
    assert manifest["config"]["synthesis"]["copies"] == COPIES
    assert manifest["public"] == {
        name: io.digest(out / "public" / name)
        for name in [*FILES, "codebook.csv", "release.json", "README.md", *DOCUMENTS]
    }
    assert {"release", "report"} <= set(manifest["timings"])


def test_only_the_replaced_columns_change(finished, original):
    _, out = finished
    orders = io.read(out / "confidential" / "rows.parquet")
    replaced = ["age", "sex", "education"]
    for copy, name in zip(tables(out), orders, strict=True):
        assert list(copy.columns) == list(original.columns)
        order = orders[name].to_numpy()
        made_from = original.iloc[order].reset_index(drop=True)
        # whole numbers are written without a point
        kept, same = copy.drop(columns=replaced), made_from.drop(columns=replaced)
        pd.testing.assert_frame_equal(kept, same, check_dtype=False)
        assert copy["age"].between(18, 90).all()
        assert (copy["age"].round(1) == copy["age"]).all()
        assert set(copy["sex"]) == {"F", "M"}
    assert len({tuple(orders[name]) for name in orders}) == COPIES
    assert all(sorted(orders[name]) == list(range(len(original))) for name in orders)


# the same copies, the same numbers


def exactly(metrics):
    """Return utility and risk to the last digit."""
    return json.loads(json_text({key: metrics[key] for key in ("utility", "risk")}))


def test_evaluate_gives_the_numbers_of_the_run(finished, tmp_path):
    outcome, out = finished
    rows = out / "confidential" / "rows.parquet"
    by_files = pipeline.evaluate(gated(f"evaluation.rows={rows}"), synthetic=[out], out=tmp_path / "out").metrics
    assert exactly(by_files) == exactly(outcome.metrics)
    frame = io.read(ROOT / "data" / "registry_small.csv")
    in_memory = api.evaluate(frame, api.synthesize(frame, gated(), seed=SEED), gated())
    assert exactly(in_memory) == exactly(outcome.metrics)


# what public/ never shows


def test_public_holds_no_key_and_no_trace_of_who_made_it(finished, tmp_path_factory):
    _, out = finished
    hidden = [
        str(SEED),
        f"{SEED:x}",
        f"{SEED:X}",
        str(out),
        str(ROOT),
        str(Path.home()) + "/",
        "registry_small",
        "confidential/",
    ]
    hidden += [name for name in (getpass.getuser(), platform.node()) if len(name) > 5]
    masked = {
        line["mask"] for line in json.loads((out / "confidential" / "metrics.json").read_text())["privacy"]["masking"]
    }
    assert masked
    for name, data in contents(out / "public").items():
        text = data.decode()
        assert not [word for word in [*hidden, *masked] if word in text], name
        assert not re.search(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d", text), name
    for data in contents(out / "public").values():
        assert SEED.to_bytes(16, "big").lstrip(b"\0") not in data
        assert SEED.to_bytes(16, "little").rstrip(b"\0") not in data


def test_public_holds_no_column_beside_the_schema(finished, original):
    _, out = finished
    described = json.loads((out / "public" / "release.json").read_text())
    assert [column["name"] for column in described["columns"]] == list(original.columns)
    assert described["files"] == FILES
    assert described["masks"] == {"age": "gaussian", "sex": "shifted_normal", "education": "shifted_normal"}
    assert io.read(out / "public" / "codebook.csv")["name"].tolist() == list(original.columns)


def test_true_values_do_not_stay_where_they_were(finished, original):
    _, out = finished
    orders = io.read(out / "confidential" / "rows.parquet")
    n = len(original)
    # how often two ages are equal by chance, and four standard errors of that
    chance = float(((original["age"].value_counts() / n) ** 2).sum())
    most = n * chance + 4 * np.sqrt(n * chance)
    for copy, name in zip(tables(out), orders, strict=True):
        assert (copy["age"].to_numpy() == original["age"].to_numpy()).sum() <= most
        made_from = original["age"].to_numpy()[orders[name].to_numpy()]
        # with noise of sd 20 and more, W tells less than a tenth of a year
        assert (copy["age"].to_numpy() == made_from).sum() <= most + 0.05 * n
        assert abs(np.corrcoef(copy["age"], made_from)[0, 1]) < 0.8


# how it ends


def test_a_refusal_leaves_no_public_folder(tmp_path, monkeypatch):
    out = tmp_path / "out"
    monkeypatch.setattr(pipeline, "SOON", 0.0)
    listener = Listener()
    # nothing can have no risk at all; a single limit, so that only one trial is spent on advice
    refused = config("release.max_individual=0")
    outcome = pipeline.run(refused, out=out, progress=listener)
    assert not outcome.passed
    # said before advice is looked for
    told = "verdict on the draws: refused; advice and measures for the report follow"
    assert listener.told == [("judge", told)]
    assert outcome.public is None
    assert [path.name for path in out.iterdir()] == ["confidential"]
    assert len(contents(out / "confidential")) == 6
    assert "No public files were written" in (out / "confidential" / "dossier.html").read_text()
    assert json.loads((out / "confidential" / "manifest.json").read_text())["status"] == "refused"
    assert all("largest probability that one record is found" in text for text in outcome.metrics["gate"]["reasons"])
    assert outcome.metrics["gate"]["verdict"] == "refused"
    assert 0 < outcome.metrics["gate"]["advice"]["trials"] <= 3
    assert ("release gate", "REFUSED") in outcome.summary
    # asked again, it says the same and still publishes nothing
    again = pipeline.run(refused, out=out, resume=True)
    assert (again.passed, again.public, again.summary) == (False, None, outcome.summary)


def test_a_study_may_have_a_small_seed_and_publishes_nothing(tmp_path):
    out = tmp_path / "out"
    outcome = pipeline.run(config(seed=1), out=out, study=True)
    assert outcome.public is None
    assert [path.name for path in out.iterdir()] == ["confidential"]
    manifest = json.loads((out / "confidential" / "manifest.json").read_text())
    assert (manifest["status"], manifest["study"], manifest["seed"]) == ("study", True, 1)


@pytest.mark.parametrize("seed", [0, 1, SMALLEST_SECRET_SEED - 1])
def test_a_small_seed_is_refused(tmp_path, seed):
    with pytest.raises(InputError) as caught:
        pipeline.run(config(seed=seed), out=tmp_path / "out")
    assert str(caught.value) == (
        "seed: must be at least 2^64, because whoever guesses it can remove the mask; "
        "leave it out for a secret one, or add --study, which publishes nothing."
    )
    assert not (tmp_path / "out").exists()


def test_without_a_seed_it_is_a_new_secret(tmp_path):
    seeds = set()
    for name in ("a", "b"):
        pipeline.run(config("synthesis.copies=1", "analyses=[]", seed=None), out=tmp_path / name, study=True)
        seeds.add(json.loads((tmp_path / name / "confidential" / "manifest.json").read_text())["seed"])
    assert len(seeds) == 2
    assert min(seeds) >= SMALLEST_SECRET_SEED


def test_resuming_a_finished_run_gives_the_same_outcome(finished):
    outcome, out = finished
    before = contents(out / "public") | contents(out / "confidential")
    again = pipeline.run(gated(), out=out, resume=True)
    assert (again.report, again.public, again.passed) == (outcome.report, outcome.public, outcome.passed)
    assert again.summary == outcome.summary
    assert json_text(again.metrics) == json_text(outcome.metrics)
    assert contents(out / "public") | contents(out / "confidential") == before


def test_a_folder_that_is_not_empty(finished):
    _, out = finished
    with pytest.raises(InputError, match="the folder is not empty"):
        pipeline.run(gated(), out=out)


# the same again


def test_the_same_config_and_seed_give_the_same_bytes_for_any_jobs(finished, tmp_path):
    outcome = pipeline.run(gated(), out=tmp_path / "out", jobs=2)
    assert contents(tmp_path / "out" / "public") == contents(finished[1] / "public")
    same = {key: outcome.metrics[key] for key in ("utility", "risk", "privacy", "gate")}
    assert json_text(same) == json_text({key: finished[0].metrics[key] for key in same})


def test_another_seed_gives_other_copies(finished, tmp_path):
    pipeline.run(config(seed=SEED + 1), out=tmp_path / "out")
    before, after = contents(finished[1] / "public"), contents(tmp_path / "out" / "public")
    same = {name for name in before if before[name] == after[name]}
    # the statistics in ddi.xml are those of the copies
    assert same == {"codebook.csv", "release.json", "README.md", *DOCUMENTS} - {"ddi.xml"}


def test_the_first_copies_stay_when_there_are_more(finished, tmp_path):
    pipeline.run(config("synthesis.copies=2"), out=tmp_path / "out")
    for name in FILES[:2]:
        assert (tmp_path / "out" / "public" / name).read_bytes() == (finished[1] / "public" / name).read_bytes()


def test_neither_an_evaluator_more_nor_the_gate_changes_a_copy(finished, tmp_path):
    pipeline.run(config("evaluation={risk: [identity], utility: []}", "analyses=[]"), out=tmp_path / "out")
    assert contents(tmp_path / "out" / "public") == contents(finished[1] / "public")


# variations


def test_parquet_unshuffled(tmp_path, original):
    out = tmp_path / "out"
    pipeline.run(config("release.format=parquet", "synthesis.shuffle=false"), out=out)
    names = [name.replace("csv", "parquet") for name in FILES]
    replaced = ["age", "sex", "education"]
    for copy in tables(out, names):
        # the type follows the schema: a column of whole numbers is one of integers
        pd.testing.assert_frame_equal(copy.drop(columns=replaced), original.drop(columns=replaced), check_dtype=False)
    assert (io.read(out / "confidential" / "rows.parquet")["synthetic_01"] == np.arange(len(original))).all()


def test_without_masks_none_are_named(tmp_path):
    out = tmp_path / "out"
    outcome = pipeline.run(config("synthesis={method: mi}"), out=out)
    described = json.loads((out / "public" / "release.json").read_text())
    assert (described["method"], described["mask_draw"], described["masks"]) == ("mi", None, {})
    assert {line["mask"] for line in outcome.metrics["privacy"]["masking"]} == {"none"}


def test_masks_that_only_groups_have_are_named(tmp_path):
    mask = "{age: {method: gaussian, scale: 40}, sex: {method: %s}}"
    groups = [f"masks_by_group.{name}={mask % 'transition, keep: 0.6'}" for name in ("low", "high")]
    out = tmp_path / "out"
    pipeline.run(config("masks={}", *groups, f"masks_by_group.medium={mask % 'shifted_normal, alpha: 0.5'}"), out=out)
    described = json.loads((out / "public" / "release.json").read_text())
    assert described["masks"] == {"age": "gaussian", "sex": "shifted_normal, transition"}


def test_a_formal_statement_stands_when_nothing_looked_at_the_data(tmp_path):
    outcome = pipeline.run(config("masks_by_group={}"), out=tmp_path / "out")
    mu = {line["column"]: line["mu"] for line in outcome.metrics["privacy"]["masking"]}
    # bounds of width 72 under noise of sd 20, and a shift of 0.7 under sd 1, for five draws
    assert mu == {
        "age": pytest.approx(np.sqrt(5) * 72 / 20),
        "sex": pytest.approx(np.sqrt(5) * 0.7),
        "education": pytest.approx(np.sqrt(5) * 0.7),
    }
    gated = pipeline.run(config("masks_by_group={}", "release.max_individual=1"), out=tmp_path / "gated", study=True)
    assert {line["statement"] for line in gated.metrics["privacy"]["masking"]} == {
        "Nothing formal is claimed: the release gate looked at the data before this file was released."
    }


def test_progress_is_told(finished):
    assert LISTENER.stages == ["read", "tag", "synthesise", "judge", "advise", "evaluate", "report", "release"]
    copies = [(number, COPIES) for number in range(1, COPIES + 1)]
    # a draw counts once it has been attacked: those that teach an intruder are held back, and then counted one by one
    assert LISTENER.steps == copies + [(number, DRAWS) for number in range(1, DRAWS + 1)]


def test_a_timer_adds_up_what_a_stage_took():
    timer = Timer(Silent())
    for _ in range(2):
        with timer.stage("read"):
            timer.advance(1, 1)
    assert list(timer.seconds) == ["read"]
    assert timer.seconds["read"] >= 0


# check


def test_check_says_what_a_person_should_know():
    first, groups, unique = pipeline.check(config()).messages
    assert first == "300 records; 3 columns replaced, 11 kept, 4 keys."
    assert re.fullmatch(r"Risk groups: low \d+, medium \d+, high \d+\.", groups)
    assert sum(map(int, re.findall(r"\d+", groups))) == 300
    assert unique.startswith("100% of the records are unique on the kept columns alone")
    *_, once = pipeline.check(config("synthesis.mask_draw=once")).messages
    assert once == "W is drawn once for all copies: intervals come out a little too short (see reports/coverage)."
    *_, tolerance = pipeline.check(config("variables.age.tolerance=null")).messages
    assert tolerance == "No tolerance was given for age: a tenth of a standard deviation was used."
    *_, step = pipeline.check(config("variables.diffuse={kind: continuous, key: true}")).messages
    assert step == "No tolerance was given for diffuse: half a step of the last decimal was used."
    *_, fine = pipeline.check(config("variables.age.tolerance=0.01")).messages
    assert fine.startswith("The tolerance of age is finer than the values")


GAUSSIAN = "{method: gaussian, sd: 1}"


@pytest.mark.parametrize(
    ("overrides", "sentences"),
    [
        (["masks.fvc=" + GAUSSIAN], ["masks.fvc: only columns with role: replace are masked."]),
        (["masks.nobody=" + GAUSSIAN], ["masks.nobody: only columns with role: replace are masked."]),
        (["masks.sex=" + GAUSSIAN], ["masks.sex: gaussian masks numbers, this column is binary."]),
        (
            ["masks.age={method: shifted_normal, alpha: 1}"],
            ["masks.age: shifted_normal masks binary columns, this one is continuous."],
        ),
        (
            ["masks.age={method: transition, keep: 0.8}"],
            ["masks.age: transition masks levels, this column is continuous."],
        ),
        (
            ["masks.sex={method: transition, matrix: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}"],
            ["masks.sex: the matrix has 3 rows, the column 2 levels."],
        ),
        (
            ["masks_by_group.medium.sex=" + GAUSSIAN],
            ["masks_by_group.medium.sex: gaussian masks numbers, this column is binary."],
        ),
        (
            ["masks_by_group.hihg={}"],
            ["masks_by_group.hihg: no such risk group; there are high, low, medium."],
        ),
        (
            ["masks.sex={method: transition, keep: 0.8}", "synthesis.mask_draw=once_orthogonal"],
            ["masks.sex: a transition mask has no noise to orthogonalise; use once."],
        ),
        (
            ["masks={}", "masks_by_group={medium: {age: " + GAUSSIAN + "}}"],
            ["masks.age: some groups have a mask and others none; give a mask for all."],
        ),
        (
            ["masks={}", "masks_by_group={}"],
            ["masks: da_mi needs a mask on at least one replaced column; use method: mi for none."],
        ),
        (
            ["variables={}", "masks={}", "masks_by_group={}", "synthesis={method: mi}"],
            ["variables: no column has role: replace; nothing would be synthesised."],
        ),
        (
            ["synthesis.model.order=[sex, age]"],
            ["synthesis.model.order: must list each replaced column once (age, sex, education)."],
        ),
        (["variables.nobody={role: drop}"], ["variables.nobody: no such column in the data."]),
        (["data.missing_codes={nobody: [1]}"], ["data.missing_codes.nobody: no such column in the data."]),
    ],
)  # fmt: skip
def test_check_refuses_what_would_not_run(tmp_path, overrides, sentences):
    with pytest.raises(InputError) as caught:
        pipeline.check(config(*overrides))
    assert list(caught.value.problems) == sentences
    with pytest.raises(InputError):
        pipeline.run(config(*overrides), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_check_refuses_analyses_of_columns_that_are_not_there():
    with pytest.raises(InputError, match=r"^analyses\.a: .*'nobody'"):
        pipeline.check(config("analyses=[{name: a, model: ols, formula: fvc ~ nobody}]"))
    with pytest.raises(InputError, match=r"registry_smal\.csv: no such file\.$"):
        pipeline.check(config("data.path=registry_smal.csv"))
    with pytest.raises(InputError, match=r"groups\.rules\.high: expression 'agee > 80': no column 'agee'"):
        pipeline.check(config("groups={rules: {high: agee > 80}}"))


# the parts that gather


def comparison(aligned=True, key=True):
    frame = pd.DataFrame({"age": [31.0, 42.0, 53.0, 64.0], "sex": ["F", "M", "F", "M"]})
    data = resolve(frame, {"age": Variable(key=key, tolerance=1)})
    return Comparison(data.frame, (data.frame.copy(),), data.schema, aligned=aligned)


def assessment(compared, **settings):
    settings = {"utility": ("pmse", "analyses"), "risk": ("identity", "identity_averaged")} | settings
    return assess(compared, streams=Streams(0), **settings)


def exposed(found, compared):
    return records_at_risk(compared, {name: finding.individual for name, finding in found.findings.items()})


def test_a_measure_that_cannot_be_taken_says_why():
    files = comparison(aligned=False)
    unaligned = assessment(files)
    reason = {"reason": "rows of these files cannot be traced to records (evaluation.rows: none)"}
    assert unaligned.risk == {"identity": reason, "identity_averaged": reason}
    settings = parse({"data": {"path": "in memory"}})
    verdict = judge_copies(settings, files, unaligned).verdict
    # one intruder needs no rows, and does not answer for the others
    assert not verdict.passed
    assert "identity: largest probability that one record is found was not measured" in " ".join(verdict.reasons)
    unkeyed = assessment(comparison(key=False))
    reason = {"reason": "no column is declared as key: true, so there is no intruder to model"}
    assert unkeyed.risk == {"identity": reason, "identity_averaged": reason}
    nobody = exposed(unkeyed, comparison(key=False))
    assert list(nobody) == ["record", "attack", "group", "risk", "reason"]
    assert len(nobody) == 0


def test_only_what_is_asked_for_is_measured():
    found = assessment(comparison(), utility=(), risk=("identity",))
    assert found.utility == {}
    assert set(found.risk) == {"identity", "original"}
    at_risk = exposed(found, comparison())
    assert at_risk["record"].tolist() == [1, 2, 3, 4]
    assert set(at_risk["reason"]) == {"found more often than not"}
    table = io.encode(at_risk, format="csv").decode()
    assert not {"31", "42", "53", "64"} & set(re.split(r"[,\n]", table))


def test_an_analysis_that_fails_stops_no_other(tmp_path):
    broken = "{name: nothing, model: logit, formula: one_year_ild ~ I(one_year_ild * 1.0)}"
    fine = "{name: fine, model: ols, formula: fvc ~ age}"
    outcome = pipeline.run(config(f"analyses=[{broken}, {fine}]"), out=tmp_path / "out", study=True)
    first, second = outcome.metrics["utility"]["analyses"]
    assert (first["terms"], first["mean_ci_overlap"]) == ([], None)
    assert first["reason"]
    assert second["mean_ci_overlap"] is not None
    assert dict(outcome.summary)["nothing: confidence intervals agree"] == first["reason"]


def test_records_at_risk_hold_no_values(finished):
    table = pd.read_csv(text_io.BytesIO((finished[1] / "confidential" / "records_at_risk.csv").read_bytes()))
    assert list(table) == ["record", "attack", "group", "risk", "reason"]
    assert table["risk"].is_monotonic_decreasing
    assert set(table["group"]) <= {"low", "medium", "high"}
    assert table["record"].between(1, 300).all()


def test_the_summary_of_a_run(finished):
    labels = [label for label, _ in finished[0].summary]
    assert labels == [
        "work disability: confidence intervals agree",
        "lung disease: confidence intervals agree",
        "telling copies from the original (pMSE)",
        "people found in the original file",
        "people found in the copies",
        "people found in the copies averaged",
        "release gate",
    ]
    values = dict(finished[0].summary)
    assert re.fullmatch(r"\d+% on average, -?\d+% at worst", values["lung disease: confidence intervals agree"])
    assert re.fullmatch(
        r"\d+\.\d expected, \d+ as the only best match \(chance gives up to \d+\)", values["people found in the copies"]
    )
    assert "chance" not in values["people found in the original file"]
    assert values["release gate"] == "passed"


def test_the_summary_of_little():
    metrics = {"utility": {}, "risk": {"identity": {"reason": "why"}}, "gate": {"passed": False, "reasons": ["a", "b"]}}
    assert summary_rows(metrics) == (("release gate", "REFUSED"), ("", "a"), ("", "b"))
    failed = {"name": "x", "mean_ci_overlap": None}
    metrics = {"utility": {"analyses": [failed]}, "risk": {}, "gate": {"passed": True, "reasons": []}}
    assert summary_rows(metrics)[0] == ("x: confidence intervals agree", "not computed")


def test_nothing_shows_values(finished):
    outcome, _ = finished
    assert "Outcome object" in repr(outcome)
    assert "Assessment object" in repr(assessment(comparison()))


# the example that a newcomer tries first


@pytest.mark.slow
def test_the_example_passes_its_own_gate_with_a_secret_seed():
    settings = load(EXAMPLE)
    plan = plan_of(settings, Source.of(settings).data)
    # the verdict is on the mechanism, so seeds hardly matter
    assert judge(Draws(settings, plan, Streams(fresh_seed()), jobs=2)).verdict.judgement == "passed"
