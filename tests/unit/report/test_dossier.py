"""The dossier: right for every verdict, for DP methods, without keys, with accepted risks and undecided columns."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Verdict
from synthdp.evaluation.gate.tally import Bound
from synthdp.evaluation.gate.verdict import Check, check, undecided
from synthdp.release.shelf import Attempt
from synthdp.report import MaskLine, ReportContent
from synthdp.report.dossier import Dossier, attempts, render
from synthdp.report.dossier.exposed import exposed
from synthdp.report.dossier.facts import Facts, named, shortened
from synthdp.report.dossier.frameworks import criteria, frameworks
from synthdp.report.dossier.learnt import promise, rows
from synthdp.report.dossier.reliable import reading, reliable
from synthdp.report.dossier.verdict import verdict
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

N = 40
SAFE = (
    check("max_individual", "identity", Bound(0.1, 0.0, 0.24), 0.33),
    check("max_expected_match_rate", "identity", Bound(0.02, 0.01, 0.025, chance=0.025), 0.03),
    check("max_claims_right", "identity", Bound(0.04, 0.03, 0.06), 0.33),
    check("max_attribute_gain", "attribute", Bound(0.03, 0.02, 0.036), 0.1, what=" for 'vote'"),
    check("max_exposed", "exposure", Bound(0.0), 0),
)
RISKY = (
    check("max_individual", "identity", Bound(0.9, 0.8, 1.0), 0.33),
    check("max_expected_match_rate", "identity", Bound(0.5, 0.4, 0.6), 0.03),
    check("max_exposed", "exposure", Bound(3.0), 0),
)
USEFUL = (check("min_overlap", "panel", Bound(0.93, 0.9, 0.95), 0.6),)
USELESS = (check("min_overlap", "panel", Bound(0.2, 0.1, 0.3), 0.6),)
BEFORE = {"expected_match": 13.2, "max_individual": 1.0, "true_match": 9}


def gate(*checks: Check, **more: Any) -> dict[str, Any]:
    return {**Verdict(tuple(checks)).section(), "basis": "draws", "draws": 20, **more}


def content(found: Any, *, key: bool = True, privacy: Any = None, method: str = "da_mi", **risk: Any) -> ReportContent:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.normal(size=N), "town": ["a", "b"] * 20, "vote": [0, 1] * 20})
    variables = {
        "age": Variable(role="replace", key=key, tolerance=3),
        "town": Variable(role="keep", key=key),
        "vote": Variable(key=False),
    }
    data = resolve(frame, variables)
    comparison = Comparison(data.frame, (data.frame,), data.schema, aligned=True)
    analyses = [{"name": "disability", "mean_ci_overlap": 0.8}, {"name": "broken", "mean_ci_overlap": None}]
    metrics = {
        "utility": {"analyses": analyses},
        "risk": {"attribute": [{"target": "vote"}], **risk},
        "privacy": privacy or {"epsilon": None},
        "gate": found,
    }
    masks = (MaskLine("age", "all", "Gaussian noise"),)
    return ReportContent(
        "T", "d.csv", comparison, metrics, BEFORE, masks, method, "auto", 1, "per_copy", (), {}, ("id",)
    )


def text(page: str, part: str = "first") -> str:
    """Return what a section says, without tags."""
    found = page[page.index(f'<section id="{part}"') :]
    found = found[: found.index("</section>")]
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found))
    return words.replace("&#39;", "'").replace("&lt;", "<").replace("&amp;", "&")


def first(found: Any, **more: Any) -> str:
    study = more.pop("study", False)
    return text(render(Dossier(content(found, **more), study=study, at_risk=2)))


def test_a_release_that_passed():
    said = first(gate(*SAFE, *USEFUL))
    assert "✔ May be published: every risk that was measured is within its limit" in said
    assert "would find 13 of 40 people (33%) in the confidential file, and finds about 1.8 (4.5%)" in said
    assert "age (±3) and town" in said
    assert "certain, for 9 people" in said
    assert "at most 24%" in said
    assert "no ε is claimed" in said
    assert "Closest to its limit" in said
    assert "they leave the house when both have signed" in said
    assert said.count("Signature") == 2
    assert "To be reviewed on" in said


def test_a_refused_run_says_why_and_that_nothing_is_public():
    said = first(gate(*RISKY, *USEFUL, advice={"why": "Wider masks would help:", "change": "masks: {}"}))
    assert "✘ Refused: these files may not be published" in said
    assert "No public files were written" in said
    assert "3 people are alone" in said
    assert said.count("✘ over") == 2
    assert "Wider masks would help. The lines for the settings" in said
    assert "There is nothing to release" in said
    assert "To be reviewed on" not in said


def test_an_amber_release():
    said = first(gate(*SAFE, *USELESS))
    assert "▲ May be published, but is of little use" in said
    assert "users could be misled" in said


def test_a_leak_turns_the_verdict():
    found = gate(*SAFE, *USEFUL) | {"verdict": "refused", "passed": False, "reasons": ["README.md: seed: it is there."]}
    said = first(found)
    assert "Refused" in said
    assert "README.md: seed: it is there." in said


def test_accepted_risks_are_named_with_their_reason():
    over = replace(RISKY[0], accepted="sworn researchers")
    found = gate(*SAFE[1:], over, replace(over, attack="identity_bayes"), *USEFUL)
    found |= {"accepted": [{"risk": "identity: the largest probability.", "reason": "sworn researchers"}]}
    said = first(found)
    assert "▲ May be published only because 1 risk above its limit was accepted by name" in said
    assert said.count("Accepted: “sworn researchers”") == 1
    assert "▲ over, accepted" in said
    assert "Closest to its limit" not in said
    page = render(Dossier(content(found)))
    assert "identity: the largest probability. Reason given: “sworn researchers”" in text(page, "evidence")
    town = replace(undecided("town", "It makes people unique."), accepted="seen by nobody", passed=False)
    said = first(gate(*SAFE[1:], over, town, *USEFUL))
    assert "only because 2 risks above their limits were accepted by name" in said
    assert "town is published although nobody decided" in said
    two = first(gate(*SAFE[1:], over, town, replace(town, attack="street"), *USEFUL))
    assert "only because 3 risks" in two
    assert "street is published although nobody decided" in two


def test_undecided_columns_are_counted_as_known_and_have_no_before():
    found = gate(undecided("town", "It makes people unique."), RISKY[1], keys=["age", "town"])
    said = first(found)
    assert "Nobody has decided whether an intruder may know town" in said
    assert "finds about 20 of 40 people (50%) with the synthetic files" in said
    assert "in the confidential file" not in said.split("Who is still exposed")[0].split("What could")[0]


def test_without_a_key_nobody_was_looked_for():
    said = first(gate(*USEFUL), key=False)
    assert "Nobody was looked for" in said
    assert "? Not judged: no limit on risk is set" in said
    assert "nothing judged their risk" in said
    facts = Facts(content(gate(*USEFUL), key=False))
    assert rows(facts) == ()
    assert not any("probability" in one for one in exposed(replace(facts, at_risk=0)))
    assert not any(one.answer for one in criteria(facts)[:2])


def test_only_a_private_release_has_an_epsilon():
    privacy = {"epsilon": 1.0, "delta": 1e-6, "adjacency": "add_remove"}
    said = first(gate(), privacy=privacy, method="dp_mst")
    assert "✔ May be published on its ε alone; no risk was held to a limit" in said
    assert "had one record not been in the file" in said
    assert "up to a factor of 2.7, save in about 1 case of 1,000,000" in said
    assert "too short" in said
    assert "every person in the confidential file has a row" not in said
    page = render(Dossier(content(gate(*SAFE, *USEFUL))))
    assert "ε = " not in page
    assert "infin" not in page


def test_a_large_epsilon_promises_little():
    found = content(gate(), privacy={"epsilon": 10.0, "delta": 0, "adjacency": "replace"}, method="dp_mst")
    said = promise(Facts(found))
    assert "had one record been any other" in said
    assert said.endswith("So large a factor promises little.")
    assert verdict(Facts(found), study=False).sign == "▲"


def test_a_withdrawn_epsilon_is_said_to_be():
    found = content(gate(), privacy={"epsilon": None, "statement": "No epsilon is claimed, a limit was set."})
    assert promise(Facts(found)).startswith("No epsilon is claimed, a limit was set. These are measurements")


def test_a_study_and_a_run_that_was_not_judged_release_nothing():
    assert "This was a study" in first(gate(*SAFE), study=True)
    assert "The gate would refuse these files" in first(gate(*RISKY), study=True)
    said = first({})
    assert "Not judged: nothing here says that the files may be published" in said
    assert "There is nothing to release" in said


def test_without_draws_the_copies_stand_in():
    found = content(gate(), identity={"expected_match": 2.0, "expected_match_rate": 0.05, "max_individual": 0.5})
    table = rows(Facts(found))
    assert table[0].after == "2 of 40 (5%) in the copies made"
    assert (table[1].after, table[1].limit, table[1].sign) == ("50% in the copies made", "no limit set", "–")
    assert table[2].after == "not measured"


def test_what_could_not_be_measured_is_not_nought():
    found = gate(
        check("max_individual", "identity", None, 0.33), check("max_expected_match_rate", "identity", None, 0.03)
    )
    table = rows(Facts(content(found)))
    assert {one.after for one in table} == {"not measured"}
    assert verdict(Facts(content(found)), study=False).state == "refused"


def test_who_is_exposed():
    more = {"exposure": {"unique": 20, "unique_rate": 0.5, "alone": 1}}
    said = " ".join(exposed(Facts(content(gate(), **more), at_risk=1)))
    assert "**1** person is alone" in said
    assert "**1** person is found with a probability of 20% or more" in said
    assert "unique for **50%** of the people" in said
    assert "nobody is found with a probability" in " ".join(exposed(Facts(content(gate()), at_risk=0)))
    earlier = replace(SAFE[0], releases=2)
    assert "2 earlier releases" in " ".join(exposed(Facts(content(gate(earlier)))))


def test_what_users_can_rely_on():
    said = reliable(Facts(content(gate(*SAFE))))
    assert said[0].startswith("**How useful the files are was not judged**")
    assert "disability 80%" in said[1]
    assert said[2] == "1 planned analysis could not be compared; the report says why."
    apart = replace(content(gate()), metrics={"utility": {"analyses": [{"name": "x", "mean_ci_overlap": -0.1}]}})
    assert "x none, the intervals lie apart" in reliable(Facts(apart))[1]
    assert reading(0.7) == "users would see the broad picture; details differ"


def test_every_question_has_a_figure_or_asks_a_person():
    page = render(Dossier(content(gate(*SAFE, *USEFUL))))
    said = text(page, "frameworks")
    for name in ("ISO/IEC 27559:2022", "motivated-intruder test", "NIST SP 800-188"):
        assert name in said
    asked = [one for found in frameworks(Facts(content(gate(*SAFE)))) for one in found.questions if not one.answer]
    assert said.count("A person must answer") == len(asked) > 10
    assert "does not say that a document is complied with" in said
    assert "compliant" not in page
    assert "Tried for: vote." in text(page, "criteria")


def test_attempts_are_all_there():
    tried = [
        Attempt("a", "2026-11-17T09:00:00+00:00", "refused", ("max_individual", "leak"), (), "x"),
        Attempt("b", "2026-11-18T09:00:00+00:00", "passed", (), ("max_exposed",), "y"),
    ]
    table = attempts(tried)
    assert table is not None
    assert [row[2] for row in table.rows] == ["refused", "passed"]
    assert "the finished files held something that must not be public" in table.rows[0][3]
    assert table.rows[1][0] == "2 (this one)"
    assert attempts(None) is None
    assert "how often these data were tried before is not known" in text(render(Dossier(content(gate()))), "attempts")


def test_names_are_escaped_and_nothing_is_fetched():
    odd = replace(content(gate(*SAFE)), data_name="<script>alert(1)</script>.csv")
    page = render(Dossier(odd, title="<b>T</b>"))
    assert "<script" not in page
    assert "<b>T</b>" not in page
    assert not re.search(r'(?:src|href)="(?!#)', page)


def test_it_shows_no_record_and_its_repr_no_value():
    found = Dossier(content(gate(*SAFE)))
    page = render(found)
    for value in found.content.comparison.original["age"]:
        assert repr(float(value))[:8] not in page
    assert repr(found).startswith("Dossier(ReportContent(")


def test_names_beyond_a_few_are_counted():
    assert named(["a"]) == "a"
    assert named(list("abcdefghij")).endswith("and 3 more")


def test_long_names_and_titles_leave_the_first_page_one_page():
    title = "The living conditions of people in towns " * 10
    said = text(render(Dossier(content(gate(*SAFE, *USEFUL)), title=title)))
    assert title.strip() not in said
    assert "The living conditions" in said
    assert named(["a_very_long_name_of_a_column_that_goes_on", "age"]) == "a_very_long_na…_that_goes_on and age"
    long = replace(undecided("a_very_long_name_of_a_column_that_goes_on", "x"), accepted="r" * 200, passed=False)
    said = first(gate(*SAFE, *USEFUL, long))
    assert "a_very_long_na…_that_goes_on is published although" in said
    assert "r" * 91 not in said


def test_long_names_of_analyses_and_of_undecided_columns_lose_their_middle():
    name = "an analysis that somebody gave a whole sentence for a name"
    named_so = [{"name": name, "mean_ci_overlap": 0.8}]
    found = content(gate(*SAFE, *USEFUL))
    found = replace(found, metrics={**found.metrics, "utility": {"analyses": named_so}})
    assert f"{shortened(name)} 80%" in " ".join(reliable(Facts(found)))
    column = "a_very_long_name_of_a_column_that_goes_on"
    said = first(gate(undecided(column, "It makes people unique."), *USEFUL))
    assert column not in said
    assert "Nobody has said whether an intruder may know a_very_long_na…_that_goes_on" in said


def test_of_a_refused_run_what_was_not_accepted_comes_first():
    taken = [replace(one, accepted="sworn researchers") for one in RISKY]
    over = check("max_claims_right", "identity", Bound(0.5, 0.4, 0.6), 0.33)
    said = first(gate(*taken, over, *USEFUL))
    assert said.count("Accepted: “sworn researchers”") == 1
    assert "And 2 more; see Evidence." in said


def test_what_tune_promised_stands_beside_what_was_found():
    figures = [
        {"name": "max_individual", "promised": 0.2, "found": 0.24, "limit": 0.33},
        {"name": "overlap", "promised": 0.9, "found": 0.93, "limit": None},
    ]
    tuned = {"trials": 7, "kept": True, "figures": figures}
    said = text(render(Dossier(content(gate(*SAFE, *USEFUL, tuned=tuned)))), "evidence")
    assert "What tune promised of these settings" in said
    assert "Overlap 90.0% 93.0% –" in said
    assert "The person easiest to find 20.0% 24.0% 33.0%" in said
    assert "What tune promised" not in text(render(Dossier(content(gate(*SAFE)))), "evidence")


def test_labels_of_the_file_stand_for_names_of_columns():
    labels = {"age": "Age at last birthday", "town": "Town of residence", "vote": "Voted in the last election"}
    said = text(render(Dossier(replace(content(gate(*SAFE, *USEFUL)), labels=labels))))
    assert "Somebody who knows a person's Age at last birthday and Town of residence" in said
    assert "the person's Age at last birthday (age, ±3) and Town of residence (town)" in said
    assert "published as they are and may be known (Town of residence)" in said


def test_of_many_accepted_risks_the_figures_come_first():
    columns = [replace(undecided(name, "x"), accepted="seen by nobody", passed=False) for name in "abcd"]
    over = replace(RISKY[0], accepted="sworn researchers")
    said = first(gate(*columns, over, *SAFE[1:], *USEFUL))
    assert said.index("sworn researchers") < said.index("seen by nobody")
    assert "only because 5 risks" in said
    assert "And 2 more; see Evidence." in said


def test_trials_by_which_settings_were_chosen_stand_among_the_attempts():
    tuned = gate(
        *SAFE, *USEFUL, tuned={"trials": 7}, attempts=["First attempt.", "7 trials of other settings by tune."]
    )
    assert "7 trials of other settings by tune." in text(render(Dossier(content(tuned))), "attempts")
    assert "trials" not in text(render(Dossier(content(gate(*SAFE, attempts=["First attempt."])))), "attempts")


def test_a_private_method_without_an_epsilon_has_no_row_for_everybody():
    found = Facts(content(gate(*SAFE), method="dp_mst"))
    assert not any("a row in every copy" in one for one in exposed(found))
    assert any("a row in every copy" in one for one in exposed(Facts(content(gate(*SAFE)))))
