"""public/ appears whole or not at all, tells nothing it should not, and a killed run can be repeated."""

import errno
import fcntl
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp import files, release
from synthdp.errors import InputError, Unfinished
from synthdp.release import metrics, public, shelf
from synthdp.release.shelf import Attempt
from synthdp.table import io
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

SECRET = "Zebulon"
ROWS = 40
SEED = 2**100 + 7


@pytest.fixture
def original():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "sex": rng.choice(["F", "M"], ROWS),
            "town": [SECRET, *rng.choice(["Ash", "Elm"], ROWS - 1)],
            "income": rng.normal(50, 10, ROWS).round(2),
        }
    )


@pytest.fixture
def data(original):
    variables = {
        "age": Variable(role="replace", key=True, bounds=(18, 90)),
        "sex": Variable(kind="nominal", role="replace", levels=("F", "M", "X")),
        "town": Variable(role="replace"),
        "income": Variable(bounds_from="data"),
    }
    return resolve(original, variables)


@pytest.fixture
def copies(data):
    rng = np.random.default_rng(2)
    frames = []
    for _ in range(3):
        frame = data.frame.copy()
        frame["age"] = rng.integers(18, 90, ROWS)
        frame["town"] = rng.choice(["Ash", "Elm"], ROWS)
        frames.append(frame)
    return frames


def pieces(data, copies, format="csv", **changes):
    described = release.describe(
        data.schema,
        method="da_mi",
        imputations=1,
        copies=len(copies),
        mask_draw="per_copy",
        rule="reiter2003",
        records=len(data),
        masks={"age": "gaussian"},
        format=format,
    )
    rng = np.random.default_rng(3)
    made = {
        "codebook": release.codebook(data.schema, copies, declared_levels=["sex"]),
        "release": described,
        "readme": release.readme(described),
        "format": format,
        "permutations": [rng.permutation(ROWS) for _ in copies],
    }
    return made | changes


@pytest.fixture
def published(tmp_path, data, copies):
    with release.prepare_out(tmp_path / "out", resume=False) as out:
        release.publish(out, copies, **pieces(data, copies))
    return tmp_path / "out"


def test_layout_is_the_promised_one(published):
    assert sorted(path.name for path in published.iterdir()) == ["public"]
    assert sorted(path.name for path in (published / "public").iterdir()) == [
        "README.md",
        "SHA256SUMS",
        "codebook.csv",
        "release.json",
        "synthetic_01.csv",
        "synthetic_02.csv",
        "synthetic_03.csv",
    ]


def test_names_of_copies_of_imputations():
    assert release.file_names(2, 2, "parquet")[1:3] == ["synthetic_01_02.parquet", "synthetic_02_01.parquet"]
    names = release.file_names(1, 100, "csv")
    assert names == sorted(names)


def test_each_copy_is_shuffled_by_its_own_permutation(published, data, copies):
    orders = pieces(data, copies)["permutations"]
    for number, (copy, order) in enumerate(zip(copies, orders, strict=True), start=1):
        found = io.read(published / "public" / f"synthetic_{number:02}.csv")
        pd.testing.assert_frame_equal(found, copy.iloc[order].reset_index(drop=True), check_dtype=False)


def test_sha256sum_can_check_it(published):
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=published / "public", capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.count(": OK") == 6


def test_codebook_tells_only_what_is_public(data, copies):
    table = release.codebook(data.schema, copies, declared_levels=["sex"]).set_index("name")
    assert table.loc["age", ["role", "lower", "upper"]].tolist() == ["replaced", 18.0, 90.0]
    assert json.loads(table.loc["sex", "levels"]) == ["F", "M", "X"]  # declared in the config
    assert json.loads(table.loc["town", "levels"]) == ["Ash", "Elm"]  # one level is in no copy
    assert table.loc["income", ["lower", "upper"]].isna().all()  # these came from the data
    assert table["decimals"].tolist()[0] == 0


def test_nothing_secret_in_any_public_byte(published, monkeypatch):
    everything = b"".join(path.read_bytes() for path in (published / "public").iterdir()).decode()
    told = json.loads((published / "public" / "release.json").read_text())
    assert SECRET not in everything
    assert str(published) not in everything
    assert set(told) == {
        *("version", "software", "method", "imputations", "copies", "mask_draw", "rule", "records", "format"),
        *("files", "columns", "masks", "privacy"),
    }
    assert not re.search(r"seed|20\d\d-\d\d-\d\d", everything)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_equal_releases_are_equal_to_the_byte(tmp_path, data, copies, format):
    for name in ("a", "b"):
        with release.prepare_out(tmp_path / name, resume=False) as out:
            release.publish(out, copies, **pieces(data, copies, format))
    for path in (tmp_path / "a" / "public").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / "public" / path.name).read_bytes()


