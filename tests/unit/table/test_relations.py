"""Kept columns that give replaced ones away are found, and chance is not taken for a relation."""

import numpy as np
import pandas as pd
import pytest
from shared_data import SHARED

from synthdp import api
from synthdp.datasets import anes96, registry
from synthdp.errors import InputError
from synthdp.stages import planning
from synthdp.table.microdata import resolve
from synthdp.table.relations import Relation, find
from synthdp.table.schema import Variable


def found(frame: pd.DataFrame, replaced: list[str], **more: Variable) -> list[tuple[str, str, tuple[str, ...]]]:
    data = resolve(frame, {name: Variable(role="replace") for name in replaced} | more)
    return [(relation.kind, relation.kept, relation.replaced) for relation in find(data)]


def shared(name: str) -> pd.DataFrame:
    if not (SHARED / name).exists():
        pytest.skip(f"shared data {name} is not here")
    return pd.read_csv(SHARED / name)


def people(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.uniform(18, 90, n), "count": rng.poisson(8, n), "w": rng.normal(size=n)})


def test_anes96_holds_one_relation():
    assert found(anes96(), ["age", "educ", "income", "popul"]) == [("monotone", "logpopul", ("popul",))]


def test_sd2011_holds_agegr_and_bmi():
    frame = shared("sd2011.csv")
    assert found(frame, ["age", "height", "weight", "sex", "income"]) == [
        ("coarsening", "agegr", ("age",)),
        ("formula", "bmi", ("height", "weight")),
    ]
    assert found(frame, ["weight"]) == [("formula", "bmi", ("weight", "height"))]
    assert found(frame, ["agegr"]) == [("determines", "age", ("agegr",))]


@pytest.mark.parametrize(
    ("name", "replaced"),
    [
        ("pseudo_csrg.csv", ["Age_raw", "Gender", "DiseaseDuration", "BaseFVC"]),
        ("adult.csv", ["age", "education-num", "sex"]),
    ],
)
def test_files_without_relations(name, replaced):
    assert found(shared(name), replaced) == []


@pytest.mark.parametrize("seed", range(3))
def test_the_simulated_registry_has_none(seed):
    frame = registry(400, rng=np.random.default_rng(seed))
    names = [str(name) for name in frame.columns]
    data = resolve(frame, {})
    assert find(data, kept=names, replaced=names) == ()


@pytest.mark.parametrize(
    ("kind", "make", "source"),
    [
        ("monotone", lambda f: np.log(f["age"]), "age"),
        ("monotone", lambda f: -(f["age"] ** 3), "age"),
        ("coarsening", lambda f: pd.cut(f["age"], [0, 30, 50, 99], labels=["z", "a", "m"]).astype(str), "age"),
        ("coarsening", lambda f: (f["age"] > 60).astype(int), "age"),
        ("coarsening", lambda f: np.floor(f["age"] / 10), "age"),
        ("function", lambda f: f["count"] % 3, "count"),
        ("function", lambda f: np.where(f["count"] % 2 == 0, "even", "odd"), "count"),
        ("near-copy", lambda f: f["age"] + 0.5 * np.random.default_rng(9).normal(size=len(f)), "age"),
    ],
)
def test_a_column_made_from_another(kind, make, source):
    frame = people()
    assert found(frame.assign(made=make(frame)), [source]) == [(kind, "made", (source,))]


def test_a_replaced_column_that_a_kept_one_determines():
    frame = people()
    frame["young"] = np.where(frame["age"] < 40, "y", "n")
    assert found(frame, ["young"]) == [("determines", "age", ("young",))]
    frame["parity"] = frame["count"] % 2
    assert ("determines", "count", ("parity",)) in found(frame, ["parity"])


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("formula", lambda a, b: a / b**2),
        ("formula", lambda a, b: 2 * a - 3 * b + 7),
        ("formula", lambda a, b: np.round(a * b, 1)),
        ("near-copy", lambda a, b: (a + b) + np.random.default_rng(1).normal(0, 0.5, len(a))),
    ],
)
def test_a_formula_of_two_columns(kind, make):
    rng = np.random.default_rng(2)
    a, b = rng.uniform(50, 100, 400), rng.uniform(10, 60, 400)
    frame = pd.DataFrame({"a": a, "b": b, "made": make(a, b)})
    assert found(frame, ["a", "b"]) == [(kind, "made", ("a", "b"))]
    assert [(k, set(names) | {kept}) for k, kept, names in found(frame, ["a"])] == [(kind, {"a", "b", "made"})]


