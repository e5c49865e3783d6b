"""Pictures of regions: what lies in front, and that every curve drawn is the curve computed."""

import math

import numpy as np
import pytest

from reports.regions import study
from synthdp.errors import InputError
from synthdp.privacy.tradeoff import Gaussian, Laplace, approximate, compose, pure
from synthdp.privacy.tradeoff.figures import Region, area, crossing, outline, regions, window
from synthdp.privacy.tradeoff.gallery import gallery, pictures

ONE, TWO = Region("small", pure(0.3)), Region("large", pure(2.0))


def test_larger_regions_lie_behind_and_the_chosen_one_in_front():
    assert [trace.name for trace in regions([ONE, TWO]).data] == ["large", "small", "nothing learnt"]
    assert [trace.name for trace in regions([ONE, TWO], selected="large").data][:2] == ["small", "large"]
    with pytest.raises(InputError, match="selected: no region is called other; there are small, large"):
        regions([ONE, TWO], selected="other")


def test_area():
    # the region of ε-DP is half of Hall's rhombus, whose area is tanh(ε/2) (digest 001, 2.8)
    for eps, rhombus in ((0.05, 0.024995), (0.5, 0.244919), (1.0, 0.462117), (5.0, 0.986614)):
        assert area(pure(eps)) == pytest.approx(rhombus / 2, abs=5e-7)
        assert rhombus == pytest.approx(math.tanh(eps / 2), abs=5e-7)
    assert area(Gaussian(1e-9)) == pytest.approx(0, abs=1e-6)
    assert area(approximate(0.0, 1.0)) == pytest.approx(0.5)


def test_outlines_lie_on_their_curves():
    for curve in (Laplace(1.0), approximate(0.6, 0.05), compose(Laplace(0.1), times=9), compose(pure(0.1), times=9)):
        alpha, beta = outline(curve)
        inside = beta < 1
        assert beta[inside] == pytest.approx(curve(alpha[inside]), abs=1e-12)
        assert (alpha[0], beta[0], alpha[-1], beta[-1]) == pytest.approx((0, 1, 1, 0), abs=1e-12)


def test_a_region_can_be_renamed_and_crossed():
    assert ONE.renamed("new").name == "new"
    both = crossing("both", ONE, Region("smooth", Gaussian(1.0)))
    assert both.name == "both"
    assert float(both.curve(0.2)) == pytest.approx(max(float(pure(0.3)(0.2)), float(Gaussian(1.0)(0.2))))


def test_all_figures_of_the_digest_are_drawn():
    assert len(gallery()) == 11
    drawn = pictures()
    assert len(drawn) == 15
    for figure in drawn.values():
        assert all(np.isfinite(np.asarray(trace.y, dtype=float)).all() for trace in figure.data)
    # (0.6, 0.05)-DP has its corner on the line FP = FN at (1 − δ)/(1 + e^ε)
    corner = 0.95 / (1 + math.exp(0.6))
    assert corner == pytest.approx(float(np.asarray(drawn["(0.6, 0.05)-DP"].data[0].x)[2]), abs=1e-6)


def test_the_dotted_line_stands_where_the_parameter_is():
    values = np.linspace(0.5, 2, 4)
    figure = window(ONE, {"cost": lambda e: 1 / e}, values=values, current=1.5, parameter="ε", cost="cost")
    assert figure.layout.shapes[0].x0 == 1.5
    assert list(figure.data[0].y) == pytest.approx(list(1 / values))
    with pytest.raises(InputError, match=r"current: must lie in \[0.5, 2\], found 3"):
        window(ONE, {}, values=values, current=3.0, parameter="ε", cost="cost")


def test_the_areas_are_those_of_the_source():
    found = {(title, one.name): area(one.curve) for title, shown in gallery().items() for one in shown}
    beside, crossed, twice = list(gallery())[3], list(gallery())[4], list(gallery())[-1]
    expected = {
        (beside, "1.5-GDP"): 0.3556,
        (crossed, "Intersection"): 0.1951,
        (twice, "hypothesis: all three at once"): 0.2641,
        (twice, "true: composed together"): 0.2267,
    }
    for which, value in expected.items():
        assert found[which] == pytest.approx(value, abs=5e-5), which
    # Najib (2025), Proposition 55: (0.6, 0.05)-DP and 0.2-TV composed are (0.6, 1 − 0.95·0.8)-DP, exactly
    mixed = next(one for one in gallery()[twice] if "0.24" in one.name)
    alpha = np.linspace(0, 1, 201)
    assert mixed.curve(alpha) == pytest.approx(approximate(0.6, 0.24)(alpha), abs=1e-12)


@pytest.mark.slow
def test_the_study_writes_its_page(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "FOLDS", (4, 16))
    results = study.STUDY.run(out=tmp_path)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"README.md", "results.json", "cells.jsonl", "regions.svg", "regions.html"}
    found = {(row["summand"], row["k"]): row for row in results["limits"]}
    assert all(row["largest_gap"] < row["gamma"] for row in found.values())
    assert found["(1/√k)-DP", 16]["gap_to_1-GDP"] < 0.01
