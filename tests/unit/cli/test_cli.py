"""Every command answers with sentences and the promised exit code, shows no value of the data, and starts at once."""

import dataclasses
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import __version__, pipeline, release
from synthdp.cli import app, terminal
from synthdp.errors import InputError, Unfinished
from synthdp.release.metrics import Metrics
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

ROOT = Path(__file__).parents[3]
SECRET = "Zebulon"
COMMANDS = ["demo", "init", "check", "run", "evaluate", "tune", "explore", "analyse", "dp", "verify", "sign", "schema"]
COMMANDS.append("verify-analysis")


def judged(gate):
    """Return metrics with a verdict, and no ε claimed."""
    metrics = Metrics()
    metrics.claimed()
    metrics.decided(gate)
    return metrics


PASSED = pipeline.Outcome(
    metrics=judged({"passed": True, "reasons": []}),
    report=Path("out/confidential/report.html"),
    public=Path("out/public"),
    passed=True,
    summary=(("overlap", "0.93"), ("expected matches", "1.2")),
)
REFUSED = pipeline.Outcome(
    metrics=judged({"passed": False, "reasons": ["expected_match_rate 0.4 is above 0.05"]}),
    report=Path("out/confidential/report.html"),
    public=None,
    passed=False,
    summary=(("overlap", "0.93"),),
)


