"""What people hand in by mistake: each gets one clear sentence, an exit code, and nothing public or confidential.

``python tests/unit/cli/test_broken_inputs.py`` writes the table of all of them to ``reports/broken_inputs/README.md``.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

ROOT = Path(__file__).parents[3]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from synthdp.cli import app  # noqa: E402
from synthdp.evaluation.gate.limits import OFF  # noqa: E402
from synthdp.table import io  # noqa: E402

PAGE = ROOT / "reports" / "broken_inputs" / "README.md"
SECRETS = ("Zebulon42", "987654.321", "987654")
MOST_LINES = 3
SENTENCE = re.compile(r"\S.*: \S.*[.?]")
RUN = ("run", "config.yaml", "--out", "out")
CONFIG = f"""\
data: {{path: data.csv}}
variables:
  age: {{role: replace, key: true, bounds: [0, 120]}}
  sex: {{role: replace, key: true, levels: [F, M]}}
masks:
  age: {{method: gaussian, sd: 1.0}}
  sex: {{method: shifted_normal, alpha: 1.0}}
synthesis: {{copies: 2}}
evaluation: {{utility: [], risk: [identity]}}
release: {json.dumps(OFF.model_dump())}
"""


def people(rows: int = 60) -> pd.DataFrame:
    """Return a table whose second record holds what nobody may see."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows).astype(float),
            "sex": rng.choice(["F", "M"], rows),
            "income": rng.normal(3e4, 1e4, rows).round(3),
            "town": rng.choice(["north", "south", "east"], rows),
        }
    )
    if rows > 1:
        frame.loc[1, ["income", "town"]] = [987654.321, "Zebulon42"]
    return frame


def table(**columns: object) -> bytes:
    """Return the CSV file of the people, with columns changed."""
    return io.encode(people().assign(**columns), format="csv")


@dataclass(frozen=True)
class Broken:
    """One broken input.

    Parameters
    ----------
    what
        In words.
    says
        Part of the sentence it gets.
    config, data
        The files; a folder is made when it is None.
    args
        The command line.
    prepare
        What else is done to the folder.
    code
        The exit code.
    """

    what: str
    says: str
    config: str | bytes | None = CONFIG
    data: bytes | None = table()
    args: tuple[str, ...] = RUN
    prepare: Callable[[Path], object] = lambda folder: None
    code: int = 2

    def lay_out(self, folder: Path) -> None:
        """Write the files."""
        for name, contents in (("config.yaml", self.config), ("data.csv", self.data)):
            if contents is None:
                (folder / name).mkdir()
            else:
                (folder / name).write_bytes(contents.encode() if isinstance(contents, str) else contents)
        self.prepare(folder)


def changed(old: str, new: str) -> str:
    """Return the config with one thing changed."""
    assert old in CONFIG
    return CONFIG.replace(old, new)


def added(line: str) -> str:
    """Return the config with a line more."""
    return f"{CONFIG}{line}\n"


def gone(name: str) -> Callable[[Path], object]:
    """Return what removes a file."""
    return lambda folder: (folder / name).unlink()


