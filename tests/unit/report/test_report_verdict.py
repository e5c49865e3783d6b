"""What the signatory sees first: both answers, the worst of each limit, the next step, and how sure it is."""

import re
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthdp.cli import terminal
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Verdict
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.gate.tally import Bound
from synthdp.evaluation.gate.verdict import check, undecided
from synthdp.evaluation.measures import RISK, pointing
from synthdp.evaluation.measures.found import pointing_blocks
from synthdp.report import ReportContent, summary
from synthdp.report.decision import decision, learnt
from synthdp.report.page import render, told
from synthdp.report.reasons import next_step, reasons
from synthdp.report.words import attack_title, share
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

SAFE = (
    check("max_individual", "identity", Bound(0.02, 0.0, 0.05), 0.33),
    check("max_individual", "identity_bayes", Bound(0.08, 0.04, 0.12), 0.33),
    check("max_expected_match_rate", "identity_bayes", Bound(0.003, 0.002, 0.004, chance=0.001), 0.03),
    check("max_claims_right", "identity_bayes", Bound(0.04, 0.03, 0.06), 0.33),
)
USEFUL = (check("min_overlap", "panel", Bound(0.81, 0.78, 0.84), 0.6),)
USELESS = (check("min_overlap", "panel", Bound(0.04, 0.03, 0.05), 0.6),)
RISKY = (
    check("max_individual", "identity_bayes", Bound(0.45, 0.4, 0.51), 0.33),
    check("max_individual", "identity_public", Bound(0.2, 0.1, 0.37), 0.33),
    check("max_individual", "identity as 'Old Bob'", Bound(0.2, 0.1, 0.35), 0.33),
    check("max_attribute_gain", "attribute", Bound(0.2, 0.15, 0.25), 0.1, what=" for 'vote'"),
    check("max_excess_verbatim", "verbatim", Bound(14.0), 0),
    check("max_memorised", "memorised", None, 0.02),
)
ADVICE = {
    "why": "The masks let too much through.",
    "change": "masks:\n  age: {method: gaussian, sd: 1.5}\n",
    "trials": 2,
    "expected": {
        "verdict": "passed",
        "risk": [{"name": "max_individual", "attack": "identity_bayes", "value": 0.1, "high": 0.12, "limit": 0.33}],
        "overlap": 0.7,
    },
}


def gate(*checks: Any, **more: Any) -> dict[str, Any]:
    return {**Verdict(tuple(checks)).section(), "basis": "draws", "draws": 20, **more}


def content(found: Any, **risk: Any) -> ReportContent:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.normal(size=40), "income": rng.normal(size=40), "vote": [0, 1] * 20})
    data = resolve(
        frame,
        {"age": Variable(role="replace", key=True), "income": Variable(role="replace", key=True), "vote": Variable()},
    )
    comparison = Comparison(data.frame, (data.frame,), data.schema, aligned=True)
    metrics = {"utility": {}, "risk": risk, "privacy": {"epsilon": None}, "gate": found}
    return ReportContent("T", "d.csv", comparison, metrics, {}, (), "da_mi", "regression", 1, "per_copy", (), {})


def box(page: str) -> str:
    """Return what the box says, without tags."""
    found = page[page.index('<div class="verdict') : page.index('<nav aria-label="Contents">')]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found)).replace("&#39;", "'")


@pytest.mark.parametrize(
    ("checks", "state", "sign", "said"),
    [
        ((*SAFE, *USEFUL), "passed", "✔", ("Safe? ✔ Yes", "Useful? ✔ Yes", "overlap 81%", "Closest to its limit")),
        ((*SAFE, *USELESS), "amber", "▲", ("Safe? ✔ Yes", "Useful? ✘ Little", "of little use", "at least 60% wanted")),
        ((*RISKY, *USEFUL), "refused", "✘", ("Safe? ✘ No 4 of 4 limits", "Useful? ✔ Yes", "45% (95% interval 40% to")),
    ],
)
def test_the_box_answers_both_questions(checks: Any, state: str, sign: str, said: tuple[str, ...]) -> None:
    page = render(content(gate(*checks, attempt=3, attempts=["Attempt 3 on these data; 2 earlier refused."])))
    assert f'class="verdict {state}"' in page
    told = box(page)
    assert told.strip().startswith(sign)
    for words in (*said, "Somebody who knows age and income", "Next step.", "Attempt 3 on these data", "20 draws"):
        assert words in told, words


def test_amber_says_first_that_it_is_of_little_use() -> None:
    headline = decision(content(gate(*SAFE, *USELESS))).headline
    assert headline == "May be published, but is of little use: overlap of intervals 4%, at least 60% wanted"


