"""Whatever is handed in, the answer is a result or a sentence: never another exception."""

import copy
from pathlib import Path

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synthdp.config import Config, load, parse
from synthdp.errors import InputError
from synthdp.table import io

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
VALID = yaml.safe_load((ROOT / "data" / "registry_small.yaml").read_text()) | {
    "constraints": ["haq <= age"],
    "evaluation": {"rows": "aligned", "utility": ["pmse"], "risk": ["identity"]},
    "seed": 2**70,
}
WORDS = [
    "", "age", "sex", "method", "gaussian", "transition", "cart", "regression", "mi", "sequential", "replace", "drop",
    "data", "path", "levels", "bounds", "rules", "log", "nan", "2020-01-31", "age > 3", "y ~ x", "\0", "é", "a.csv",
]  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([0, 1, -1, 2**64, 10**400]),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(max_size=8),
    st.binary(max_size=4),
    st.dates(),
)
KEYS = st.one_of(st.sampled_from(WORDS), st.text(max_size=5), st.integers(), st.none(), st.booleans())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)


def places(value, path=()):
    """Return every place in a nested mapping."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def mutate(raw, draw):
    """Replace, remove, rename, add or move something anywhere in a config."""
    found = [place for place in places(raw) if place]
    if not found:
        return
    *parents, last = draw(st.sampled_from(found))
    here = raw
    for part in parents:
        here = here[part]
    action = draw(st.sampled_from(["replace", "remove", "rename", "add", "move"]))
    if action == "remove":
        del here[last]
    elif action == "rename" and isinstance(here, dict):
        here[draw(KEYS)] = here.pop(last)
    elif action == "add" and isinstance(here, dict):
        here[draw(KEYS)] = draw(VALUES)
    elif action == "move":
        source = raw
        for part in draw(st.sampled_from(found)):
            source = source[part] if isinstance(source, dict | list) and _has(source, part) else source
        here[last] = copy.deepcopy(source)
    else:
        here[last] = draw(VALUES)


def _has(value, part):
    return part in value if isinstance(value, dict) else isinstance(part, int) and part < len(value)


def result(function, *args):
    """Return what a function returns, or None if it refuses in sentences; let every other exception pass."""
    refused = ()
    try:
        return function(*args)
    except InputError as error:
        refused = error.problems
    assert refused
    assert all(problem and "\n" not in problem for problem in refused), refused
    return None


@settings(max_examples=1000, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_mutated_config_is_a_config_or_a_sentence(data):
    raw = copy.deepcopy(VALID)
    for _ in range(data.draw(st.integers(1, 4))):
        mutate(raw, data.draw)
    assert isinstance(result(parse, raw), Config | None)


@settings(max_examples=500, suppress_health_check=list(HealthCheck))
@given(
    text=st.one_of(st.binary(max_size=60), st.text(alphabet="ab:{}[]-&*!?|>'\"#%@,\n\t 019.\\0xnulldata", max_size=60))
)
def test_any_bytes_as_a_config(text, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert isinstance(result(load, path), Config | None)


CELLS = st.one_of(
    st.sampled_from(["", "NA", "1", "01", "-3.5", "1e400", "inf", "nan", "True", "F", '"', '""', '"a,b"', "a\nb", "é"]),
    st.text(max_size=6),
    st.floats().map(str),
    st.integers().map(str),
)
LINES = st.lists(CELLS, max_size=4).map(",".join)
TABLES = st.lists(LINES, max_size=8).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n", "\r", "\n\n"]).map(lambda end: end.join(lines))
)
CSV = st.one_of(
    st.binary(max_size=80),
    TABLES.map(lambda text: text.encode("utf-8", "surrogatepass")),
    TABLES.map(lambda text: b"a,b,c\n" + text.encode("utf-8", "surrogatepass")),
    TABLES.map(lambda text: text.encode("utf-16", "surrogatepass")),
)


@settings(max_examples=500, suppress_health_check=list(HealthCheck))
@given(contents=CSV)
def test_any_bytes_as_a_table(contents, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes(contents)
    frame = result(io.read, path)
    assert frame is None or (isinstance(frame, pd.DataFrame) and len(frame) > 0)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".sav", ".dta", ".sas7bdat", ".xpt", ".tsv.gz", ".csv.gz"])
def test_any_bytes_as_a_binary_table(suffix, tmp_path):
    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    @given(contents=st.binary(max_size=400))
    def read(contents):
        path = tmp_path / f"fuzz{suffix}"
        path.write_bytes(contents)
        result(io.read, path)

    read()
