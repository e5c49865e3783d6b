"""Splits of a file: sizes, and whole clusters on one side."""

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.comparison import Comparison, clusters, folds, halves, split
from synthdp.table.microdata import resolve
from synthdp.table.schema import Schema


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_share_of_the_records(share):
    held = split(1000, share=share, cluster=None, rng=rng())
    assert held.sum() == round(1000 * share)
    assert not np.array_equal(held, split(1000, share=share, cluster=None, rng=rng(2)))
    assert np.array_equal(held, split(1000, share=share, cluster=None, rng=rng()))


def test_every_record_is_held_out_equally_often():
    times = sum(split(20, share=0.25, cluster=None, rng=rng(seed)).astype(int) for seed in range(2000))
    # binomial with p = 1/4: four standard errors
    assert np.abs(times / 2000 - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / 2000)


def test_clusters_stay_together():
    cluster = rng().integers(0, 200, 1000)
    cluster[:50] = -1
    held = split(1000, share=0.3, cluster=cluster, rng=rng())
    for one in range(200):
        assert len(np.unique(held[cluster == one])) <= 1
    assert 0 < held[:50].sum() < 50  # records without a cluster go one by one
    assert abs(held.sum() - 300) <= 10


def test_a_single_cluster_and_two():
    assert split(4, share=0.5, cluster=np.zeros(4, dtype=int), rng=rng()).all()
    assert split(4, share=0.99, cluster=np.array([0, 0, 1, 1]), rng=rng()).sum() == 2


@pytest.mark.parametrize("cluster", [None, np.repeat(np.arange(40), 3), np.r_[np.zeros(60, int), np.full(60, -1)]])
def test_folds(cluster):
    found = folds(120, parts=3, cluster=cluster, rng=rng())
    sizes = np.bincount(found, minlength=3)
    assert sizes.sum() == 120
    assert sizes.max() <= 60
    if cluster is not None:
        assert all(len(np.unique(found[cluster == one])) == 1 for one in np.unique(cluster) if one >= 0)


def test_the_cluster_of_the_data():
    frame = pd.DataFrame({"house": ["u", "u", "v", None], "x": [1.0, 2.0, 3.0, 4.0]})
    schema = resolve(frame, {}).schema
    assert clusters(Comparison(frame, (frame,), schema, aligned=True)) is None
    columns = tuple(c.model_copy(update={"design": "cluster" if c.name == "house" else None}) for c in schema.columns)
    known = Comparison(frame, (frame,), Schema(columns=columns), aligned=True)
    assert clusters(known).tolist() == [0, 0, 1, -1]
    assert all(mask[0] == mask[1] for mask in halves(known, rng=rng()).masks)
