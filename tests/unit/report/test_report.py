"""The report: says what the metrics say, survives what is missing, and holds no record."""

import copy
import json
import math
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.evaluation import blocks
from synthdp.evaluation.blocks import Block, Forest, find
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.measures import RISK, found
from synthdp.report import MaskLine, ReportContent, columns, marginals, plots, story, words
from synthdp.report.decision import decision
from synthdp.report.page import handed, render, told
from synthdp.report.story import chains
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Variable

N = 300
EVIL = "</script><script>alert('x')</script>"
NAMES = ("Ärger & <b>Lust</b>", "収入", EVIL, "$x$ %{y}")


@cache
def make_data(n: int = N, names: tuple[str, ...] = ()) -> Microdata:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": np.round(rng.normal(50, 12, n)),
            "wealth": rng.lognormal(7, 2, n),
            "sex": rng.choice(["F", "M"], n),
            "region": rng.choice([f"region <{k}>" for k in range(30)], n),
            "born": pd.Timestamp("1950-03-01") + pd.to_timedelta(rng.integers(0, 9000, n), unit="D"),
            "score": rng.normal(size=n),
            "party": rng.choice(["left", "right", "neither"], n),
        }
    )
    frame.loc[:9, "score"] = np.nan
    frame.loc[:19, "sex"] = None
    variables = {
        "age": Variable(kind="continuous", role="replace", key=True, tolerance=2),
        "wealth": Variable(kind="continuous", role="replace", bounds=(0, 1e9), transform="log"),
        "sex": Variable(kind="binary", role="replace", key=True),
        "region": Variable(kind="nominal", role="replace"),
        "born": Variable(kind="date", role="replace", key=True),
        "score": Variable(kind="continuous", role="replace"),
    }
    for name in names:
        frame[name] = rng.normal(size=n)
        variables[name] = Variable(kind="continuous", role="replace", key=True)
    return resolve(frame, variables)


@cache
def make_comparison(n: int = N) -> Comparison:
    data = make_data(n)
    return Comparison(data.frame, make_copies(data), data.schema, aligned=True)


def make_copies(data: Microdata, copies: int = 3) -> tuple[pd.DataFrame, ...]:
    rng = np.random.default_rng(2)
    made = []
    for _ in range(copies):
        frame = data.frame.copy()
        for column in data.schema.replaced():
            frame[column.name] = frame[column.name].to_numpy()[rng.permutation(len(frame))]
        made.append(frame)
    return tuple(made)


def identity(scale: float) -> dict[str, Any]:
    groups = [("high", 60), ("low", 140), ("medium", 100)]
    return {
        "expected_match": 200 * scale,
        "expected_match_rate": 200 * scale / N,
        "expected_match_reference": 200 * scale + 0.1,
        "true_match": int(150 * scale),
        "true_match_rate": int(150 * scale) / N,
        "true_match_chance": 1.2,
        "false_match_rate": None,
        "no_candidate": 3,
        "mean_individual": 0.7 * scale,
        "max_individual": scale,
        "mean_unconditional": 0.2,
        "per_group": [
            {
                "group": name,
                "records": size,
                "expected_match": size * scale / 2,
                "true_match": int(size * scale / 3),
                "mean_individual": scale / 2,
            }
            for name, size in groups
        ],
    }


def term(name: str, original: float, synthetic: float, se: float = 0.1) -> dict[str, Any]:
    def estimate(value: float) -> dict[str, float]:
        return {"estimate": value, "se": se, "low": value - 2 * se, "high": value + 2 * se}

    return {
        "term": name,
        "original": estimate(original),
        "synthetic": estimate(synthetic),
        "ci_overlap": 1 - abs(synthetic - original) / (4 * se),
        "std_diff": (synthetic - original) / se,
    }