def test_checksums_are_returned(tmp_path, data, copies):
    with release.prepare_out(tmp_path / "out", resume=False) as out:
        sums = release.publish(out, copies, **pieces(data, copies))
    assert sums["README.md"] == io.digest(tmp_path / "out" / "public" / "README.md")


def test_a_permutation_must_be_one(tmp_path, data, copies):
    wrong = [np.zeros(ROWS, dtype=np.int64) for _ in copies]
    with pytest.raises(ValueError, match="every row once"), release.prepare_out(tmp_path / "o", resume=False) as out:
        release.publish(out, copies, **pieces(data, copies, permutations=wrong))
    assert not (tmp_path / "o" / "public").exists()


@pytest.mark.parametrize("harm", ["truncate", "shorten"])
def test_what_cannot_be_read_back_is_not_published(tmp_path, data, copies, monkeypatch, harm):
    real = public.write_through

    def faulty(path, contents, *, mode):
        if path.name == "synthetic_02.csv":
            lines = contents.splitlines(keepends=True)
            contents = contents[:-30] if harm == "truncate" else b"".join(lines[:-1])
        real(path, contents, mode=mode)

    monkeypatch.setattr(public, "write_through", faulty)
    with (
        pytest.raises(Unfinished, match=r"could not be read back; nothing published"),
        release.prepare_out(tmp_path / "out", resume=False) as out,
    ):
        release.publish(out, copies, **pieces(data, copies))
    assert list((tmp_path / "out").iterdir()) == []


def test_a_complete_public_folder_of_a_killed_run_is_replaced(tmp_path, data, copies):
    with release.prepare_out(tmp_path / "out", resume=False) as out:
        release.publish(out, copies, **pieces(data, copies))
    with release.prepare_out(tmp_path / "out", resume=True) as out:
        release.publish(out, copies[::-1], **pieces(data, copies))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["public"]
    assert release.verify(tmp_path / "out") == []


def test_an_untouched_release_is_in_order(published):
    assert release.verify(published) == []
    assert release.verify(published / "public") == []


def spoil(path):
    path.write_bytes(path.read_bytes() + b" ")


def set_version(path, version):
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": version}))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda at: spoil(at / "synthetic_01.csv"), ["changed since the release was made"]),
        (lambda at: (at / "synthetic_01.csv").unlink(), ["listed in SHA256SUMS, but missing"]),
        (lambda at: (at / "more.csv").write_text("a"), ["not part of the release"]),
        (lambda at: (at / "SHA256SUMS").unlink(), ["missing, so nothing can be checked"]),
        (lambda at: (at / "SHA256SUMS").write_text("0 ../x\n"), ["line 1 is not a checksum and a file name"]),
        (lambda at: (at / "release.json").unlink(), ["listed in SHA256SUMS, but missing", "release.json: missing."]),
        (lambda at: (at / "release.json").write_text("{"), ["changed", "not readable as JSON"]),
        (lambda at: (at / "release.json").write_text("[]"), ["changed", "version must be 1"]),
        (lambda at: set_version(at / "release.json", 2), ["changed", "version must be 1; a newer synthdp may read it"]),
        (
            lambda at: (at / "release.json").write_text('{"version": 1, "files": ["../../etc/passwd"]}'),
            ["changed", "files must list the synthetic files"],
        ),
    ],
)
def test_every_harm_is_found(published, harm, words):
    harm(published / "public")
    problems = release.verify(published)
    assert len(problems) == len(words)
    assert all(word in problem for word, problem in zip(words, problems, strict=True))


