"""The k-marginal score against sums over pandas tables, and what samples score against simulated ones."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison, Request
from synthdp.evaluation.measures.usefulness import K_MARGINAL
from synthdp.evaluation.utility.classes import classify
from synthdp.evaluation.utility.k_marginal import Occupancy, evaluate_k_marginal
from synthdp.table.microdata import resolve


def people(n, seed):
    rng = np.random.default_rng(seed)
    area = rng.choice(list("abc"), n)
    sex = rng.choice(["F", "M"], n)
    work = np.where(rng.random(n) < 0.6, "yes", rng.choice(["no", "never"], n))
    age = rng.integers(0, 90, n)
    return pd.DataFrame({"area": area, "sex": sex, "work": work, "age": age})


def files(copies=2, n=300):
    data = resolve(people(n, 1), {})
    return Comparison(data.frame, tuple(people(n + 40 * k, 2 + k) for k in range(copies)), data.schema, aligned=False)


def twin(original, copy, columns, by=()):
    """Return the score, table by table."""
    apart = [
        original.value_counts([*by, *pair], normalize=True)
        .subtract(copy.value_counts([*by, *pair], normalize=True), fill_value=0)
        .abs()
        .sum()
        for pair in itertools.combinations(columns, 2)
    ]
    return 500 * (2 - np.mean(apart))


def as_classes(classes):
    return [pd.DataFrame(dict(zip(classes.names, file, strict=True))) for file in classes.files]


@pytest.mark.parametrize("by", [None, "area"])
def test_score_is_the_sum_over_tables(by):
    given = files()
    classes = classify(given)
    found = evaluate_k_marginal(classes, by=by, rng=np.random.default_rng(0))
    original, *copies = as_classes(classes)
    columns = [name for name in original.columns if name != by]
    wanted = [twin(original, copy, columns, [by] if by else []) for copy in copies]
    assert found["per_copy"] == pytest.approx(wanted)
    assert found["value"] == pytest.approx(np.mean(wanted))
    assert found["tables"] == len(columns) * (len(columns) - 1) // 2
    assert [entry["l1"] for entry in found["worst"]] == sorted((e["l1"] for e in found["worst"]), reverse=True)


def test_samples_score_what_simulated_ones_do():
    given = files(copies=1)
    classes = classify(given)
    original = as_classes(classes)[0]
    found = evaluate_k_marginal(classes, rng=np.random.default_rng(0))
    cells = np.zeros(len(original) + 1, dtype=np.int64)
    for pair in itertools.combinations(original.columns, 2):
        cells += np.bincount(original.value_counts(list(pair)), minlength=len(cells))
    held = Occupancy(cells, 6)
    rng = np.random.default_rng(3)
    for m in (3, 60, 150, 290):
        drawn = [twin(original, original.sample(m, random_state=rng), original.columns) for _ in range(60)]
        assert abs(np.mean(drawn) - held.sampled(m)) < 4 * stats.sem(drawn)
    again = [twin(original, original.sample(300, replace=True, random_state=rng), original.columns) for _ in range(60)]
    assert abs(np.mean(again) - held.replaced(300)) < 4 * stats.sem(again)
    assert found["bootstrap"] == pytest.approx(held.replaced(300))
    share = found["subsample"]
    assert held.sampled(round(share * 300)) >= found["value"] > held.sampled(round(share * 300) - 1)


def test_the_ends_of_the_scale():
    data = resolve(people(200, 1), {})
    same = Comparison(data.frame, (data.frame,), data.schema, aligned=True)
    found = evaluate_k_marginal(classify(same), rng=np.random.default_rng(0))
    assert (found["value"], found["subsample"]) == (1000.0, 1.0)
    other = data.frame.assign(sex="X", work="?", area="z", age=-1)
    apart = Comparison(data.frame, (other,), data.schema, aligned=True)
    worst = evaluate_k_marginal(classify(apart), columns=["sex", "work", "area"], rng=np.random.default_rng(0))
    assert (worst["value"], worst["subsample"]) == (0.0, None)


def test_most_tables_are_drawn_and_said():
    found = evaluate_k_marginal(classify(files()), most=2, rng=np.random.default_rng(0))
    assert found["tables"] == 2
    assert found["notes"] == ["2 of the 6 tables were drawn at random (most_tables)."]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"by": "town"}, "evaluation.subgroups: 'town' is not a column of the data; correct the name."),
        ({"columns": ["sex"]}, "k_marginal: needs two columns to cross, beside the one of evaluation.subgroups."),
    ],
)
def test_refused(settings, sentence):
    with pytest.raises(InputError) as caught:
        evaluate_k_marginal(classify(files()), rng=np.random.default_rng(0), **settings)
    assert str(caught.value) == sentence


def test_the_report_tells_the_subsample():
    given = files()
    given = Comparison(given.original, given.copies, given.schema, aligned=False, request=Request(subgroups="area"))
    section = K_MARGINAL.take(given, rng=np.random.default_rng(0)).section()
    (block,) = K_MARGINAL.blocks(section)
    assert "each crossed with area" in block.words
    assert f"score {section['value']:.1f}, as a random" in block.sentences[0]
    assert len(block.tables[0].rows) == 3
    assert K_MARGINAL.blocks([]) == ()
