"""Settings are changed, taken back, tried and written; what cannot be is refused in the command line's own words."""

import json
import stat
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from synthdp.config import load, parse
from synthdp.errors import InputError
from synthdp.explore import masks, views
from synthdp.explore.acting import Hand
from synthdp.explore.columns import rows
from synthdp.explore.desk import Desk, problem
from synthdp.explore.folders import Asked, brushed, picture, points, shown
from synthdp.explore.opening import Finished, finished, looked_at, opened
from synthdp.explore.session import Session
from synthdp.explore.touring import STEPS
from synthdp.explore.trials import fingerprint, laboratory
from synthdp.explore.unique import Counter
from synthdp.explore.words import meaning
from synthdp.explore.writing import settled
from synthdp.seeding import Streams
from synthdp.stages.planning import plan_of
from synthdp.tuning.goals import Goal
from synthdp.tuning.journal import Journal
from synthdp.tuning.result import COLUMNS
from synthdp.tuning.space import space_of
from synthdp.tuning.trials import DEAR, Laboratory

from .conftest import people, settings


def text_of(found: object) -> str:
    """Return everything that a view holds, as one text."""
    return json.dumps(found, default=lambda one: one.to_plotly_json())


def until(desk: Desk, seconds: float = 60.0) -> None:
    """Wait until the worker has nothing to do."""
    end = time.monotonic() + seconds
    while desk.workshop.busy:
        assert time.monotonic() < end, desk.workshop.progress()
        time.sleep(0.02)


def test_a_change_is_the_config_that_a_person_would_write(desk: Desk) -> None:
    desk.session.describe("score", "role", "replace")
    desk.session.describe("score", "key", "yes")
    desk.session.describe("score", "kind", "continuous")
    said = desk.session.config.variables["score"]
    assert (said.role, said.key, said.kind) == ("replace", True, "continuous")
    desk.session.describe("sex", "role", "keep")
    assert "sex" not in desk.session.config.masks
    assert [row.role for row in rows(desk.session)] == ["replace", "keep", "replace"]
    for _ in range(4):
        assert desk.undo()
    assert desk.session.config == load(desk.session.opened.path)  # type: ignore[union-attr]
    assert not desk.undo()


def test_what_is_no_config_changes_nothing(desk: Desk) -> None:
    before = desk.session.config
    with pytest.raises(InputError, match=r"variables\.age: "):
        desk.session.change("variables", {"age": {"role": "replace", "bounds": [3, 1]}})
    with pytest.raises(
        InputError, match=r"^role: a recomputed column needs a formula; write derived: in the config\.$"
    ):
        desk.session.describe("age", "role", "derived")
    assert desk.session.config == before
    desk.session.describe(
        "age", "kind", "nominal"
    )  # levels of a number: no more tolerance, and its mask does not suit it
    assert "age" in problem(desk) or desk.data() is not None


def test_what_tune_promised_goes_with_the_settings_it_promised_it_of(home: Path) -> None:
    promise = {"trials": 3, "bits": 2.0, "confirmed": 12, "holds": 0.95}
    (home / "tuned.yaml").write_text(yaml.safe_dump(settings(tuned=promise)))
    session = Session(home / "out")
    session.open(home / "tuned.yaml")
    assert session.config.tuned is not None
    session.describe("score", "key", "yes")
    assert session.config.tuned is None
    session.close()


def test_one_session_at_a_time_keeps_the_trials_of_a_file(desk: Desk, home: Path) -> None:
    other = Session(home / "out")
    with pytest.raises(
        InputError, match=r"another workbench has this file open, and one at a time keeps its trials; end that one\.$"
    ):
        other.open(home / "config.yaml")
    with pytest.raises(InputError, match=r"^Nothing is open: "):
        _ = other.config
    desk.close()
    other.open(home / "config.yaml")
    assert other.seed == desk.session.seed
    assert other.journal is not None
    assert stat.S_IMODE(other.journal.parent.stat().st_mode) == 0o700
    other.close()