def test_missing_values_hide_no_relation():
    frame = people()
    frame["made"] = np.log(frame["age"]).where(np.arange(len(frame)) % 5 > 0)
    frame["age"] = frame["age"].where(np.arange(len(frame)) % 7 > 0)
    assert found(frame, ["age"]) == [("monotone", "made", ("age",))]


@pytest.mark.parametrize("seed", range(20))
def test_chance_is_no_relation(seed):
    """Unrelated columns of every sort, few records and many: nothing is found."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([30, 60, 500]))
    frame = pd.DataFrame(
        {
            "unique": rng.normal(size=n),
            "other": rng.normal(size=n),
            "flag": rng.integers(0, 2, n),
            "rare": (np.arange(n) == 3).astype(int),
            "constant": 1,
            "postcode": [f"p{i}" for i in rng.integers(0, 10 * n, n)],
            "id": np.arange(n)[rng.permutation(n)],
            "g": rng.choice(["a", "b", "c"], n),
        }
    )
    data = resolve(frame, {})
    names = [name for name in data.schema.names() if name != "constant"]
    assert find(data, kept=data.schema.names(), replaced=names) == ()


def test_few_records_show_nothing():
    frame = people(29)
    assert found(frame.assign(made=np.log(frame["age"])), ["age"]) == []
    assert found(people(), []) == []


def test_one_contradiction_among_many_records_is_seen():
    frame = people(5000)
    made = (frame["count"] % 3).to_numpy().copy()
    made[1717] += 1
    assert found(frame.assign(made=made), ["count"]) == []


@pytest.mark.parametrize(
    ("relation", "sentence"),
    [
        (
            Relation("monotone", "k", ("r",)),
            "variables.k: kept, but it is a function of r, which is replaced: it would "
            "undo the mask; replace it too, set role: drop, or derived: with its formula.",
        ),
        (
            Relation("coarsening", "k", ("r",)),
            "variables.k: kept, but it is a coarsening (a function) of r, which is "
            "replaced: it would undo the mask; replace it too, set role: drop, or derived: with its formula.",
        ),
        (
            Relation("formula", "k", ("r", "s")),
            "variables.k: kept, but it is a function of r and s, of which one at "
            "least is replaced: it would undo the mask; replace it too, set role: drop, or derived: with its formula.",
        ),
        (
            Relation("determines", "k", ("r",)),
            "variables.k: kept, but it determines r, which is replaced: it would "
            "undo the mask; replace it too, set role: drop.",
        ),
        (
            Relation("near-copy", "k", ("r",)),
            "variables.k: kept, but it is nearly a copy of r, which is replaced: it "
            "would undo the mask; replace it too, set role: drop.",
        ),
    ],
)
def test_the_sentences(relation, sentence):
    assert relation.sentence == sentence


SETTINGS = {
    "variables": {"age": {"role": "replace", "key": True}, "made": {}},
    "synthesis": {"method": "mi", "copies": 1},
}


def test_a_function_is_refused_and_may_be_kept_anyway():
    frame = people().assign(made=lambda f: np.log(f["age"]))
    with pytest.raises(InputError, match=r"^variables\.made: kept, but it is a function of age"):
        api.synthesize(frame, SETTINGS, seed=1)
    anyway = SETTINGS | {"variables": SETTINGS["variables"] | {"made": {"keep_anyway": True}}}
    (copy,) = api.synthesize(frame, anyway, seed=1).copies
    assert copy["made"].equals(frame["made"])
    data = resolve(frame, {"age": Variable(role="replace"), "made": Variable(keep_anyway=True)})
    assert planning.cautions_on(data)[0].startswith("Allowed: variables.made: kept, but it is a function of age")


def test_a_near_copy_is_a_warning():
    frame = people().assign(made=lambda f: f["age"] + 0.5 * np.random.default_rng(9).normal(size=len(f)))
    api.synthesize(frame, SETTINGS, seed=1)
    data = resolve(frame, {"age": Variable(role="replace")})
    assert [note[:54] for note in planning.cautions_on(data)] == [
        "variables.made: kept, but it is nearly a copy of age, "
    ]
