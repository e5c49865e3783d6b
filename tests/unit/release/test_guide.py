"""The README of a release: its examples run as they stand, and say what ``synthdp analyse`` says."""

import contextlib
import io
import re
import shlex
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import release
from synthdp.cli import app
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import combine
from synthdp.inference.estimates import Estimates
from synthdp.inference.rules import RULES
from synthdp.release import guide
from synthdp.release.reading import open_copies, pool_opened
from synthdp.synthesis.design import Design, rule_for
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

ROWS = 60
DESIGNS = {
    "reiter2003": Design(replaced="some", proper=True, copies=4),
    "raab2016": Design(replaced="all", proper=False, copies=4),
    "raab2016_proper": Design(replaced="all", proper=True, copies=4, ratio=0.5),
    "rubin1987": Design(replaced="none", proper=True, copies=1, imputed=True, imputations=4),
    "rubin2003": Design(replaced="none", proper=True, copies=2, imputed=True, imputations=3),
    "reiter2004": Design(replaced="some", proper=True, copies=3, imputed=True, imputations=2),
    "reiter2003_nested": Design(replaced="some", proper=True, copies=2, mask_draw="per_copy", mask_draws=3),
    "mean_se": Design(replaced="none", proper=True, copies=2),
}
HAS_R = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, ROWS)
    return pd.DataFrame(
        {"age": age, "sex": rng.choice(["F", "M"], ROWS), "income": (100 * age + rng.normal(0, 900, ROWS)).round(2)}
    )


def published(tmp_path, design: Design, format: str = "csv", rename: dict[str, str] | None = None):
    copies = [people(k).rename(columns=rename or {}) for k in range(design.files)]
    columns = {(rename or {}).get(name, name): Variable(role="replace") for name in ("age", "sex")}
    data = resolve(copies[0], columns)
    described = release.describe(
        data.schema, method="mi", imputations=design.imputations, copies=design.files // design.imputations,
        mask_draw=design.mask_draw, rule=rule_for(design), records=ROWS, masks={}, format=format, design=design,
    )  # fmt: skip
    described["copies"] = design.copies
    if design.mask_draws > 1:
        described["files"] = release.file_names(1, design.files, format)
    contents = described | ({"copies": design.files} if design.mask_draws > 1 else {})
    with release.prepare_out(tmp_path / "out", resume=False) as out:
        release.publish(
            out, copies, codebook=release.codebook(data.schema, copies), release=contents,
            readme=release.readme(described), format=format, permutations=[np.arange(ROWS)] * len(copies),
        )  # fmt: skip
    return tmp_path / "out" / "public"


def blocks(folder, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)


def python(folder) -> str:
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        exec("\n".join(blocks(folder, "python")), {})
    return out.getvalue()


def expected(folder, model: str, formula: str, design: Design):
    opened = open_copies(folder)
    analysis = Analysis.model_validate({"name": model, "model": model, "formula": formula, "rule": rule_for(design)})
    found = [analysis.estimate(copy) for copy in opened.copies]
    nests = design.nests if design.nests > 1 else None
    return combine(found, rule_for(design), nests=nests, ratio=design.ratio)


def test_the_designs_are_what_they_are_called() -> None:
    assert {rule: rule_for(design) for rule, design in DESIGNS.items()} == {rule: rule for rule in DESIGNS}


@pytest.mark.parametrize("rule", DESIGNS)
def test_the_python_examples_agree_with_the_combining_rule(tmp_path, rule) -> None:
    design = DESIGNS[rule]
    folder = published(tmp_path, design)
    first, *table = python(folder).splitlines()
    mean = expected(folder, "mean", "age", design)
    numbers = [float(part) for part in first.split()]
    wanted = [mean.estimate[0], mean.se[0], mean.df[0]][: len(numbers)]
    assert numbers == pytest.approx(wanted)
    assert (len(numbers) == 2) == bool(np.isinf(mean.df[0]))
    slopes = expected(folder, "ols", "income ~ age", design)
    shown = pd.read_csv(io.StringIO("\n".join(table)), sep=r"\s+")
    np.testing.assert_allclose(shown["estimate"], slopes.estimate, rtol=1e-5)
    np.testing.assert_allclose(shown["se"], slopes.se, rtol=1e-5)