def test_sliders_say_what_the_masks_are_and_move_them(desk: Desk) -> None:
    mine, theirs = masks.sliders(desk.session.config, desk.data())
    assert [(one.name, one.step) for one in mine] == [("age", 0), ("sex", 2)]
    assert [(one.name, one.step) for one in theirs] == [("medium", 0), ("high", 0)]
    for step in range(-8, 9):
        moved = parse(masks.moved(desk.session.config, desk.data(), "age", step))
        assert masks.steps_of(moved, desk.data())[0]["age"] == step
        assert moved.masks["age"].sd == pytest.approx(2 ** (step / 2), rel=0.05)  # type: ignore[attr-defined]
    strong = parse(masks.protected(desk.session.config, desk.data(), "high", 3))
    assert masks.steps_of(strong, desk.data())[1] == 3
    assert strong.masks == desk.session.config.masks
    both = parse(masks.moved(strong, desk.data(), "age", -2))
    assert both.masks_by_group["high"]["age"].sd == pytest.approx(2**0.5, rel=0.05)  # type: ignore[attr-defined]
    assert parse(masks.protected(both, desk.data(), "high", 0)).masks_by_group == {}
    for by in (-4, 4):
        other = parse(masks.shifted(both, desk.data(), by))
        assert masks.steps_of(other, desk.data()) == ({"age": -2 + by, "sex": 2 + by}, 3)


def test_replaced_columns_without_a_mask_get_the_usual_one(desk: Desk) -> None:
    desk.session.describe("score", "role", "replace")
    assert "Mask the other replaced columns too" in text_of(views.view("masks", Hand(desk)))
    desk.add_masks()
    assert set(desk.session.config.masks) == {"age", "sex", "score"}


def test_unique_records_are_those_that_a_table_counts(desk: Desk) -> None:
    counter = Counter(desk.data())
    frame = people()
    for names in (["age"], ["age", "sex"], ["age", "sex", "score"]):
        assert counter.unique(names)[0] == int((~frame.duplicated(names, keep=False)).sum())
    sentence, table = counter.table(["age", "sex"])
    alone = int((~frame.duplicated(["age", "sex"], keep=False)).sum())
    assert sentence.startswith(f"{alone} of 300 records")
    assert {row[0]: int(row[4]) for row in table.rows} == {
        "age": alone - int((~frame.duplicated(["sex"], keep=False)).sum()),
        "sex": alone - int((~frame.duplicated(["age"], keep=False)).sum()),
    }
    wide = pd.DataFrame({f"c{k}": range(5) for k in range(13)})
    from synthdp.table.microdata import resolve

    with pytest.raises(InputError, match=r"^Choose at most 12 columns: with more nearly everybody is alone\.$"):
        Counter(resolve(wide, {})).table(list(wide.columns))