def invoke(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def config(tmp_path):
    (tmp_path / "data.csv").write_text("age,sex\n30,F\n40,M\n50,F\n")
    path = tmp_path / "config.yaml"
    path.write_text("data: {path: data.csv}\n")
    return path


@pytest.fixture
def calls(monkeypatch):
    """Stand in for the pipeline and remember what it was asked to do."""
    seen = {}

    homes = {"demo": importlib.import_module("synthdp.cli.starting")}

    def stand_in(name, answer):
        def call(*args, **settings):
            seen[name] = (args, settings)
            with settings["progress"].stage("draw"):
                settings["progress"].advance(1, 2)
            if isinstance(answer, BaseException):
                raise answer
            return answer

        monkeypatch.setattr(homes.get(name, pipeline), name, call)

    for name in ("run", "evaluate", "demo"):
        stand_in(name, PASSED)
    seen["answer"] = stand_in
    return seen


def test_help_lists_the_commands_that_exist():
    found = invoke("--help")
    assert found.exit_code == 0
    assert all(f"\n  {command}" in found.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(command):
    found = invoke(command, "--help")
    assert found.exit_code == 0
    assert f"Examples:\n    synthdp {command}" in found.stdout
    assert "..." not in found.stdout.replace("[FILE ...]", "").replace("COMMAND [ARGS]...", "")


def test_version():
    assert invoke("--version").stdout == f"synthdp {__version__}\n"


@pytest.mark.parametrize(
    "args", [["strange"], ["run"], ["run", "c.yaml", "--strange"], ["run", "c.yaml", "--jobs", "0"]]
)
def test_wrong_arguments_are_wrong_input(args):
    assert invoke(*args).exit_code == 2


def test_run_shows_the_summary_and_where_things_are(config, calls):
    found = invoke("run", config, "-o", "out")
    assert found.exit_code == 0
    assert found.stdout.splitlines() == [
        "safe: yes · useful: not judged · passed and published",
        "overlap           0.93",
        "expected matches  1.2",
        "report: out/confidential/report.html",
        "public files: out/public",
    ]
    assert found.stderr.startswith("draw: 0.0 s")


def test_run_passes_everything_on(config, calls, capsys):
    big = 2**127 + 1
    args = ["--out", "o", "--study", "--resume", "--seed", big, "--set", "synthesis.copies=3", "--jobs", 2, "--quiet"]
    found = invoke("run", config, *args)
    (settings,), options = calls["run"]
    assert found.output == ""
    assert (settings.seed, settings.synthesis.copies) == (big, 3)
    options.pop("progress").wait("another run has to end first")
    assert capsys.readouterr().err == "another run has to end first\n"  # although --quiet shows no progress
    assert options == {"out": Path("o"), "study": True, "resume": True, "jobs": 2, "accepted": {}, "ledger": None}


def test_the_default_folder_is_named_by_the_time(config, calls):
    invoke("run", config)
    assert calls["run"][1]["out"].parent == Path("synthdp-out")
    time.strptime(calls["run"][1]["out"].name, "%Y%m%d-%H%M%S")


def test_resume_needs_a_folder(config, calls):
    found = invoke("run", config, "--resume")
    assert found.exit_code == 2
    assert found.stderr == "--resume: name the run to continue, with --out DIR.\n"


@pytest.mark.parametrize("command", ["run", "demo"])
def test_a_refusal_of_the_gate(config, calls, command):
    calls["answer"](command, REFUSED)
    found = invoke(command, *([config] if command == "run" else []), "--quiet")
    assert found.exit_code == 3
    assert found.stdout == ""
    assert found.stderr.splitlines() == [
        "the release gate refused; nothing was published.",
        "  expected_match_rate 0.4 is above 0.05",
    ]


def test_a_reason_in_the_summary_is_not_repeated(config, calls):
    reason = REFUSED.metrics.gate["reasons"][0]
    calls["answer"]("run", dataclasses.replace(REFUSED, summary=(("gate", "REFUSED"), ("", reason))))
    assert invoke("run", config).output.count(reason) == 1


def test_evaluate_takes_many_files_and_judges_without_refusing(config, calls):
    calls["answer"]("evaluate", REFUSED)
    found = invoke("evaluate", config, "--synthetic", "a.csv", "b.csv", "--out", "o", "--synthetic", "c.csv")
    assert found.exit_code == 0
    assert calls["evaluate"][1]["synthetic"] == [Path("a.csv"), Path("b.csv"), Path("c.csv")]
    assert calls["evaluate"][1]["out"] == Path("o")


def test_evaluate_needs_files(config):
    assert invoke("evaluate", config).exit_code == 2
    assert invoke("evaluate", config, "--synthetic").exit_code == 2


def test_demo_passes_on_what_it_is_told(calls):
    assert invoke("demo", "--quick", "--out", "tour", "--jobs", 2).exit_code == 0
    options = calls["demo"][1]
    assert (options["out"], options["quick"], options["jobs"]) == (Path("tour"), True, 2)


def test_check_shows_its_messages(config, monkeypatch):
    monkeypatch.setattr(
        pipeline, "check", lambda settings: pipeline.CheckResult((f"copies {settings.synthesis.copies}",))
    )
    assert invoke("check", config, "--set", "synthesis.copies=7").stdout == "copies 7\n"
    assert invoke("check", config, "--quiet").stdout == ""
    assert invoke("check", config, "--cost", "--quiet").stdout == ""
    monkeypatch.setattr("synthdp.stages.expecting.expected", lambda settings: ("needs a lot", "indeed"))
    assert invoke("check", config, "--cost").stdout == "needs a lot\nindeed\ncopies 5\n"


def test_schema_is_json():
    assert "properties" in json.loads(invoke("schema").stdout)


def in_a_compiled_loop():
    """Return Ctrl-C as numba hands it on: wrapped, and wrapped again for each array that a loop returns."""
    error, again = SystemError("returned a result with an exception set"), SystemError("and another")
    error.__cause__ = KeyboardInterrupt()
    again.__cause__ = error
    return again


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (InputError("one is wrong.", "two is wrong."), 2, "one is wrong.\ntwo is wrong.\n"),
        (Unfinished("the disk is full."), 4, "the disk is full.\n"),
        (MemoryError(SECRET), 4, "not enough memory for this job"),
        (KeyboardInterrupt(), 130, "interrupted. To continue, repeat the command with --out o --resume\n"),
        (in_a_compiled_loop(), 130, "interrupted. To continue, repeat the command with --out o --resume\n"),
        (SystemError(SECRET), 1, "a bug in synthdp: SystemError in synthdp.cli."),
        (ValueError(SECRET), 1, "a bug in synthdp: ValueError in synthdp.cli."),
        (KeyError(SECRET), 1, "a bug in synthdp: KeyError in synthdp.cli."),
    ],
)
def test_every_ending_has_its_code_and_no_value(config, calls, tmp_path, error, code, words):
    calls["answer"]("run", error)
    log = tmp_path / "log.txt"
    found = invoke("run", config, "--out", "o", "--quiet", "--log", log)
    assert found.exit_code == code
    assert found.stderr.startswith(words)
    assert "Traceback" not in found.output
    assert SECRET not in found.output + log.read_text()


def test_without_a_terminal_a_long_stage_says_now_and_then_how_far_it_is(monkeypatch, capsys):
    seconds = iter([0.0, 0.0, 29.0, 31.0, 31.0, 40.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(seconds))
    lines = terminal.Lines()
    with lines.stage("judge"):
        for done in (1, 2, 3):
            lines.advance(done, 20)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "judge: 2 of 20"
    assert said[1].startswith("judge: ")
    assert len(said) == 2


def test_what_is_known_early_is_told_unless_quiet(capsys):
    from rich.console import Console
    from rich.progress import Progress

    terminal.Stages().tell("verdict: refused")
    assert capsys.readouterr().err == ""
    terminal.Lines().tell("verdict: refused")
    assert capsys.readouterr().err == "verdict: refused\n"
    with Progress(console=Console(stderr=True)) as display:
        terminal.Bars(display).tell("[verdict]: refused")
    assert "[verdict]: refused" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), in_a_compiled_loop()])
