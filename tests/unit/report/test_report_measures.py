"""The report's pictures and tables of every measure: from real sections, and with any part of them missing."""

import copy
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.assessment import assess
from synthdp.evaluation.blocks import Block, Curves, Dots, Marks, Table, percent
from synthdp.evaluation.comparison import Comparison, Request
from synthdp.evaluation.gate import Thresholds, Verdict
from synthdp.evaluation.gate.inquiry import Averages, Inquiry
from synthdp.evaluation.leaks.verbatim import evaluate_verbatim
from synthdp.evaluation.measures import RISK, UTILITY, repeated
from synthdp.evaluation.measures.found import BEFORE, attacks, pointing_blocks, sections_of
from synthdp.evaluation.measures.served import MOST_COLUMNS, pairs
from synthdp.evaluation.risk.attribute import evaluate_attribute
from synthdp.evaluation.risk.exposure import evaluate_exposure
from synthdp.evaluation.risk.intruders import Intruder
from synthdp.evaluation.risk.linkability import evaluate_inference, evaluate_linkability, evaluate_membership
from synthdp.evaluation.risk.singling import evaluate_singling
from synthdp.evaluation.risk.uniqueness import evaluate_anonymity
from synthdp.evaluation.utility.propensity import Propensity
from synthdp.inference.analyses import Analysis
from synthdp.report import ReportContent
from synthdp.report.charts import draw
from synthdp.report.page import PLACED, handed, render, told
from synthdp.report.plots import Figure, plotly_js
from synthdp.seeding import Streams
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

N = 160
INTRUDERS = {
    "neighbour": Intruder(keys=("age",), error={"age": 1.0}, draws=2),
    "one copy": Intruder(copies="one"),
    "reporter": Intruder(attack="identity_averaged", member=False, population=10 * N),
}


def make_frame(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(50, 12, n))
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["F", "M"], n),
            "income": np.where(rng.random(n) < 0.4, 0.0, np.round(rng.lognormal(7, 0.6, n))),
            "visits": rng.poisson(2, n),
            "smokes": (rng.random(n) < 1 / (1 + np.exp(-(age - 50) / 10))).astype(int),
            "region": rng.choice(["north", "south", "west"], n),
            "w": np.round(rng.uniform(2, 9, n), 2),
        }
    )


@pytest.fixture(scope="module")
def content() -> ReportContent:
    """Everything that can be measured, by the real evaluators."""
    frame = make_frame(N, 1)
    variables = {
        "age": Variable(kind="continuous", role="replace", key=True, tolerance=2),
        "sex": Variable(kind="binary", role="replace", key=True),
        "income": Variable(kind="semicontinuous", role="replace"),
        "visits": Variable(kind="count", role="replace"),
        "smokes": Variable(kind="binary", levels=[0, 1]),
        "region": Variable(kind="nominal", key=True),
    }
    data = resolve(frame, variables)
    rng = np.random.default_rng(2)
    copies = tuple(
        data.frame.assign(
            age=data.frame["age"] + np.round(rng.normal(0, 4, N)),
            income=data.frame["income"].to_numpy()[rng.permutation(N)],
            visits=rng.poisson(6, N),
        )
        for _ in range(2)
    )
    groups = pd.Series(np.where(np.arange(N) < 50, "high", "low"))
    comparison = Comparison(data.frame, copies, data.schema, aligned=True, groups=groups, proper=True)
    request = Request(
        targets=("smokes",),
        analyses=(Analysis(name="smoking", model="logit", formula="smokes ~ age + sex"),),
        propensity=Propensity(permutations=3),
        intruders=INTRUDERS,
    )
    found = assess(
        replace(comparison, request=request),
        utility=("pmse", "analyses", "panel", "tables", "distributions", "correlations", "prediction"),
        risk=("identity", "identity_averaged", "identity_linked", "identity_likelihood", "identity_public"),
        streams=Streams(1),
    )
    holdout, targets = make_frame(100, 3), ["smokes", "income"]
    measured = {
        "attribute": evaluate_attribute(comparison, targets=targets, holdout=holdout, rng=rng),
        "verbatim": evaluate_verbatim(comparison, rng=rng),
        "exposure": evaluate_exposure(comparison).section(),
        "membership": evaluate_membership(comparison, holdout=holdout, rng=rng),
        "singling": evaluate_singling(comparison, holdout=holdout, attacks=40, rng=rng),
        "linkability": evaluate_linkability(comparison, holdout=holdout, attacks=40, rng=rng),
        "inference": evaluate_inference(comparison, targets=targets, attacks=40, rng=rng),
        "anonymity": evaluate_anonymity(comparison, targets=targets),
        "population": {"sample_unique": 3, "population_unique": 0.5, "expected_links": 9.0, "expected_links_rate": 0.1},
    }
    averages = Averages()
    averages.add(Inquiry(Thresholds(), Request(targets=("smokes",))).ask(comparison, Streams(2), known=found.findings))
    releases = {"earlier": ["2025-03-01T10:00:00"], "copies": 4, "identity": found.risk["identity"]}
    metrics = {
        "utility": found.utility,
        "risk": {**found.risk, **measured, "releases": releases},
        "privacy": {"epsilon": None, "masking": []},
        "gate": {**Verdict(tuple(averages.checks(Thresholds()))).section(), "basis": "copies", "draws": 0},
    }
    return ReportContent(
        title="Report",
        data_name="people.csv",
        comparison=comparison,
        metrics=metrics,
        baseline_risk=found.risk["original"],
        masks=(),
        method="sequential",
        model="cart",
        copies=2,
        mask_draw="none",
        notes=(),
        versions={},
        intruders=INTRUDERS,
    )