def test_a_written_config_is_read_back_as_the_same_settings_or_not_written(
    desk: Desk, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.slide("mask", 0, 3)
    desk.slide("group", 1, 2)
    (home / "elsewhere").mkdir()
    out = desk.write(home / "elsewhere" / "chosen.yaml")
    assert settled(load(out)) == settled(desk.session.config)
    assert out.stat().st_mode & 0o077 == 0
    desk.slide("mask", 0, 4)
    with pytest.raises(
        InputError, match=r"^The settings have changed since chosen\.yaml was written; write it again\.$"
    ):
        desk.run()
    assert desk.write(out) == out  # our own file
    with pytest.raises(
        InputError, match=r"config\.yaml: exists already and is not overwritten; choose another name\.$"
    ):
        desk.write(home / "config.yaml")
    with pytest.raises(InputError, match=r"must be a \.yaml file\.$"):
        desk.write(home / "config.txt")
    with pytest.raises(InputError, match="its folder does not exist; make it first, or name another"):
        desk.write(home / "nowhere" / "c.yaml")
    with monkeypatch.context() as patched:
        patched.setattr("synthdp.explore.writing.load", lambda _: load(home / "config.yaml"))
        with pytest.raises(InputError, match="would not be read back as the same settings"):
            desk.write(home / "other.yaml")
    assert not (home / "other.yaml").exists()

    def full(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr("synthdp.explore.writing.write_atomic", full)
    with pytest.raises(InputError, match=r"other\.yaml: the file cannot be written\.$"):
        desk.write(home / "other.yaml")


def test_a_trial_is_the_one_that_tune_makes_of_the_same_masks(desk: Desk) -> None:
    config = parse(masks.moved(desk.session.config, desk.data(), "sex", 0))
    table = desk.session.opened.table  # type: ignore[union-attr]
    ours = laboratory(config, table, seed=7)
    space = space_of(
        config.model_copy(update={"tuning": config.tuning.model_copy(update={"vary": ("masks",)})}), ours.data
    )
    goal = Goal(config.tuning.goal, plan_of(config, ours.data).released)
    theirs = Laboratory(space, table.frame, table.unread, ours.data, goal, Streams(7), Journal(None))
    mine = ours.try_out("explore", ours.space.shape(), 0, draws=2, off=DEAR)
    other = theirs.try_out("explore", space.shape(), 0, draws=2, off=DEAR)
    assert (mine.use, mine.checks, mine.parts) == (other.use, other.checks, other.parts)


def test_trials_are_found_again_by_the_next_session(desk: Desk, home: Path) -> None:
    desk.slide("mask", 0, 1)
    until(desk)
    first = desk.now()
    assert first is not None
    assert np.isfinite(first.trial.use)
    assert "These settings: usefulness" in text_of(views.view("masks", Hand(desk)))
    desk.slide("mask", 0, 0)
    desk.workshop.stop()
    seed = desk.session.seed
    desk.close()
    again = Desk(Session(home / "out"), home=home / "out")
    try:
        again.open(home / "config.yaml")
        assert again.session.seed == seed
        assert not again.session.first
        again.slide("mask", 0, 1)
        assert not again.workshop.busy
        found = again.now()
        assert found is not None
        assert found.trial == first.trial
        assert found.mark == fingerprint(again.session.config)
    finally:
        again.close()


def test_a_worker_that_dies_or_is_stopped_is_said_and_another_takes_over(desk: Desk) -> None:
    desk.ask_check()
    until(desk)
    assert desk.checked is not None
    process = desk.workshop._process
    desk.session.describe("score", "key", "yes")
    process.kill()
    process.join()
    desk.ask_check()
    until(desk)
    assert desk.checked[0] == fingerprint(desk.session.config)
    desk.session.describe("sex", "key", "no")
    desk.ask_check()
    desk.workshop.stop()
    until(desk)
    assert desk.workshop.progress() == ("", None)


def test_a_data_file_is_opened_with_what_init_guesses(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = opened(home / "people.csv")
    assert found.guessed  # type: ignore[union-attr]
    assert found.why["age"]  # type: ignore[union-attr]
    monkeypatch.setattr("synthdp.explore.opening.LARGE", 100)
    first = looked_at(home / "people.csv")
    assert first.glanced
    session = Session(home / "out")
    session.open(home / "people.csv")
    assert session.opened is not None
    assert session.opened.glanced
    assert {row.fixed for row in rows(session)} == {"being looked at"}
    session.looked_closer(looked_at(home / "people.csv", whole=True))
    assert session.config == found.config  # type: ignore[union-attr]
    session.looked_closer(None)  # nothing waits for it any more
    assert session.opened.why["age"]
    session.close()


def test_a_folder_is_known_by_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file or folder"):
        opened(tmp_path / "nothing")
    with pytest.raises(InputError, match="must be the folder of a finished run, compare, tune or evaluate"):
        finished(tmp_path)
    (tmp_path / "confidential").mkdir()
    with pytest.raises(
        InputError, match=r"the run there has not ended; go on with it first: synthdp run CONFIG --out .* --resume\.$"
    ):
        finished(tmp_path)
    (tmp_path / "confidential" / "metrics.json").write_text("{")
    assert finished(tmp_path).kind == "run"
    with pytest.raises(InputError, match="cannot be read as metrics of a run"):
        shown(finished(tmp_path), Asked())


def test_a_run_is_walked_from_its_verdict_to_the_evidence(tmp_path: Path) -> None:
    check = {"name": "max_individual", "attack": "identity", "value": 0.5, "high": 0.6, "limit": 0.33, "passed": False}
    gate = {"verdict": "refused", "passed": False, "draws": 20, "basis": "draws", "checks": [check]}
    (tmp_path / "confidential").mkdir()
    (tmp_path / "confidential" / "metrics.json").write_text(json.dumps({"gate": gate}))
    (tmp_path / "confidential" / "report.html").write_text("<p>x</p>")
    found = text_of(shown(finished(tmp_path), Asked()))
    assert "refused, nothing was published" in found
    assert "/opened/confidential/report.html#checks" in found
    # every limit in words, with what it asks and where its figures come from
    assert "Highest chance of finding any one record" in found
    assert "/opened/confidential/report.html#risky" in found
    assert "what is this?" in found


def test_the_map_of_a_comparison_is_filtered_and_brushed(tmp_path: Path) -> None:
    lines = [
        {"method": name, "seed": 1, "measure": measure, "target": "", "value": value}
        for name, risk, use in (("a<b>", 0.1, 0.8), ("second", 0.2, 0.9))
        for measure, value in (("identity.max_individual", risk), ("panel.mean", use))
    ]
    columns = ["method", "seed", "measure", "target", "value", "low", "high", "seconds", "memory", "reason"]
    pd.DataFrame(lines, columns=columns).to_csv(tmp_path / "comparison.csv", index=False)
    found = Finished(tmp_path, "compare")
    assert "2 methods" in text_of(points(found, Asked()))
    assert "1 method" in text_of(points(found, Asked(words="SEC")))
    assert "second" not in text_of(points(found, Asked(chosen=("1",))))
    assert "a&lt;b&gt;" in text_of(picture(found, Asked()))
    assert "No method" in text_of(picture(found, Asked(words="zzz")))
    assert points(found, Asked(words="zzz")) == []
    # an axis of risk is a risk
    assert "panel.mean" not in text_of(picture(found, Asked())[0].children[0])  # type: ignore[attr-defined]
    assert brushed({"points": [{"id": "2"}]}) == ("2",)
    assert brushed(None) is None
    pd.DataFrame({"x": [1]}).to_csv(tmp_path / "comparison.csv")
    with pytest.raises(InputError, match="has no column method; make it again with the command that wrote it"):
        picture(found, Asked())
    (tmp_path / "comparison.csv").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be read; make it again with the command that wrote it"):
        picture(found, Asked())


def test_the_trials_of_a_search_are_filtered_and_brushed(tmp_path: Path) -> None:
    about = {"stage": "explore", "shape": "age +1", "factor": 1.0, "draws": 6, "seconds": 1.0, "passed": True}
    lines = [
        {"trial": trial, **about, "kind": kind, "name": name, "value": value, "high": value, "limit": limit}
        for trial, risk in ((1, 0.1), (2, 0.3))
        for kind, name, value, limit in (("use", "usefulness", 0.9, None), ("risk", "max_individual", risk, 0.33))
    ]
    pd.DataFrame(lines, columns=list(COLUMNS)).to_csv(tmp_path / "trials.csv", index=False)
    found = Finished(tmp_path, "tune")
    assert "2 trials" in text_of(points(found, Asked()))
    assert "1 trial" in text_of(points(found, Asked(chosen=("2",))))
    assert "No trial" in text_of(picture(found, Asked(words="zzz")))
    assert "0.909" in text_of(points(found, Asked()))


def test_the_tour_has_five_steps_and_words_come_with_the_package(desk: Desk) -> None:
    hand = Hand(desk, step=1)
    seen = []
    for _ in STEPS:
        hand.act("press|tour|next", "")
        seen.append(hand.go)
    assert len(STEPS) == 5
    assert seen == ["unique", "masks", "verdict", "run", ""]
    assert "How" in meaning("panel")
    assert meaning("max_individual").startswith("max_individual: ")
    assert meaning("nothing") == ""
