"""Small but sharp: what a hostile or clumsy input may not do, and that the same fault ends the same way everywhere."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from synthdp import release
from synthdp.cli import app, terminal
from synthdp.config import load, parse
from synthdp.errors import InputError, Unfinished
from synthdp.imputation.regression.association import Regression
from synthdp.inference.formulas import columns_used
from synthdp.masking.evidence import Axis, GaussianEvidence, LevelEvidence
from synthdp.privacy.ledger import Ledger, fingerprint
from synthdp.release.reading import read_public
from synthdp.seeding import Streams
from synthdp.stages.intake import Source, prepare
from synthdp.stages.planning import plan_of
from synthdp.stages.publishing import publish, row_orders
from synthdp.synthesis import sampler
from synthdp.synthesis.making import finish, make, repair
from synthdp.table import expressions, io
from synthdp.table.vocabulary import MOST_TERMS, check_terms

CONFIG = """
data: {path: data.csv}
variables:
  age: {kind: continuous, role: replace, key: true, bounds: [0, 120], decimals: 0}
  sex: {kind: binary, role: replace, levels: [F, M]}
  income: {kind: continuous}
masks: {age: {method: gaussian, sd: 1.0}}
synthesis: {copies: 2}
analyses: [{name: first, model: ols, formula: income ~ age}]
evaluation: {utility: [analyses], risk: [identity]}
release: {max_expected_match_rate: 1.0, max_individual: 1.0}
"""
PROMPT = 30  # seconds, on a machine that does other things


def table(n=40):
    rng = np.random.default_rng(2)
    age = rng.integers(20, 70, n)
    return pd.DataFrame(
        {"age": age, "sex": rng.choice(["F", "M"], n), "income": (31.7 * age + rng.normal(0, 200, n)).round(2)}
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("data.csv", index=False)
    Path("config.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture(autouse=True)
def _promptly():
    """End a test that hangs: a pipe nobody writes into, arithmetic without end."""

    def stop(_signal, _frame):
        raise TimeoutError("this took too long")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PROMPT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def told(*args, code):
    """Run a command, and return the one or more sentences it ended with."""
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    assert "a bug in synthdp" not in done.output
    return done.stderr.strip()


# the ledger


def ledger_of(folder, name="survey.ledger"):
    return Ledger(folder / name, fingerprint(folder / "data.csv"))


def test_a_ledger_is_for_its_owner_only(folder):
    book = ledger_of(folder)
    book.create(epsilon=1.0)
    book.charge("a mean", epsilon=0.5, adjacency="replace")
    for name in ("survey.ledger", "survey.ledger.lock"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_wider_permissions_of_a_ledger_are_tightened(folder):
    ledger_of(folder).create(epsilon=1.0)
    (folder / "survey.ledger").chmod(0o644)
    ledger_of(folder).account()
    assert stat.S_IMODE((folder / "survey.ledger").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["survey.ledger", "survey.ledger.lock"])
def test_a_ledger_that_is_a_link_is_refused(folder, name):
    elsewhere = folder / "elsewhere"
    elsewhere.write_text("precious")
    (folder / name).symlink_to(elsewhere)
    command = ("dp", "mean", "data.csv", "--column", "age", "--bounds", "0,120", "--epsilon", "0.1")
    said = told(*command, "--ledger", "survey.ledger", "--cap", "1", code=2)
    assert said == "survey.ledger: the ledger is a link, and links are not followed; give the file itself."
    assert elsewhere.read_text() == "precious"


def test_a_link_where_the_ledger_is_written_beside_is_not_followed(folder):
    elsewhere = folder / "elsewhere"
    elsewhere.write_text("precious")
    (folder / "survey.ledger.new").symlink_to(elsewhere)
    ledger_of(folder).create(epsilon=1.0)
    assert elsewhere.read_text() == "precious"


def test_a_ledger_that_is_a_pipe_or_damaged_is_refused(folder):
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match=r"pipe: the ledger cannot be read \(a folder, a pipe or a device\)\.$"):
        ledger_of(folder, "pipe").account()
    (folder / "bad").write_text("[" * 100_000)
    with pytest.raises(InputError, match="bad: the ledger is damaged; restore it from a backup"):
        ledger_of(folder, "bad").account()
    said = told("dp", "ledger", "data.csv", "--ledger", "bad", code=2)
    assert said.startswith("bad: the ledger is damaged")


# the system


def test_a_failing_disk_is_not_the_users_fault(folder, monkeypatch):
    def fails(*_args, **_kwargs):
        raise OSError(5, "Input/output error", "data.csv")

    monkeypatch.setattr("synthdp.pipeline.check", fails)
    said = told("check", "config.yaml", code=4)
    assert said == "data.csv: the system could not do this (Input/output error); try again."


@pytest.mark.parametrize("ending", ["csv", "parquet", "sav"])
def test_data_that_cannot_be_read_for_an_error_of_the_disk_end_in_4(folder, ending):
    (folder / f"broken.{ending}").symlink_to("/proc/self/mem")  # reading it is an input/output error
    said = told("init", f"broken.{ending}", code=4)
    assert said == f"broken.{ending}: the file cannot be read (Input/output error)."
    with pytest.raises(Unfinished):
        io.read(folder / f"broken.{ending}")


# damaged files


def released(config, out):
    """Make a release without a gate, which is not what these tests are about."""
    data = Source.of(config).data
    streams = Streams(2**70)
    made = make(config.synthesis, plan_of(config, data), streams=streams)
    with release.prepare_out(out, resume=False):
        release.start_manifest(out, config={}, inputs={}, study=False, resume=False)
        sums = publish(config, data, made, row_orders(config, made, streams), out, None)
        release.finish_manifest(out, status="published", timings={}, public=sums)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a finished run, for tests that spoil a copy of it."""
    folder = tmp_path_factory.mktemp("finished")
    table().to_csv(folder / "data.csv", index=False)
    (folder / "config.yaml").write_text(CONFIG)
    released(load(folder / "config.yaml"), folder / "out")
    return folder