@HAS_R
@pytest.mark.parametrize("rule", DESIGNS)
def test_the_r_example_agrees_with_the_combining_rule(tmp_path, rule) -> None:
    design = DESIGNS[rule]
    folder = published(tmp_path, design)
    code = "options(digits = 12)\n" + blocks(folder, "r")[0]
    out = subprocess.run(["Rscript", "-e", code], cwd=folder, capture_output=True, text=True, check=True).stdout
    shown = pd.read_csv(io.StringIO(out), sep=r"\s+")
    slopes = expected(folder, "ols", "income ~ age", design)
    np.testing.assert_allclose(shown["estimate"], slopes.estimate, rtol=1e-9)
    np.testing.assert_allclose(shown["se"], slopes.se, rtol=1e-9)
    if np.isfinite(slopes.df).all():
        np.testing.assert_allclose(shown["df"], slopes.df, rtol=1e-6)


@HAS_R
def test_mice_has_the_rule_that_the_readme_names(tmp_path) -> None:
    asked = subprocess.run(["Rscript", "-e", "quit(status = !requireNamespace('mice', quietly = TRUE))"])
    if asked.returncode:
        pytest.skip("the R package mice is not installed")
    folder = published(tmp_path, DESIGNS["reiter2003"])
    fits, mice = blocks(folder, "r")
    code = f"{fits}\ncat('---\\n')\nwrite.csv(as.data.frame({mice.strip()}))"
    out = subprocess.run(["Rscript", "-e", code], cwd=folder, capture_output=True, text=True, check=True).stdout
    found = pd.read_csv(io.StringIO(out.split("---")[1]))
    slopes = expected(folder, "ols", "income ~ age", DESIGNS["reiter2003"])
    np.testing.assert_allclose(found["estimate"], slopes.estimate, rtol=1e-9)
    np.testing.assert_allclose(found["std.error"], slopes.se, rtol=1e-9)


def test_the_commands_agree_with_the_python_examples(tmp_path) -> None:
    folder = published(tmp_path, DESIGNS["reiter2003"])
    commands = re.findall(r"^    synthdp (analyse .*)$", (folder / "README.md").read_text(), re.MULTILINE)
    assert [shlex.split(command)[2:] for command in commands] == [
        ["--model", "mean", "--formula", "age"],
        ["--model", "ols", "--formula", "income ~ age"],
    ]
    first, *table = python(folder).splitlines()
    for command, shown in zip(commands, (first, "\n".join(table)), strict=True):
        words = [str(folder) if word == "." else word for word in shlex.split(command)]
        out = tmp_path / "table.csv"
        done = CliRunner().invoke(app, [*words, "--out", str(out)])
        assert done.exit_code == 0, done.stderr
        found = pd.read_csv(out)
        estimates = re.findall(r"-?\d+\.\d+", shown)
        assert float(estimates[0]) == pytest.approx(found["estimate"].iloc[0], rel=1e-5)
        assert float(estimates[1]) == pytest.approx(found["se"].iloc[0], rel=1e-5)


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet"])
def test_every_format_is_read_by_the_example(tmp_path, format) -> None:
    folder = published(tmp_path, DESIGNS["reiter2003"], format)
    assert float(python(folder).split()[0]) == pytest.approx(np.mean([people(k)["age"].mean() for k in range(4)]))


def test_names_that_need_quoting(tmp_path) -> None:
    names = {"age": "age, in years", "income": "largeur d'été"}
    folder = published(tmp_path, DESIGNS["reiter2003"], rename=names)
    assert float(python(folder).split()[0]) == pytest.approx(np.mean([people(k)["age"].mean() for k in range(4)]))
    commands = re.findall(r"^    synthdp (analyse .*)$", (folder / "README.md").read_text(), re.MULTILINE)
    for command in commands:
        words = [str(folder) if word == "." else word for word in shlex.split(command)]
        assert CliRunner().invoke(app, words).exit_code == 0
    assert "apply the formula above by a loop" in (folder / "README.md").read_text()


