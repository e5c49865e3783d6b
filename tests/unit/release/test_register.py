"""Releases of the same data are recorded, recognised and judged together; a refusal can be overridden by name only."""

import errno
import hashlib
import json
import multiprocessing
import os
import signal
import stat
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import pipeline, release
from synthdp.cli import app
from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.evaluation.gate import Thresholds, Verdict, accepted_risks
from synthdp.evaluation.gate.tally import Bound
from synthdp.evaluation.gate.verdict import check
from synthdp.release import shelf
from synthdp.release.register import INDEX, NAME, Earlier, Register
from synthdp.release.shelf import row_hashes
from synthdp.seeding import Streams
from synthdp.stages.advising import advise_on
from synthdp.stages.draws import Draws
from synthdp.stages.gating import judge
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Role, Variable

N = 300
UNGATED = dict.fromkeys(set(Thresholds.model_fields) - {"limits"})


@pytest.fixture(autouse=True)
def _register_beside_the_data(monkeypatch):
    monkeypatch.delenv("SYNTHDP_REGISTER")


def invoke(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def table(n: int = N, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    age = (50 + 10 * z + 12 * rng.normal(size=n)).round(1)
    return pd.DataFrame({"z": z, "city": rng.choice(list("äbc"), n), "age": age})


def microdata(frame: pd.DataFrame):
    return resolve(frame, {"age": Variable(role=Role.REPLACE, key=True)})


def copy_of(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    return frame.assign(age=np.random.default_rng(seed).permutation(frame["age"].to_numpy()))


def record(folder: Path, data: Microdata, copies: list[pd.DataFrame]) -> None:
    with Register(folder).session(data.frame) as held:
        held.record(data, copies)


def earlier(folder: Path, data: Microdata, copies: list[pd.DataFrame]) -> tuple[Earlier, ...]:
    with Register(folder).session(data.frame) as held:
        return held.earlier(data, copies)


def config_of(folder: Path, frame: pd.DataFrame, **more):
    frame.to_csv(folder / "data.csv", index=False)
    settings = {
        "data": {"path": str(folder / "data.csv")},
        "variables": {
            "age": {"kind": "continuous", "role": "replace", "key": True, "tolerance": 3},
            "z": {"key": False},
        },
        "masks": {"age": {"method": "gaussian", "sd": 1.0}},
        "synthesis": {"copies": 3},
    } | more
    return parse(settings)


def test_the_same_records_are_recognised_in_any_order(tmp_path):
    frame = table()
    register = tmp_path / NAME
    released = [copy_of(frame, seed) for seed in (1, 2)]
    record(register, microdata(frame), released)
    order = np.random.default_rng(9).permutation(N)
    shuffled = frame.iloc[order].reset_index(drop=True)
    (found,) = earlier(register, microdata(shuffled), [copy_of(shuffled, 5)])
    for before, now in zip(released, found.copies, strict=True):
        expected = before.iloc[order].reset_index(drop=True)
        assert np.array_equal(now["age"].to_numpy(), expected["age"].to_numpy())
        assert now["city"].tolist() == expected["city"].tolist()


def test_other_data_and_the_same_copies_are_no_earlier_release(tmp_path):
    frame = table()
    register = tmp_path / NAME
    copies = [copy_of(frame, 1)]
    record(register, microdata(frame), copies)
    record(register, microdata(frame), copies)
    assert len(json.loads((tmp_path / NAME / INDEX).read_text())["releases"]) == 1
    assert earlier(register, microdata(frame), copies) == ()
    other = table(seed=4)
    assert earlier(register, microdata(other), [copy_of(other, 2)]) == ()


def test_a_column_that_was_kept_and_is_replaced_now_is_recognised(tmp_path):
    frame = table()
    register = tmp_path / NAME
    record(register, microdata(frame), [copy_of(frame, 1)])
    both = resolve(frame, {name: Variable(role=Role.REPLACE, key=True) for name in ("age", "z")})
    (found,) = earlier(register, both, [copy_of(frame, 2)])
    # the first release told z as it is
    assert np.array_equal(found.copies[0]["z"].to_numpy(), frame["z"].to_numpy())


@pytest.mark.parametrize("text", ["{", '{"version": 1}', '{"version": 2, "releases": []}', '{"version": 3}'])
def test_a_damaged_register_is_an_error_and_not_an_empty_one(tmp_path, text):
    (tmp_path / INDEX).write_text(text)
    with pytest.raises(InputError, match=r"register\.json: "):
        earlier(tmp_path, microdata(table()), [copy_of(table(), 1)])


def test_a_lost_file_of_the_register_is_an_error(tmp_path):
    frame = table()
    register = tmp_path / NAME
    record(register, microdata(frame), [copy_of(frame, 1)])
    next((tmp_path / NAME).glob("release_*.parquet")).unlink()
    with pytest.raises(InputError, match="an earlier release of these data is recorded"):
        earlier(register, microdata(frame), [copy_of(frame, 2)])


def test_a_register_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"release\.recorded_in: .* cannot be made"):
        record(tmp_path / "file", microdata(table()), [copy_of(table(), 1)])


def test_old_copies_lie_beside_the_records_that_both_files_hold(tmp_path):
    frame = table()
    with Register(tmp_path / NAME).session(frame) as held:
        held.record(microdata(frame), [copy_of(frame, 1)], run="a")
    part = pd.concat([table(100, seed=8), frame.tail(200)]).sample(frac=1, random_state=2).reset_index(drop=True)
    with Register(tmp_path / NAME).session(part) as held:
        (found,) = held.earlier(microdata(part), run="b")
        assert held.earlier(microdata(part), run="a") == ()  # an interrupted run is not judged beside itself
    assert found.covers.sum() == 200
    assert len(found.copies[0]) == 200
    assert (found.aligned, found.certain) == (True, False)
    assert str(found).endswith("; judged together as a precaution.")
    # fingerprints are salted, and records that share one by chance are taken off on average only
    assert found.share == pytest.approx(2 / 3, abs=0.03)
    assert f"shares about {found.share:.0%} of its records" in str(found)
    covered = part[found.covers].merge(frame.assign(old=copy_of(frame, 1)["age"]), on=["z", "age"])
    assert np.array_equal(found.copies[0]["age"].to_numpy(), covered["old"].to_numpy())


def test_data_are_known_from_before_they_were_coarsened(tmp_path):
    frame = table()
    with Register(tmp_path / NAME).session(frame) as held:
        held.record(microdata(frame), [copy_of(frame, 1)])
    coarser = microdata(frame.assign(z=0.0).drop(columns="city"))
    with Register(tmp_path / NAME).session(frame) as held:
        (found,) = held.earlier(coarser)
        assert found.covers.all()
        assert str(found) == f"This file shares about 100% of its records with the release of {found.when[:10]}."
        with pytest.raises(ValueError, match="a session is held for the table"):
            held.earlier(microdata(frame.head(5)))


def test_rows_that_cannot_be_told_apart_are_said_to_be(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, k, 600) for i, k in enumerate((4, 5, 6, 3, 7))})
    data = resolve(frame, {"c0": Variable(kind="nominal", role=Role.REPLACE)})
    with Register(tmp_path / NAME).session(frame) as held:
        held.record(data, [frame.assign(c0=0)])
    now = frame.drop(columns="c4").sample(frac=1, random_state=1).reset_index(drop=True)
    with Register(tmp_path / NAME).session(now) as held:
        (found,) = held.earlier(resolve(now, {}))
    assert not found.aligned
    assert not found.covers.any()
    assert len(found.copies[0]) == 600
    assert "does not tell which row is which record" in str(found)


