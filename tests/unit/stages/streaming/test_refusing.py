"""What a run over shards cannot do is said at once, in one sentence."""

from pathlib import Path

import pytest

from synthdp.config import parse
from synthdp.stages.streaming.refusing import refused

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
