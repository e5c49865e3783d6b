"""The informed intruder over shards against evaluate_bayes with the same posterior."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.bayes import evaluate_bayes
from synthdp.evaluation.sharded.likelihood import Part
from synthdp.stages.sharded import informed
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Variable

N = 1200


def made(seed: int = 1) -> tuple[Microdata, tuple[pd.DataFrame, ...]]:
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "town": draw.choice(list("AB"), N),
            "sex": draw.choice(["F", "M"], N),
            "age": np.round(draw.normal(50, 15, N)),
            "z": draw.normal(size=N),
        }
    )
    data = resolve(
        frame,
        {
            "town": Variable(key=True),
            "sex": Variable(role="replace", key=True),
            "age": Variable(role="replace", key=True, tolerance=2.0),
        },
    )
    copies = tuple(
        data.frame.assign(
            sex=np.where(draw.random(N) < 0.2, draw.choice(["F", "M"], N), data.frame["sex"]),
            age=data.frame["age"] + np.round(draw.normal(0, 5, N)),
        )
        for _ in range(3)
    )
    return data, copies


@pytest.mark.parametrize("parts", [1, 5])
def test_it_is_bayes_over_all_rows(parts: int) -> None:
    data, copies = made()
    targets = np.arange(0, N, 7)
    taught = informed.learn(data, [copies, copies], targets, rng=np.random.default_rng(2))
    town = [Part(data.schema["town"])]
    held = data.frame.iloc[targets].reset_index(drop=True)
    edges = np.linspace(0, N, parts + 1).astype(int)
    found = []
    for begin, end in pairwise(edges):
        own = np.where((targets >= begin) & (targets < end), targets - begin, -1)
        shard = [copy.iloc[begin:end].reset_index(drop=True) for copy in copies]
        found.append(informed.look(taught, town, held, shard, own))
    ours = reduce(add, found).risk(N, np.ones(len(targets), dtype=bool), informed.ONE)

    whole = taught.posterior(copies, np.arange(N))
    place = np.searchsorted(targets, np.arange(N))
    twin = evaluate_bayes(
        Comparison(data.frame, copies, data.schema, aligned=True),
        lambda some, rows: whole(place[some], rows),
        rng=np.random.default_rng(3),
        targets=targets,
    )
    np.testing.assert_allclose(ours.individual, twin.individual[targets], rtol=1e-9)
    np.testing.assert_allclose(ours.confidence, twin.confidence[targets], rtol=1e-9)
    np.testing.assert_allclose(ours.right, twin.right[targets])
    assert ours.predicted_links == pytest.approx(twin.predicted_links)


def test_rows_under_a_narrow_mask_are_read_by_their_own_law() -> None:
    data, _ = made()
    draw = np.random.default_rng(3)
    groups = (np.arange(N) % 2).astype(np.int64)
    narrow = np.where(groups == 1, 0.5, 20.0)
    copies = tuple(data.frame.assign(age=data.frame["age"] + draw.normal(0, narrow)) for _ in range(2))
    targets = np.arange(1, 200, 2)
    held = data.frame.iloc[targets].reset_index(drop=True)
    found = []
    for known in (None, groups):
        taught = informed.learn(data, [copies], targets, rng=np.random.default_rng(2), groups=known)
        weighed = informed.look(taught, [], held, copies, targets, known)
        found.append(weighed.risk(N, np.ones(len(targets), dtype=bool), informed.ONE).mean_posterior)
    assert found[1] > 2 * found[0]
