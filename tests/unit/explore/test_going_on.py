"""What was chosen stays, what was refused does not, and after a stop or a loss there is a way to go on."""

import json
import shutil
import time
from pathlib import Path

import pytest

from synthdp.errors import InputError
from synthdp.evaluation.blocks import Table
from synthdp.explore.acting import Hand
from synthdp.explore.desk import Desk
from synthdp.explore.elements import table
from synthdp.explore.mapping import drawn
from synthdp.explore.views import view
from synthdp.explore.working import Job
from synthdp.explore.workshop import Order

from .test_desk import text_of, until


def chosen(hand: Hand) -> list[int]:
    """Return the places that are ticked in the view of who is alone."""
    shown = json.loads(text_of(view("unique", hand)))
    (boxes,) = [part["props"]["children"][1] for part in shown if part["type"] == "Fieldset"]
    return list(boxes["props"]["value"])


def test_columns_that_were_chosen_stay_chosen(desk: Desk) -> None:
    hand = Hand(desk)
    assert chosen(hand) == [0, 1]  # the keys, before anybody chooses
    hand.chosen = ("sex", "score")
    assert chosen(hand) == [1, 2]
    desk.session.describe("age", "role", "drop")  # places move, names do not
    assert chosen(hand) == [0, 1]
    assert "are alone on sex, score together" in text_of(view("unique", hand))
    hand.chosen = ()
    assert chosen(hand) == []


def test_too_many_columns_are_refused_where_they_can_be_taken_back(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synthdp.explore.unique.MOST", 1)
    hand = Hand(desk, chosen=("age", "sex"))
    assert "Choose at most 1 columns" in text_of(view("unique", hand))
    assert chosen(hand) == [0, 1]


def test_what_was_refused_is_shown_as_it_was(desk: Desk) -> None:
    hand = Hand(desk)
    assert "needs a formula" in hand.act("column|role|1", "derived")
    assert hand.refused == 1
    assert '"data-chosen": "replace"' in text_of(view("columns", hand))
    assert hand.act("column|role|1", "keep") == ""
    assert hand.refused == 1


def test_a_config_that_does_not_fit_the_file_is_said_where_the_columns_are(desk: Desk) -> None:
    assert "does not fit" not in text_of(view("columns", Hand(desk)))
    desk.session.describe("sex", "kind", "continuous")
    assert "The config does not fit the file: variables.sex: " in text_of(view("columns", Hand(desk)))


def test_a_check_that_was_stopped_as_it_waited_can_be_asked_for_again(desk: Desk) -> None:
    hand = Hand(desk)
    desk.ask_judge()
    view("groups", hand)  # asks for a check
    assert hand.act("press|stop|", "") == "Stopped."
    until(desk)
    assert desk.checked is not None
    assert desk.checked[1].messages == ("Check: stopped; nothing was changed.",)
    assert "Check again" in text_of(view("groups", hand))
    assert hand.act("press|check|", "") == ""
    until(desk)
    assert dict(desk.checked[1].groups)["low"] > 0


def test_a_name_in_a_table_turns_no_other_around() -> None:
    found = Table("x", ("Regression", "Overlap"), (("\u202eevil + age", "✔ within"), ("w" * 99, "✘ over")), "ll")
    shown = text_of(table(found))
    assert "\\u202e" not in shown
    assert " evil + age" in shown
    assert '"className": "l long"' in shown
    assert '"className": "mark"' in shown
    assert "How far the 95% interval" in shown  # what the head means


def test_one_trial_alone_has_a_map_that_can_be_read(desk: Desk) -> None:
    desk.ask_trial()
    until(desk)
    now = desk.now()
    assert now is not None
    found = drawn(desk.session.config, desk.data(), desk.shelf.all(), now)
    assert found is not None
    low, high = found.layout["yaxis"]["range"]
    assert low < now.trial.use < high
    assert high - low < 0.1


def test_what_cannot_be_kept_is_said_and_the_next_order_is_served(desk: Desk) -> None:
    said: list[str] = []

    def full(_: object) -> None:
        raise OSError("no space left on /secret")

    desk.workshop.ask(Order(Job("check", desk.session.config), "Check", full, said.append, "one"))
    desk.workshop.ask(
        Order(Job("check", desk.session.config), "Check", lambda _: said.append("kept"), said.append, "two")
    )
    until(desk)
    assert said == ["Check: what was found could not be kept (OSError).", "kept"]


def test_a_folder_of_trials_that_was_deleted_costs_no_more_than_what_was_in_it(desk: Desk, home: Path) -> None:
    shutil.rmtree(home / "out")
    desk.ask_trial()
    until(desk)
    assert desk.now() is not None
    assert "These settings: usefulness" in text_of(view("masks", Hand(desk)))


def test_a_run_that_was_cut_off_goes_on(home: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^No run of this session was cut off\.$"):
        desk.resume()
    desk.write(home / "written.yaml")
    folder = desk.run(home / "result")
    while not (folder / "confidential").is_dir():
        assert desk.workshop.busy, desk.said
        time.sleep(0.01)
    desk.workshop.stop()
    until(desk)
    assert desk.cut == folder
    assert "Go on with it" in text_of(view("run", Hand(desk)))
    assert not (folder / "public").exists()
    asked: list[Order] = []
    monkeypatch.setattr(desk.workshop, "ask", asked.append)
    assert Hand(desk).act("press|resume|", "") == ""
    assert (asked[0].job.out, asked[0].job.resume) == (folder, True)  # which the test of the browser does to the end
    asked[0].then(("passed", True))
    assert (desk.ran, desk.cut) == ((folder, "passed", True), None)