DAMAGES = {
    "cut": b'{"version": 1, "fil',
    "empty": b"",
    "nested": b"[" * 50_000,
    "binary": bytes(range(256)),
    "list": b"[]",
}
READERS = {
    "analyse": ("analyse", "out", "--model", "mean", "--formula", "age"),
    "verify": ("verify", "out"),
    "evaluate": ("evaluate", "config.yaml", "--synthetic", "out/public", "--out", "judged"),
    "resume": ("run", "config.yaml", "--out", "out", "--resume"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("public/release.json", "analyse"),
        ("public/release.json", "verify"),
        ("public/release.json", "evaluate"),
        ("public/codebook.csv", "analyse"),
        ("public/codebook.csv", "verify"),
        ("confidential/manifest.json", "resume"),
        ("confidential/manifest.json", "verify"),
    ],
)
def test_damaged_files_are_wrong_input(finished, tmp_path, monkeypatch, file, command, damage):
    shutil.copytree(finished, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    (Path("out") / file).write_bytes(DAMAGES[damage])
    assert file.rpartition("/")[2] in told(*READERS[command], code=2)


# empty files


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "the file is empty."),
        (b"\n\n  \n\n", "the file is empty."),
        (b"\xef\xbb\xbf", "the file is empty."),
        (b"a,b\n", "the file has column names but no records."),
        (b"a,b", "the file has column names but no records."),
        (b"a;b\n\n\n", "the file has column names but no records."),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_init_on_an_empty_file(folder, text, says, ending):
    (folder / f"empty.{ending}").write_bytes(text if ending == "csv" else text.replace(b",", b"\t"))
    said = told("init", f"empty.{ending}", code=2)
    assert len(said.splitlines()) == 1
    if b";" not in text:
        assert said == f"empty.{ending}: {says}"
    assert not (folder / "empty.yaml").exists()