def make_metrics(*, passed: bool = True) -> dict[str, Any]:
    terms = [term("Intercept", -2.0, -1.9), term("C(sex)[T.M]", 0.5, 0.1), term("age", 0.001, 0.0012, se=0.0001)]
    return {
        "version": 1,
        "utility": {
            "pmse": {"logit": {"value": 0.00123, "ratio": 1.5, "per_copy": [0.001, 0.0012, 0.0015]}},
            "specks": {"value": 0.08, "per_copy": [0.07, 0.09]},
            "po50": {"value": None},
            "tables": [{"columns": ["age", "sex"], "pmse": 0.01, "s_pmse": 2.0, "df": 4}],
            "analyses": [
                {
                    "name": "vote",
                    "rule": "reiter2003",
                    "terms": terms,
                    "mean_ci_overlap": 0.75,
                    "min_ci_overlap": -0.0004,
                }
            ],
        },
        "risk": {
            "identity": identity(0.05),
            "identity_averaged": identity(0.1),
            "identity_likelihood": {"expected_links": 4.2, "expected_links_rate": 0.014},
            "attribute": [{"target": "party", "iS": 0.3, "DiS": 0.1, "DiSCO": 0.05, "gain": 0.02}],
        },
        "privacy": {
            "epsilon": None,
            "masking": [
                {"column": "age", "group": "low", "mu": 1.5, "statement": "The mask is 1.5-GDP."},
                {"column": "age", "group": "high", "mu": 3.5, "statement": "No useful bound."},
                {"column": "sex", "group": None, "mu": None, "statement": "Nothing formal is claimed."},
            ],
        },
        "gate": {
            "passed": passed,
            "reasons": [] if passed else ["expected matches 0.2 over the limit of 0.05"],
            "checks": [
                {
                    "name": "max_expected_match_rate",
                    "attack": "identity_averaged",
                    "value": 0.0333 if passed else 0.2,
                    "limit": 0.05,
                    "passed": passed,
                },
                {"name": "max_of_my_own", "attack": "mine", "value": None, "limit": 2, "passed": None},
            ],
        },
        "timings": {"fit": 1.2345, "draw": 2.0},
    }


def make_content(**changes: Any) -> ReportContent:
    fields: dict[str, Any] = {
        "title": "Report on voters",
        "data_name": "voters.csv",
        "comparison": make_comparison(),
        "metrics": make_metrics(),
        "baseline_risk": identity(1.0),
        "masks": (MaskLine("age", "low", "Gaussian noise, sd 0.5"), MaskLine("age", "high", "Gaussian noise, sd 2")),
        "method": "da_mi",
        "model": "regression",
        "copies": 3,
        "mask_draw": "per_copy",
        "notes": ("Mind the <gap>.",),
        "versions": {"synthdp": "0.1.0"},
        "dropped": ("name",),
    }
    return ReportContent(**(fields | changes))


def analyses(content: ReportContent) -> tuple[Block, ...]:
    return handed(content, "utility", "analyses")[1:]


def pointing(content: ReportContent) -> tuple[Block, ...]:
    """Return intruders side by side, by risk group, over all records."""
    return found.pointing_blocks(content.metrics.get("risk"), content.comparison, before=content.baseline_risk)


def without_library(page: str) -> str:
    """Return the page without plotly.js, which is not ours to judge."""
    library = plots.plotly_js()
    assert page.count(library) == 1
    return page.replace(library, "")