def test_states_are_told_apart_without_colour() -> None:
    style = files("synthdp.report").joinpath("style.css").read_text(encoding="utf-8")
    borders = [
        re.search(rf"\.verdict\.{state} {{[^}}]*}}", style)[0]  # type: ignore[index]
        for state in ("passed", "amber", "refused")
    ]
    kinds = [next((kind for kind in ("dashed", "double") if kind in one), "solid") for one in borders]
    assert len(set(kinds)) == 3


def test_nothing_makes_the_page_scroll_sideways() -> None:
    style = files("synthdp.report").joinpath("style.css").read_text(encoding="utf-8")
    for container in (r"\npre {", r"\n\.scroll {"):
        block = re.search(container + r"[^}]*}", style)
        assert block is not None
        assert "overflow-x: auto" in block[0]
        assert "max-width: 100%" in block[0]
    page = render(content(gate(*RISKY, advice=ADVICE)))
    assert page.count("<table") == len(re.findall(r'<div class="scroll[^>]*>\s*<table', page))


def test_each_limit_has_one_reason_and_names_who_else() -> None:
    found = {one.name: one for one in reasons(gate(*RISKY, *USELESS, not_measured={"memorised": "Too few records."}))}
    assert list(found) == [
        "max_individual",
        "max_attribute_gain",
        "max_memorised",
        "max_excess_verbatim",
        "min_overlap",
    ]
    assert found["max_individual"].sentence == (
        "The person easiest to find is found with a probability of 45% (95% interval 40% to 51%; limit 33%)."
    )
    assert found["max_individual"].beside == "(by knowing mask and model; also by public files only and “Old Bob”)"
    assert found["max_attribute_gain"].sentence.startswith("The value of vote is guessed right more often")
    assert found["max_excess_verbatim"].sentence.endswith("beyond what chance gives: 14 (limit 0).")
    assert "not measured (Too few records), which counts" in found["max_memorised"].sentence
    assert found["min_overlap"].useful


def test_an_interval_is_cut_at_zero_only_where_its_figure_is_not_below() -> None:
    below = check("max_memorised", "memorised", Bound(-0.0018, -0.003, -0.00065), 0.02)
    above = check("max_memorised", "memorised", Bound(0.001, -0.003, 0.004), 0.02)
    rows = decision(content(gate(below, above))).checks.rows  # type: ignore[union-attr]
    assert [row[2:4] for row in rows] == [("0.1%", "0% to 0.4%"), ("−0.18%", "−0.3% to −0.065%")]


def test_accepted_risks_are_no_reasons_and_safe_is_not_yes() -> None:
    taken = Verdict((*RISKY, *USEFUL)).accepting(
        {"max_individual": "a", "max_attribute_gain": "b", "verbatim": "c", "memorised": "d"}
    )
    found = decision(content({**taken.section(), "basis": "draws", "draws": 20}))
    assert (found.state, found.answers[0].word, found.answers[0].state) == ("passed", "Accepted", "open")
    assert found.headline.startswith("Passed by override")
    assert "accepted" in next_step(taken.section()).why
    assert found.worst is not None
    assert found.worst.rows[0][-1] == "✘ over, accepted"


def test_undecided_columns_are_asked_once() -> None:
    asked = [undecided(f"c{k}", f"With x it makes {k} records unique; decide whether.") for k in range(6)]
    found = gate(*asked, *RISKY)
    (first, *_) = reasons(found)
    assert first.sentence == (
        "Nobody has said whether an intruder may know c0, c1, c2, c3 and 2 more, which are kept as they are."
    )
    lines = summary.why(found)
    assert lines[0] == "undecided: may an intruder know c0? With x it makes 0 records unique."
    known = "Until that is decided, the gate counts them as known; the figures above do not."
    assert lines[3] == f"undecided, too: c3, c4 and c5. {known}"
    assert summary.why(gate(*asked, *SAFE))[3] == "undecided, too: c3, c4 and c5."
    assert lines[-1] == "and 2 more in the report"
    assert len(lines) == summary.MOST_REASONS + 1
    assert "c0, c1" in learnt(content(found))
    assert decision(content(found)).worst.rows[0][-1] == "✘ undecided"  # type: ignore[union-attr]


def test_what_can_be_learnt() -> None:
    assert learnt(content(gate(*SAFE))) == (
        "Somebody who knows age and income about a person in the file finds that person's row with a probability of at "
        "most 12% (the person easiest to find), 0.4% on average. Of the claims they are surest of, at most 6% "
        "are right."
    )
    # the user's own intruder knows something else; earlier releases count
    beside = Verdict(SAFE).beside(Verdict((RISKY[2], RISKY[1])), 2).section()
    assert "at most 37% (the person easiest to find)" in learnt(content(beside))
    assert learnt(content(beside)).endswith("This counts 2 earlier releases of the same data.")
    old = {"max_individual": 0.2, "mean_individual": 0.01, "expected_match": 1.0}
    assert "at most 20% (the person easiest to find), 1% on average" in learnt(content({"passed": True}, identity=old))
    assert learnt(content({"passed": True})) == ""
    blind = content(gate(*SAFE))
    columns = tuple(c.model_copy(update={"key": False}) for c in blind.comparison.schema.columns)
    schema = blind.comparison.schema.model_copy(update={"columns": columns})
    assert "No column is marked" in learnt(replace(blind, comparison=replace(blind.comparison, schema=schema)))