def test_an_interruption_elsewhere(calls, error):
    calls["answer"]("demo", error)
    found = invoke("demo", "--quiet")
    assert (found.exit_code, found.stderr) == (130, "interrupted.\n")


def test_without_a_log_nothing_is_logged_on_the_screen(config, calls):
    calls["answer"]("run", ValueError(SECRET))
    assert len(invoke("run", config, "--quiet").stderr.splitlines()) == 1


def test_the_log_tells_stages_and_places(config, calls, tmp_path, monkeypatch):
    def fail(*_args, **settings):
        with settings["progress"].stage("fit"):
            try:
                raise KeyError(SECRET)
            except KeyError as error:
                raise ValueError(SECRET) from error

    log = tmp_path / "log.txt"
    invoke("run", config, "--log", log)
    monkeypatch.setattr(pipeline, "run", fail)
    invoke("run", config, "--log", log)
    text = log.read_text()
    assert "draw: done in 0.0" in text
    assert "fit: left after" in text
    assert "ValueError, from" in text
    assert "KeyError, from" in text
    assert f":{fail.__code__.co_firstlineno + 5} fail" in text
    assert SECRET not in text


def test_a_log_that_cannot_be_written(config, tmp_path):
    found = invoke("check", config, "--log", tmp_path / "absent" / "log.txt")
    assert found.exit_code == 2
    assert "the file cannot be written" in found.stderr


def test_warnings_of_libraries_stay_off_the_screen(config, calls, monkeypatch, tmp_path):
    def warn(*_args, **_settings):
        warnings.warn(SECRET, RuntimeWarning, stacklevel=1)
        return PASSED

    monkeypatch.setattr(pipeline, "run", warn)
    found = invoke("run", config, "--log", tmp_path / "log.txt")
    assert SECRET not in found.output + (tmp_path / "log.txt").read_text()
    assert "RuntimeWarning at test_cli.py" in (tmp_path / "log.txt").read_text()


@pytest.fixture
def published(tmp_path):
    rng = np.random.default_rng(1)
    variables = {name: Variable(role="replace") for name in ("age", "y")}
    variables["sex"] = Variable(role="replace", levels=("M", "F"))

    def draw():
        return pd.DataFrame(
            {"age": rng.normal(50, 9, 80).round(), "sex": rng.choice(["F", "M"], 80), "y": rng.random(80)}
        )

    data = resolve(draw(), variables)
    copies = [draw() for _ in range(3)]
    described = release.describe(
        data.schema, method="mi", imputations=1, copies=3, mask_draw=None, rule="reiter2003",
        records=80, masks={}, format="csv",
    )  # fmt: skip
    with release.prepare_out(tmp_path / "out", resume=False) as out:
        release.publish(
            out, copies, codebook=release.codebook(data.schema, copies), release=described,
            readme=release.readme(described), format="csv", permutations=[np.arange(80)] * 3,
        )  # fmt: skip
    return tmp_path / "out"


def test_verify(published):
    found = invoke("verify", published)
    assert found.exit_code == 0
    assert found.stdout.startswith(f"{published}: complete and unchanged.\nChecksums find damage, not forgery")
    assert invoke("verify", published / "public", "--quiet").stdout == ""
    (published / "public" / "README.md").write_text("x")
    found = invoke("verify", published)
    assert found.exit_code == 2
    assert "README.md: changed since the release was made" in found.stderr


def test_analyse_pools_the_copies_in_the_codebooks_order(published):
    found = invoke("analyse", published, "--model", "ols", "--formula", "y ~ age + sex")
    assert found.exit_code == 0
    assert "sex[T.F]" in found.stdout  # M comes first in the codebook
    assert "3 copies combined by reiter2003" in found.stdout


@pytest.mark.parametrize(
    ("model", "formula", "rule", "words"),
    [
        ("strange", "y ~ age", None, "--model: no model named 'strange'; choose from ols, logit"),
        ("ols", "y ~ age", "strange", "--rule: "),
        ("ols", "y ~ height", None, "copy 1: --formula: no column named 'height'"),
    ],
)
def test_analyse_says_what_is_wrong(published, model, formula, rule, words):
    args = ["--model", model, "--formula", formula, *(["--rule", rule] if rule else [])]
    found = invoke("analyse", published, *args)
    assert found.exit_code == 2
    assert found.stderr.startswith(words)
    assert "analyses.analyse" not in found.stderr