def test_there_must_be_a_release(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        release.verify(tmp_path / "absent")
    with pytest.raises(InputError, match="no release found; give public/ or the folder that holds it"):
        release.verify(tmp_path)


def test_a_release_is_read_as_its_user_finds_it(published, copies):
    found = release.read_public(published)
    assert len(found.copies) == 3
    assert found.contents["rule"] == "reiter2003"
    assert found.schema["sex"].levels == ("F", "M", "X")
    assert [column.name for column in found.schema.replaced()] == ["age", "sex", "town"]
    assert repr(found) == "PublicRelease(3 copies of 40 records)"


@pytest.mark.parametrize("text", ["a,b\n1,x\n", "name,kind,role,levels\nage,strange,kept,\n"])
def test_a_damaged_codebook_is_refused(published, text):
    (published / "public" / "codebook.csv").write_text(text)
    with pytest.raises(InputError, match="not the codebook of a release"):
        release.read_public(published)


def test_a_folder_with_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    with (
        pytest.raises(InputError, match="the folder is not empty; choose another --out"),
        release.prepare_out(tmp_path, resume=False),
    ):
        pass
    with (
        pytest.raises(InputError, match="needs the folder of an interrupted run, found 1 other files"),
        release.prepare_out(tmp_path, resume=True),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_file_is_not_a_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="must be a folder, found a file"), release.prepare_out(out, resume=False):
            pass


def test_no_permission_to_write(tmp_path, monkeypatch):
    def fail(*_args, **_settings):
        raise PermissionError(13, "no")

    monkeypatch.setattr("pathlib.Path.mkdir", fail)
    with pytest.raises(InputError, match="no permission to write there"), release.prepare_out(tmp_path, resume=False):
        pass


def test_two_runs_do_not_share_a_folder(tmp_path):
    out = tmp_path / "out"
    with release.prepare_out(out, resume=False):
        for resume in (False, True):
            with (
                pytest.raises(InputError, match="another run is writing into this folder"),
                release.prepare_out(out, resume=resume),
            ):
                pass
    assert list(out.iterdir()) == []
    with release.prepare_out(out, resume=False):
        pass


def test_a_lock_that_lost_its_name_is_taken_again(tmp_path, monkeypatch):
    real, tries = fcntl.flock, []

    def flock(descriptor, how):
        real(descriptor, how)
        tries.append(descriptor)
        if len(tries) == 1:
            (tmp_path / ".lock").unlink()  # as the run before us does when it ends at this moment

    monkeypatch.setattr(fcntl, "flock", flock)
    with release.prepare_out(tmp_path, resume=False):
        assert len(tries) == 2
        assert (tmp_path / ".lock").exists()


def test_what_a_killed_run_left_half_done_is_cleared(tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / ".public-0123").mkdir()
    (tmp_path / ".public-0123" / "synthetic_01.csv").write_text("half")
    (tmp_path / "confidential").mkdir()
    (tmp_path / "confidential" / ".writing-01").write_text("half")
    with release.prepare_out(tmp_path, resume=True):
        pass
    assert [path.name for path in tmp_path.rglob("*")] == ["confidential"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_leaves_no_public_folder(tmp_path, data, copies, monkeypatch, number):
    real = public.write_through

    def full(path, contents, *, mode):
        if path.name == "release.json":
            raise OSError(number, "full")
        real(path, contents, mode=mode)

    monkeypatch.setattr(public, "write_through", full)
    with (
        pytest.raises(Unfinished, match="the disk is full") as caught,
        release.prepare_out(tmp_path / "out", resume=False) as out,
    ):
        release.publish(out, copies, **pieces(data, copies))
    assert caught.value.exit_code == 4
    assert list((tmp_path / "out").iterdir()) == []


def test_other_errors_of_the_system_stay_what_they_are(tmp_path):
    with pytest.raises(OSError, match="odd"), release.prepare_out(tmp_path / "o", resume=False):
        raise OSError(errno.EIO, "odd")


def test_a_file_size_limit_for_real(tmp_path):
    code = (
        "import resource, sys; from pathlib import Path; from synthdp import release\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "with release.prepare_out(Path(sys.argv[1]), resume=False) as out:\n"
        "    release.write_atomic(out / 'big', bytes(5000))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")],
        cwd=Path(__file__).parents[3], capture_output=True, text=True,
    )  # fmt: skip
    assert "Unfinished" in done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_atomic_writing_keeps_the_old_file_when_it_fails(tmp_path, monkeypatch):
    release.write_atomic(tmp_path / "f", b"old")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600

    def fail(_descriptor):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        release.write_atomic(tmp_path / "f", b"new")
    assert (tmp_path / "f").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


CONFIG = {"version": 1, "data": {"path": "a.csv", "missing_codes": {}}, "synthesis": {"copies": (1, 2)}, "seed": 5}
INPUTS = {"data": "0123"}