@pytest.mark.parametrize("ending", ["parquet", "feather", "dta", "sav", "xpt"])
def test_init_on_an_empty_file_of_other_formats(folder, ending):
    (folder / f"empty.{ending}").touch()
    assert told("init", f"empty.{ending}", code=2) == f"empty.{ending}: the file is empty."


# bombs


@pytest.mark.parametrize(
    "formula",
    [
        "income ~ I(9**9**9)",
        "income ~ I(age * 9**9**9)",
        "income ~ age + I((10**10)**(10**10))",
        "income ~ I([0]*10**10)",
        "income ~ I('a'*10**10)",
        "income ~ I(1 << 10**10)",
        "income ~ I(" + "(" * 3000 + "age" + ")" * 3000 + ")",
        "income ~ " + "-" * 5000 + "age",
        "income ~ __import__('os').system('true')",
        "income ~ age.__class__",
        "income ~ I(age.__class__.__bases__)",
        "income ~ np.load('x')",
        "income ~ I((lambda: 1)())",
        "income ~ I([x for x in age])",
        "income ~ bs(age, df=10**9)",
        "income ~ bs(age, df=5, degree=100000)",
        "income ~ (" + " + ".join(f"x{i}" for i in range(40)) + ")**12",
        "income ~ " + " * ".join(f"x{i}" for i in range(40)),
        "income ~ (a + b)**99999999999999",
        "income ~ " + " + ".join(["age"] * 20_000),
        "income ~ age" + " " * 10**6,
        "income ~ I(" + "9" * 5000 + ")",
        "income ~ I(0x" + "f" * 9000 + ")",
        "income ~ Q('" + "x" * 10**6 + "')",
    ],
    ids=lambda formula: formula[9:45],
)
def test_a_formula_cannot_keep_the_machine_busy(folder, formula):
    raw = yaml.safe_load(CONFIG)
    raw["analyses"][0]["formula"] = formula
    Path("config.yaml").write_text(yaml.safe_dump(raw))
    started = time.perf_counter()
    said = told("check", "config.yaml", code=2)
    assert time.perf_counter() - started < PROMPT
    assert len(said) < 2500
    assert "analyses" in said


def test_signs_without_end_are_read_or_refused_at_once(folder):
    # whether so deep an expression can be evaluated depends on how deep the stack is already
    raw = yaml.safe_load(CONFIG)
    raw["analyses"][0]["formula"] = "income ~ I(" + "-" * 5000 + "age)"
    Path("config.yaml").write_text(yaml.safe_dump(raw))
    started = time.perf_counter()
    assert CliRunner().invoke(app, ["check", "config.yaml"]).exit_code in (0, 2)
    assert time.perf_counter() - started < PROMPT


def test_brackets_without_end_are_harmless():
    assert columns_used("income ~ " + "(" * 3000 + "age" + ")" * 3000) == ("income", "age")


def test_formulas_people_write_are_still_allowed():
    assert columns_used("income ~ I(age**2) + I(10**6 * age) + bs(age, df=5) + (a + b + c)**2 + a*b*c") == (
        "income",
        "age",
        "a",
        "b",
        "c",
    )
    columns_used("income ~ np.isin(age, [1, 2, 3]) + C(sex, Treatment('F')) + np.where(age > 60, 1, -1e9)")


@pytest.mark.parametrize(
    ("formula", "terms"),
    [("y ~ a*b*c", 7), ("y ~ (a+b+c)**2", 6), ("y ~ a:b + c", 2), ("y ~ a/b", 2), ("y ~ (a+b)**9", 3)],
)
def test_the_number_of_terms_is_bounded_from_above(formula, terms):
    """The bound against what patsy expands (without its constant)."""
    import patsy

    from synthdp.table.vocabulary import _expanded

    assert len(patsy.ModelDesc.from_formula(formula).rhs_termlist) - 1 == terms
    assert terms <= _expanded(formula) - 1 <= 2 * terms