def test_analyse_takes_every_kind_of_option(published, tmp_path):
    out = tmp_path / "table.csv"
    table = invoke("analyse", published, "--model", "table", "--formula", "sex", "--out", out, "--level", "0.9")
    assert table.exit_code == 0
    assert "90% low" in table.stdout
    assert pd.read_csv(out)["term"].tolist() == ["sex=M", "sex=F"]
    design = ["--weights", "y", "--strata", "sex"]
    robust = invoke("analyse", published, "--model", "ols", "--formula", "y ~ age", *design)
    assert robust.stdout.startswith("ols y ~ age, weights y, strata sex, n = 80")
    quantile = invoke("analyse", published, "--model", "quantile", "--formula", "age", "--probabilities", "0.1, 0.5")
    assert "age 10%" in quantile.stdout
    cox = invoke("analyse", published, "--model", "cox", "--formula", "y ~ age", "--status", "sex")
    assert cox.stdout.startswith("cox y ~ age, status sex, n = 80")
    gamma = invoke("analyse", published, "--model", "gamma", "--formula", "y ~ age", "--link", "log")
    assert "Intercept" in gamma.stdout
    replicates = ["--weights", "y", "--replicate-weights", "age,y", "--replicate-method", "brr"]
    scaled = invoke("analyse", published, "--model", "mean", "--formula", "y", *replicates, "--replicate-scale", "0.5")
    assert scaled.exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--level", "95"], "--level: must lie between 0 and 1, found 95."),
        (["--out", "table.txt"], "--out table.txt: must be a .csv file."),
        (["--out", "nowhere/table.csv"], "--out nowhere/table.csv: the file cannot be written."),
        (["--status", "sex"], "status belongs to model cox, not mean."),
        (["--probabilities", "a,b"], "--probabilities: must be numbers separated by commas."),
        (["--replicate-method", "jk7"], "--replicate-method: input should be 'brr', 'jk1', 'jkn' or 'bootstrap'."),
        (["--weights", "w"], "copy 1: --formula: no column named 'w'"),
    ],
)
def test_analyse_refuses_bad_options(published, options, words):
    found = invoke("analyse", published, "--model", "mean", "--formula", "y", *options)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(words)


def test_the_help_of_analyse_lists_every_model():
    from synthdp.inference.models.fit import MODELS

    shown = invoke("analyse", "--help").stdout
    assert [model for model in MODELS if model not in shown] == []
    assert 'synthdp analyse public --model cox --formula "time ~ age + sex" --status died' in shown


class Terminal:
    """A stream that says it is a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return True


@contextmanager
def terminal_streams(monkeypatch):
    streams = Terminal(), Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    yield streams


def test_bars_and_a_table_on_a_terminal(monkeypatch):
    with terminal_streams(monkeypatch) as (out, err):
        with terminal.progress(quiet=False) as progress, progress.stage("draw the copies"):
            progress.advance(1, 5)
        terminal.show_summary([("overlap", "0.93 [low]")])
        monkeypatch.undo()
    assert "draw the copies" in err.text
    assert "✓" in err.text
    assert "0.93 [low]" in out.text
    assert "draw" not in out.text


def test_nothing_moves_when_quiet(monkeypatch):
    with terminal_streams(monkeypatch) as (out, err):
        with terminal.progress(quiet=True) as progress, progress.stage("draw"):
            progress.advance(1, 5)
        monkeypatch.undo()
    assert (out.text, err.text) == ("", "")


def test_a_reader_that_leaves_early_is_no_bug():
    done = subprocess.run(
        f"{sys.executable} -m synthdp schema | head -c 1", shell=True, cwd=ROOT, capture_output=True, text=True
    )
    assert done.stderr == ""


def test_sigterm_is_an_interruption(config, tmp_path):
    code = (
        "import sys, time\nfrom synthdp import pipeline\nfrom synthdp.cli import main\n"
        "def run(*_args, **_settings):\n    print('at work', flush=True)\n    time.sleep(60)\n"
        "pipeline.run = run\nmain()"
    )
    job = subprocess.Popen(
        [sys.executable, "-c", code, "run", str(config), "--out", "o"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert job.stdout.readline() == "at work\n"
    job.send_signal(signal.SIGTERM)
    assert job.communicate(timeout=30)[1] == "interrupted. To continue, repeat the command with --out o --resume\n"
    assert job.returncode == 130


def seconds(*args):
    start = time.perf_counter()
    subprocess.run([sys.executable, *args], cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start


def test_help_is_quicker_than_importing_pandas():
    # the best of several, because other work on the machine only ever adds time
    ours = min(seconds("-m", "synthdp", "--help") for _ in range(5))
    theirs = min(seconds("-c", "import pandas") for _ in range(5))
    assert ours < theirs


def test_a_bug_outside_our_own_code_is_placed_in_ours(config, calls):
    calls["answer"]("run", ZeroDivisionError(SECRET))
    assert "ZeroDivisionError in synthdp.cli.commands:" in invoke("run", config, "--quiet").stderr
