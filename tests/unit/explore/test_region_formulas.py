"""What the page computes in the browser is what the product computes: some hundred settings, to 1e-9."""

import itertools
import math

import numpy as np
import pytest
from browsing import computed

from synthdp.dp import gram_noise
from synthdp.dp.declarations import Budget
from synthdp.explore.regions.counts import EPSILONS, LARGEST, least_error
from synthdp.explore.regions.page import source
from synthdp.privacy.accounting import closed_forms
from synthdp.privacy.tradeoff import (
    Gaussian,
    Laplace,
    approximate,
    classical_gaussian,
    compose,
    dp_tv,
    exponential,
    gaussian_limit,
    intersect,
    pure,
    randomised_response,
    total_variation,
    utility,
)
from synthdp.privacy.tradeoff.curves import largest_tv
from synthdp.privacy.tradeoff.figures import area

ALPHAS = (0.0, 0.001, 0.05, 0.2, 0.37, 0.5, 0.63, 0.9, 0.999, 1.0)
EPS = (0.0, 0.05, 0.4, 1.0, 2.5)
SAME = {"rel": 1e-9, "abs": 1e-9}


def spread(records, levels):
    return 1 + np.arange(records) * levels // records


def balance(values, levels):
    return [-abs(int(np.sign(c - values).sum())) for c in range(1, levels + 1)]


def median(epsilon, levels, records):
    first = spread(records, levels)
    scores = [balance(x, levels) for x in (first, np.append(first[1:], levels))]
    return exponential(*scores, epsilon=epsilon, sensitivity=2)


def cases():
    """Yield kind, values and the product's curve."""
    for e, d in itertools.product((0.0, 0.1, 0.6, 1.7, 5.0), (0.0, 0.05, 0.3)):
        yield "dp", {"epsilon": e, "delta": d}, approximate(e, d)
        for share in (0.2, 0.9):
            eta = d + share * (largest_tv(e, d) - d)
            yield "dptv", {"epsilon": e, "delta": d, "eta": eta}, dp_tv(e, d, eta)
    for v in (0.0, 0.1, 0.25, 0.8):
        yield "tv", {"eta": v}, total_variation(v)
    for v in (0.01, 0.3, 1.0, 1.5, 3.0, 6.0):
        yield "gdp", {"mu": v}, Gaussian(v)
        yield "maskgdp", {"mu": v}, Gaussian(v)
        yield "gdps", {"mu": v, "times": 4}, compose(Gaussian(v), times=4)
        yield "maskdp", {"epsilon": v}, pure(v)
    for v in (0.01, 0.5, 1.0, 4.0):
        yield "laplace", {"epsilon": v}, Laplace(v)
        for d in (1e-12, 1e-5, 0.1):
            yield "gaussian", {"epsilon": v, "smallDelta": d}, classical_gaussian(v, d)
        for m in (2, 5, 100):
            yield "response", {"epsilon": v, "levels": m}, randomised_response(v, m)
            yield "exponential", {"epsilon": v, "levels": m, "records": 25}, median(v, m, 25)
    for e, d, k in itertools.product((0.05, 0.6, 1.5), (0.0, 0.05), (1, 2, 5, 30)):
        told = {"epsilon": e, "delta": d, "times": k}
        yield "basic", told, approximate(*closed_forms.basic([(e, d)] * k))
        yield "optimal", told, compose(approximate(e, d), times=k).curve
        slack = {**told, "slack": 0.01}
        yield "simplified", slack, approximate(*closed_forms.simplified([(e, d)] * k, 0.01))
        eta = d + 0.4 * (largest_tv(e, d) - d)
        yield "optimaltv", {**told, "eta": eta}, compose(dp_tv(e, d, eta), times=k).curve
    for e, k in itertools.product((0.05, 0.25, 1.0), (4, 64, 400)):
        yield "limit", {"epsilon": e, "times": k}, gaussian_limit(pure(e), times=k)
        yield "laplacelimit", {"epsilon": e, "times": k}, gaussian_limit(Laplace(e), times=k)


