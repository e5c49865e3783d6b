"""Repair leaves no true match and says what it touched."""

import numpy as np
import pandas as pd

from synthdp.synthesis.making import _true_matches, repair
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable


def people(n: int = 60) -> tuple:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.integers(20, 80, n), "z": rng.normal(size=n)})
    data = resolve(
        frame,
        {
            "sex": Variable(role="replace", key=True),
            "age": Variable(role="replace", key=True, tolerance=1),
            "z": Variable(role="keep"),
        },
    )
    return data, rng


def test_a_raw_file_has_no_true_match_after_repair():
    data, _ = people()
    before = _true_matches(data, data.schema.keys(), [data.frame, data.frame])
    fixed = repair(data, [data.frame, data.frame])
    assert before.sum() > 5
    assert fixed.left == 0
    assert fixed.touched >= before.sum() / 2
    assert not _true_matches(data, data.schema.keys(), list(fixed.copies)).any()


def test_only_the_keys_of_touched_records_change_and_dtypes_stay():
    data, _ = people()
    fixed = repair(data, [data.frame])
    copy = fixed.copies[0]
    assert (copy.dtypes == data.frame.dtypes).all()
    pd.testing.assert_series_equal(copy["z"], data.frame["z"])
    changed = (copy[["sex", "age"]] != data.frame[["sex", "age"]]).any(axis=1)
    assert changed.sum() <= fixed.touched
    # a taker has the keys of somebody who exists
    pairs = set(map(tuple, data.frame[["sex", "age"]].to_numpy()))
    assert set(map(tuple, copy[["sex", "age"]].to_numpy())) <= pairs


def test_shuffled_keys_need_next_to_no_repair():
    data, rng = people()
    order = rng.permutation(len(data))
    copy = data.frame.assign(sex=data.frame["sex"].to_numpy()[order], age=data.frame["age"].to_numpy()[order])
    fixed = repair(data, [copy])
    assert fixed.touched <= 3
    assert fixed.left == 0


def test_the_input_is_left_alone():
    data, _ = people()
    given = data.frame.copy()
    repair(data, [given])
    pd.testing.assert_frame_equal(given, data.frame)


def test_kept_keys_cannot_be_repaired():
    frame = pd.DataFrame({"age": [20, 40, 60], "x": [1.0, 2.0, 3.0]})
    data = resolve(frame, {"age": Variable(key=True, tolerance=1), "x": Variable(role="replace")})
    fixed = repair(data, [frame])
    assert fixed.touched == 0
    assert fixed.left == 3
