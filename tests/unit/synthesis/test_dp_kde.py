"""Copies from a private density: their law, price and refusals; its audit is that of the density itself."""

import numpy as np
import pandas as pd
import pytest

from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.privacy.accounting.accountants import cost
from synthdp.privacy.events import Approximate, Pure
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.curve import DpKde
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

TWO = {
    "age": Variable(role="replace", key=True, bounds=(18, 90), decimals=0),
    "income": Variable(role="replace", kind="continuous", bounds=(0, 100), decimals=1),
}
KERNELS = [("gaussian", 1e-6), ("sobolev", 1e-6), ("fourier", 0.0), (None, 0.0), (None, 1e-6)]


def people(n=800, seed=1):
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(rng.normal(50, 12, n)), 18, 90).astype(int)
    income = np.round(np.clip(30 + 0.5 * (age - 50) + rng.normal(0, 8, n), 0, 100), 1)
    return pd.DataFrame({"age": age, "income": income})


def plan(frame=None, variables=None, **more):
    data = resolve(people() if frame is None else frame, TWO if variables is None else variables)
    return Plan(data, tag(data, Neighbours()), **more)


def settings(**more):
    return DpKde(source="simulated", **more)


@pytest.mark.parametrize(("kernel", "delta"), KERNELS)
def test_copies_are_files_like_the_original(kernel, delta):
    given, method = plan(), settings(kernel=kernel, delta=delta, copies=2)
    assert method.problems(given) == []
    one, again = (method.synthesize(given, streams=Streams(7)) for _ in range(2))
    assert len(one.copies) == 2
    for first, second in zip(one.copies, again.copies, strict=True):
        pd.testing.assert_frame_equal(first, second)
        assert (first.dtypes == given.data.frame.dtypes).all()
        assert first["age"].between(18, 90).all()
        assert (first["income"] * 10 % 1).round(6).isin([0, 1]).all()
        assert len(first) == 800
    assert not one.copies[0].equals(one.copies[1])
    more = method.model_copy(update={"copies": 4}).synthesize(given, streams=Streams(7)).copies
    pd.testing.assert_frame_equal(more[1], one.copies[1])
    assert one.rule == "raab2016"


@pytest.mark.parametrize(("kernel", "delta"), KERNELS)
def test_the_price_is_the_claim(kernel, delta):
    made = settings(kernel=kernel, delta=delta, epsilon=0.5, copies=1).synthesize(plan(), streams=Streams(1)).privacy
    assert made.event == (Approximate(0.5, delta) if delta else Pure(0.5))
    assert cost(made.event, delta).epsilon == pytest.approx(0.5)
    assert (made.epsilon, made.delta, made.adjacency) == (0.5, delta, "replace")
    looked = settings(kernel=kernel, delta=delta).synthesize(plan(selection="the gate looked"), streams=Streams(1))
    assert looked.privacy.section()["epsilon"] is None


def test_much_budget_gives_margins_and_association():
    given = plan(people(8000))
    copy = settings(epsilon=500.0, delta=1e-6, copies=1).synthesize(given, streams=Streams(3)).copies[0]
    original = given.data.frame
    for name, bandwidth in (("age", 4.0), ("income", 5.6)):
        se = original[name].std() * np.sqrt(2 / 8000)
        assert abs(copy[name].mean() - original[name].mean()) < 4 * se + 0.5
        assert copy[name].std() == pytest.approx(np.hypot(original[name].std(), bandwidth), rel=0.06)
    assert copy.corr().iloc[0, 1] > 0.7 * original.corr().iloc[0, 1]


def test_single_values_keep_their_shares():
    """As many bins as whole numbers: ends are not halved, and odd bins hold what they should."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.integers(18, 91, 20_000)})
    method = settings(epsilon=500.0, delta=1e-6, bins=73, copies=1, bandwidth={"age": 0.5})
    given = plan(frame, {"age": TWO["age"]})
    seen = np.bincount(method.synthesize(given, streams=Streams(1)).copies[0]["age"], minlength=91)[19:90] / 20_000
    assert np.abs(seen - 1 / 73).max() < 5 * np.sqrt(2 / 73 / 20_000)


def test_safe_noise_cannot_be_repeated():
    method = DpKde(copies=1, epsilon=2.0)
    assert method.source == "secure"
    one, two = (method.synthesize(plan(), streams=Streams(7)) for _ in range(2))
    assert not one.copies[0].equals(two.copies[0])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_too_much_noise_is_said_from_public_numbers_alone(delta):
    small, large = (settings(epsilon=e, delta=delta).notes(plan()) for e in (1e-3, 1e4))
    assert large == []
    assert "the copies are mostly noise. Raise epsilon, or the bandwidth." in small[0]
    assert settings(epsilon=1e-3, delta=delta).notes(plan(people(seed=2))) == small


@pytest.mark.parametrize(
    ("method", "variables", "sentence"),
    [
        (
            settings(),
            {**TWO, "kids": Variable(role="replace", kind="count", bounds=(0, 9))},
            "synthesis: dp_kde takes one or two columns, found 3; drop the others, or use dp_mst.",
        ),
        (
            settings(),
            {"age": Variable(role="replace", levels=tuple(range(18, 91)))},
            "variables.age: dp_kde takes numbers without a heap at 0, not nominal; use dp_histogram.",
        ),
        (
            settings(),
            {"age": TWO["age"], "income": Variable(role="replace", kind="semicontinuous", bounds=(0, 100), decimals=1)},
            "variables.income: dp_kde takes numbers without a heap at 0, not semicontinuous; use dp_histogram.",
        ),
        (
            settings(missing=("age",)),
            TWO,
            "synthesis.missing: a density has no place for missing values of age; use dp_histogram.",
        ),
        (settings(bandwidth={"agee": 2.0}), TWO, "synthesis.bandwidth: no column named 'agee'."),
        (
            settings(bandwidth={"age": 0.01}),
            TWO,
            "synthesis.bandwidth.age: must be at least 0.282 for these bounds, found 0.01.",
        ),
        (
            settings(kernel="gaussian"),
            TWO,
            "synthesis.delta: kernel gaussian needs one above 0, such as 1e-6; fourier takes 0.",
        ),
        (
            settings(),
            {"age": Variable(role="replace"), "income": TWO["income"]},
            "variables.age.bounds: a DP method needs them declared, as bounds read off the data are not private.",
        ),
        (
            settings(),
            {"age": Variable(role="keep", bounds=(18, 90)), "income": TWO["income"]},
            "variables.age: a kept column is released as it is, which is not DP; replace or drop it.",
        ),
        (
            settings(adjacency="add_remove"),
            TWO,
            "synthesis.adjacency: copies have as many records as the original, so their number is public; use replace.",
        ),
    ],
)
def test_what_does_not_fit_is_refused(method, variables, sentence):
    frame = people()
    if "kids" in variables:
        frame["kids"] = np.arange(len(frame)) % 4
    assert sentence in method.problems(plan(frame[list(variables)], variables))


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ({"epsilon": 0}, "synthesis.epsilon: must be greater than 0."),
        ({"bandwidth": {"age": 0}}, "synthesis.bandwidth.age: must be greater than 0."),
        ({"bandwidth": "silverman"}, "synthesis.bandwidth: must be"),
        ({"kernel": "uniform"}, "synthesis.kernel: must be"),
    ],
)
def test_settings_that_make_no_sense(raw, sentence):
    with pytest.raises(InputError) as error:
        parse({"data": {"path": "x.csv"}, "synthesis": {"method": "dp_kde", **raw}})
    assert error.value.problems[0].startswith(sentence)