def test_the_terms_of_other_languages_are_bounded_too():
    with pytest.raises(InputError, match=f"expands to more than {MOST_TERMS:,} terms"):
        check_terms(" * ".join("abcdefghijklmnop"), "formula")
    with pytest.raises(InputError, match="expands to more than 5,000 terms"):
        check_terms("(" + " + ".join("abcdefghijklmnop") + ")^12", "formula")
    with pytest.raises(InputError, match="has powers, or more than 8 products, in a form that is not understood"):
        check_terms("(a + b)**2 %in% (c", "formula")
    check_terms("a + b", "formula")
    check_terms("a * b %in% (c", "formula")


def test_a_formula_of_a_model_of_ones_own_is_restrained_too():
    from synthdp.imputation.pymc.terms import read

    for formula in ("1 + I(9**9**9)", "1 + I([0]*10**10)", "1 + bs(age, df=10**8)", " * ".join("abcdefghijklmnop")):
        with pytest.raises(InputError, match=r"^formula: "):
            read(formula)
    assert read("1 + sex * age + bs(age, df=4)").names() == ("sex", "age")


EXPRESSIONS = [
    "age > 9**9**9",
    "age > [0] * 10**10",
    "'a' * 10**10 == sex",
    "age > " + "(" * 10_000 + "1" + ")" * 10_000,
    "not " * 10_000 + "age > 1",
    "age > " + "-" * 10_000 + "1",
    "age > 1" + " + 1" * 10_000,
    "age in [" + ", ".join(map(str, range(20_000))) + "]",
    "sex in [" + ", ".join(f"'{i}'" for i in range(20_000)) + "]",
    "age > 0x" + "f" * 9_000,
    "age > " + "9" * 5_000,
    "sex == '" + "x" * 10**6 + "'",
    "sex == '" + "x" * 10**7 + "'",
    "age > 0 and __import__('os')",
    "age.__class__ == 1",
    "cut(age, [1e400])",
    "cut(age, [0x" + "f" * 500 + "]) > 0",
    "[y for y in [" + "1," * 1000 + "1]]",
]


@pytest.mark.parametrize("text", EXPRESSIONS, ids=lambda text: text[:30])
def test_an_expression_cannot_keep_the_machine_busy(text):
    frame = table(2000)
    started = time.perf_counter()
    said = ""
    try:
        expressions.evaluate(text, frame)
    except InputError as error:
        said = str(error)
    assert len(said) < 700
    assert time.perf_counter() - started < PROMPT / 3


@pytest.mark.parametrize(
    "text", [EXPRESSIONS[3], EXPRESSIONS[4], EXPRESSIONS[11], EXPRESSIONS[12]], ids=["deep", "not", "text", "long"]
)
@pytest.mark.parametrize("place", ["constraints", "applies_when", "derived", "rules"])
def test_expressions_in_a_config_end_with_a_sentence(folder, text, place):
    raw = yaml.safe_load(CONFIG)
    if place == "constraints":
        raw["constraints"] = [text]
    elif place == "rules":
        raw["groups"] = {"method": "rules", "rules": {"high": text}}
    else:
        raw["variables"]["income"] = {place: text}
    Path("config.yaml").write_text(json.dumps(raw))
    assert told("check", "config.yaml", code=2)


def test_a_list_says_the_same_however_it_is_looked_up():
    """The quick way against one comparison after the other."""
    frame = pd.DataFrame({"x": [1.0, 2.0, None, 2.5], "t": ["a", None, "b", "1"], "c": [True, False, True, True]})
    for text, slow in (
        ("x in [1, 2.5]", "x == 1 or x == 2.5"),
        ("x not in [1]", "x != 1"),
        ("t in ['a', '1']", "t == 'a' or t == '1'"),
        ("c in [1]", "c == 1"),
        ("x in []", "x > 99"),
    ):
        assert expressions.evaluate(text, frame).tolist() == expressions.evaluate(slow, frame).tolist()
    assert expressions.evaluate("x in [1]", frame.assign(x=None)).tolist() == [False] * 4
    with pytest.raises(InputError, match="compares number with text"):
        expressions.evaluate("x in ['a']", frame)