def test_registers_of_the_first_version_are_read_and_carried_on(tmp_path):
    frame = table()
    copies = [copy_of(frame, 1), copy_of(frame, 2)]
    rows = row_hashes(frame, ["z", "city"])
    old = pd.concat([pd.DataFrame({"row": rows, "age": copy["age"]}) for copy in copies])
    old.to_parquet(tmp_path / "release_001_0.parquet", index=False)
    entry = {
        "when": "2026-01-01T00:00:00+00:00",
        "file": "release_001_0.parquet",
        "records": N,
        "copies": 2,
        "columns": ["z", "city"],
        "data": hashlib.sha256(np.sort(rows).tobytes()).hexdigest(),
        "content": "0",
    }
    (tmp_path / INDEX).write_text(json.dumps({"version": 1, "releases": [entry]}))
    now = frame.sample(frac=1, random_state=1).reset_index(drop=True)
    with Register(tmp_path).session(now) as held:
        (found,) = held.earlier(microdata(now))
        held.record(microdata(now), [copy_of(now, 3)])
        held.attempt("a", verdict="passed")
        assert len(held.earlier(microdata(now))) == 2
    for before, copy in zip(copies, found.copies, strict=True):
        assert np.array_equal(copy["age"], before.merge(now.reset_index(), on="z").sort_values("index")["age_x"])
    with Register(tmp_path).session(table(seed=4)) as held:
        assert held.earlier(microdata(table(seed=4))) == ()
        assert held.attempts() == ()