def changed(content: ReportContent, **sections: Any) -> ReportContent:
    """Return the content with other sections of the metrics; None takes one away."""
    metrics = copy.deepcopy(dict(content.metrics))
    for path, value in sections.items():
        section, _, name = path.partition("__")
        if value is None:
            metrics[section].pop(name)
        else:
            metrics[section][name] = value
    return replace(content, metrics=metrics)


def blocks(content: ReportContent) -> dict[str, Block]:
    return {block.title: block for block in disclosures(content)}


def disclosures(content: ReportContent) -> tuple[Block, ...]:
    return told(content, "risk", RISK)


def further(content: ReportContent) -> tuple[Block, ...]:
    return told(content, "utility", [name for name in UTILITY if name == "panel" or name not in PLACED])


def drawn(figure: Figure, name: str) -> list[Any]:
    """Return where the marks of one name are."""
    return list(next(trace for trace in figure.data if trace.get("name") == name)["x"])


def everything(content: ReportContent) -> list[Any]:
    """Return all that depends on the metrics, without drawing library and marginals."""
    found = [*disclosures(content), *further(content), *pointing(content)]
    found += [block for name in PLACED for block in handed(content, "utility", name)]
    drawings = [draw(chart) for block in found for chart in block.charts]
    return [*found, *drawings, attacks(content.metrics.get("risk"), content.comparison, content.intruders)]


def pointing(content: ReportContent) -> tuple[Block, ...]:
    """Return intruders side by side, by risk group, over all records, and with earlier releases."""
    return pointing_blocks(content.metrics.get("risk"), content.comparison, before=content.baseline_risk)


def served(content: ReportContent) -> Block:
    return handed(content, "utility", "tables")[0]


def subgroups(content: ReportContent) -> tuple[Table, ...]:
    return handed(content, "utility", "tables")[1].tables


def scores(content: ReportContent) -> Block:
    return handed(content, "utility", "pmse")[0]


def test_page_of_everything_says_what_was_measured(content: ReportContent) -> None:
    page = render(content).replace(plotly_js(), "")
    for words in (
        "What to look at first",
        "The sign agrees for",
        "lack of fit",
        "Scores by logistic regression",
        "Scores by classification tree",
        "Each column by itself",
        "Every two columns",
        "Subgroups, the worst served first",
        "Kolmogorov–Smirnov distance",
        "Associations between columns",
        "Learnt from a copy",
        "All intruders side by side",
        "Intruders of your own",
        "Together with earlier releases",
        "Rows copied over",
        "What the kept columns give away",
        "Learning a sensitive value",
        "Knowing who is in the file",
        "Singling out, linking, inference",
        "Classes of look-alikes",
        "Standing out in the population",
        "No tolerance enters",
        "not differentially private; no epsilon is claimed",
        "exactly 0:",
    ):
        assert words in page, words
    assert "None" not in page
    assert "nan" not in page.split("<main>")[1].split("</main>")[0].split()


