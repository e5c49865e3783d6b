"""Ends of keys that reach far out: where they are cut, and that the settings say so."""

from dataclasses import replace

import numpy as np
import pandas as pd

from synthdp.config import Config, parse
from synthdp.stages.intake import prepare
from synthdp.table.microdata import Microdata
from synthdp.tuning.space import space_of, told
from synthdp.tuning.tails import cut_ends


def men(heaviest: float = 278.0) -> pd.DataFrame:
    """Return 240 men, one of them far heavier than the others, his blood pressure kept."""
    rng = np.random.default_rng(1)
    weight = np.clip(rng.normal(172, 20, 240), 130, 215).round()
    weight[7] = heaviest
    pressure = rng.normal(90, 10, 240).round()
    return pd.DataFrame({"weight": weight, "age": rng.integers(40, 55, 240), "pressure": pressure})


def given(frame: pd.DataFrame, **weight: object) -> tuple[Config, Microdata]:
    key = {"role": "replace", "key": True}
    block = {
        "data": {"path": "in memory"},
        "variables": {"weight": {**key, **weight}, "age": {**key, "kind": "continuous"}, "pressure": {"key": False}},
        "masks": {name: {"method": "gaussian", "sd": 1.0} for name in ("weight", "age")},
    }
    config = parse(block)
    return config, prepare(frame, config)


def test_an_end_that_reaches_far_out_is_cut_where_some_others_share_it() -> None:
    frame = men()
    found = cut_ends(given(frame)[1])
    assert [set(cuts) for cuts in found] == [{"weight"}] * 2, "ages reach nowhere"
    assert [set(cuts["weight"]) for cuts in found] == [{"topcode"}] * 2
    for cuts, share in zip(found, (5, 12), strict=True):
        cut = cuts["weight"]["topcode"]
        assert cut % 5 == 0, "a round number is nobody's value"
        assert (frame["weight"] >= cut).sum() >= share


def test_both_ends() -> None:
    cuts = cut_ends(given(men(20.0))[1])[0]
    assert set(cuts["weight"]) == {"bottomcode"}
    frame = pd.concat([men(), men(20.0)], ignore_index=True)
    assert set(cut_ends(given(frame)[1])[-1]["weight"]) == {"bottomcode", "topcode"}


def test_what_reaches_furthest_out_may_be_cut_alone() -> None:
    first, second, third = cut_ends(given(men().assign(age=np.r_[np.linspace(40, 50, 239), 60.0]))[1])
    assert set(first) == {"weight"}
    assert set(second) == set(third) == {"weight", "age"}, "beyond the inner fence, within the outer one"
    assert second["weight"] == first["weight"]


def test_without_such_an_end_there_is_no_choice() -> None:
    config, data = given(men(190.0))
    assert cut_ends(data) == ()
    assert "tails" not in space_of(config, data).choices()


def test_few_records_and_kept_columns_are_left_alone() -> None:
    assert cut_ends(given(men().head(15))[1]) == ()
    frame = men()
    config, data = given(frame)
    kept = config.model_copy(update={"variables": {"age": config.variables["age"]}, "masks": {}})
    assert cut_ends(prepare(frame, kept)) == ()
    assert cut_ends(data) != ()


def test_settings_say_where_the_ends_are_cut() -> None:
    config, data = given(men(), tolerance=4)
    space = space_of(config, data)
    shape = replace(space.shape(), tails=1)
    assert space.choices()["tails"] == (0, 1, 2)
    assert shape in space.moves(space.shape())
    assert "ends cut off (1 of 2)" in told(space, shape)
    weight = space.config_of(shape, 0).variables["weight"]
    assert weight.topcode == cut_ends(data)[0]["weight"]["topcode"]
    assert weight.tolerance == 4, "what the config says of the column stays"
    assert space.config_of(space.shape(), 0).variables == config.variables