def test_every_attempt_is_recorded_and_an_interrupted_one_completed(tmp_path):
    frame = table()
    for run, verdict in (("a", "refused"), ("b", "interrupted"), ("c", "study")):
        with Register(tmp_path / NAME).session(frame) as held:
            held.attempt(run, verdict="interrupted", config="1")
            if verdict != "interrupted":
                held.attempt(run, verdict=verdict, config="1", reasons=("max_individual",))
    with Register(tmp_path / NAME).session(frame.drop(columns="city")) as held:
        found = held.attempts()
        assert [(one.run, one.verdict) for one in found] == [("a", "refused"), ("b", "interrupted"), ("c", "study")]
        held.attempt("b", verdict="passed", accepted=("max_exposed",))
        assert [one.run for one in held.attempts()] == ["a", "c", "b"]
    with Register(tmp_path / NAME).session(table(seed=4)) as held:
        assert held.attempts() == ()
    text = (tmp_path / NAME / INDEX).read_text()
    assert "max_individual" in text


def _one_of_eight(folder, number):
    """Release the same data, once; leave behind how many releases and attempts were seen."""
    frame = table().sample(frac=1, random_state=number).reset_index(drop=True)
    if number % 2:  # half of them come with another file of the same records
        frame = frame.drop(columns="city")
    with Register(folder / NAME).session(frame) as held:
        held.attempt(str(number), verdict="interrupted")
        seen = len(held.earlier(microdata(frame), run=str(number)))
        tried = len(held.attempts())
        held.record(microdata(frame), [copy_of(frame, number)], run=str(number))
        held.attempt(str(number), verdict="passed")
    (folder / f"seen_{number}").write_text(f"{seen} {tried}")
    os._exit(0)


def test_eight_runs_at_once_are_judged_one_after_another(tmp_path):
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=_one_of_eight, args=(tmp_path, number)) for number in range(8)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(120)
    seen = sorted(tuple(map(int, (tmp_path / f"seen_{number}").read_text().split())) for number in range(8))
    assert seen == [(before, before + 1) for before in range(8)]
    index = json.loads((tmp_path / NAME / INDEX).read_text())
    assert len(index["releases"]) == len(index["attempts"]) == 8
    assert len(index["data"]) == 2


