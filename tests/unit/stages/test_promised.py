"""What tune promised, and what a run got: kept, beyond its figures, not kept, or refused for something else."""

from dataclasses import replace
from typing import Any

from synthdp.config import parse
from synthdp.evaluation.gate import Check, Verdict
from synthdp.evaluation.gate.tally import Bound
from synthdp.evaluation.gate.verdict import check, undecided
from synthdp.report.summary import rows
from synthdp.stages.promised import compared

CONFIG = parse(
    {
        "data": {"path": "in memory"},
        "variables": {"age": {"role": "replace", "key": True}},
        "tuned": {
            "trials": 9,
            "bits": 5.0,
            "confirmed": 20,
            "holds": 0.95,
            "overlap": 0.85,
            "risks": {"max_individual": 0.25, "max_exposed": 0.0},
        },
    }
)


def individual(high: float) -> Check:
    return check("max_individual", "identity", Bound(high - 0.05, high - 0.1, high), 0.33)


def exposed(people: float) -> Check:
    return check("max_exposed", "exposure", Bound(people), 0)


def panel(overlap: float) -> Check:
    return check("min_overlap", "panel", Bound(overlap, overlap - 0.02, overlap + 0.02), 0.6)


def told(*checks: Check, **more: Any) -> tuple[dict[str, Any], str]:
    section, sentences = compared(CONFIG, Verdict((*checks, exposed(0.0), panel(0.84))), **more)
    return section["tuned"], " ".join(sentences[1:])


def test_kept() -> None:
    section, said = told(individual(0.26))
    assert section["kept"]
    assert "was kept" in said
    assert {one["name"]: one["found"] for one in section["figures"]} == {
        "max_individual": 0.26,
        "max_exposed": 0.0,
        "overlap": 0.84,
    }


def test_within_the_limit_but_beyond_the_figure() -> None:
    section, said = told(individual(0.32))
    assert section["kept"]
    assert "the person easiest to find 32.00% instead of 25.00%" in said


def test_not_kept_names_the_limit() -> None:
    section, said = told(individual(0.4))
    assert section["kept"] is False
    assert "on fresh draws the person easiest to find went beyond the limit" in said
    accepted, said = told(replace(individual(0.4), accepted="sworn researchers"))
    assert accepted["kept"] is False
    assert "not kept" in said


def test_what_earlier_releases_add_is_no_broken_promise() -> None:
    section, said = told(individual(0.26), replace(individual(0.6), releases=1))
    assert section["kept"]
    assert "earlier releases of the same data" in said


def test_a_column_that_nobody_decided_on_is_no_broken_promise() -> None:
    assert told(individual(0.26), undecided("town", "It makes people unique."))[0]["kept"]
    section, said = told(undecided("town", "It makes people unique."), drawn=False)
    assert section["kept"] is None
    assert "nothing was drawn" in said


def test_the_summary_says_it_in_a_line() -> None:
    section, _ = compared(CONFIG, Verdict((individual(0.26), panel(0.84))))
    metrics: dict[str, Any] = {"utility": {}, "risk": {}, "gate": {"passed": True, **section}}
    label, line = rows(metrics)[-1]
    assert label == "what tune promised"
    assert line == "kept (overlap 84.0%, promised 85.0%)"


def test_nothing_was_promised() -> None:
    assert compared(CONFIG.model_copy(update={"tuned": None}), Verdict(())) == ({}, ())
