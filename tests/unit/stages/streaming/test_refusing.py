"""What a run over shards cannot do is said at once, in one sentence."""

from pathlib import Path

import pytest

from synthdp.config import parse
from synthdp.errors import InputError
from synthdp.imputation.regression.association import Regression
from synthdp.stages.streaming import preparing
from synthdp.stages.streaming.fitting import Layout
from synthdp.stages.streaming.looking import Facts
from synthdp.stages.streaming.refusing import refused, unsuited
from synthdp.table.schema import Column, Schema

PLAIN = {"data": {"path": "a.parquet"}, "variables": {"x": {"role": "replace"}, "z": {"key": False}}}
CASES = {
    "must be a Parquet file": {"data": {"path": "a.csv"}},
    "method sequential needs": {"synthesis": {"method": "sequential"}},
    "model cart needs": {"synthesis": {"model": {"method": "cart"}}},
    "knots of splines": {"synthesis": {"model": {"method": "regression", "splines": 4}}},
    "missing values cannot be imputed": {"synthesis": {"missing": "impute", "imputations": 2}},
    "repair needs": {"synthesis": {"repair": True}},
    "orthogonal in the whole sample": {"synthesis": {"mask_draw": "once_orthogonal"}},
    "masks that differ by a rule on replaced columns": {
        "masks_by_group": {"high": {"x": {"method": "gaussian", "sd": 2}}},
        "groups": {"method": "rules", "rules": {"high": "x > 3"}},
    },
    "variables.z.topcode needs": {"variables": {"z": {"topcode": 9}}},
    "variables.z is derived": {"variables": {"z": {"derived": "x + 1"}}},
    "variables.z does not apply": {"variables": {"z": {"applies_when": "x > 1"}}},
    "data.missing_codes needs": {"data": {"path": "a.parquet", "missing_codes": {"z": [-9]}}},
    "data.cluster needs": {"data": {"path": "a.parquet", "cluster": "z"}},
    "constraints on replaced columns": {"constraints": ["x > 0"]},
    "release.format must be one of csv, tsv, parquet": {"release": {"format": "sav"}},
}


def test_what_can_be_done_is_not_refused():
    assert refused(parse(PLAIN)) == []
    assert refused(parse(PLAIN | {"constraints": ["z > 0"]})) == []


@pytest.mark.parametrize("words", CASES)
def test_what_cannot_be_done_is_one_sentence(words):
    found = refused(parse(PLAIN | CASES[words]))
    assert len(found) == 1
    assert found[0].startswith("streaming: ")
    assert words in found[0]
    assert found[0].endswith(".")


def test_a_folder_is_read_too(tmp_path):
    assert refused(parse(PLAIN | {"data": {"path": str(Path(tmp_path))}})) == []


def facts(*columns: Column, missing: int = 0) -> Facts:
    schema = Schema(columns=columns)
    return Facts(schema, {}, {}, {}, dict.fromkeys(schema.names(), missing))


def column(name: str, kind: str, role: str = "replace") -> Column:
    return Column(name=name, kind=kind, role=role, key=False, levels=("a", "b") if kind != "continuous" else ())


UNSUITED = [
    ((column("x", "nominal"),), 0, "streaming: variables.x is nominal, and only binary and continuous columns"),
    (
        (column("x", "continuous"),),
        3,
        "variables.x: regression needs complete replaced columns, found 3 missing values",
    ),
    (
        tuple(column(f"b{j}", "binary") for j in range(13)),
        0,
        "streaming: the joint draw must be exact: at most 12 binary",
    ),
]


@pytest.mark.parametrize(("columns", "missing", "words"), UNSUITED)
def test_columns_that_cannot_be_drawn_shard_by_shard_are_named(columns, missing, words):
    (found,) = unsuited(parse(PLAIN), facts(*columns, missing=missing))
    assert words in found
    assert found.endswith(".")


def test_columns_that_can_be_drawn_are_not_named():
    assert unsuited(parse(PLAIN), facts(column("b", "binary"), column("x", "continuous"))) == []


def test_what_was_to_be_refused_before_is_an_error_of_the_program():
    with pytest.raises(TypeError, match="the joint draw is not exact"):
        Layout.of(facts(column("x", "nominal")), Regression())
    with pytest.raises(TypeError, match="refused before"):
        preparing.imputing(parse(PLAIN | {"synthesis": {"method": "sequential"}}))


def test_columns_of_the_design_are_marked_or_refused():
    known = facts(column("z", "continuous", "keep"), column("x", "continuous"))

    def designed(**parts):
        return preparing._designed(parse(PLAIN | {"data": {"path": "a.parquet", **parts}}), known)

    assert designed(weights="z").schema["z"].design == "weights"
    with pytest.raises(InputError, match=r"data\.strata: no column 'w' in the data"):
        designed(strata="w")
    with pytest.raises(InputError, match=r"data\.weights: 'x' must be kept, found role: replace; leave out its role"):
        designed(weights="x")