def test_every_curve_is_that_of_the_product(tmp_path):
    all_cases = list(cases())
    given = [[kind, values] for kind, values, _ in all_cases]
    assert len(given) >= 200
    read = """(cases) => cases.map(([kind, values]) => {
        const settings = settled(kind, values), curve = KINDS[kind].curve(settings);
        return {settings, at: ALPHAS.map((a) => curve.at(a)), delta: EPS.map((e) => curve.delta(e)), area: area(curve),
          limit: curve.gamma === undefined ? null
            : [curve.gamma, curve.mu, ...ALPHAS.map((a) => curve.lower(a)), ...ALPHAS.map((a) => curve.upper(a))]};
    })""".replace("ALPHAS", str(list(ALPHAS))).replace("EPS.", f"{list(EPS)}.")
    for (kind, values, curve), page in zip(all_cases, computed(source(), read, given, tmp_path), strict=True):
        where = kind, values
        assert page["settings"] == pytest.approx(values, rel=1e-15), where
        if page["limit"] is not None:
            expected = [curve.gamma, curve.mu, *curve.lower(ALPHAS), *curve.upper(ALPHAS)]
            assert page["limit"] == pytest.approx(expected, **SAME), where
            curve = Gaussian(curve.mu)
        inner = getattr(curve, "curve", curve)
        assert page["at"] == pytest.approx(inner(ALPHAS), **SAME), where
        assert page["delta"] == pytest.approx(inner.delta(np.array(EPS)), **SAME), where
        assert page["area"] == pytest.approx(area(inner), **SAME), where


CROSSED = (
    ((("dp", (0.6, 0.15)), ("tv", (0.25,))), intersect(approximate(0.6, 0.15), total_variation(0.25))),
    ((("dptv", (0.6, 0.15, 0.25)), ("gdp", (0.8,))), intersect(dp_tv(0.6, 0.15, 0.25), Gaussian(0.8))),
    (
        (("gdp", (1.0,)), ("laplace", (1.0,)), ("dp", (0.7, 0.01))),
        intersect(Gaussian(1.0), Laplace(1.0), approximate(0.7, 0.01)),
    ),
    (
        (("optimal", (0.6, 0.05, 2)), ("dp", (0.6, 0.24)), ("optimal", (0.0, 0.2, 2))),
        intersect(compose(approximate(0.6, 0.05), times=2).curve, approximate(0.6, 0.24),
                  compose(total_variation(0.2), times=2).curve),
    ),
)  # fmt: skip


def test_intersections_are_those_of_the_product(tmp_path):
    read = """(all) => all.map((parts) => {
        const curve = intersect(parts.map(([kind, given]) => KINDS[kind].curve(Object.fromEntries(
          KINDS[kind].parameters.map((spec, i) => [spec.key, given[i]])))));
        return [[0.01, 0.05, 0.3, 0.5, 0.8].map((a) => curve.at(a)), [0, 0.3, 1, 2].map((e) => curve.delta(e)),
          area(curve)];
    })"""
    found = computed(source(), read, [parts for parts, _ in CROSSED], tmp_path)
    for (parts, curve), (at, delta, size) in zip(CROSSED, found, strict=True):
        assert at == pytest.approx(curve([0.01, 0.05, 0.3, 0.5, 0.8]), **SAME), parts
        assert delta == pytest.approx(curve.delta(np.array([0, 0.3, 1, 2])), **SAME), parts
        assert size == pytest.approx(area(curve), **SAME), parts


def test_the_areas_are_those_of_the_source(tmp_path):
    read = """() => [
        approximate(0.6, 0.05), composedOptimal(0.6, 0.05, 5), dpTv(0.6, 0.15, 0.25), composedDpTv(0.6, 0.05, 0.2, 5),
        new Gaussian(1), new Laplace(1), approximate(...basic(0.6, 0.05, 5)), composedDpTv(0.6, 0.05, 0.15, 5),
        new Gaussian(1.5), intersect([dpTv(0.6, 0.15, 0.25), new Gaussian(0.8)]),
        intersect([composedOptimal(0.6, 0.05, 2), approximate(0.6, 0.24), composedOptimal(0, 0.2, 2)]),
        composedDpTv(0.6, 0.05, 0.2, 2),
    ].map(area)"""
    printed = [0.1802, 0.3927, 0.2066, 0.3518, 0.2602, 0.2241, 0.4733, 0.3254, 0.3556, 0.1951, 0.2641, 0.2267]
    assert computed(source(), read, None, tmp_path) == pytest.approx(printed, abs=5e-5)