def figures(page: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


class Outline(HTMLParser):
    """Collects what the tests ask about: elements with their attributes, and visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._silent = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._silent = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._silent = False

    def handle_data(self, data: str) -> None:
        self.text += "" if self._silent else data


@pytest.fixture(scope="module")
def page() -> str:
    return without_library(render(make_content()))


def test_sections_stand_in_the_order_a_signer_reads(page: str) -> None:
    ids = [attrs["id"] for tag, attrs in Outline(page).elements if tag == "section"]
    assert ids == ["verdict", "done", "useful", "risky", "promised", "made"]


def test_page_says_first_that_it_is_confidential(page: str) -> None:
    body = page[page.index("<body>") :]
    assert body.index("Confidential") < body.index("<h1>")


@pytest.mark.parametrize(
    ("gate", "state", "words_shown"),
    [
        (make_metrics(passed=True)["gate"], "passed", "Passed: these files may be released"),
        (make_metrics(passed=False)["gate"], "refused", "expected matches 0.2 over the limit of 0.05"),
        (None, "open", "Not judged"),
        ({"passed": True, "reasons": []}, "passed", "no single checks"),
    ],
)
def test_verdict(gate: Any, state: str, words_shown: str) -> None:
    shown = without_library(render(make_content(metrics=make_metrics() | {"gate": gate})))
    assert f'class="verdict {state}"' in shown
    assert words_shown in shown


def test_checks_show_value_beside_limit() -> None:
    table = decision(make_content(metrics=make_metrics(passed=False))).worst
    assert table is not None
    assert table.rows[0] == (
        "People found, beyond blind guessing, as a share of all records",
        "Averaging the copies first",
        "20%",
        "–",
        "5%",
        "✘ over",
    )
    assert table.rows[1] == ("max_of_my_own", "mine", "not computed", "–", "2", "not computed")


def test_empty_metrics_still_give_a_page() -> None:
    shown = Outline(without_library(render(make_content(metrics={}, baseline_risk={}, masks=(), versions={})))).text
    assert shown.count("Not computed:") >= 6
    assert "not asked for" in shown
    assert "Nothing formal is claimed: no mask was used." in shown


@pytest.mark.parametrize("section", ["utility", "risk", "privacy", "gate", "timings"])
def test_any_section_may_be_none(section: str) -> None:
    assert "</html>" in render(make_content(metrics=make_metrics() | {section: None}))


def test_every_single_metric_may_be_none() -> None:
    def leaves(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        return (
            [path] if not isinstance(node, dict | list) else [leaf for k, v in items for leaf in leaves(v, (*path, k))]
        )

    for path in leaves(make_metrics()):
        metrics = make_metrics()
        node: Any = metrics
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = None
        content = make_content(metrics=metrics)
        tables: list[Any] = [decision(content).worst, story.masking(content), story.timings(content)]
        shown = [*analyses(content), handed(content, "utility", "tables")[0], *pointing(content)[1:3]]
        assert all([*tables, *(block.tables for block in shown)]), path
        assert any(
            block.title == "Learning a sensitive value" and block.tables for block in told(content, "risk", RISK)
        ), path
        scores = handed(content, "utility", "pmse")[0]
        assert bool(scores.tables) != bool(scores.absent), path


def test_reasons_are_shown() -> None:
    metrics = make_metrics()
    metrics["utility"] = {
        "pmse": {"reason": "a copy has other columns"},
        "analyses": [{"name": "vote", "rule": "mine", "terms": [], "reason": "the model did not converge"}],
    }
    metrics["risk"] = {"identity": {"reason": "no key columns"}}
    shown = Outline(without_library(render(make_content(metrics=metrics)))).text
    for reason in ("a copy has other columns", "the model did not converge", "no key columns", "evaluation.risk"):
        assert reason in shown


def test_unaligned_rows_are_named_as_the_reason() -> None:
    data = make_data()
    comparison = Comparison(data.frame, make_copies(data), data.schema, aligned=False)
    content = make_content(comparison=comparison, metrics=make_metrics() | {"risk": {}})
    assert all("not lined up" in attack.absent for attack in found.attacks({}, comparison, {}))
    assert "was not checked" in columns.kept(content)


def test_names_of_any_kind_are_shown_and_harmless() -> None:
    data = make_data(names=NAMES)
    metrics = make_metrics()
    metrics["utility"]["analyses"][0]["terms"].append(term(EVIL, 0.1, 0.2))
    metrics["risk"]["identity"]["per_group"][0]["group"] = EVIL
    content = make_content(
        title=EVIL,
        data_name=EVIL,
        comparison=Comparison(data.frame, make_copies(data), data.schema, aligned=True),
        metrics=metrics,
        masks=(MaskLine(EVIL, EVIL, EVIL),),
        method=EVIL,
        model=EVIL,
        notes=(EVIL,),
        versions={EVIL: EVIL},
        dropped=(EVIL,),
    )
    shown = without_library(render(content))
    assert "<script>alert" not in shown
    outline = Outline(shown)
    assert sum(tag == "script" for tag, _ in outline.elements) == 3
    assert not any(tag in ("b", "i") for tag, _ in outline.elements)
    for name in NAMES:
        assert name in outline.text
    drawn = figures(shown)
    assert "<" not in json.dumps(drawn, ensure_ascii=False).replace("%{text}<extra></extra>", "")


def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    assert not re.search(r"https?://", page)
    assert not re.search(r"@import|url\((?!#)", page)
    for tag, attrs in Outline(page).elements:
        assert "src" not in attrs, tag
        assert (attrs.get("href") or "#").startswith("#"), tag
    assert "default-src 'none'" in page


def test_page_holds_no_seed_and_no_machine_path(page: str) -> None:
    assert "seed" not in page.lower()
    assert str(Path.home()) not in page


def test_page_holds_no_record(page: str) -> None:
    content = make_content()
    numbers = {
        float(value) for frame in (content.comparison.original, *content.comparison.copies) for value in frame["wealth"]
    }
    shown = {float(found) for found in re.findall(r"\d+\.\d{3,}", page)}
    assert not shown & numbers
    assert not any(f"{value:.6g}" in page for value in numbers)


def test_page_does_not_grow_with_the_records() -> None:
    sizes = [len(render(make_content(comparison=make_comparison(n)))) for n in (500, 50_000)]
    assert sizes[1] - sizes[0] < 30_000
    assert sizes[1] < 8_000_000


def test_every_figure_has_words_and_a_place(page: str) -> None:
    outline = Outline(page)
    places = {attrs["id"]: attrs for _, attrs in outline.elements if attrs.get("class") == "canvas"}
    drawn = figures(page)
    assert [figure["id"] for figure in drawn] == list(places)
    assert all(attrs["role"] == "img" and len(str(attrs["aria-label"])) > 20 for attrs in places.values())
    tags = [tag for tag, _ in outline.elements]
    assert tags.count("figure") == tags.count("figcaption") == len(drawn)


def test_plotly_knows_every_attribute(page: str) -> None:
    from plotly import graph_objects

    for figure in figures(page):
        graph_objects.Figure(data=figure["data"], layout=figure["layout"])


def test_differs_by_more_than_colour(page: str) -> None:
    forest = figures(page)[0]["data"]
    assert len({trace["marker"]["symbol"] for trace in forest if trace["mode"] == "markers"}) == 2
    assert len({trace["line"]["dash"] for trace in forest if trace["mode"] == "lines"}) == 2
    bars = figures(page)[-1]["data"]
    assert len({trace["marker"]["pattern"]["shape"] for trace in bars}) == len(bars) == 4


def test_forest_uses_own_units_only_where_they_fit_one_axis() -> None:
    (alike,) = plots.forest(Forest("a", [term("x", 1.0, 1.1), term("y", 2.0, 2.1, se=0.3)]))
    (apart,) = plots.forest(Forest("a", [term("x", 1.0, 1.1), term("y", 2.0, 2.1, se=0.001)]))
    assert alike.data[1]["x"] == [1.0, 2.0]
    assert apart.data[1]["x"] == [10.0, 2000.0]
    assert "standard error" in apart.caption
    assert "standard error" not in alike.caption


def test_forest_is_cut_into_pages_and_names_what_is_not_drawn() -> None:
    terms = [term(f"x{k}", k, k) for k in range(50)] + [term("gone", 1, 1) | {"synthetic": None}]
    pages = plots.forest(Forest("a", terms))
    assert [len(page.data[1]["x"]) for page in pages] == [17, 17, 16]
    assert "Not drawn for want of an interval: 1" in pages[0].caption
    assert plots.forest(Forest("a", terms[-1:])) == ()


def test_findings_agree_when_both_intervals_say_the_same() -> None:
    (block,) = analyses(make_content())
    assert "Same finding for 2 of 3 coefficients." in block.sentences[0]
    (table,) = block.tables
    assert [row[0] for row in table.rows] == ["Intercept", "sex = M", "age"]
    assert [row[5] for row in table.rows] == ["yes", "✘ no", "yes"]
    assert table.rows[1][3].startswith("▼ ") or table.rows[1][3] == "0"


def test_histogram_equals_a_plain_count() -> None:
    comparison = make_content().comparison
    shapes = {shape.column.name: shape for shape in marginals.marginals(comparison)}
    for name, scale in (("age", "linear"), ("score", "linear"), ("wealth", "log"), ("born", "date")):
        shape = shapes[name]
        assert isinstance(shape, marginals.Histogram)
        assert shape.scale == scale
        for frame, shares in zip(
            (comparison.original, *comparison.copies), (shape.original, *shape.copies), strict=True
        ):
            values = frame[name].dropna()
            if scale == "date":
                values = (values - pd.Timestamp(0)) / pd.Timedelta(days=1)
            values = np.log1p(values) if scale == "log" else values
            counts = [
                sum(low <= value < high for value in values)
                for low, high in zip(shape.edges[:-1], shape.edges[1:], strict=True)
            ]
            assert sum(counts) == len(values)
            np.testing.assert_allclose(shares, np.asarray(counts) / len(values), rtol=1e-12)


def test_summaries_are_those_of_the_column_and_of_the_mean_copy() -> None:
    comparison = make_content().comparison
    shape = next(found for found in marginals.marginals(comparison) if found.column.name == "score")
    assert isinstance(shape, marginals.Histogram)
    for summary in shape.summaries:  # the copies are permutations, so both summaries are the original's
        assert math.isclose(summary.mean, comparison.original["score"].mean())
        assert math.isclose(summary.median, comparison.original["score"].median())
        assert math.isclose(summary.missing, 10 / N)


def test_level_shares_equal_a_plain_count_and_rare_levels_are_gathered() -> None:
    comparison = make_content().comparison
    shapes = {shape.column.name: shape for shape in marginals.marginals(comparison)}
    sex, region = shapes["sex"], shapes["region"]
    assert isinstance(sex, marginals.Shares)
    assert isinstance(region, marginals.Shares)
    assert sex.levels == ("F", "M", "missing")
    women = sum(value == "F" for value in comparison.original["sex"])
    np.testing.assert_allclose(sex.original, (women / N, (N - 20 - women) / N, 20 / N))
    assert region.levels[-1] == "all other 19 levels"
    assert region.common == 11
    for shares in (region.original, *region.copies):
        assert math.isclose(sum(shares), 1.0)


@pytest.mark.parametrize(
    ("low", "high", "whole"), [(0, 0, False), (3, 3, True), (0, 39, True), (0, 1234, True), (-1e-7, 1e-7, False)]
)
def test_bins_cover_the_range(low: float, high: float, whole: bool) -> None:
    start, step, bins = marginals._bins(low, high, 1000, whole=whole)
    assert start <= low
    assert high < start + step * bins
    assert bins <= marginals.MOST_BINS + 1


def test_skewed_columns_get_a_logarithmic_axis_even_if_copies_go_below_zero() -> None:
    frame = pd.DataFrame({"x": np.random.default_rng(1).lognormal(8, 2, 400)})
    data = resolve(frame, {"x": Variable(kind="continuous", role="replace")})
    comparison = Comparison(data.frame, (data.frame - 500.0,), data.schema, aligned=True)
    (shape,) = marginals.marginals(comparison)
    assert isinstance(shape, marginals.Histogram)
    assert (shape.scale, shape.clipped) == ("log", True)
    assert "values below 0 shown there" in columns.drawn(shape).caption
    assert math.isclose(sum(shape.copies[0]), 1.0)


def test_kept_columns_are_checked() -> None:
    content = make_content()
    assert "identical to the original in every copy" in columns.kept(content)
    spoiled = content.comparison.copies[1].copy()
    spoiled.loc[0, "party"] = "left" if spoiled.loc[0, "party"] != "left" else "right"
    comparison = Comparison(content.comparison.original, (spoiled,), content.comparison.schema, aligned=True)
    assert columns.kept(make_content(comparison=comparison)).startswith("Attention: party")


def test_kept_numbers_read_back_in_another_type_are_the_same() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "k": [1, 2, 3, 4], "b": [0, 1, 0, 1]})
    data = resolve(frame, {"x": Variable(role="replace")})
    twin = data.frame.astype({"k": float, "b": str})
    assert marginals.kept_but_changed(Comparison(data.frame, (twin,), data.schema, aligned=True)) == ()
    assert marginals.kept_but_changed(Comparison(data.frame, (twin[:3],), data.schema, aligned=True)) == ("k", "b")


def test_groups_come_in_order_of_risk_with_everyone_last() -> None:
    content = make_content()
    block = pointing(content)[1]
    (table,) = block.tables
    assert list(dict.fromkeys(row[0] for row in table.rows)) == ["low", "medium", "high", "all records"]
    assert table.rows[1] == ("low", "Matching each copy", "140", "3.5 (2.5%)", "2 (1.43%)", "2.5%")
    assert [chart.title for chart in block.charts] == [title for title, *_ in found.GROUP_MEASURES]  # type: ignore[union-attr]


def test_the_baseline_is_not_counted_as_an_attack() -> None:
    metrics = make_metrics()
    metrics["risk"]["original"] = identity(1.0)
    content = make_content(metrics=metrics)
    shown = ["Matching each copy", "Averaging the copies first", "Most likely record"]
    (table,) = pointing(content)[2].tables
    assert table.head[1:] == (found.BEFORE, *shown)
    assert "200 → 20<" in without_library(render(content))


def test_other_distances_are_shown_where_computed() -> None:
    (table,) = handed(make_content(), "utility", "pmse")[1].tables
    assert [row[2:4] for row in table.rows] == [("0.08", "0.07 to 0.09")]
    assert handed(make_content(metrics={}), "utility", "pmse")[1].tables == ()


def test_no_unique_match_is_said_instead_of_a_rate() -> None:
    (table,) = pointing(make_content())[2].tables
    row = next(row for row in table.rows if row[0].startswith("Wrong"))
    # the intruder by likelihood always names one record
    assert row[1:] == (*("no unique match",) * 3, "–")


def test_without_epsilon_none_is_claimed(page: str) -> None:
    assert "not differentially private; no epsilon is claimed" in page
    private = make_metrics()
    private["privacy"]["epsilon"] = 1.0
    assert story.epsilon(make_content(metrics=private)) == (True, "The release is differentially private with ε = 1.")


def test_bound_of_a_mask_is_the_gaussian_trade_off() -> None:
    table = story.masking(make_content())
    assert table is not None
    assert [row[3] for row in table.rows] == [
        blocks.percent(float(stats.norm.cdf(stats.norm.ppf(0.05) + 1.5))),
        "no useful bound",
        "no bound",
    ]


def test_bounds_of_masks_lead_to_their_pictures(page: str) -> None:
    assert "synthdp explore CONFIG --export regions.html" in page
    metrics = make_metrics()
    metrics["privacy"]["masking"] = [{"column": "age", "group": "low", "mu": None, "statement": "Nothing."}]
    assert "synthdp explore" not in render(make_content(metrics=metrics))


def test_masks_without_any_bound_need_no_column_for_it() -> None:
    metrics = make_metrics()
    metrics["privacy"]["masking"] = [{"column": "age", "group": "low", "mu": None, "statement": "Nothing."}]
    table = story.masking(make_content(metrics=metrics))
    assert table is not None
    assert table.rows == (("age", "low", "Nothing."),)


def test_masks_run_from_low_to_high_risk() -> None:
    lines = [MaskLine(*line, "noise") for line in (("b", "mine"), ("b", "high"), ("a", "all"), ("b", "low"))]
    masks = story.done(make_content(masks=tuple(lines))).masks
    assert masks is not None
    assert [row[:2] for row in masks.rows][:4] == [("b", "low"), ("b", "high"), ("b", "mine"), ("a", "all")]


def test_parts_of_a_stage_count_once() -> None:
    metrics = make_metrics() | {"timings": {"read": 1.0, "synthesise": 3.0, "synthesise.fit": 2.0}}
    table = story.timings(make_content(metrics=metrics))
    assert table is not None
    assert table.rows[-2:] == (("synthesise: fit", "2 s"), ("together", "4 s"))


@pytest.mark.parametrize("mask_draw", sorted(words.MASK_DRAWS))
def test_each_mask_draw_says_what_it_costs(mask_draw: str) -> None:
    shown = without_library(render(make_content(mask_draw=mask_draw)))
    assert f"<code>{mask_draw}</code>" in shown
    assert "The cost:" in shown


def test_one_column_is_said_in_the_singular() -> None:
    counts = story.done(make_content()).counts
    assert "6 were replaced by newly drawn values, 1 is released as it is, and 1 was removed." in counts
    assert "2 were removed." in story.done(make_content(dropped=("name", "street"))).counts


def test_columns_without_a_mask_are_named() -> None:
    masks = story.done(make_content()).masks
    assert masks is not None
    assert ("score", "all", "none: drawn from the model alone") in masks.rows


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "not computed"),
        (math.nan, "not computed"),
        (True, "not computed"),
        ("text", "not computed"),
        (0, "0"),
        (12, "12"),
        (1234, "1,234"),
        (-1234567.8, "−1,234,568"),
        (0.05, "0.05"),
        (0.04999, "0.0500"),
        (999.7, "1,000"),
        (0.00001234, "1.23 × 10⁻⁵"),
        (1.5e12, "1.5 × 10¹²"),
        (np.float64(2.5), "2.5"),
    ],
)
def test_number(value: Any, shown: str) -> None:
    assert blocks.number(value) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("C(sex)[T.M]", "sex = M"),
        ("C(sex, Treatment('F'))[T.M]", "sex = M"),
        ("region[T.North]:age", "region = North × age"),
        ("age:educ", "age × educ"),
        ("C(hour)[T.10:30]:C(sex)[T.M]", "hour = 10:30 × sex = M"),
        ("np.log(age)", "np.log(age)"),
    ],
)
def test_plain_term(name: str, shown: str) -> None:
    assert blocks.plain_term(name) == shown


def test_find_stops_at_whatever_is_missing() -> None:
    assert find({"a": {"b": 1}}, "a", "b") == 1
    assert find({"a": None}, "a", "b") is None
    assert find(None, "a") is None


def test_content_is_not_touched_and_its_repr_shows_no_value() -> None:
    content = make_content()
    before = copy.deepcopy(content.metrics)
    render(content)
    assert content.metrics == before
    assert repr(content) == f"ReportContent(Comparison({N} records, 3 copies))"


def test_plotly_is_imported_only_when_a_page_is_made() -> None:
    code = "import sys, synthdp.report.page; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_files_of_another_tool_show_what_differs_although_nobody_said_so() -> None:
    frame = pd.DataFrame({"x": np.arange(40.0), "g": ["a", "b"] * 20, "k": list("ccddd") * 8})
    data = resolve(frame, {})
    other = data.frame.assign(x=data.frame["x"] * 2, g="a")[::-1].reset_index(drop=True)
    comparison = Comparison(data.frame, (other,), data.schema, aligned=False)
    content = make_content(comparison=comparison, method="external", masks=())
    assert [view.figure.title for view in columns.columns(content)] == ["x", "g"]
    assert columns.kept(content).startswith("Attention: x and g should be as in the original, but differ")
    assert "role: replace" in story.done(content).counts
    assert columns.columns(make_content(comparison=comparison)) == ()
    assert "how these files were made is not known" in story.formal(content)


def test_a_check_that_could_not_be_made_is_not_over_its_limit() -> None:
    gate = make_metrics(passed=False)["gate"]
    gate["checks"] = [{"name": "max_individual", "attack": "identity", "value": None, "limit": 0.5, "passed": False}]
    verdict = decision(make_content(metrics=make_metrics() | {"gate": gate}))
    assert verdict.explanation.startswith("1 check could not be run, which counts as not passed.")
    assert verdict.worst is not None
    assert verdict.worst.rows[0][-1] == "✘ not measured"


def test_gate_names_are_said_in_words() -> None:
    assert words.attack_title("identity as 'old friend'") == "“old friend”"
    assert words.attack_title("verbatim") == "Rows copied over"
    assert words.attack_title("something else") == "something else"


def test_zeros_of_a_semicontinuous_column_are_counted() -> None:
    frame = pd.DataFrame({"x": [0.0, 0.0, 0.0, 5.5, 7.25, np.nan]})
    data = resolve(frame, {"x": Variable(kind="semicontinuous", role="replace")})
    copies = (data.frame.assign(x=[0.0, 1.5, 2.5, 5.5, 7.5, np.nan]), data.frame)
    (shape,) = marginals.marginals(Comparison(data.frame, copies, data.schema, aligned=True))
    assert isinstance(shape, marginals.Histogram)
    assert shape.zeros == pytest.approx((0.6, 0.4))
    assert "exactly 0: 60% of the original, 40% of the copies" in columns.drawn(shape).caption


def test_chains_are_told_and_only_where_there_are_some():
    assert chains(make_content()) is None
    drifting = {"column": "age", "drift": 0.1}
    copula = {"model": "copula", "sweeps": 845, "r_hat": 1.01704, "ess": 129.4, "tail_ess": 201.3}
    content = make_content(metrics=make_metrics() | {"chain": [drifting, copula]})
    assert chains(content).rows == (("copula", "845", "1.017", "129", "201"),)
    page = render(content)
    assert "How far the chains agree" in page
    nested = [copula | {"imputation": k} for k in (1, 2)] + [{"column": "x", "r_hat": 1.0, "ess": 400.0}]
    told = chains(make_content(metrics=make_metrics() | {"chain": nested})).rows
    assert [row[0] for row in told] == ["copula, completed file 1", "copula, completed file 2", "x"]
    assert told[2][1] == told[2][4] == "–"
