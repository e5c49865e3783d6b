"""The rule follows from the design; one that does not fit is refused with the reason."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import api, pipeline, release
from synthdp.cli import app
from synthdp.config import load
from synthdp.errors import InputError
from synthdp.evaluation.gate.limits import OFF
from synthdp.inference.rules import RULES, unfit
from synthdp.synthesis.design import Design, rule_for

PARTIAL = Design(replaced="some", proper=True, copies=5)
PLUG_IN = Design(replaced="all", proper=False, copies=5)
PROPER = Design(replaced="all", proper=True, copies=5)
MASKED = Design(replaced="all", proper=True, copies=5, mask_draw="per_copy")
LARGER = Design(replaced="all", proper=True, copies=5, ratio=2.0)
SHARED_W = Design(replaced="some", proper=True, copies=4, mask_draw="once", mask_draws=5)
MISSING = Design(replaced="none", proper=True, copies=1, imputed=True, imputations=5)
TWO_STAGES = Design(replaced="none", proper=True, copies=3, imputed=True, imputations=5)
IMPUTED_FIRST = Design(replaced="some", proper=True, copies=3, imputed=True, imputations=5)
IMPUTED_ONE_EACH = Design(replaced="some", proper=True, copies=1, imputed=True, imputations=5)
COMPLETED = Design(replaced="all", proper=True, copies=5, completed=True)
NOTHING = Design(replaced="none", proper=False, copies=1)

# design, the rule it calls for, and the others that fit it
FITS = [
    (PARTIAL, "reiter2003", set()),
    (PLUG_IN, "raab2016", {"raab2016_sample", "reiter2003"}),
    (PROPER, "raab2016_proper", {"raab2016_sample_proper", "raghunathan2003", "reiter2003"}),
    (LARGER, "raab2016_proper", {"raab2016_sample_proper", "raghunathan2003"}),
    (MASKED, "reiter2003", set()),
    (SHARED_W, "reiter2003_nested", set()),
    (MISSING, "rubin1987", set()),
    (TWO_STAGES, "rubin2003", set()),
    (IMPUTED_FIRST, "reiter2004", set()),
    (IMPUTED_ONE_EACH, "rubin1987", set()),
    (COMPLETED, "rubin1987", set()),
    (NOTHING, "mean_se", set()),
]


@pytest.mark.parametrize(("design", "rule", "others"), FITS)
def test_the_rule_of_each_design_fits_it_and_so_do_few_others(design, rule, others):
    assert rule_for(design) == rule
    assert {name for name in RULES if unfit(name, design) is None} == {rule, "mean_se"} | others


@pytest.mark.parametrize(
    ("rule", "design", "sentence"),
    [
        ("rubin1987", PARTIAL, "rubin1987 is for imputed missing data, and nothing was imputed here: "),
        ("rubin1987", IMPUTED_FIRST, "rubin1987 assumes independent imputations, and here several copies come from "),
        (
            "rubin1987",
            Design(replaced="some", proper=True, copies=3, imputed=True),
            "rubin1987 treats replaced values as missing ones: intervals come out too wide; use reiter2003.",
        ),
        (
            "raab2016",
            PARTIAL,
            "raab2016 assumes that every column is drawn anew, and here some are kept; use reiter2003.",
        ),
        (
            "raab2016",
            MASKED,
            "raab2016 assumes copies drawn from the model alone, and here W brings in the records' own",
        ),
        ("raab2016", PROPER, "raab2016 assumes a model fitted once, and here each copy has parameters of its own"),
        (
            "raab2016_proper",
            PLUG_IN,
            "raab2016_proper assumes parameters drawn anew for each copy, and here the model ",
        ),
        (
            "raghunathan2003",
            Design(replaced="all", proper=True, copies=3, imputed=True, imputations=2),
            "raghunathan2003 assumes a complete original, and here missing values were imputed; use reiter2004.",
        ),
        (
            "raghunathan2003",
            PLUG_IN,
            "raghunathan2003 assumes parameters drawn anew for each copy, and here the model ",
        ),
        ("reiter2003", COMPLETED, "reiter2003 takes the original for known, and here only its masked records were: "),
        ("raab2016_proper", COMPLETED, "raab2016_proper assumes copies drawn from the model alone, and here W brings "),
        ("reiter2003", MISSING, "reiter2003 is for synthetic copies, and here nothing was replaced: "),
        (
            "reiter2003",
            IMPUTED_FIRST,
            "reiter2003 takes no account of the missing data, here imputed 5 times: too short",
        ),
        ("reiter2003", SHARED_W, "reiter2003 assumes independent copies, and here they share 5 draws of W: a little"),
        ("reiter2003", LARGER, "reiter2003 needs copies as large as the original when all columns are drawn anew, "),
        ("reiter2004", PARTIAL, "reiter2004 is for copies of several completed originals, and here there is one; use "),
        ("reiter2004", TWO_STAGES, "reiter2004 is for synthetic copies of completed originals, and here nothing was "),
        (
            "reiter2004",
            IMPUTED_ONE_EACH,
            "reiter2004 needs at least 2 copies of each, found 1; give more copies, or ask for mean_se.",
        ),
        ("rubin2003", PARTIAL, "rubin2003 is for missing data imputed in two stages, and here they were not; use "),
        (
            "rubin2003",
            IMPUTED_FIRST,
            "rubin2003 treats replaced values as missing ones: intervals come out too wide; use ",
        ),
        (
            "reiter2003_nested",
            PARTIAL,
            "reiter2003_nested is for several draws of W that copies share, and here there ",
        ),
        (
            "reiter2003",
            Design(replaced="some", proper=True, copies=1),
            "reiter2003 needs at least 2 copies, found 1; give more copies, or ask for mean_se.",
        ),
        (
            "raab2016",
            Design(replaced="some", proper=True, copies=1),
            "raab2016 assumes that every column is drawn anew, and here some are kept; use mean_se.",
        ),
        ("reiter", PARTIAL, "no combining rule named 'reiter'; did you mean 'reiter2003'?"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(rule, design, sentence):
    found = unfit(rule, design)
    assert found is not None
    assert found.startswith(sentence)
    assert found.endswith((".", "?"))


@pytest.mark.parametrize("design", [design for design, _, _ in FITS])
def test_a_design_survives_release_json(design):
    contents = {
        "imputations": design.imputations,
        "copies": design.copies,
        "mask_draw": design.mask_draw if design.masked else None,
        "design": design.facts(),
    }
    assert Design.of(json.loads(json.dumps(contents))) == design


def test_a_release_of_another_tool_has_no_design():
    assert Design.of({"copies": 3}) is None
    assert Design.of({"copies": 3, "design": {"proper": True}}) is None


@pytest.fixture
def config_file(tmp_path):
    rng = np.random.default_rng(3)
    age = rng.normal(50, 10, 120).round(1)
    frame = pd.DataFrame(
        {"age": age, "income": (age + rng.normal(0, 5, 120)).round(1), "y": rng.normal(size=120).round(2)}
    )
    frame.to_csv(tmp_path / "data.csv", index=False)

    def write(synthesis, replaced=("age", "income", "y"), rule=None):
        named = f", rule: {rule}" if rule else ""
        masks = "masks: {age: {method: gaussian, sd: 1.0}}" if "da_mi" in synthesis else ""
        variables = ", ".join(f"{name}: {{kind: continuous, role: replace, tolerance: 1}}" for name in replaced)
        (tmp_path / "c.yaml").write_text(
            f"data: {{path: data.csv}}\nvariables: {{{variables}}}\nsynthesis: {synthesis}\n{masks}\n"
            f"evaluation: {{utility: [analyses], risk: []}}\n"
            f"release: {json.dumps(OFF.model_dump())}\n"
            f"analyses: [{{name: a, model: ols, formula: y ~ age{named}}}]\n"
        )
        return tmp_path / "c.yaml"

    return write


@pytest.mark.parametrize(
    ("synthesis", "replaced", "rule"),
    [
        ("{method: sequential, copies: 2}", ("age", "income", "y"), "raab2016"),
        ("{method: sequential, copies: 1}", ("age", "income", "y"), "raab2016"),
        ("{method: sequential, copies: 2, proper: true}", ("age", "income", "y"), "raab2016_proper"),
        ("{method: sequential, copies: 2}", ("age",), "reiter2003"),
        ("{method: mi, copies: 2}", ("age", "income"), "reiter2003"),
        ("{method: mi, copies: 2}", ("age", "income", "y"), "raab2016_proper"),
        ("{method: da_mi, copies: 2}", ("age", "income", "y"), "reiter2003"),
    ],
)
def test_every_method_says_its_rule_and_the_files_carry_the_design(config_file, tmp_path, synthesis, replaced, rule):
    outcome = pipeline.run(load(config_file(synthesis, replaced)), out=tmp_path / "out")
    contents = release.read_public(tmp_path / "out").contents
    assert contents["rule"] == rule
    assert rule_for(Design.of(contents)) == rule
    assert outcome.metrics["utility"]["analyses"][0]["rule"] == rule
    text = (tmp_path / "out" / "public" / "README.md").read_text()
    assert ("T = ū + b / M" in text) == (rule == "reiter2003")
    assert "no valid interval" not in text
    other = "rubin1987" if rule.startswith("raab") else "raab2016"
    refused = CliRunner().invoke(
        app, ["analyse", str(tmp_path / "out"), "--model", "ols", "--formula", "y ~ age", "--rule", other]
    )
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"--rule: {other} ")
    shown = CliRunner().invoke(app, ["analyse", str(tmp_path / "out"), "--model", "ols", "--formula", "y ~ age"])
    assert f"combined by {rule}" in shown.stdout


def test_a_config_with_a_rule_that_does_not_fit_is_refused(config_file):
    with pytest.raises(InputError, match=r"^analyses\.a\.rule: raab2016 assumes that every column is drawn anew"):
        pipeline.check(load(config_file("{method: sequential}", ("age",), "raab2016")))
    with pytest.raises(InputError, match=r"^analyses\.a\.rule: reiter2003 needs at least 2 copies, found 1; give more"):
        pipeline.check(load(config_file("{method: sequential, copies: 1}", ("age",), "reiter2003")))
    pipeline.check(load(config_file("{method: sequential, copies: 1}", ("age",), "mean_se")))


def test_the_readme_of_fully_synthetic_files_runs(config_file, tmp_path, monkeypatch, capsys):
    import re

    pipeline.run(load(config_file("{method: sequential, copies: 3}")), out=tmp_path / "out")
    text = (tmp_path / "out" / "public" / "README.md").read_text()
    monkeypatch.chdir(tmp_path / "out" / "public")
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], {})
    estimate, se = map(float, capsys.readouterr().out.split())
    copies = release.read_public(tmp_path / "out").copies
    pooled = api.pool(copies, model="mean", formula="age", rule="raab2016")
    assert (pooled.estimate[0], pooled.se[0]) == pytest.approx((estimate, se))


def test_that_a_gap_shows_in_the_names_of_the_files_is_said_before_signing(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.normal(50, 10, 60).round(), "z": rng.normal(size=60)})
    config = tmp_path / "config.yaml"
    config.write_text(
        "data: {path: data.csv}\n"
        "variables: {age: {kind: continuous, role: replace, key: true, bounds: [0, 110]}, z: {key: false}}\n"
        "masks: {age: {method: gaussian, sd: 1}}\nsynthesis: {model: {method: copula}, copies: 2}\n"
    )
    said = []
    for gaps in (0, 1):
        frame.assign(age=frame["age"].where(frame.index >= gaps)).to_csv(tmp_path / "data.csv", index=False)
        said.append(any("tell data users that a value was missing" in m for m in pipeline.check(load(config)).messages))
    assert said == [False, True]
