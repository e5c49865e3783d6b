"""An answer is a noisy count and what follows from it: one record moves a count by one, and nothing else goes out."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.errors import InputError
from synthdp.privacy.ledger import Ledger
from synthdp.privacy.mechanisms import Simulated
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.verification import parse_request, verify_analysis
from synthdp.verification.answering import noise_of
from synthdp.verification.believing import Belief, answer_of
from synthdp.verification.blocks import agreements, bits, dealt
from synthdp.verification.imagined import check, declared

SCHEMA = {
    "income": Variable(kind="continuous", bounds=(0, 5000), decimals=2),
    "age": Variable(kind="count", bounds=(18, 90)),
    "sex": Variable(levels=("F", "M")),
    "smoker": Variable(kind="binary", levels=(0, 1)),
}
QUESTIONS = [
    {"ask": "within", "term": "age", "estimate": 20.0, "margin": 1.0},
    {"ask": "within", "term": "age", "estimate": 20.0, "margin": 1.0, "method": "fixed"},
    {"ask": "within", "term": "age", "estimate": 20.0, "margin": 1.0, "method": "inflated"},
    {"ask": "sign", "term": "C(sex)[T.M]", "sign": "positive"},
    {"ask": "sign", "term": "C(sex)[T.M]", "sign": "negative"},
    {"ask": "overlap", "term": "age", "low": 19.0, "high": 21.0},
]


def people(n, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(18, 90, n), "sex": rng.choice(["F", "M"], n)})
    frame["smoker"] = (rng.random(n) < 0.3).astype(int)
    frame["income"] = (1000 + 20 * frame.age + 100 * (frame.sex == "M") + rng.normal(0, 300, n)).clip(0, 5000).round(2)
    return frame


def asked(questions=QUESTIONS, **more):
    given = {"model": "ols", "formula": "income ~ age + C(sex)", "epsilon": 1.0, "blocks": 20, "questions": questions}
    return parse_request({**given, **more})


def counted(request, frame, seed=3, *, replacing=True):
    data = resolve(frame, SCHEMA)
    terms = check(request, SCHEMA)
    places = dealt(len(data), request.blocks, replacing=replacing, rng=np.random.default_rng(seed))
    return agreements(request, declared(data, request.columns(), SCHEMA), terms, places)


def test_a_record_moves_each_count_by_one_at_most():
    request, frame = asked(blocks=30), people(150)
    rng = np.random.default_rng(4)
    base, moved = counted(request, frame), 0
    for _ in range(12):
        other = frame.copy()
        row = int(rng.integers(len(frame)))
        # the other record is as strange as the declared domain allows
        other.loc[row, ["age", "sex", "income"]] = [rng.choice([18, 90]), rng.choice(["F", "M"]), rng.choice([0, 5000])]
        difference = np.abs(counted(request, other) - base)
        assert difference.max() <= 1
        moved += int(difference.sum())
    assert moved > 0


def test_without_the_number_of_records_one_more_changes_no_other_block():
    rng, again = np.random.default_rng(1), np.random.default_rng(1)
    few, more = (dealt(size, 9, replacing=False, rng=each) for size, each in ((50, rng), (51, again)))
    np.testing.assert_array_equal(few, more[:50])
    sizes = np.bincount(dealt(53, 9, replacing=True, rng=rng))
    assert sizes.max() - sizes.min() <= 1


def test_types_follow_from_the_declarations_and_from_no_record():
    """One record must not change how all others are read: 0/1 stays a number, text stays text, gaps or not."""
    frame = people(60)
    gap = frame.astype({"smoker": float})
    gap.loc[0, "smoker"] = np.nan
    gap.loc[0, "sex"] = None
    one, two = (declared(resolve(each, SCHEMA), ["smoker", "sex", "age"], SCHEMA) for each in (frame, gap))
    assert (one.dtypes == two.dtypes).all()
    pd.testing.assert_frame_equal(one.iloc[1:], two.iloc[1:])
    assert two["smoker"].isna().sum() == two["sex"].isna().sum() == 1


def test_what_cannot_be_computed_is_a_no_and_nothing_is_said():
    request = asked(blocks=20)
    few = counted(request, people(25))  # one or two records in a block
    np.testing.assert_array_equal(few, 0)
    alone = people(400).assign(sex="F")
    np.testing.assert_array_equal(counted(request, alone), 0)
    logit = asked([{"ask": "sign", "term": "age", "sign": "positive"}], model="logit", formula="smoker ~ age")
    separated = people(400).assign(smoker=lambda f: (f.age > 50).astype(int))
    np.testing.assert_array_equal(counted(logit, separated), 0)
    data = resolve(people(25), SCHEMA)
    answers = [
        verify_analysis(request, each, SCHEMA, source=Simulated(np.random.default_rng(8)))[0]
        for each in (data, resolve(people(25).assign(sex="F"), SCHEMA))
    ]
    assert answers[0].text() == answers[1].text()


def test_bits_by_hand():
    frame = pd.DataFrame({"income": [0.0, 1.0, 2.0, 3.5], "age": [18.0, 19.0, 20.0, 21.0]})
    request = asked([{"ask": "sign", "term": "age", "sign": "positive"}], formula="income ~ age")
    from synthdp.inference.analyses import Analysis

    found = Analysis(name="a", model="ols", formula="income ~ age").estimate(frame)  # a slope of 1.15
    within = {"ask": "within", "term": "age", "estimate": 1.0}

    def seen(**question):
        (one,) = asked([question]).questions
        return bits(one, found, 25)

    assert bits(request.questions[0], found, 25) == (True,)
    assert seen(ask="sign", term="age", sign="negative") == (False,)
    assert seen(**within, margin=0.1, method="fixed") == (False,)
    assert seen(**within, margin=0.04, method="inflated") == (True,)
    assert seen(**within, margin=0.1) == (True, False)
    assert seen(**within, margin=0.2) == (True, True)
    assert seen(ask="overlap", term="age", low=1.0, high=1.2) == (True,)
    assert seen(ask="overlap", term="age", low=1.1, high=1.3) == (False,)


@pytest.mark.parametrize("noisy", [-3, 0, 7, 20, 26])
def test_the_posterior_is_the_one_found_by_brute_force(noisy):
    belief = Belief(noisy, 20, 2.5)
    r = (np.arange(20_000) + 0.5) / 20_000
    counts = np.arange(21)
    likelihood = stats.binom.pmf(counts[:, None], 20, r) * np.exp(-np.abs(noisy - counts) / 2.5)[:, None]
    density = likelihood.sum(axis=0)
    density /= density.sum()
    assert belief.mean() == pytest.approx(density @ r, abs=1e-6)
    assert belief.more_than(0.5) == pytest.approx(density[r > 0.5].sum(), abs=1e-4)
    low, high = belief.interval(0.9)
    assert density[r < low].sum() == pytest.approx(0.05, abs=1e-3)
    assert density[r > high].sum() == pytest.approx(0.05, abs=1e-3)
    d = math.sqrt(20) * stats.norm.ppf(r)
    overlap = 1 - np.abs(d) / (2 * stats.norm.ppf(0.95))
    assert belief.overlapping(0.4, 0.9) == pytest.approx(density[overlap > 0.4].sum(), abs=1e-3)
    assert belief.overlapping_before(0.4, 0.9) == pytest.approx((overlap > 0.4).mean(), abs=1e-3)


def test_the_posterior_is_calibrated():
    rng = np.random.default_rng(11)
    ranks = []
    for _ in range(2000):
        r = rng.random()
        noise = rng.geometric(1 - math.exp(-1 / 2), 2) - 1
        ranks.append(Belief(int(rng.binomial(25, r) + noise[0] - noise[1]), 25, 2.0).below(r))
    assert stats.kstest(ranks, "uniform").pvalue > 1e-3


def test_the_noise_pays_for_every_count():
    request = asked()
    assert len(request.questions) == 6
    assert noise_of(request, "replace").sensitivity.value == 7  # "sides" counts twice
    assert noise_of(request, "replace").epsilon <= 1.0
    assert noise_of(asked(QUESTIONS[3:4]), "add_remove").scale == pytest.approx(1.0)


def test_a_plain_truth_is_found_and_a_plain_lie_refused():
    data = resolve(people(20_000), SCHEMA)
    found, entry = verify_analysis(
        asked(blocks=50, epsilon=8.0), data, SCHEMA, source=Simulated(np.random.default_rng(1))
    )
    answers = [answer["answer"] for answer in found.answers()]
    assert entry is None
    assert answers[0] == "yes"
    assert answers[2:5] == ["yes", "yes", "no"]
    assert answers[5] != "no"
    lie = [
        {"ask": "within", "term": "age", "estimate": 22.0, "margin": 1.0},
        {"ask": "overlap", "term": "age", "low": 21.0, "high": 22.0},
    ]
    found, _ = verify_analysis(
        asked(lie, blocks=50, epsilon=8.0), data, SCHEMA, source=Simulated(np.random.default_rng(1))
    )
    assert [answer["answer"] for answer in found.answers()] == ["no", "no"]
    assert [answer_of(p) for p in (0.96, 0.5, 0.04)] == ["yes", "undecided", "no"]


def test_the_answer_holds_nothing_but_noisy_counts_and_what_is_public():
    data = resolve(people(300), SCHEMA)
    found, _ = verify_analysis(asked(epsilon=0.1), data, SCHEMA, source=Simulated(np.random.default_rng(1)))
    contents = found.contents()
    assert set(contents) == {
        "version", "request", "model", "formula", "blocks", "noise", "answers", "privacy", "notes"
    }  # fmt: skip
    assert contents["privacy"]["epsilon"] == 0.1
    assert any("mostly noise" in note for note in contents["notes"])
    assert any("about 15 records" in note for note in contents["notes"])
    rebuilt = type(found)(found.request, found.counts, found.noise, found.adjacency, found.source, found.records)
    assert rebuilt.text() == found.text()
    hidden, _ = verify_analysis(
        asked(), data, SCHEMA, adjacency="add_remove", source=Simulated(np.random.default_rng(1))
    )
    assert not any("records" in note for note in hidden.contents()["notes"])


def test_secure_noise_is_the_default(tmp_path):
    data = resolve(people(100), SCHEMA)
    ledger = Ledger(tmp_path / "ledger", "x")
    ledger.create(epsilon=1.5)
    found, entry = verify_analysis(asked(QUESTIONS[3:4], blocks=5), data, SCHEMA, ledger=ledger)
    assert found.source == entry.source == "secure"
    assert entry.epsilon == 1.0
    with pytest.raises(InputError, match="over the cap"):
        verify_analysis(asked(QUESTIONS[3:4], blocks=5), data, SCHEMA, ledger=ledger)
    assert len(ledger.account().entries) == 1