def test_a_run_waits_and_says_so_until_the_other_one_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(shelf, "PATIENCE", 0.05)
    frame, said = table(), []
    register = Register(tmp_path / NAME)
    started, done = threading.Event(), threading.Event()

    def hold():
        with register.session(frame):
            started.set()
            done.wait(20)

    other = threading.Thread(target=hold)
    other.start()
    assert started.wait(20)
    with register.session(table(seed=4)):  # other data are not held up
        pass

    def waiting(sentence):
        said.append(sentence)
        done.set()

    with register.session(frame.drop(columns="city"), waiting=waiting):
        pass
    other.join()
    assert said == ["waiting for another run on the same data, which is judged first."]


def test_a_killed_run_holds_nothing_up(tmp_path):
    frame = table()
    child = os.fork()
    if child == 0:
        with Register(tmp_path / NAME).session(frame) as held:
            held.attempt("killed", verdict="interrupted")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    with Register(tmp_path / NAME).session(frame) as held:
        assert [one.verdict for one in held.attempts()] == ["interrupted"]


def test_only_its_owner_may_read_it_and_links_are_not_followed(tmp_path):
    frame = table()
    folder = tmp_path / NAME
    record(folder, microdata(frame), [copy_of(frame, 1)])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    for name in (INDEX, ".lock", "key"):
        (folder / name).rename(tmp_path / "kept")
        (folder / name).symlink_to(tmp_path / "kept")
        with pytest.raises(InputError, match="is a link, which the register does not follow"):
            record(folder, microdata(frame), [copy_of(frame, 2)])
        (folder / name).unlink()
        (tmp_path / "kept").rename(folder / name)
    (folder / INDEX).unlink()
    os.mkfifo(folder / INDEX)
    with pytest.raises(InputError, match="must be a file"):
        record(folder, microdata(frame), [copy_of(frame, 2)])


@pytest.mark.parametrize("part", ["key", "data", "index of data", "index of attempts", "key of another register"])
def test_a_damaged_part_is_one_sentence(tmp_path, part):
    frame = table()
    folder = tmp_path / NAME
    with Register(folder).session(frame) as held:
        held.attempt("a", verdict="passed")
    index = json.loads((folder / INDEX).read_text())
    if part == "key":
        (folder / "key").unlink()
    elif part == "key of another register":
        (folder / "key").write_bytes(bytes(32))
    elif part == "data":
        next(folder.glob("data_*.parquet")).write_bytes(b"x")
    else:
        index[part.split()[-1]] = [{"id": "data_001", "of": "data_001"}]
        (folder / INDEX).write_text(json.dumps(index))
    with (
        pytest.raises(InputError, match="the register of releases cannot be read") as caught,
        Register(folder).session(frame.drop(columns="city")) as held,
    ):
        held.attempts()
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_register_on_a_medium_that_cannot_be_written(tmp_path, monkeypatch, number):
    real = os.open

    def read_only(path, flags, *rest, **more):
        if flags & os.O_CREAT and NAME in str(path):
            raise OSError(number, "no")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(InputError, match="cannot be read and written") as caught:
        record(tmp_path / NAME, microdata(table()), [copy_of(table(), 1)])
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_what_the_machine_does_stays_what_it_is(tmp_path, monkeypatch, number):
    def fail(_descriptor):
        raise OSError(number, "odd")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="odd"):
        record(tmp_path / NAME, microdata(table()), [copy_of(table(), 1)])


def test_a_second_release_is_judged_on_both_together(tmp_path):
    frame = table()
    wide = UNGATED | {"max_individual": 1.0, "draws": 12}
    first = pipeline.run(config_of(tmp_path, frame, release=wide), out=tmp_path / "a")
    assert first.public is not None
    assert "releases" not in first.metrics["risk"]
    assert {line["releases"] for line in first.metrics["gate"]["checks"]} == {0}
    second = pipeline.run(config_of(tmp_path, frame, release=wide), out=tmp_path / "b")
    together = second.metrics["risk"]["releases"]
    assert len(together["earlier"]) == 1
    assert together["copies"] == 6
    assert "mean_individual" in together["identity_averaged"]
    assert {line["releases"] for line in second.metrics["gate"]["checks"]} == {0, 1}
    assert any("judged together with 1 earlier" in line for line in release.signed(tmp_path / "b"))
    # the register lies beside the data, not in what is public
    assert (tmp_path / NAME).is_dir()
    assert not list((tmp_path / "b" / "public").glob("*register*"))