def bomb(levels, width):
    first = "a0: &a0 [x, x, x, x, x, x, x, x, x]"
    return "\n".join([first, *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels))])


@pytest.mark.parametrize(
    "text",
    [
        bomb(10, 9) + f"\nvariables: *a9\n{CONFIG}",
        "a: &a {b: *a}\n",
        "".join(
            f"k{i}: &k{i} {{<<: [{', '.join([f'*k{i - 1}'] * 9)}]}}\n" if i else "k0: &k0 {a: 1}\n" for i in range(12)
        ),
        "[" * 10_000,
        "a: " + "{a: " * 10_000,
    ],
    ids=["laughs", "ring", "merges", "lists", "mappings"],
)
def test_yaml_cannot_keep_the_machine_busy(folder, text):
    Path("config.yaml").write_text(text)
    said = told("check", "config.yaml", code=2)
    assert said.startswith("config.yaml: not valid YAML")
    assert len(said) < 300


def test_a_config_of_many_keys_is_read_quickly(folder):
    levels = ", ".join(f"k{i}: v" for i in range(20_000))
    Path("config.yaml").write_text(f"{CONFIG}\nseed: {{{levels}}}\n")
    started = time.perf_counter()
    told("check", "config.yaml", code=2)
    assert time.perf_counter() - started < PROMPT / 2


def test_an_alias_people_write_is_still_allowed(folder):
    Path("config.yaml").write_text(
        "data: {path: data.csv}\n"
        "variables:\n  age: &shared {kind: continuous, role: replace, bounds: [0, 120]}\n  income: *shared\n"
    )
    assert load(Path("config.yaml")).variables["income"].bounds == (0, 120)


# pipes and devices