def test_advice_can_be_pasted_and_says_what_it_does() -> None:
    step = next_step(gate(*RISKY, *USEFUL, advice=ADVICE))
    assert step.change == "masks:\n  age: {method: gaussian, sd: 1.5}"
    assert step.expected == (
        "Tried on draws of its own (2 trials), it passes; upper ends of the intervals: the person easiest to find "
        "51% → 12%. Overlap of confidence intervals: 81% → 70%."
    )
    page = render(content(gate(*RISKY, *USEFUL, advice=ADVICE)))
    assert re.search(r"<pre [^>]*>masks:\n  age: {method: gaussian, sd: 1.5}</pre>", page)
    untried = next_step(gate(*RISKY, advice={"why": "W.", "change": "a: 1\n", "trials": 0}))
    assert untried.expected.startswith("Not tried out")
    assert next_step(gate(*RISKY, advice={"why": "W.", "change": "", "trials": 0})).expected == ""
    for nothing in ({}, None, []):
        assert "Change what the reasons name" in next_step(gate(*RISKY, advice=nothing)).why
    assert next_step(gate(*RISKY, advice=["Mask more.", "Keep less."])).why == "Mask more. Keep less."


def test_metrics_of_earlier_versions_still_make_a_page() -> None:
    old = {
        "passed": False,
        "reasons": ["identity: too much"],
        "advice": ["Mask more."],
        "checks": [{"name": "max_individual", "attack": "identity", "value": 0.7, "limit": 0.5, "passed": False}],
    }
    told = box(render(content(old)))
    for words in ("✘ Refused", "Safe? ✘ No", "Useful? ? Not judged", "identity: too much", "Mask more."):
        assert words in told, words
    assert "draws of the mechanism" not in told
    assert summary.headline(old, published=False).startswith("safe: no · useful: not judged · refused")
    assert summary.why(old) == ["identity: too much"]
    assert summary.advice(old) == [("What would help: Mask more.", False)]


def test_checks_are_grouped_by_limit_with_the_worst_first() -> None:
    found = decision(content(gate(*SAFE, *RISKY)))
    assert found.worst is not None
    assert found.checks is not None
    assert [row[0] for row in found.worst.rows[:2]] == [
        LIMITS["max_expected_match_rate"].title,
        LIMITS["max_individual"].title,
    ]
    assert found.worst.rows[1][1:] == ("Knowing mask and model (worst of 5)", "45%", "40% to 51%", "33%", "✘ over")
    highs = [row[3] for row in found.checks.rows if row[0] == LIMITS["max_individual"].title]
    assert highs == ["40% to 51%", "10% to 37%", "10% to 35%", "4% to 12%", "0% to 5%"]
    page = render(content(gate(*SAFE, *RISKY)))
    assert "<details><summary>All 10 checks</summary>" in page
    assert "All 10 checks" not in page[: page.index('<nav aria-label="Contents">')]


def test_every_limit_and_intruder_has_its_words() -> None:
    assert all(words.says.count("{}") == 1 for words in LIMITS.values())
    for name in (
        *(one.name for one in pointing()),
        "identity_persons",
        "exposure",
        "memorised",
        "panel",
        "analyses",
        "pmse",
    ):
        assert attack_title(name) != name
    assert attack_title("identity by person") == "Matching each copy, any row of a person"


@pytest.mark.parametrize(
    ("value", "limit", "said"),
    [
        (0.33004, 0.33, "33.004%"),
        (1.0, None, "100%"),
        (0.996, 0.33, "over 99%"),
        (0.0, None, "0%"),
        (-0.02, None, "−2%"),
    ],
)
def test_a_share_stands_on_its_side_of_the_limit(value: float, limit: float | None, said: str) -> None:
    assert share(value, limit=limit) == said


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"low": 0.48, "influence": 0.6, "finding": "none"}, "no sign that the copies reveal who was in"),
        ({"low": 0.55, "influence": 0.6, "finding": "influence"}, "influence on the parameters, no sign of memorised"),
        ({"low": 0.65, "influence": 0.6, "finding": "memorised"}, "the method memorised single people"),
    ],
)
def test_the_membership_game_says_what_its_interval_means(section: dict, said: str):
    game = {"auc": 0.68, "high": 0.7, "advantage": 0.3, "game": "given_kept", **section}
    blocks = {block.title: block for block in told(content(gate(*SAFE), membership_shadow=game), "risk", RISK)}
    sentences = blocks["The membership game with shadow fits"].sentences
    assert any(said in sentence for sentence in sentences)
    assert any("Kept columns appear in the copies" in sentence for sentence in sentences)