def contents(design: Design, columns, format: str = "csv"):
    files = release.file_names(1, design.files, format)
    return {
        "imputations": design.imputations, "copies": design.copies, "rule": rule_for(design), "records": ROWS,
        "format": format, "files": files, "columns": columns,
    }  # fmt: skip


def column(name: str, kind: str = "continuous", role: str = "replaced", **more: str):
    return {"name": name, "kind": kind, "role": role, **more}


def test_without_numbers_the_example_is_a_share(tmp_path) -> None:
    text = release.readme(contents(DESIGNS["reiter2003"], [column("home town", "nominal", "kept")]))
    assert "synthdp analyse . --model proportion --formula 'home town'" in text
    assert "drawn anew from a model: none" in text
    assert "smf.ols" not in text


def test_rubins_rule_is_warned_of_unless_values_were_imputed() -> None:
    columns = [column("age"), column("y", role="kept")]
    for rule, design in DESIGNS.items():
        text = release.readme(contents(design, columns))
        assert ("**Not Rubin's rule.**" in text) == (not rule.startswith("rubin"))
        assert "`mi estimate`" in text
        assert "mitools" in text
        assert ("pool.syn" in text) == (rule == "reiter2003")


def test_what_else_the_readme_says() -> None:
    columns = [
        column("age"), column("y", role="kept"), column("log_y", role="derived", formula="log(y)"),
        column("z", role="kept", applies_when="age > 30"),
    ]  # fmt: skip
    text = release.readme(contents(DESIGNS["reiter2003"], columns))
    assert "computed from the others: `log_y` = `log(y)`" in text
    assert "missing for all others, as it does not apply to them: `z` when `age > 30`" in text
    assert "regress y age" in text
    assert "no valid interval" not in text
    assert "{" not in re.sub(r"\{(?=\n)|\{\"estimate", "", text)
    one = Design(replaced="some", proper=True, copies=1)
    assert "no valid interval" in release.readme(contents(one, columns))
    assert "no valid interval" not in release.readme(contents(Design(replaced="all", proper=False, copies=1), columns))
    assert "Stata does not read these files" in release.readme(contents(one, columns, "parquet"))


@pytest.mark.parametrize("rule", ["reiter2004", "rubin2003", "reiter2003_nested"])
def test_the_nested_formulas_follow_the_rule_term_by_term(rule) -> None:
    rng = np.random.default_rng(4)
    m, r = 3, 4
    q, u = rng.normal(size=(m * r, 5)), rng.uniform(0.001, 2, size=(m * r, 5))
    names = tuple("abcde")
    pooled = combine([Estimates(names, a, np.diag(b), None) for a, b in zip(q, u, strict=True)], rule, nests=m)
    space = {"np": np, "q": q, "u": u, "m": m, "r": r, "M": m * r}
    exec(RULES[rule].formula(1.0).python, space)
    np.testing.assert_allclose(space["T"], pooled.se**2)
    np.testing.assert_allclose(space["nu"], pooled.df)


def test_a_release_with_another_layout_is_pooled_by_its_design(tmp_path) -> None:
    design = DESIGNS["reiter2004"]
    folder = published(tmp_path, design)
    pooled = pool_opened(
        open_copies(folder), Analysis(name="mean", model="mean", formula="age"), level=0.95, called="formula"
    )
    assert (pooled.rule, pooled.nests) == ("reiter2004", 2)
    assert pooled.se == pytest.approx(expected(folder, "mean", "age", design).se)


def test_a_name_cannot_leave_its_code() -> None:
    assert guide.code("``a`<b>") == "``` ``a`<b> ```"
    assert guide.code("a\n# b") == "`a # b`"
    assert guide.code("two  blanks") == "`two  blanks`"