def parquet(contents: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """Return what lays a changed Parquet file beside."""
    return lambda folder: (folder / "data.parquet").write_bytes(contents(io.encode(people(), format="parquet")))


def nonsense(name: str) -> Callable[[Path], object]:
    """Return what lays a file of nonsense beside."""
    return lambda folder: (folder / name).write_bytes(b"Zebulon42 987654.321 " * 20)


def made(folder: Path) -> None:
    """Make a release in the folder ``out``."""
    # rows of sixty people stand by chance where they stood, more often than allowed, in one shuffle of ten thousand
    done = CliRunner().invoke(app, [*RUN, "--quiet", "--seed", str(2**70 + 1)])
    assert done.exit_code == 0, done.output


def spoilt(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """Return what makes a release and changes one of its files."""

    def prepare(folder: Path) -> None:
        made(folder)
        path = folder / "out" / "public" / name
        path.write_bytes(change(path.read_bytes()))

    return prepare


def with_analysis(formula: str, model: str = "ols") -> str:
    """Return the config with an analysis more."""
    return added(f'analyses: [{{name: a, model: {model}, formula: "{formula}"}}]')


PARQUET = changed("data.csv", "data.parquet")
SYNTHETIC = ("evaluate", "config.yaml", "--out", "out", "--synthetic")
CASES = [
    # the config as a file
    Broken("no config file", "no such file", prepare=gone("config.yaml")),
    Broken("a folder instead of a config", "this is a folder", config=None),
    Broken("an empty config", "a mapping with at least", config=""),
    Broken("a config of comments", "a mapping with at least", config="# nothing\n"),
    Broken("a config that is a list", "a mapping with at least", config="- data\n- variables\n"),
    Broken("a config that is a word", "a mapping with at least", config="data.csv"),
    Broken("YAML with a bracket left open", "not valid YAML at line", config="data: {path: data.csv\n"),
    Broken("YAML with a tab", "not valid YAML at line", config="data:\n\tpath: data.csv\n"),
    Broken("a key twice", "occurs twice", config=added("masks: {}")),
    Broken("a config in Latin-1", "cannot be read as text", config="data: {path: größe.csv}".encode("latin-1")),
    Broken("a binary config", "cannot be read as text", config=bytes(range(128, 256))),
    Broken("a config with a NUL", "not valid YAML", config=b"data: {path: a\0.csv}"),
    Broken("the data given as the config", "a mapping with at least", args=("run", "data.csv", "--out", "out")),
    Broken("a YAML object of Python", "not valid YAML", config="data: !!python/object:os.system {}\n"),
    Broken("YAML that contains itself", "part of", config="data: &a {path: data.csv, missing_codes: *a}\n"),
    Broken("YAML nested 5,000 deep", "not valid YAML", config="[" * 5000),
    Broken("a number of 5,000 digits", "not valid YAML", config=f"seed: {'9' * 5000}\n"),
    Broken("a whole number that is none", "not valid YAML", config="seed: !!int nonsense\n"),
    # unknown keys, at every level
    Broken("an unknown section", "did you mean 'variables'", config=changed("variables:", "variable:")),
    Broken("an unknown key of data", "did you mean 'path'", config=changed("{path: data", "{pth: 1, path: data")),
    Broken("an unknown key of a column", "did you mean 'role'", config=changed("age: {role", "age: {rolle: x, role")),
    Broken("an unknown key of a mask", "did you mean 'sd'", config=changed("sd: 1.0", "sdd: 1.0")),
    Broken("an unknown key of the synthesis", "did you mean 'copies'", config=changed("copies: 2", "copis: 2")),
    Broken("an unknown key of the model", "unknown key", config=changed("copies: 2", "model: {ordre: [age]}")),
    Broken("an unknown key of the evaluation", "unknown key", config=changed("utility: []", "utlity: []")),
    Broken("an unknown key of the release", "unknown key", config=changed("max_individual", "max_indvidual")),
    Broken("an unknown key of an analysis", "unknown key", config=added("analyses: [{name: a, modle: ols}]")),
    Broken("an unknown key of the groups", "unknown key", config=added("groups: {method: neighbours, kk: 5}")),
    Broken("an unknown mask", "did you mean 'gaussian'", config=changed("method: gaussian", "method: gausian")),
    Broken("an unknown method", "must be one of", config=changed("copies: 2", "method: magic")),
    Broken("an unknown model", "must be one of", config=changed("copies: 2", "model: {method: oracle}")),
    Broken("an unknown kind", "variables.age.kind", config=changed("age: {role", "age: {kind: contnuous, role")),
    Broken("an unknown role", "variables.age.role", config=changed("role: replace, key: true, b", "role: hide, b")),
    Broken("an unknown format", "release.format", config=changed("release: {", "release: {format: xlsm, ")),
    # wrong values in the config
    Broken("no data", "data: required, but absent", config=changed("data: {path: data.csv}", "version: 1")),
    Broken("a newer version", "version", config=added("version: 2")),
    Broken("bounds in reverse", "must be increasing", config=changed("[0, 120]", "[120, 0]")),
    Broken("bounds that are not numbers", "variables.age.bounds", config=changed("[0, 120]", "[young, old]")),
    Broken("bounds of NaN", "variables.age.bounds", config=changed("[0, 120]", "[.nan, 120]")),
    Broken("three bounds", "variables.age.bounds: has too many entries", config=changed("[0, 120]", "[0, 60, 120]")),
    Broken("a negative sd", "masks.age.sd", config=changed("sd: 1.0", "sd: -1.0")),
    Broken("no copies", "synthesis.copies", config=changed("copies: 2", "copies: 0")),
    Broken("copies as text", "synthesis.copies", config=changed("copies: 2", "copies: two")),
    Broken("levels that repeat", "must differ", config=changed("[F, M]", "[F, F]")),
    Broken("levels that are a word", "variables.sex.levels", config=changed("[F, M]", "FM")),
    Broken("a small seed", "must be at least 2^64", config=added("seed: 1")),
    Broken("a seed that is a word", "seed: must be a whole number", config=added("seed: secret")),
    Broken("--set without a value", "KEY=VALUE", args=(*RUN, "--set", "synthesis.copies")),
    Broken("--set below a number", "is not a block", args=(*RUN, "--set", "synthesis.copies.x=1")),
    Broken("--set with broken YAML", "not valid YAML", args=(*RUN, "--set", "masks={a")),
    Broken("a mask without a name", "must be text; put it in quotes", config=changed("masks:", "masks:\n  null: {}")),
    Broken("an encoding that is none", "data.encoding", config=changed("data.csv}", "data.csv, encoding: utf-7000}")),
    # a config that does not fit the data
    Broken("a column that is not there", "no such column", config=changed("  sex: {role", "  gender: {role")),
    Broken("a mask for a column that is not there", "masks.agee", config=changed("  age: {method", "  agee: {method")),
    Broken(
        "a mask for a kept column",
        "masks.income: only columns",
        config=changed("masks:", "masks:\n  income: {method: gaussian, sd: 1}"),
    ),
    Broken("levels the data do not have", "60 values outside", config=changed("[F, M]", "[f, m]")),
    Broken("one level short", "values outside the levels", config=changed("[F, M]", "[F, X]")),
    Broken("bounds narrower than the data", "values outside the bounds", config=changed("[0, 120]", "[30, 40]")),
    Broken("a mask for numbers on text", "masks.sex", config=changed("shifted_normal, alpha", "gaussian, sd")),
    Broken(
        "missing codes of no column",
        "no such column",
        config=changed("data.csv}", "data.csv, missing_codes: {x: [9]}}"),
    ),
    Broken(
        "a formula with a dropped column",
        "no column named 'income'",
        config=with_analysis("age ~ income").replace("  sex: {role", "  income: {role: drop}\n  sex: {role"),
    ),
    Broken("a formula that is none", "analyses", config=with_analysis("age ~ ~ sex")),
    Broken("a formula that runs code", "analyses", config=with_analysis("age ~ __import__('os').getcwd()")),
    Broken("a rule that is none", "groups.rules", config=added("groups: {rules: {high: 'age >'}}")),
    Broken("a rule on a column that is not there", "groups", config=added("groups: {rules: {high: 'height > 2'}}")),
    Broken("a rule that runs code", "groups", config=added("groups: {rules: {high: '().__class__'}}")),
    Broken("a model order without a column", "order", config=changed("copies: 2", "model: {order: [age]}")),
    Broken(
        "everything dropped",
        "every column is dropped",
        config="data: {path: data.csv}\nvariables: {"
        + ", ".join(f"{name}: {{role: drop}}" for name in people())
        + "}\n",
    ),
    Broken("nothing replaced", "no column has role: replace", config="data: {path: data.csv}\n"),
    Broken("a path with a NUL", "data.path: must be the name of a file", config='data: {path: "a\\0.csv"}'),
    Broken("a path too long", "cannot be read", config=f"data: {{path: {'a' * 5000}.csv}}"),
    # the data as a file
    Broken("no data file", "no such file", prepare=gone("data.csv")),
    Broken("a folder instead of data", "this is a folder", data=None),
    Broken(
        "a file the system cannot read",
        "cannot be read",
        prepare=lambda folder: [(folder / "data.csv").unlink(), (folder / "data.csv").symlink_to("/proc/self/mem")],
        code=4,  # EIO is the system's fault, not the user's
    ),
    Broken("an empty file", "the file is empty", data=b""),
    Broken("a file of blanks", "the file is empty", data=b" \n \n"),
    Broken("column names only", "no records", data=b"age,sex,income,town\n"),
    Broken(
        "an unknown ending",
        "cannot tell the format",
        config=changed("data.csv", "data.xyz"),
        prepare=lambda f: shutil.copy(f / "data.csv", f / "data.xyz"),
    ),
    Broken("text that is not UTF-8", "UTF-8", data=table().replace(b"north", b"n\xf6rd")),
    Broken("UTF-16", "UTF-16", data=table().decode().encode("utf-16")),
    Broken("a ZIP named .csv", "not a CSV file", data=b"PK\x03\x04\0\0\0\0" + bytes(200)),
    Broken("a file cut off in a quotation", "never closed", data=table() + b'"Zebulon42'),
    Broken("a row too long", "rows do not have 4 values", data=table() + b"1,F,2,north,Zebulon42\n"),
    Broken("a row too short", "rows do not have 4 values", data=table() + b"987654.321,F\n"),
    Broken("no column names", "numbers instead of column names", data=b"1,2,3,987654.321\n" * 40),
    Broken("a column name twice", "occurs more than once", data=table().replace(b"income", b"age", 1)),
    Broken("a column without a name", "has no name", data=table().replace(b"income", b"", 1)),
    Broken("Parquet that is none", "not Parquet", config=PARQUET, prepare=parquet(lambda data: b"Zebulon42" * 9)),
    Broken("Parquet cut off", "not Parquet", config=PARQUET, prepare=parquet(lambda data: data[: len(data) // 2])),
    Broken(
        "Parquet with a broken page",
        "not Parquet",
        config=PARQUET,
        prepare=parquet(lambda data: data[:40] + b"\xff" * 60 + data[100:]),
    ),
    Broken("SPSS that is none", "data.sav", config=changed("data.csv", "data.sav"), prepare=nonsense("data.sav")),
    Broken("Stata that is none", "data.dta", config=changed("data.csv", "data.dta"), prepare=nonsense("data.dta")),
    Broken("SAS that is none", "data.xpt", config=changed("data.csv", "data.xpt"), prepare=nonsense("data.xpt")),
    Broken(
        "Feather that is none",
        "data.feather",
        config=changed("data.csv", "data.feather"),
        prepare=nonsense("data.feather"),
    ),
    Broken(
        "gzip that is none", "data.csv.gz", config=changed("data.csv", "data.csv.gz"), prepare=nonsense("data.csv.gz")
    ),
    # the records
    Broken("three records", "at least 10 records", data=io.encode(people(3), format="csv")),
    Broken("one record", "constant", data=io.encode(people(1), format="csv")),
    Broken("a constant key", "a constant column cannot be replaced", data=table(age=50.0)),
    Broken("a key missing everywhere", "missing everywhere", data=table(age=np.nan)),
    Broken(
        "text among the numbers",
        "found 1 other values; first at row 3",
        config=changed("age: {role", "age: {kind: continuous, role"),
        data=table(age=["1", "2", "Zebulon42", *["4"] * 57]),
    ),
    Broken("infinity among the numbers", "finite numbers", data=table(age=[np.inf] + [30.0] * 59)),
    Broken(
        "a key with 5,000 levels",
        "found 5000",
        config=changed("{role: replace, key: true, levels: [F, M]}", "{role: replace, key: true}"),
        data=io.encode(people(5000).assign(sex=[f"p{i}" for i in range(5000)]), format="csv"),
    ),
    Broken(
        "a binary column with three levels",
        "exactly 2 levels",
        config=changed("levels: [F, M]", "kind: binary"),
        data=table(sex=["F", "M", "Zebulon42"] * 20),
    ),
    Broken("dates that are none", "needs dates", config=changed("  sex: {role", "  town: {kind: date}\n  sex: {role")),
    Broken("age missing in some records", "found 10 missing values", data=table(age=[np.nan] * 10 + list(range(50)))),
    # the folder of the run
    Broken(
        "a folder in use",
        "not empty",
        prepare=lambda folder: [(folder / "out").mkdir(), (folder / "out" / "x").write_text("")],
    ),
    Broken(
        "two runs into one folder",
        "not empty",
        prepare=lambda folder: (made(folder), shutil.rmtree(folder / "out" / "public")),
    ),
    Broken("a file instead of the folder", "found a file", prepare=lambda folder: (folder / "out").write_text("")),
    Broken("a folder nobody can make", "cannot be made", args=("run", "config.yaml", "--out", "/proc/synthdp")),
    Broken(
        "--resume with another config",
        "the config differs in synthesis",
        prepare=made,
        args=(*RUN, "--resume", "--set", "synthesis.copies=3"),
    ),
    Broken("--resume without a folder", "--resume", args=("run", "config.yaml", "--resume")),
    Broken(
        "--resume in a foreign folder",
        "found 1 other files",
        args=(*RUN, "--resume"),
        prepare=lambda folder: [(folder / "out").mkdir(), (folder / "out" / "x").write_text("")],
    ),
    Broken("a log nobody can write", "--log", args=(*RUN, "--log", "absent/log.txt")),
    # other commands
    Broken("evaluating no file", "no such file", args=(*SYNTHETIC, "absent.csv")),
    Broken(
        "evaluating a file that lacks columns",
        "lacks the columns",
        args=(*SYNTHETIC, "short.csv"),
        prepare=lambda folder: (folder / "short.csv").write_text("age\n1\n2\n"),
    ),
    Broken(
        "evaluating fewer rows",
        "60 rows are required, found 30",
        args=(*SYNTHETIC, "half.csv"),
        prepare=lambda folder: (folder / "half.csv").write_bytes(io.encode(people().head(30), format="csv")),
    ),
    Broken(
        "evaluating text as numbers",
        "age is continuous and needs numbers",
        args=(*SYNTHETIC, "text.csv"),
        prepare=lambda folder: (folder / "text.csv").write_bytes(table(age="Zebulon42")),
    ),
    Broken(
        "evaluating an empty folder",
        "found neither",
        args=(*SYNTHETIC, "empty"),
        prepare=lambda folder: (folder / "empty").mkdir(),
    ),
    Broken("verifying no release", "no release found", args=("verify", ".")),
    Broken(
        "verifying a changed file",
        "changed since",
        args=("verify", "out"),
        prepare=spoilt("README.md", lambda data: data + b"x"),
    ),
    Broken(
        "verifying checksums that are none",
        "is not a checksum",
        args=("verify", "out"),
        prepare=spoilt("SHA256SUMS", lambda data: b"nonsense\n" + data),
    ),
    Broken(
        "analysing a damaged release.json",
        "not readable as JSON",
        args=("analyse", "out", "--model", "mean", "--formula", "age"),
        prepare=spoilt("release.json", lambda data: data[:50]),
    ),
    Broken(
        "analysing a damaged codebook",
        "codebook",
        args=("analyse", "out", "--model", "mean", "--formula", "age"),
        prepare=spoilt("codebook.csv", lambda data: b"a,b\n1,2\n"),
    ),
    Broken(
        "analysing an unknown column",
        "height",
        args=("analyse", "out", "--model", "mean", "--formula", "height"),
        prepare=made,
    ),
    Broken(
        "checking a config with three mistakes",
        "synthesis.copies",
        args=("check", "config.yaml"),
        config=changed("[0, 120]", "[120, 0]").replace("sd: 1.0", "sd: -1").replace("copies: 2", "copies: 0"),
    ),
]


@dataclass(frozen=True)
class Answer:
    """What the command said."""

    code: int
    out: str
    err: str
    log: str = ""


def answer(case: Broken, folder: Path) -> Answer:
    """Run a case in a folder; the working directory must be that folder."""
    case.lay_out(folder)
    quiet = () if case.args[0] == "analyse" else ("--quiet",)
    log = () if "--log" in case.args else ("--log", "log.txt")
    done = CliRunner().invoke(app, [*case.args, *quiet, *log])
    text = (folder / "log.txt").read_text() if (folder / "log.txt").exists() else ""
    return Answer(done.exit_code, done.stdout, done.stderr, text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_a_broken_input_gets_a_sentence(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(case, answer(case, tmp_path), tmp_path)


def check(case: Broken, found: Answer, folder: Path) -> None:
    """Assert what every broken input must get."""
    assert "Traceback" not in found.out + found.err + found.log
    assert "a bug in synthdp" not in found.err, found.log
    assert found.code == case.code, found.err
    lines = found.err.splitlines()
    assert 1 <= len(lines) <= MOST_LINES, found.err
    assert all(SENTENCE.fullmatch(line) for line in lines), found.err
    assert case.says in found.err
    assert not [secret for secret in SECRETS if secret in found.out + found.err + found.log]
    if case.args[0] == "run":
        assert not list(folder.glob("out/public*")) or "resume" in " ".join(case.args)
        assert not list(folder.glob("out/.public*"))


def test_there_are_enough_of_them():
    assert len(CASES) >= 60
    assert len({case.what for case in CASES}) == len(CASES)


# what happens to a process


def start(folder: Path, *args: str, **options: object) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    log = () if "--log" in args else ("--log", "log.txt")
    command = [sys.executable, "-m", "synthdp", *args, "--quiet", *log]
    places = {"cwd": folder, "env": os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    limit = options.pop("preexec_fn", None)

    def ready() -> None:
        # a shell starts what runs in its background deaf to Ctrl-C, and the deafness is inherited
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if callable(limit):
            limit()

    return subprocess.Popen(command, preexec_fn=ready, **{**streams, **places, **options})


def ended(process: subprocess.Popen[str], folder: Path) -> Answer:
    """Return what a process said when it was over."""
    out, err = process.communicate(timeout=120)
    log = folder / "log.txt"
    return Answer(process.returncode, out or "", err, log.read_text() if log.exists() else "")


def at_work(folder: Path) -> subprocess.Popen[str]:
    """Start a run that takes long, and wait until it is at work."""
    Broken("", "").lay_out(folder)
    process = start(folder, *RUN, "--set", "synthesis.copies=5000")
    while process.poll() is None and not (folder / "out" / "confidential" / "manifest.json").exists():
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()
    return process


def interrupted(number: signal.Signals) -> Callable[[Path], Answer]:
    """Return what stops a run by a signal."""

    def act(folder: Path) -> Answer:
        process = at_work(folder)
        process.send_signal(number)
        return ended(process, folder)

    return act


def second_run(folder: Path) -> Answer:
    """Start a run into the folder of one that is at work."""
    first = at_work(folder)
    try:
        done = CliRunner().invoke(app, [*RUN, "--resume", "--quiet"])
        return Answer(done.exit_code, done.stdout, done.stderr)
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)


def full_disk(folder: Path) -> Answer:
    """Run where no file may grow beyond 20,000 bytes, as on a disk that is almost full."""
    Broken("", "").lay_out(folder)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    return ended(start(folder, *RUN, preexec_fn=limit), folder)


def full_log(folder: Path) -> Answer:
    """Log to a device that is always full; the work goes on and fails for its own reason."""
    Broken("", "", data=b"").lay_out(folder)
    return ended(start(folder, *RUN, "--log", "/dev/full"), folder)


def full_output(folder: Path) -> Answer:
    """Print to a device that is always full."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "synthdp", "schema"]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    return Answer(done.returncode, "", done.stderr)


def as_somebody(folder: Path, *args: str) -> Answer:
    """Run a command as a user without rights; the tests may be root, who may do everything."""
    CliRunner().invoke(app, ["check", "config.yaml"])  # imports what the user may not read
    folder.chmod(0o777)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65534)
        done = CliRunner().invoke(app, [*args, "--quiet"])
    finally:
        if root:
            os.seteuid(0)
    return Answer(done.exit_code, done.stdout, done.stderr)


def no_permission(folder: Path) -> Answer:
    """Read a file as somebody who may not."""
    Broken("", "").lay_out(folder)
    (folder / "data.csv").chmod(0)
    return as_somebody(folder, "check", "config.yaml")


def no_permission_to_write(folder: Path) -> Answer:
    """Write into a folder as somebody who may not."""
    Broken("", "").lay_out(folder)
    (folder / "closed").mkdir(mode=0o555)
    return as_somebody(folder, "run", "config.yaml", "--out", "closed/out")


GO_ON = "interrupted. To continue, repeat the command with --out out --resume"
EVENTS: list[tuple[str, str, int, Callable[[Path], Answer]]] = [
    ("Ctrl-C", GO_ON, 130, interrupted(signal.SIGINT)),
    ("SIGTERM", GO_ON, 130, interrupted(signal.SIGTERM)),
    ("two runs at a time", "another run is writing into this folder", 2, second_run),
    ("a full disk", "the disk is full", 4, full_disk),
    ("a full disk for the log", "the file is empty", 2, full_log),
    ("a full disk for the output", "the output cannot be written", 4, full_output),
    ("data without permission", "no permission to read", 2, no_permission),
    ("a folder without permission", "no permission to write", 2, no_permission_to_write),
]


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize(("says", "code", "act"), [e[1:] for e in EVENTS], ids=[e[0] for e in EVENTS])
def test_what_happens_to_a_process_gets_a_sentence(says, code, act, folder, monkeypatch):
    monkeypatch.chdir(folder)
    found = act(folder)
    assert found.code == code, found.err
    assert says in found.err
    assert "Traceback" not in found.err + found.log
    assert len(found.err.splitlines()) == 1
    assert not [secret for secret in SECRETS if secret in found.out + found.err + found.log]
    assert not list(folder.glob("out/public*")) + list(folder.glob("out/.*"))


def page() -> str:
    """Return the table of all broken inputs."""
    rows = [(case.what, _here(partial(answer, case))) for case in CASES]
    rows += [(what, _here(act)) for what, _, _, act in EVENTS]
    lines = [
        "# What broken inputs get",
        "",
        f"{len(rows)} broken inputs, run through the command line by `tests/unit/cli/test_broken_inputs.py`, which "
        "also checks that nothing is published and that no value of the data is shown or logged. Written by "
        "`python tests/unit/cli/test_broken_inputs.py`.",
        "",
        "| input | exit code | sentence |",
        "|---|---|---|",
    ]
    for what, found in rows:
        sentence = "<br>".join(_short(line) for line in found.err.splitlines())
        lines.append(f"| {what} | {found.code} | {sentence} |")
    return "\n".join(lines) + "\n"


def _here(act: Callable[[Path], Answer]) -> Answer:
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            return act(Path(name))
        finally:
            os.chdir(ROOT)


def _short(line: str) -> str:
    line = re.sub(r"(\w)\1{99,}", r"\1\1\1…", line)
    return line.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("__", "\\_\\_")


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