def test_what_passes_alone_is_refused_when_earlier_releases_used_it_up(tmp_path):
    frame = table()
    masks = {"age": {"method": "gaussian", "sd": 3.0}}
    config = config_of(tmp_path, frame, masks=masks, release=UNGATED | {"max_mean_individual": 0.1, "draws": 12})
    plan = plan_of(config, prepare(frame, config))
    register = tmp_path / NAME
    draw = np.random.default_rng(1)
    for _ in range(3):
        # each tells less than is allowed, and all of them more
        record(register, plan.released, [frame.assign(age=frame["age"] + draw.normal(0, 2, N)) for _ in range(5)])
    before = earlier(register, plan.released, [])
    assert len(before) == 3
    alone = judge(Draws(config, plan, Streams(5)))
    assert alone.verdict.passed
    together = judge(Draws(config, plan, Streams(5)), earlier=before)
    assert together.verdict.judgement == "refused"
    beside = [one for one in together.verdict.checks if one.releases]
    assert tuple(one for one in together.verdict.checks if not one.releases) == alone.verdict.checks
    assert {one.releases for one in beside if not one.earlier} == {3}
    assert len({one.earlier for one in beside if one.earlier}) == 1
    assert all(one.passed for one in beside if one.earlier)
    words = "together with 3 earlier releases of the same data, "
    assert all(reason.startswith(words) for reason in together.verdict.reasons)
    advice = advise_on(Draws(config, plan, Streams(5)), together, accepted={})
    assert "earlier releases of the same data have already disclosed" in advice["why"]
    assert (advice["change"], advice["trials"]) == ("", 0)


def test_an_attempt_is_recorded_and_a_release_only_when_published(tmp_path):
    frame = table()
    tight = UNGATED | {"max_individual": 0, "draws": 12}
    assert not pipeline.run(config_of(tmp_path, frame, release=tight), out=tmp_path / "a").passed
    index = json.loads((tmp_path / NAME / INDEX).read_text())
    assert index["releases"] == []
    assert [(one["verdict"], one["reasons"]) for one in index["attempts"]] == [("refused", ["max_individual"])]
    unrecorded = UNGATED | {"recorded_in": "none"}
    assert pipeline.run(config_of(tmp_path, frame, release=unrecorded), out=tmp_path / "b").public is not None
    assert json.loads((tmp_path / NAME / INDEX).read_text()) == index


def test_an_index_that_is_no_file_or_a_bomb_is_wrong_input(tmp_path):
    """What a person can mend ends in a sentence, and says the same whatever stands there."""
    for make in (os.mkdir, os.mkfifo, lambda path: path.write_text("[" * 100_000)):
        folder = tmp_path / f"register{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        make(folder / INDEX)
        with pytest.raises(InputError), Register(folder).session(table()):
            pass
    (tmp_path / "locked" / ".lock").mkdir(parents=True)
    with pytest.raises(InputError, match="must be a file"), Register(tmp_path / "locked").session(table()):
        pass


def test_a_run_that_leaks_is_one_attempt_and_refused(tmp_path, monkeypatch):
    """The gate let it pass, the scan for leaks did not: one attempt, which must not be counted as passed too."""
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "inspection", lambda *_, **__: lambda _folder: ["README.md: path: it holds a path."])
        outcome = pipeline.run(config_of(tmp_path, table(), release=UNGATED), out=tmp_path / "a")
    assert (outcome.passed, outcome.public) == (False, None)
    assert outcome.metrics["gate"]["attempts"] == ["Attempt 1 on these data; none earlier."]
    index = json.loads((tmp_path / NAME / INDEX).read_text())
    assert [(one["verdict"], one["reasons"]) for one in index["attempts"]] == [("refused", ["leak"])]
    assert index["releases"] == []
    told = pipeline.run(config_of(tmp_path, table(), release=UNGATED), out=tmp_path / "b").metrics["gate"]["attempts"]
    assert told[0].startswith("Attempt 2 on these data; 1 earlier: refused ")


