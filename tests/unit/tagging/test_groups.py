"""Risk groups against plain Python that follows the seed's rule word by word."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from synthdp.errors import InputError
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, Rules, tag

KEYS = {
    "sex": Variable(kind="binary", key=True, levels=("F", "M")),
    "site": Variable(kind="nominal", key=True, levels=(1, 2)),
    "age": Variable(kind="continuous", key=True, tolerance=3),
    "income": Variable(kind="continuous", key=True, tolerance=0.5),
    "note": Variable(kind="nominal"),
}


def equal(a: object, b: object) -> bool:
    return bool(pd.isna(a) and pd.isna(b)) or a == b


def close(a: float, b: float, tolerance: float) -> bool:
    return bool(pd.isna(a) and pd.isna(b)) or abs(a - b) <= tolerance


def tag_plainly(data: Microdata, k: int) -> tuple[list[str], list[int]]:
    labels, counts = [], []
    categorical = [key for key in data.schema.keys() if key.kind.categorical]
    numeric = [key for key in data.schema.keys() if not key.kind.categorical]
    rows = [row for _, row in data.frame.iterrows()]
    for i, one in enumerate(rows):
        sharing = [
            other
            for j, other in enumerate(rows)
            if j != i and all(equal(one[key.name], other[key.name]) for key in categorical)
        ]
        near = [
            other for other in sharing if all(close(one[key.name], other[key.name], key.tolerance) for key in numeric)
        ]
        labels.append("low" if len(near) >= k else "medium" if len(sharing) >= k else "high")
        counts.append(len(near) + 1)
    return labels, counts


@st.composite
def tables(draw: st.DrawFn) -> Microdata:
    n = draw(st.integers(1, 40))
    values = {
        "sex": st.sampled_from(["F", "M", None]),
        "site": st.sampled_from([1, 2]),
        "age": st.sampled_from([20.0, 22.0, 23.0, 30.0, np.nan]),
        "income": st.sampled_from([0.0, 0.4, 0.5, 1.0]),
    }
    used = draw(st.lists(st.sampled_from(list(values)), unique=True, min_size=1))
    frame = pd.DataFrame({name: draw(st.lists(values[name], min_size=n, max_size=n)) for name in used})
    for name in used:  # a key that is missing everywhere is refused before tagging
        frame.loc[0, name] = {"sex": "F", "site": 1, "age": 20.0, "income": 0.0}[name]
    return resolve(frame, {name: KEYS[name] for name in used})


@given(tables(), st.integers(1, 6))
def test_follows_the_rule(data: Microdata, k: int) -> None:
    tags = tag(data, Neighbours(k=k))
    labels, counts = tag_plainly(data, k)
    assert tags.labels.tolist() == labels
    assert tags.neighbours.tolist() == counts


def test_k_others_not_counting_oneself() -> None:
    data = resolve(pd.DataFrame({"age": [30.0, 31.0, 32.0, 80.0]}), {"age": KEYS["age"]})
    assert tag(data, Neighbours(k=2)).labels.tolist() == ["low", "low", "low", "medium"]
    assert tag(data, Neighbours(k=3)).labels.tolist() == ["medium"] * 4
    assert tag(data, Neighbours(k=4)).labels.tolist() == ["high"] * 4


def test_a_record_with_a_missing_number_still_shares_the_categories() -> None:
    frame = pd.DataFrame({"sex": ["F"] * 4 + ["M"], "age": [30.0, 30.0, 30.0, np.nan, 30.0]})
    tags = tag(resolve(frame, {"sex": KEYS["sex"], "age": KEYS["age"]}), Neighbours(k=2))
    assert tags.labels.tolist() == ["low", "low", "low", "medium", "high"]
    assert tags.neighbours.tolist() == [3, 3, 3, 1, 1]


def test_labels_are_ordered_from_low_to_high() -> None:
    data = resolve(pd.DataFrame({"age": [30.0, 80.0]}), {"age": KEYS["age"]})
    labels = tag(data, Neighbours()).labels
    assert labels.cat.ordered
    assert labels.cat.categories.tolist() == ["low", "medium", "high"]


@pytest.mark.parametrize("settings", [None, Neighbours()])
def test_without_keys_everyone_is_low_and_that_is_no_secret(settings: Neighbours | None) -> None:
    tags = tag(resolve(pd.DataFrame({"age": [30.0, 80.0]}), {}), settings)
    assert tags.labels.tolist() == ["low", "low"]
    assert tags.neighbours.tolist() == [2, 2]
    assert tags.public


def test_without_settings_neighbours_are_still_counted() -> None:
    tags = tag(resolve(pd.DataFrame({"age": [30.0, 80.0, 81.0]}), {"age": KEYS["age"]}), None)
    assert tags.labels.tolist() == ["low"] * 3
    assert tags.neighbours.tolist() == [1, 2, 2]


def test_public_is_what_the_user_declares() -> None:
    data = resolve(pd.DataFrame({"age": [30.0, 80.0]}), {"age": KEYS["age"]})
    assert not tag(data, Neighbours()).public
    assert tag(data, Neighbours(public=True)).public
    assert not tag(data, Rules(rules={"high": "age > 70"})).public
    assert tag(data, Rules(rules={"high": "age > 70"}, public=True)).public


def test_the_first_rule_that_holds_decides() -> None:
    data = resolve(pd.DataFrame({"age": [30.0, 80.0, 90.0, np.nan]}), {"age": KEYS["age"]})
    tags = tag(data, Rules(rules={"oldest": "age > 85", "old": "age > 75", "unknown": "isnull(age)"}))
    assert tags.labels.tolist() == ["low", "old", "oldest", "unknown"]
    assert tags.labels.cat.categories.tolist() == ["low", "oldest", "old", "unknown"]
    assert tags.neighbours.tolist() == [1, 1, 1, 1]


def test_a_rule_may_say_who_is_low() -> None:
    data = resolve(pd.DataFrame({"age": [30.0, 80.0, 90.0]}), {})
    tags = tag(data, Rules(rules={"low": "age < 40", "high": "age < 85"}))
    assert tags.labels.tolist() == ["low", "high", "low"]


def test_rules_that_cannot_be_applied() -> None:
    data = resolve(pd.DataFrame({"age": [30.0, 80.0]}), {})
    with pytest.raises(InputError, match=r"^groups\.rules\.high: expression 'agee > 3': no column 'agee'; the nearest"):
        tag(data, Rules(rules={"high": "agee > 3"}))
    with pytest.raises(InputError, match=r"^groups\.rules\.high: must be true or false for each record"):
        tag(data, Rules(rules={"high": "age + 3"}))


def test_rules_that_cannot_be_read_are_refused_by_the_settings() -> None:
    with pytest.raises(ValidationError, match="cannot be read"):
        Rules(rules={"high": "age >"})
    with pytest.raises(ValidationError, match="at least 1"):
        Rules(rules={})
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Neighbours(k=0)


def test_repr_shows_no_values() -> None:
    data = resolve(pd.DataFrame({"age": [30.25, 80.25]}), {"age": KEYS["age"]})
    assert repr(tag(data, Neighbours())) == "Tags(2 records, groups low, medium, high)"


def test_settings_load_without_the_compiler() -> None:
    code = "import sys, synthdp.tagging.groups; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