@pytest.mark.parametrize("name", ["pipe", "device"])
@pytest.mark.parametrize(
    "command",
    [
        ("init", "odd.csv"),
        ("init", "odd.parquet"),
        ("init", "odd.sav"),
        ("check", "odd.yaml"),
        ("check", "config.yaml", "--set", "data.path=odd.csv"),
        ("run", "config.yaml", "--out", "out", "--set", "data.path=odd.csv"),
        ("evaluate", "config.yaml", "--synthetic", "odd.csv", "--out", "judged"),
        ("dp", "mean", "odd.csv", "--column", "age", "--bounds", "0,120", "--epsilon", "1"),
        ("dp", "mean", "odd.csv", "--column", "age", "--epsilon", "1", "--ledger", "l", "--cap", "1"),
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_pipes_and_devices_are_no_files(folder, command, name):
    odd = next(arg.rpartition("=")[2] for arg in command if "odd." in arg)
    if name == "pipe":
        os.mkfifo(odd)
    else:
        Path(odd).symlink_to("/dev/zero")
    said = told(*command, code=2)
    assert said == f"{odd}: this is a pipe or a device, which may never end; copy it into a file first."


def test_a_log_that_is_a_pipe_or_a_folder_is_refused(folder):
    os.mkfifo("pipe")
    for place in ("pipe", ".", "no/such/folder/log.txt"):
        said = told("check", "config.yaml", "--log", place, code=2)
        assert said == f"--log {place}: the file cannot be written."


@pytest.mark.parametrize("place", ["data.csv", "data.csv/below", "/dev/null", "/proc/x"])
def test_results_go_into_a_folder_only(folder, place):
    assert place in told("run", "config.yaml", "--out", place, code=2)


# cells that are formulas


WORDS = ["=1+1", "+x", "-x", "@x", "\tx", "plain", "'quoted", "'=x", "it's", ""]


def test_escaped_text_comes_back(tmp_path):
    frame = pd.DataFrame({"=name": [word or None for word in WORDS], "n": range(-5, 5), "p": np.linspace(-1, 1, 10)})
    for format in ("csv", "tsv"):
        path = tmp_path / f"x.{format}"
        path.write_bytes(io.encode(frame, format=format, escape_formulas=True))
        plain = io.read(path)
        assert plain.columns[0] == "'=name"
        assert not plain.iloc[:, 0].dropna().str.startswith(("=", "+", "-", "@", "\t")).any()
        assert plain["n"].tolist() == list(range(-5, 5))  # numbers are not touched
        pd.testing.assert_frame_equal(io.read(path, io.Dialect(escaped=True)), frame, check_dtype=False)
    categories = frame.assign(**{"=name": frame["=name"].astype("category")})
    assert io.encode(categories, format="csv", escape_formulas=True) == io.encode(
        frame, format="csv", escape_formulas=True
    )
    shown = pd.DataFrame({"'=a": pd.Categorical(["'=x", "y"])})
    from synthdp.table.io.text import unescaped

    assert unescaped(shown)["=a"].tolist() == ["=x", "y"]


def test_a_release_can_be_made_harmless_to_spreadsheets(folder):
    frame = table().rename(columns={"income": "@income"}).assign(sex=lambda f: f["sex"].map({"F": "=F", "M": "-M"}))
    frame.to_csv("data.csv", index=False)
    raw = yaml.safe_load(CONFIG)
    raw["variables"]["sex"]["levels"] = ["=F", "-M"]
    raw["variables"]["@income"] = raw["variables"].pop("income")
    raw["analyses"] = []
    raw["release"]["escape_formulas"] = True
    Path("config.yaml").write_text(yaml.safe_dump(raw))
    released(load(Path("config.yaml")), Path("out"))
    public = Path("out/public")
    header, first, *_ = (public / "synthetic_01.csv").read_text().splitlines()
    assert header == "age,sex,'@income"
    assert "'=F" in first or "'-M" in first
    assert json.loads((public / "release.json").read_text())["escaped_formulas"] is True
    assert "spreadsheet" in (public / "README.md").read_text()
    opened = read_public(public)
    assert set(opened.copies[0]["sex"]) == {"=F", "-M"}
    assert opened.schema["sex"].levels == ("=F", "-M")
    assert "@income" in opened.schema
    done = CliRunner().invoke(app, ["analyse", "out", "--model", "proportion", "--formula", "sex"])
    assert done.exit_code == 0, done.output
    assert "=F" in done.stdout
    assert "'=F" not in done.stdout
    told("evaluate", "config.yaml", "--synthetic", "out/public", "--out", "judged", "--quiet", code=0)
    told("verify", "out", code=0)


def test_the_readme_warns_of_formulas_where_they_are_not_escaped(finished):
    text = (finished / "out/public/README.md").read_text()
    assert "escape" not in json.loads((finished / "out/public/release.json").read_text())
    assert "spreadsheet" in text
    assert "= + - @" in text


# output that a terminal cannot show


@pytest.mark.parametrize(
    "command",
    [
        ("--help",),
        ("analyse", "--help"),
        ("dp", "mean", "data.csv", "--column", "age", "--bounds", "0,120", "--epsilon", "1"),
        ("check", "größe ε.yaml"),
    ],
    ids=lambda command: command[0],
)
def test_output_works_where_letters_are_missing(folder, command):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-m", "synthdp", *command], capture_output=True, env=environment, timeout=120, check=False
    )
    assert done.returncode == (2 if "check" in command else 0), done.stderr
    assert (done.stdout + done.stderr).isascii()
    assert b"Traceback" not in done.stderr
    if command[0] == "dp":
        assert b"epsilon" in done.stdout + done.stderr


def test_letters_are_spelt_out(monkeypatch, tmp_path):
    with (tmp_path / "out.txt").open("w", encoding="ascii") as file:
        monkeypatch.setattr(sys, "stdout", file)
        terminal.any_encoding()
        terminal.show("ε ≤ 1 – “yes” ✓ 漢 \udcff")
    assert (tmp_path / "out.txt").read_text() == 'epsilon <= 1 - "yes" ok ? ?\n'


# the same fault, the same exit code


def _fault(name):
    def decorate(make):
        FAULTS[name] = make
        return make

    return decorate


FAULTS = {}


@_fault("missing")
def _missing(path):
    path.unlink(missing_ok=True)
    return "no such file"


@_fault("folder")
def _folder(path):
    path.unlink(missing_ok=True)
    path.mkdir()
    return "this is a folder"


@_fault("permission")
def _permission(path):
    if os.getuid() == 0:
        pytest.skip("root may read everything")
    path.chmod(0)
    return "no permission"


@_fault("encoding")
def _encoding(path):
    path.write_bytes(path.read_bytes().replace(b"age", b"\xe4ge", 1))
    return ("not UTF-8", "cannot be read as text")


COMMANDS = {
    ("init", "data.csv"): ("init", "data.csv", "-o", "new.yaml"),
    ("check", "data.csv"): ("check", "config.yaml"),
    ("check", "config.yaml"): ("check", "config.yaml"),
    ("run", "data.csv"): ("run", "config.yaml", "--out", "new"),
    ("run", "config.yaml"): ("run", "config.yaml", "--out", "new"),
    ("evaluate", "data.csv"): ("evaluate", "config.yaml", "--synthetic", "copy.csv", "--out", "new"),
    ("evaluate", "config.yaml"): ("evaluate", "config.yaml", "--synthetic", "copy.csv", "--out", "new"),
    ("evaluate", "copy.csv"): ("evaluate", "config.yaml", "--synthetic", "copy.csv", "--out", "new"),
    ("analyse", "out/public/synthetic_01.csv"): ("analyse", "out", "--model", "mean", "--formula", "age"),
    ("analyse", "out/public/codebook.csv"): ("analyse", "out", "--model", "mean", "--formula", "age"),
    ("verify", "out/public/synthetic_01.csv"): ("verify", "out"),
    ("dp", "data.csv"): ("dp", "mean", "data.csv", "--column", "age", "--bounds", "0,120", "--epsilon", "1"),
    ("dp with a ledger", "data.csv"): (
        *("dp", "mean", "data.csv", "--column", "age", "--bounds", "0,120", "--epsilon", "1"),
        *("--ledger", "l", "--cap", "1"),
    ),
    ("dp ledger", "data.csv"): ("dp", "ledger", "data.csv", "--ledger", "l", "--cap", "1"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("place", COMMANDS, ids=" ".join)
def test_the_same_fault_ends_the_same_way(finished, tmp_path, monkeypatch, place, fault):
    shutil.copytree(finished, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    shutil.copy("out/public/synthetic_01.csv", "copy.csv")
    if fault == "encoding" and place[0] in ("dp ledger", "init"):
        pytest.skip("the one counts bytes, the other guesses the encoding")
    wanted = FAULTS[fault](Path(place[1]))
    if place == ("evaluate", "copy.csv") and fault == "folder":
        wanted = "a file or the folder of a release is required"
    said = told(*COMMANDS[place], code=2)
    if place[0] != "verify":
        assert any(words in said for words in ((wanted,) if isinstance(wanted, str) else wanted)), said
        assert Path(place[1]).name in said
    assert not Path("new").exists() or not any(Path("new").iterdir())


@pytest.mark.parametrize(
    "command",
    [
        ("check", "config.yaml", "--set", "variables.nobody={role: replace}"),
        ("run", "config.yaml", "--out", "new", "--set", "variables.nobody={role: replace}"),
        ("evaluate", "config.yaml", "--synthetic", "data.csv", "--out", "n", "--set", "variables.nobody={key: true}"),
        ("dp", "mean", "data.csv", "--column", "nobody", "--bounds", "0,120", "--epsilon", "1"),
        ("analyse", "out", "--model", "mean", "--formula", "nobody"),
        ("analyse", "out", "--model", "ols", "--formula", "age ~ nobody"),
    ],
    ids=lambda command: " ".join(command[:4]),
)
def test_an_unknown_column_is_wrong_input_everywhere(finished, tmp_path, monkeypatch, command):
    shutil.copytree(finished, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    assert "nobody" in told(*command, code=2)


@pytest.mark.parametrize("command", ["check", "run", "evaluate"])
def test_damaged_yaml_is_wrong_input_everywhere(folder, command):
    Path("config.yaml").write_text("data: {path: data.csv\n")
    more = {"run": ("--out", "new"), "evaluate": ("--synthetic", "data.csv", "--out", "new")}.get(command, ())
    assert told(command, "config.yaml", *more, code=2).startswith("config.yaml: not valid YAML at line")


def test_schema_needs_nothing(folder):
    (folder / "config.yaml").unlink()
    told("schema", code=0)


# what was asked for happens


def plan(**synthesis):
    rng = np.random.default_rng(4)
    n = 60
    x = rng.normal(50, 9, n)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(0, 3, n), "b": np.where(x > 50, "F", "M")})
    config = parse(
        {
            "data": {"path": "in memory"},
            "variables": {
                "x": {"kind": "continuous", "role": "replace", "key": True, "decimals": 1, "tolerance": 0.5},
                "b": {"kind": "binary", "role": "replace", "key": True, "levels": ["F", "M"]},
            },
            "masks": {"x": {"method": "gaussian", "sd": 0.02}, "b": {"method": "shifted_normal", "alpha": 3.0}},
            "synthesis": {"copies": 2, **synthesis},
        }
    )
    return config, plan_of(config, prepare(frame, config))


def test_repair_that_was_asked_for_is_done():
    config, asked = plan(repair=True)
    made = make(config.synthesis, asked, streams=Streams(1))
    finished_release, found = finish(config.synthesis, made, asked)
    assert found is not None
    assert found.touched > 0
    assert found.left == 0
    again = repair(asked.released, made.copies)
    for copy, expected in zip(finished_release.copies, again.copies, strict=True):
        pd.testing.assert_frame_equal(copy, expected)
    config, unasked = plan()
    made = make(config.synthesis, unasked, streams=Streams(1))
    assert finish(config.synthesis, made, unasked) == (made, None)


@dataclass(frozen=True)
class MadeUp:
    """Evidence of a kind that no model knows."""

    n: int
    axis: Axis

    def __len__(self):
        return self.n

    def __getitem__(self, rows):
        return MadeUp(len(np.arange(self.n)[rows]), self.axis)

    def __add__(self, other):
        return self

    def log_norm(self):
        return np.zeros(self.n)


class MadeUpMask:
    """A mask whose evidence no model knows."""

    def draw(self, x, *, rng):
        return x

    def evidence(self, w):
        return MadeUp(len(w), Axis.VALUE)


@pytest.mark.parametrize("column", ["x", "b"])
def test_a_mask_whose_evidence_nobody_knows_is_an_error(column):
    """It used to become "no mask"."""
    _, found = plan()
    mask = sampler.masks_of(found, sampler.links_of(found.data, Regression()))[column]
    odd = replace(mask, parts=tuple(replace(part, mask=MadeUpMask()) for part in mask.parts))
    with pytest.raises(TypeError, match="MadeUp is not understood"):
        odd.about(np.zeros(len(found.data)))


@pytest.mark.parametrize("column", ["x", "b"])
@pytest.mark.parametrize(
    "model",
    [
        {"method": "regression"},
        {"method": "regression", "order": ["x", "b"]},
        {"method": "cart"},
        {"method": "copula"},
    ],
    ids=["joint", "sequence", "cart", "copula"],
)
def test_evidence_of_an_unknown_kind_is_an_error(model, column):
    config, found = plan(model=model, sweeps=2)
    task, _ = sampler.prepare(found, config.synthesis.model, 2)
    parameters = config.synthesis.model.fit(task, rng=np.random.default_rng(1)).draw(rng=np.random.default_rng(2))
    n = len(found.data)
    evidence = {"x": GaussianEvidence.flat(n), "b": LevelEvidence.flat(n, 2)}
    evidence[column] = MadeUp(n, Axis.LEVEL if column == "b" else Axis.VALUE)
    with pytest.raises(TypeError, match=r"evidence|MadeUp|Evidence"):
        parameters.draw(evidence, rng=np.random.default_rng(1))