def test_a_run_killed_before_it_published_stays_one_attempt_when_it_goes_on(tmp_path, monkeypatch):
    class Killed(Exception):
        pass

    def killed(*_, **__):
        raise Killed

    config = config_of(tmp_path, table(), release=UNGATED)
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "publish", killed)
        with pytest.raises(Killed):
            pipeline.run(config, out=tmp_path / "a")
    (tmp_path / "a" / "confidential" / "manifest.json").chmod(0o640)
    with pytest.raises(InputError, match="others may read the seed"):
        pipeline.run(config, out=tmp_path / "a", resume=True)
    (tmp_path / "a" / "confidential" / "manifest.json").chmod(0o600)
    outcome = pipeline.run(config, out=tmp_path / "a", resume=True)
    assert outcome.public is not None
    assert outcome.metrics["gate"]["attempts"] == ["Attempt 1 on these data; none earlier."]


def test_one_place_for_a_whole_agency(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTHDP_REGISTER", str(tmp_path / "agency"))
    pipeline.run(config_of(tmp_path, table(), release=UNGATED), out=tmp_path / "a")
    assert (tmp_path / "agency" / INDEX).is_file()
    assert not (tmp_path / NAME).exists()


def test_a_refusal_is_overridden_by_name_and_goes_on_record(tmp_path):
    config = tmp_path / "config.yaml"
    table().to_csv(tmp_path / "data.csv", index=False)
    config.write_text(
        "data: {path: data.csv}\n"
        "variables: {age: {kind: continuous, role: replace, key: true, tolerance: 3}, z: {key: false}}\n"
        "masks: {age: {method: gaussian, sd: 1.0}}\nsynthesis: {copies: 3}\n"
        f"release: {json.dumps(UNGATED | {'max_individual': 0.0001, 'draws': 12})}\n"
    )
    run = ("run", config, "--out", tmp_path / "out", "--quiet")
    refused = invoke(*run)
    assert refused.exit_code == 3
    assert not (tmp_path / "out" / "public").exists()
    assert "What would help" in refused.stderr
    assert invoke(*run, "--resume", "--accept-risk", "max_individual").exit_code == 2
    misspelt = invoke(*run, "--resume", "--accept-risk", "max_indivdual: typing error")
    assert misspelt.exit_code == 2
    assert "no check named 'max_indivdual'" in misspelt.stderr
    assert invoke(*run, "--resume", "--accept-risk", "max_individual: agreed in writing").exit_code == 0
    assert (tmp_path / "out" / "public").is_dir()
    assert "agreed in writing" in invoke("verify", tmp_path / "out").stdout
    public = "".join(path.read_text() for path in (tmp_path / "out" / "public").iterdir())
    assert "agreed in writing" not in public


def test_the_most_exact_name_of_an_override_counts():
    found = {"identity": Bound(0.9, 0.8, 1.0), "identity_averaged": Bound(0.1, 0.0, 0.2)}
    verdict = Verdict(tuple(check("max_individual", attack, bound, 0.33) for attack, bound in found.items()))
    assert not verdict.passed
    accepted = verdict.accepting({"identity": "all of it", "identity.max_individual": "this one"})
    assert accepted.passed
    assert accepted.section()["accepted"][0]["reason"] == "this one"
    assert not verdict.accepting({"identity_averaged": "another attack"}).passed


@pytest.mark.parametrize("text", ["", "max_individual", "max_individual:", ": reason"])
def test_an_override_needs_a_name_and_a_reason(text):
    with pytest.raises(InputError, match="must have the form"):
        accepted_risks([text])
