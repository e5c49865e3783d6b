"""Behaviour as it was recorded, case by case, and whether the cases touch every member of every registry.

``python tests/oracle/record.py`` writes the expectations anew, ``--check`` only shows what differs.
"""

import json
import re
from pathlib import Path

import inside
import keeping
import pytest
import yaml
from cases import CASES, observe
from observing import CONFIGS, synthdp

PARAMETERS = [pytest.param(name, marks=[pytest.mark.slow] * case.slow, id=name) for name, case in CASES.items()]
SEED_AT_LEAST = 2**64
# what no case can touch, and why
UNTOUCHED = {
    "limits": "of measures from outside: tests/contracts/test_plugins.py sets one",
    **{
        f"rule={name}": "no method makes such copies; the case python pools by it"
        for name in ("rubin2003", "reiter2003_nested")
    },
    "adjacency=add_remove": "refused by every method; dp statistics take it",
    **{
        f"{name}=dp_quantiles": "refused by methods that find no bins; those of tables take it, in dp_*_found"
        for name in ("bins", "bins_by")
    },
    "source=secure": "noise that cannot be repeated; the commands of the case ledger draw it, numbers aside",
    "separator=,": "the default of .csv",
    "separator=\t": "the default of .tsv, in the case reading",
    "separator=|": "read as the others",
    "decimal=.": "the default",
    "goal=analyses": "a part of panel",
    "goal=tables": "as pmse; tests/unit/tuning takes every goal",
    "sampler=auto": "nuts for small files",
    "sampler=advi": "each column takes seconds to compile",
    **{f"family={name}": "each family takes seconds to compile" for name in ("student_t", "log_normal", "two_part")},
    **{f"family={name}": "as above" for name in ("categorical", "ordered", "negative_binomial")},
}

# where the work runs changes no byte of what comes out: tests/unit/stages/streaming holds these side by side
ELSEWHERE = ("Config.engine", "Local.", "Dask.", "Tls.")


@pytest.mark.parametrize("name", PARAMETERS)
def test_behaviour_is_as_recorded(name, tmp_path):
    found = observe(CASES[name], tmp_path.resolve())
    differ = list(keeping.differences(keeping.kept(name), found))
    assert not differ, "\n".join([f"{len(differ)} differences", *differ[:30]])


def test_every_seed_is_a_key():
    for path in CONFIGS.glob("*.yaml"):
        assert yaml.safe_load(path.read_text())["seed"] >= SEED_AT_LEAST, path.name


def test_every_config_is_in_a_case():
    assert {path.stem for path in CONFIGS.glob("*.yaml")} == {name for case in CASES.values() for name in case.configs}


def test_every_expectation_has_a_case():
    assert {path.name.split(".")[0] for path in keeping.EXPECTED.iterdir()} == set(CASES)


def test_every_word_of_the_schema_is_touched():
    """Every setting is written in some config, and so is every word of a closed set: masks, models, methods, …"""
    schema = json.loads(synthdp("schema", timed=False)["out"])
    touched: set[str] = set()
    for path in CONFIGS.glob("*.yaml"):
        _walk(schema, schema, yaml.safe_load(path.read_text()), "Config", touched)
    missing = _words(schema) - touched
    excused = {word for word in missing if word.split(".", 1)[1] in UNTOUCHED}
    elsewhere = {word for word in missing if word.startswith(ELSEWHERE)}
    assert not missing - excused - elsewhere, sorted(missing - excused - elsewhere)
    stale = set(UNTOUCHED) - {word.split(".", 1)[1] for word in excused}
    assert not stale, f"touched after all: {sorted(stale)}"


def _text():
    here = Path(__file__).parent
    return "\n".join(
        path.read_text() for path in (*sorted(CONFIGS.glob("*.yaml")), here / "cases.py", here / "survey.py")
    )


@pytest.mark.parametrize(
    "registry", [inside.rules, inside.measures, inside.functions, inside.guesses], ids=lambda one: one.__name__
)
def test_every_member_of_a_registry_is_touched(registry):
    text = _text()
    assert not [name for name in registry() if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]


def test_every_format_is_read():
    recorded = set(keeping.kept("reading")) | {"txt"}  # survey.txt, in regression_exact
    missing = {ending.lstrip(".") for ending in inside.readable()} - recorded
    assert missing == {"sas7bdat"}, "nothing here writes SAS's own format; test_formats reads one where R is installed"


def test_every_dp_statistic_is_touched():
    from synthdp import dp

    functions = {name for name in dp.__all__ if name[0].islower()}
    assert not [name for name in functions if f"dp.{name}" not in _text()]


def test_every_command_is_called():
    text = _text()
    called = [name for name in inside.commands() if f'"{name.split()[-1]}"' not in text]
    assert not called


def _resolved(schema, node):
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]] | {"name": node["$ref"].rsplit("/", 1)[1]}
    return node


def _words(schema):
    """Return every setting and every word of a closed set, by the block it belongs to."""
    found = set()
    for name, block in (("Config", schema), *schema["$defs"].items()):
        for setting, node in block.get("properties", {}).items():
            found.add(f"{name}.{setting}")
            found |= {f"{name}.{setting}={word}" for word in _closed(schema, node)}
    return found


def _closed(schema, node):
    node = _resolved(schema, node)
    words = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
    for part in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        if "properties" not in _resolved(schema, part):
            words += _closed(schema, part)
    for inner in ("items", "additionalProperties"):
        if isinstance(node.get(inner), dict) and "properties" not in _resolved(schema, node[inner]):
            words += _closed(schema, node[inner])
    return words


def _walk(schema, node, value, where, touched):
    """Add what a value of a config touches."""
    node = _resolved(schema, node)
    where = node.get("name", where)
    choices = [_resolved(schema, part) for part in (*node.get("anyOf", ()), *node.get("oneOf", ()))]
    blocks = [part for part in choices if "properties" in part]
    if blocks and isinstance(value, dict):
        chosen = [part for part in blocks if part["properties"].get("method", {}).get("const") == value.get("method")]
        default = "rules" if "rules" in value else None
        chosen = chosen or [p for p in blocks if p["properties"]["method"]["const"] == default] or blocks[:1]
        return _walk(schema, chosen[0], value, where, touched)
    if isinstance(value, dict) and "properties" in node:
        for setting, inner in value.items():
            part = node["properties"][setting]
            touched.add(f"{where}.{setting}")
            for word in _leaves(inner):
                if word in _closed(schema, part):
                    touched.add(f"{where}.{setting}={word}")
            _walk(schema, part, inner, where, touched)
    elif isinstance(value, dict) and isinstance(node.get("additionalProperties"), dict):
        for inner in value.values():
            _walk(schema, node["additionalProperties"], inner, where, touched)
    elif isinstance(value, list) and isinstance(node.get("items"), dict):
        for inner in value:
            _walk(schema, node["items"], inner, where, touched)
    return None


def _leaves(value):
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [value]