def _paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield every place in the metrics; of a list of sections the first stands for all, lists of numbers are whole."""
    if path:
        yield path
    items: Iterator[tuple[Any, Any]] = iter(node.items() if isinstance(node, dict) else ())
    if isinstance(node, list) and all(isinstance(one, dict) for one in node):
        items = iter(enumerate(node[:1]))
    for key, value in items:
        yield from _paths(value, (*path, key))


@pytest.mark.parametrize("way", ["none", "missing"])
def test_any_part_may_be_none_or_missing(content: ReportContent, way: str) -> None:
    whole = copy.deepcopy(dict(content.metrics))
    failed: list[str] = []
    for path in list(_paths({key: whole[key] for key in ("utility", "risk")})):
        *above, last = path
        node: Any = whole
        for step in above:
            node = node[step]
        if way == "missing" and isinstance(node, list):
            continue
        kept = node[last]
        order = list(node.items()) if isinstance(node, dict) else None
        if way == "none":
            node[last] = None
        else:
            del node[last]
        try:
            everything(replace(content, metrics=whole))
        except Exception as error:
            failed.append(f"{'.'.join(map(str, path))}: {error!r}")
        node[last] = kept
        if order is not None:
            node.clear()
            node.update(order)
    assert not failed


def test_old_metrics_bring_no_new_sections(content: ReportContent) -> None:
    old = replace(content, metrics={"utility": {}, "risk": {}, "privacy": {}, "gate": {}}, baseline_risk={})
    assert disclosures(old) == ()
    assert not any((block.tables, block.charts) != ((), ()) for block in pointing(old))
    found = served(old)
    assert (found.first, found.charts, found.tables, subgroups(old)) == ((), (), (), ())
    assert further(old) == ()
    page = render(old)
    assert "tables of counts were not asked for" in page
    assert "All intruders side by side" not in page


def table(columns: list[str], value: float | None, noise: float | None = 1.5) -> dict[str, Any]:
    return {"columns": columns, "s_pmse": value, "noise": {"s_pmse": noise}, "low": {"s_pmse": value}}


def test_pairs_put_the_worst_columns_first_and_are_symmetric() -> None:
    shown = pairs(
        [
            table(["a"], 1.0),
            table(["b"], 30.0),
            table(["a", "b"], 5.0),
            table(["b", "c"], 100.0),
            table(["a", "c"], None),
        ]
    )
    assert shown is not None
    assert shown.columns == ("c", "b", "a")  # mean log10: 2/1, (1.48 + 0.70 + 2)/3, (0 + 0.70)/2
    values = dict(zip(shown.columns, shown.values, strict=True))
    assert values["b"][shown.columns.index("c")] == values["c"][shown.columns.index("b")] == 100.0
    assert values["a"][shown.columns.index("c")] is None
    assert pairs([table(["a"], 2.0)]) is None


def test_map_is_logarithmic_white_at_chance_and_clipped_at_a_thousand() -> None:
    shown = pairs([table(["a", "b"], 1e6), table(["a"], 0.2), table(["b"], 10.0)])
    assert shown is not None
    (figure,) = draw(shown)
    (cells,) = figure.data
    place = shown.columns.index("a"), shown.columns.index("b")
    assert cells["z"][place[0]][place[0]] == 0.0
    assert cells["z"][place[1]][place[1]] == 1.0
    assert cells["z"][place[0]][place[1]] == cells["zmax"] == 3.0
    assert cells["colorscale"][0][1] == "#FFFFFF"
    assert "a with b" in cells["hovertext"][place[0]][place[1]]


def test_many_columns_keep_their_names_and_too_many_are_counted() -> None:
    names = [f"c{k}" for k in range(MOST_COLUMNS + 5)]
    shown = pairs([table([a, b], 2.0) for k, a in enumerate(names) for b in names[:k]])
    assert shown is not None
    assert (len(shown.columns), shown.left_out) == (MOST_COLUMNS, 5)
    (figure,) = draw(shown)
    assert len(figure.layout["xaxis"]["ticktext"]) == MOST_COLUMNS
    assert figure.width >= 14 * MOST_COLUMNS
    assert "5 columns that are served better are not drawn" in figure.caption
    assert "text" not in figure.data[0]  # numbers would not fit


def test_worst_columns_come_first_with_their_noise_floor(content: ReportContent) -> None:
    found = served(content)
    (figure,) = draw(found.charts[0])
    names = figure.layout["yaxis"]["ticktext"]
    assert names[0] == "visits"  # drawn from another distribution
    values = drawn(figure, "copies")
    assert values == sorted(values, reverse=True)
    assert "region" not in names  # kept, so the same in every copy
    entry = next(one for one in content.metrics["utility"]["tables"] if one["columns"] == ["visits"])
    halves = drawn(figure, "two halves of the original")
    assert math.isclose(halves[0], max(entry["noise"]["s_pmse"], 0.1), rel_tol=1e-5)
    assert found.first[0].startswith("Worst-served columns, S_pMSE over 3 (1 is chance): visits")
    assert found.tables[0].rows[0][1].startswith("▲ ")


def test_subgroups_are_ordered_by_what_their_own_halves_give(content: ReportContent) -> None:
    lines = [
        {"by": "risk group", "group": "low", "records": 90, "value": 3.0, "noise": 3.0, "columns": []},
        {
            "by": "risk group",
            "group": "high",
            "records": 9,
            "value": 2.0,
            "noise": 0.5,
            "columns": [{"column": "age", "s_pmse": 2.5}],
        },
    ]
    other = changed(content, utility__subgroups=lines)
    (table,) = subgroups(other)
    assert [row[0] for row in table.rows] == ["risk group: high", "risk group: low"]
    assert any("risk group high, whose tables differ 4 times as much" in line for line in served(other).first)


def test_a_good_release_is_said_to_be_good(content: ReportContent) -> None:
    tables = [table(["age"], 1.2), table(["age", "sex"], 2.0)]
    first = served(changed(content, utility__tables=tables)).first
    assert first[0] == "No column has an S_pMSE over 3; the largest is 1.2 (age)."
    assert first[1] == "No pair of columns has an S_pMSE over 3; the largest is 2 (age × sex)."


def test_filled_gaps_are_said_to_be_behind_a_difference(content: ReportContent) -> None:
    assert not any("filled" in line for line in served(content).first)
    gaps = content.comparison.original.assign(income=content.comparison.original["income"].where(lambda x: x > 0))
    found = served(replace(content, comparison=replace(content.comparison, original=gaps))).first
    assert sum(line.startswith("Missing values of income are filled in the copies.") for line in found) == 1


def test_score_histograms_are_shares_of_records(content: ReportContent) -> None:
    found = scores(content)
    pictures = [figure for chart in found.charts for figure in draw(chart)]
    assert [figure.title for figure in pictures] == [
        "Scores by logistic regression",
        "Scores by classification tree",
    ]
    for figure, model in zip(pictures, ("logit", "cart"), strict=True):
        shape = content.metrics["utility"]["pmse"][model]["histogram"]
        original, *copies = figure.data
        assert len(copies) == 2
        counted = np.asarray(shape["synthetic"][0]) / N
        np.testing.assert_allclose(copies[0]["y"][1:-1], 100 * counted, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(
            original["y"][1:-1], 100 * np.mean(shape["original"], axis=0) / N, rtol=1e-5, atol=1e-9
        )
    assert len(found.tables[0].rows) == 2
    assert all("not computed" not in row for row in found.tables[0].rows)


def test_ratio_and_null_are_said_in_words(content: ReportContent) -> None:
    models = {
        "logit": {"value": 0.01, "ratio": 4.0, "standardised": 2.5, "null_kind": "pairs", "design": "partial, proper"},
        "cart": {"value": 0.01, "ratio": 0.4, "standardised": -1.0, "null_kind": "formula"},
        "boosting": {"value": 0.01, "ratio": None, "reason": "too few copies"},
    }
    sentences = scores(changed(content, utility__pmse=models)).sentences
    assert (
        "told apart 4 times as well as copies from the right model would be, 2.5 standard deviations above"
        in sentences[0]
    )
    assert "one copy judged against another (partial, proper synthesis)" in sentences[0]
    assert "no better than copies from the right model" in sentences[1]
    assert sentences[2] == "Gradient boosting: no ratio, because too few copies."


def test_sign_significance_and_fit_are_counted(content: ReportContent) -> None:
    (entry,) = content.metrics["utility"]["analyses"]
    _, block = handed(content, "utility", "analyses")
    signs = sum(term["sign_agrees"] for term in entry["terms"])
    sure = sum(term["significance_agrees"] for term in entry["terms"])
    assert block.sentences[0].endswith(f"The sign agrees for {signs} of 3, the significance for {sure} of 3.")
    assert block.sentences[-1].startswith("All coefficients together (lack of fit, p = ")


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        ({"p_value": 0.3, "from_copies": None}, "no more than the way copies from the fitted model would differ"),
        ({"p_value": 0.3, "from_copies": {"p_value": 0.01}}, "more than the copies differ from each other"),
        ({"p_value": 1e-9, "from_copies": None}, "p < 0.0001"),
        ({"p_value": None, "from_copies": None}, ""),
        (None, ""),
    ],
)
def test_fit_is_judged_by_the_spread_between_copies_where_known(fit: Any, said: str) -> None:
    assert said in repeated.fit(fit)
    assert bool(repeated.fit(fit)) == bool(said)


def test_further_measures_leave_out_what_was_kept(content: ReportContent) -> None:
    _, found = further(content)
    distributions, associations, prediction = found.tables
    assert {row[0] for row in distributions.rows} == {"age", "visits"}  # income was only permuted
    assert distributions.rows[0][0] == "visits"
    assert not any(row[0] == "smokes × region" for row in associations.rows)
    assert prediction.rows[0][0] == "smokes, gradient boosting"
    assert len(found.notes) == 1
    _, absent = further(changed(content, utility__prediction={"reason": "no target was named."}))
    assert (absent.tables, absent.notes) == ((distributions, associations), ())
    assert absent.missing == ("prediction, because no target was named",)


def test_all_intruders_stand_side_by_side(content: ReportContent) -> None:
    (figure,) = draw(pointing(content)[0].charts[0])
    names = figure.layout["yaxis"]["ticktext"]
    assert names[0] == BEFORE
    assert {"“neighbour”", "“one copy”", "“reporter”", "Lining up, then averaging", "Most likely record"} <= set(names)
    expected = next(trace for trace in figure.data if trace["name"] == "expected matches")
    likely = content.metrics["risk"]["identity_likelihood"]["expected_links"]
    assert math.isclose(expected["x"][names.index("Most likely record")], likely, rel_tol=1e-5)
    chance = next(trace for trace in figure.data if trace["name"] == "what chance may give")
    limit = content.metrics["risk"]["identity_likelihood"]["expected_links_chance"]
    assert math.isclose(chance["x"][names.index("Most likely record")], limit, rel_tol=1e-5)


def test_own_intruders_are_described(content: ReportContent) -> None:
    risk = content.metrics["risk"]
    said = {attack.name: attack.words for attack in attacks(risk, content.comparison, content.intruders)}
    assert said["neighbour"] == "Knows age, but age with error."
    assert "a single copy" in said["one copy"]
    assert "does not know whether the person is in the file" in said["reporter"]
    assert "averaging the copies first" in said["reporter"]
    unknown = {attack.name: attack.words for attack in attacks(risk, content.comparison, {})}
    assert "evaluation.intruders" in unknown["neighbour"]


def test_a_value_far_out_does_not_squeeze_the_others() -> None:
    marks = [Marks("m", [600.0, 5.0, 4.0], "single")]
    (figure,) = draw(Dots("t", ["before", "a", "b"], marks, axis="x", caption="c."))
    (trace,) = figure.data
    assert trace["x"] == [6.25, 5.0, 4.0]
    assert trace["marker"]["symbol"] == ["triangle-right", "circle-open", "circle-open"]
    assert "triangle" in figure.caption
    assert "600" in trace["text"][0]


def test_a_chart_that_nobody_draws_is_an_error() -> None:
    with pytest.raises(TypeError, match="nobody draws str"):
        draw("a chart")


def test_measures_can_be_told_by_their_section_alone(content: ReportContent) -> None:
    sections = content.metrics["utility"]
    worst, _ = UTILITY["tables"].blocks(sections["tables"])
    scores, _ = UTILITY["pmse"].blocks(sections["pmse"])
    assert worst.tables[0].rows[0] == served(content).tables[0].rows[0]
    assert scores.tables
    assert UTILITY["pmse"].blocks(None)[0].absent == "pMSE was not asked for (evaluation.utility)"


def test_likelihood_names_its_links_as_matches(content: ReportContent) -> None:
    section = content.metrics["risk"]["identity_likelihood"]
    shown = sections_of(content.metrics["risk"])["Most likely record"]
    assert shown["expected_match"] == section["expected_links"]
    assert [line["expected_match"] for line in shown["per_group"]] == [
        line["expected_links"] for line in section["per_group"]
    ]
    assert len(pointing(content)[0].tables[1].rows) == 7


def test_releases_are_judged_together(content: ReportContent) -> None:
    *_, block = pointing(content)
    assert block.words.startswith("1 earlier release of the same data (2025-03-01)")
    assert [row[1] for row in block.tables[0].rows] == ["this one alone", "all together"]
    assert len(pointing(changed(content, risk__releases=None))) == 3


def test_disclosures_stand_with_their_baselines(content: ReportContent) -> None:
    found = blocks(content)
    learnt = found["Learning a sensitive value"].tables[0]
    line = content.metrics["risk"]["attribute"][0]
    assert learnt.rows[0][0] == "smokes"
    assert learnt.rows[0][3].endswith("%")
    assert float(learnt.rows[0][3].rstrip("%")) == pytest.approx(line["DiSCO"], rel=0.01)
    assert " to " in learnt.rows[0][6]
    rates = found["Singling out, linking, inference"]
    assert [row[0] for row in rates.tables[0].rows][:3] == [
        "Singling out by one value",
        "Singling out by several values",
        "Linking two lists about the same people",
    ]
    assert rates.tables[0].rows[-1][3:] == ("–", "–")  # inference was made without a holdout
    assert rates.sentences
    assert len(found["Knowing who is in the file"].tables[0].rows) == 4
    assert [row[0] for row in found["Classes of look-alikes"].tables[0].rows] == ["Original", "Copy 1", "Copy 2"]


def test_warnings_name_the_levels_behind_most_disclosures(content: ReportContent) -> None:
    lines = copy.deepcopy(content.metrics["risk"]["attribute"])
    lines[0]["warnings"] = [
        {"ways": 1, "level": "1", "records": 60, "share": 0.95},
        {"ways": 2, "key": "region", "key_level": "west", "level": None, "records": 6, "share": 0.85},
    ]
    said = blocks(changed(content, risk__attribute=lines))["Learning a sensitive value"].sentences
    assert said[0].startswith("▲ 1-way warning: 95% of what is disclosed about smokes (60 records) is smokes = “1”.")
    assert "region = “west” together with smokes = one value" in said[1]


@pytest.mark.parametrize(
    "name", ["verbatim", "exposure", "attribute", "membership", "singling", "anonymity", "population"]
)
def test_what_could_not_be_measured_says_why_and_what_was_not_asked_is_absent(
    content: ReportContent, name: str
) -> None:
    others = {f"risk__{one}": None for one in ("linkability", "inference") if name == "singling"}
    whole = {block.title for block in disclosures(content)}
    without = {block.title for block in disclosures(changed(content, **{f"risk__{name}": None}, **others))}
    (title,) = whole - without
    failed = blocks(changed(content, **{f"risk__{name}": {"reason": "it needs a holdout."}}, **others))[title]
    assert (failed.absent, failed.tables) == ("it needs a holdout", ())


def test_one_of_several_measures_in_a_block_says_why_it_is_not_there(content: ReportContent) -> None:
    found = blocks(changed(content, risk__linkability={"reason": "too few columns."}))
    shown = found["Singling out, linking, inference"]
    assert shown.sentences[0] == "Not computed: too few columns."
    assert all(line.startswith("Not computed: ") for line in shown.sentences)
    assert not any(row[0].startswith("Linking") for row in shown.tables[0].rows)
    assert len(shown.tables) == 1


def test_the_curve_of_the_membership_test_is_drawn(content: ReportContent) -> None:
    (chart,) = blocks(content)["Knowing who is in the file"].charts
    assert isinstance(chart, Curves)
    (figure,) = draw(chart)
    lines = content.metrics["risk"]["membership"]["attacks"]
    assert [trace["name"] for trace in figure.data][:2] == ["a coin", "close to a row, all columns"]
    assert len(figure.data) == 1 + len(lines)
    for trace, line in zip(figure.data[1:], lines, strict=True):
        assert trace["x"] == pytest.approx([100 * point[0] for point in line["roc"]], rel=1e-5)
        assert trace["y"] == pytest.approx([100 * point[1] for point in line["roc"]], rel=1e-5)
    at_five = max(true for false, true in lines[0]["roc"] if false <= 0.05)
    assert f"close to a row, all columns {percent(at_five)}" in figure.alt
    without = changed(content, risk__membership={"attacks": [{**line, "roc": None} for line in lines]})
    assert blocks(without)["Knowing who is in the file"].charts == ()


def test_one_copy_alone_stands_beside_all(content: ReportContent) -> None:
    (table,) = pointing(content)[2].tables
    row = next(row for row in table.rows if "one copy only" in row[0])
    alone = content.metrics["risk"]["identity"]["one_copy"]["expected_match_rate"]
    assert row[table.head.index("Matching each copy")] == percent(alone)