def test_new_measures_have_their_blocks() -> None:
    ends = {"fitted": 0.1, "held_out": 0.02, "difference": 0.08, "low": 0.05, "high": 0.11}
    risk = {
        "identity_extremes": {"expected_links": 2.0, "expected_links_rate": 0.05, "claims": 6, "one_copy": 1.0},
        "identity_public": {"expected_links": 3.0, "expected_links_rate": 0.07, "max_posterior": 0.4},
        "memorised": {
            **ends,
            "near": {"within": 0.1, **ends},
            "judged": 0.11,
            "unique": 30,
            "records": 40,
            "splits": 2,
        },
        "membership_shadow": {"auc": 0.7, "low": 0.6, "high": 0.8, "advantage": 0.3, "targets": 5, "fits": 40},
        "exposure": {"columns": ["vote"], "knowable": ["vote"], "unique": 1, "alone": 1, "alone_rate": 0.025},
        "verbatim": {"rows": 1, "chance": 0, "values": [{"column": "age", "unique": 9, "own_row": 3, "excess": 3}]},
    }
    found = content(gate(*SAFE), **risk)
    (table,) = pointing_blocks(risk, found.comparison, before={})[0].tables
    assert table.head == ("Measure", "Public files only", "Looking for extremes")
    blocks = {block.title: block for block in told(found, "risk", RISK)}
    assert blocks["Memorising"].tables[0].rows[0] == ("Reproduced exactly", "10%", "2%", "8% (5% to 11%)")
    assert (
        "The interval lies above 0.5: the copies reveal who was in the data."
        in blocks["The membership game with shadow fits"].sentences
    )
    assert any("found with certainty: 1 record" in line for line in blocks["What the kept columns give away"].sentences)
    assert blocks["Rows copied over"].tables[0].rows[0][0] == "age"
    panel = {"mean": 0.9, "worst": 0.2, "n": 3, "regressions": [{"formula": "a ~ b", "overlap": 0.9}]}
    with_panel = replace(found, metrics={**found.metrics, "utility": {"panel": panel}})
    (shown,) = told(with_panel, "utility", ["panel"])
    assert shown.tables[0].rows == (("a ~ b", "0.9"),)
    assert "Unforeseen analyses" in render(with_panel)


def test_the_console_says_both_first_and_fits_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert summary.headline(gate(*SAFE, *USEFUL), published=True) == (
        "safe: yes · useful: yes (overlap 81%) · passed and published"
    )
    nothing = summary.headline(gate(), published=True)  # no limit is set: passed, but nobody can say that it is safe
    assert nothing == "safe: not judged · useful: not judged · passed and published"
    amber = summary.headline(gate(*SAFE, *USELESS), published=True)
    assert amber == "safe: yes · useful: no (overlap 4%) · amber: published, but of little use"
    assert "may be published" in summary.headline(gate(*SAFE, *USELESS), published=False)
    undrawn = decision(content(gate(*RISKY, draws=0))).facts
    assert "Nothing was drawn for the verdict: the kept columns have to be decided first." in undrawn
    judged = gate(*RISKY, basis="copies", draws=0)
    assert summary.headline(judged, published=False).endswith("refused: not to be published as they are")
    metrics = {"utility": {}, "risk": {}, "gate": gate(*RISKY, advice=ADVICE)}
    terminal.show_summary(summary.rows(metrics))
    shown = capsys.readouterr().out
    assert shown.startswith("release gate  REFUSED\n  - The person easiest")
    assert max(len(line) for line in shown.splitlines()) <= 80
    lines = summary.advice(metrics["gate"])
    assert [line for line, verbatim in lines if verbatim] == ["masks:", "  age: {method: gaussian, sd: 1.5}"]
    assert lines[-1][0].startswith("Tried on draws of its own")


def test_a_gate_without_limits_calls_nothing_safe_and_names_the_promise() -> None:
    made = content(gate())
    metrics = {**made.metrics, "privacy": {"epsilon": 5.0, "masking": []}}
    found = decision(replace(made, metrics=metrics))
    assert found.headline == "Passed: no limit is set, so the release gate had nothing to judge"
    assert [one.word for one in found.answers] == ["Not judged", "Not judged"]
    assert "Differentially private with ε = 5 (see What is promised)." in found.facts
    assert not any("Judged" in fact for fact in found.facts)