def start(out, *, resume=False, config=CONFIG, inputs=INPUTS, study=False, seed=SEED):
    with release.prepare_out(out, resume=resume):
        return release.start_manifest(out, config=config, inputs=inputs, study=study, resume=resume, seed=seed)


def test_a_manifest_is_there_before_the_work(tmp_path):
    made = start(tmp_path)
    found = release.read_manifest(tmp_path)
    assert found == made
    assert (found.seed, found.status, found.finished, found.study) == (SEED, "running", False, False)
    assert set(found.contents) >= {"config", "config_sha256", "inputs", "versions", "started"}
    assert "seed" not in found.contents["config"]
    assert stat.S_IMODE((tmp_path / "confidential").stat().st_mode) == 0o700
    assert str(SEED) not in repr(found)


def test_a_fresh_seed_is_secret_and_large(tmp_path):
    seeds = {start(tmp_path / str(i), seed=None).seed for i in range(3)}
    assert len(seeds) == 3
    assert max(seeds) > 2**100


def test_no_manifest_yet(tmp_path):
    assert release.read_manifest(tmp_path) is None
    assert start(tmp_path, resume=True).seed == SEED


def test_an_interrupted_run_goes_on_with_its_seed(tmp_path):
    seed = start(tmp_path, seed=None).seed
    moved = CONFIG | {"data": {"path": "elsewhere/a.csv", "missing_codes": {}}}
    assert start(tmp_path, resume=True, seed=None, config=moved).seed == seed
    assert start(tmp_path, resume=True, seed=seed).seed == seed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"config": CONFIG | {"synthesis": {"copies": (1, 3)}}}, "the config differs in synthesis"),
        ({"config": CONFIG | {"groups": {}}}, "the config differs in groups"),
        ({"inputs": {"data": "4567"}}, "the data changed"),
        ({"study": True}, "it was started without --study"),
        ({"seed": SEED + 1}, "it had another seed"),
    ],
)
def test_a_different_run_is_not_resumed(tmp_path, change, words):
    start(tmp_path)
    with pytest.raises(InputError, match=words) as caught:
        start(tmp_path, resume=True, **change)
    assert str(SEED)[:8] not in str(caught.value)


def test_a_study_cannot_become_a_release(tmp_path):
    start(tmp_path, study=True, seed=1)
    with pytest.raises(InputError, match="it was started with --study"):
        start(tmp_path, resume=True, seed=None)


def test_a_finished_run_is_left_as_it_is(tmp_path):
    start(tmp_path)
    release.finish_manifest(tmp_path, status="published", timings={"fit": 1.5}, public={"README.md": "ab"})
    before = (tmp_path / "confidential" / "manifest.json").read_bytes()
    found = start(tmp_path, resume=True)
    assert found.finished
    assert found.contents["timings"] == {"fit": 1.5}
    assert (tmp_path / "confidential" / "manifest.json").read_bytes() == before


def test_finishing_needs_a_start(tmp_path):
    with pytest.raises(ValueError, match="needs a manifest"):
        release.finish_manifest(tmp_path, status="refused", timings={})


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"version": 1}'])
def test_a_damaged_manifest(tmp_path, text):
    start(tmp_path)
    (tmp_path / "confidential" / "manifest.json").write_text(text)
    with pytest.raises(InputError, match="the file is damaged; start again with another --out"):
        release.read_manifest(tmp_path)


def test_a_manifest_from_the_future(tmp_path):
    start(tmp_path)
    set_version(tmp_path / "confidential" / "manifest.json", 2)
    with pytest.raises(InputError, match="version must be 1; a newer synthdp may read it"):
        release.read_manifest(tmp_path)