def prices():
    """Yield query, settings and what each of its curves must be."""
    for e in (0.05, 0.3, 0.99, 2.0, 5.0):
        for n, k in ((100, 1), (5000, 12)):
            told = {"epsilon": e, "records": n, "bins": k}
            yield "histogram", told, [utility.histogram_error(e, k), utility.histogram_error(e, k, n)]
            for d in (1e-9, 1e-3):
                size = {"records": n, "diameter": 2.5, "dimension": k}
                expected = [utility.mean_error_analytic(e, d, **size), utility.mean_error(e, d, **size)]
                yield "mean", {"epsilon": e, "delta": d, **size}, expected
                joint, classical = (
                    k * (gram_noise.noise_of(Budget(e, d, "replace"), way, 1.0, 1.0, parts=3).cross / n) ** 2
                    if way == "joint" or e < 3
                    else None
                    for way in ("joint", "fixed")
                )
                yield "regression", {"epsilon": e, "delta": d, "records": n, "dimension": k}, [joint, classical]
                shape = {"bandwidth": 0.2, "dimension": 2}
                least = utility.density_error(e, d, records=n, **shape)
                published = least * (math.sqrt(2 * math.log(2 / d)) / e / closed_forms.analytic_ratio(e, d)) ** 2
                yield (
                    "density",
                    {"epsilon": e, "delta": d, "records": n, "bandwidth": 0.2, "axes": 2},
                    [least, published],
                )
        for m, t, n in ((20, 3, 50), (100, 20, 500), (7, 1, 1000)):
            exact = utility.median_probability(spread(n, m), e, m, t)
            told = {"epsilon": e, "ranks": m, "rank": t, "values": n}
            yield "median", told, [exact, utility.median_bound(e, m, t)]
        for m in (2, 9):
            yield "response", {"epsilon": e, "levels": m}, [utility.random_answer(e, m)]
        for n in LARGEST:
            yield "count", {"epsilon": e, "range": n}, [None, utility.count_error(e, n), utility.count_error(e)]


def test_every_price_is_that_of_the_product(tmp_path):
    all_prices = list(prices())
    read = """(all) => all.map(([query, given]) => {
        const settings = settledWindow(query, given);
        return QUERIES[query].curves.map(([, price]) => price(settings));
    })"""
    found = computed(source(), read, [[query, told] for query, told, _ in all_prices], tmp_path)
    for (query, told, expected), page in zip(all_prices, found, strict=True):
        for mine, theirs in zip(page, expected, strict=True):
            if theirs is not None:
                assert mine == pytest.approx(theirs, rel=1e-9), (query, told)


def test_the_best_count_is_read_off_its_table(tmp_path):
    # Hall's figures, by the linear programme itself
    printed = {1: 0.268941, 2: 0.459728, 5: 0.68371, 10: 0.803027}
    assert {n: least_error(1.0, n) for n in printed} == pytest.approx(printed, abs=5e-7)
    asked = [(float(e), n) for n in (1, 2, 5, 10) for e in (EPSILONS[0], 0.123, 1.0, EPSILONS[30], 3.3, 5.0)]
    found = computed(source(), "(all) => all.map(([e, n]) => optimalCount(e, n))", asked, tmp_path)
    for (e, n), value in zip(asked, found, strict=True):
        exact = least_error(e, n)
        assert value == pytest.approx(exact, rel=1e-10 if e in EPSILONS else 5e-4), (e, n)
        # no mechanism is better, and the one without an end to the range is worse
        assert value <= utility.count_error(e, n) * (1 + 5e-4) <= utility.count_error(e) * (1 + 1e-3)