def test_a_run_goes_on_only_where_it_is_still_secret(tmp_path):
    start(tmp_path)
    at = tmp_path / "confidential"

    def problems(study=False):
        return release.check_resumable(tmp_path, release.read_manifest(tmp_path), study=study)

    assert problems() == []
    at.chmod(0o750)
    assert "others may read it, and with it the seed; chmod 700" in problems()[0]
    at.chmod(0o700)
    (at / "manifest.json").chmod(0o604)
    assert "others may read the seed in it; chmod 600" in problems()[0]
    (at / "manifest.json").chmod(0o600)
    contents = json.loads((at / "manifest.json").read_text())
    (at / "manifest.json").write_text(json.dumps(contents | {"seed": 5}))
    assert "the seed must be at least 2^64" in problems()[0]
    assert problems(study=True)  # it was no study when it began
    (at / "manifest.json").write_text(json.dumps(contents | {"seed": 5, "study": True}))
    assert problems(study=True) == []
    (at / "manifest.json").rename(tmp_path / "moved.json")
    (at / "manifest.json").symlink_to(tmp_path / "moved.json")
    assert "manifest.json: is a link" in problems(study=True)[0]
    at.rename(tmp_path / "elsewhere")
    at.symlink_to(tmp_path / "elsewhere")
    assert "confidential: is a link" in problems(study=True)[0]


def test_a_run_of_somebody_else_does_not_go_on(tmp_path, monkeypatch):
    made = start(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: -5)
    assert "belongs to somebody else" in release.check_resumable(tmp_path, made, study=False)[0]


def test_attempts_are_shown_beside_a_release(tmp_path):
    tried = [
        Attempt("a", "2026-11-16T10:00:00+00:00", "refused", ("max_individual",), config="1"),
        Attempt("b", "2026-11-17T10:00:00+00:00", "passed", accepted=("max_exposed",), config="1"),
    ]
    shown = {
        "several": (tried, "Attempt 2 on these data; 1 earlier: refused 2026-11-16 (max_individual)."),
        "first": (tried[:1], "Attempt 1 on these data; none earlier."),
        "no register": (None, "how often these data were tried before is not known"),
    }
    for name, (entries, words) in shown.items():
        start(tmp_path / name)
        release.finish_manifest(tmp_path / name, status="published", timings={}, signed=shelf.section(entries))
        assert any(words in line for line in release.signed(tmp_path / name))
    assert "1 of them with exactly these settings" in shelf.lines(tried)[1]
    many = shelf.lines(tried * 4)[0]
    assert "7 earlier: 2 older ones, then refused 2026-11-16 (max_individual), passed 2026-11-17, accepting" in many
    assert shelf.lines([]) == []
    start(tmp_path / "odd")
    release.finish_manifest(tmp_path / "odd", status="published", timings={}, signed={"attempts": [{"verdict": "odd"}]})
    with pytest.raises(InputError, match="the list of attempts is damaged"):
        release.signed(tmp_path / "odd")


def test_confidential_files(tmp_path):
    order = np.array([2, 0, 1])
    report = release.write_confidential(
        tmp_path,
        metrics={"a": np.float64(1.5), "b": float("nan"), "c": [np.int64(2)], "d": np.array([1.0, np.inf])},
        report="<p>ü</p>",
        records_at_risk=pd.DataFrame({"record": [7], "probability": [0.5]}),
        rows={"synthetic_01.csv": order},
    )
    at = tmp_path / "confidential"
    assert report == at / "report.html"
    assert report.read_text(encoding="utf-8") == "<p>ü</p>"
    assert json.loads((at / "metrics.json").read_text()) == {"a": 1.5, "b": None, "c": [2], "d": [1.0, None]}
    assert (at / "records_at_risk.csv").read_text() == "record,probability\n7,0.5\n"
    assert io.read(at / "rows.parquet")["synthetic_01"].tolist() == [2, 0, 1]
    assert {stat.S_IMODE(path.stat().st_mode) for path in at.iterdir()} == {0o600}


def test_no_row_orders_when_nothing_is_shuffled(tmp_path):
    release.write_confidential(tmp_path, metrics={}, report="", records_at_risk=pd.DataFrame({"record": []}))
    assert not (tmp_path / "confidential" / "rows.parquet").exists()


def test_json_of_paths_and_names():
    assert json.loads(metrics.json_text({"p": Path("a/b"), 1: "x"})) == {"p": "a/b", "1": "x"}


def test_leftovers_do_not_hide_the_full_disk(tmp_path, monkeypatch):
    clear, calls = files._clear_leftovers, []

    def fails_the_second_time(out):
        calls.append(out)
        if len(calls) > 1:
            raise OSError(errno.EIO, "worse")
        clear(out)

    monkeypatch.setattr(files, "_clear_leftovers", fails_the_second_time)
    with pytest.raises(Unfinished, match="the disk is full"), release.prepare_out(tmp_path / "o", resume=False):
        raise OSError(errno.ENOSPC, "full")
    assert len(calls) == 2
