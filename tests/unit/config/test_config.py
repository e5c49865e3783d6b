"""Every mistake in a config is one sentence that names its place and the nearest valid word."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from synthdp.config import Config, json_schema, load, parse
from synthdp.errors import InputError
from synthdp.table.schema import Variable

NAN, INF = float("nan"), float("inf")
DATA = {"data": {"path": "original.csv"}}
SYNTHESES = (
    "da_mi, mi, sequential, ipf, catall, dp_histogram, dp_sparse_histogram, dp_exponential, dp_margins, dp_kde, "
    "dp_mst, dp_da_mi, local_noise, k_anonymity, pram, k_pram, k_noise, noise, microaggregation, rank_swap, "
    "top_bottom, local_suppression"
)
GAUSSIAN = {"method": "gaussian", "sd": 0.5}
ANALYSIS = {"name": "a", "model": "ols", "formula": "y ~ x"}
MASKS = "gaussian, shifted_normal, transition"

# every key of DESIGN section 5 that exists
DESIGN = """\
version: 1
data: {path: original.csv, missing_codes: {unempdur: [-8]}}
variables:
  age:    {kind: continuous, role: replace, key: true, bounds: [18, 90], tolerance: 3, decimals: 1}
  sex:    {kind: binary, role: replace, key: true, levels: [F, M]}
  income: {kind: semicontinuous, role: keep}
  weight: {kind: continuous, bounds_from: data, transform: log}
  name:   {role: drop}
groups: {method: neighbours, k: 5, public: false}
masks:
  age: {method: gaussian, sd: 0.5, copies: 1}
  sex: {method: shifted_normal, alpha: 1.5}
masks_by_group:
  high:
    age: {method: gaussian, scale: 6.0, graded: 30}
    sex: {method: transition, keep: 0.8}
synthesis:
  method: da_mi
  model: {method: regression, order: [sex, age]}
  copies: 5
  imputations: 1
  mask_draw: per_copy
  shuffle: true
analyses: [{name: disability, model: probit, formula: "disabled ~ age + sex", rule: reiter2003}]
evaluation:
  rows: aligned
  utility: [pmse, analyses, panel, tables]
  risk: [identity, identity_averaged, identity_linked, identity_likelihood, identity_public, identity_extremes,
         attribute, verbatim, exposure]
release: {format: csv, max_expected_match_rate: 0.03, max_individual: 0.33, max_claims_right: 0.33, max_exposed: 0,
          max_attribute_gain: 0.1, max_memorised: 0.02, max_excess_verbatim: 0, max_excess_true_match: null,
          max_mean_individual: null, min_overlap: 0.6, max_pmse_ratio: null, draws: 20, recorded_in: null}
seed: null
"""


def problems(block: dict[Any, Any]) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        parse(DATA | block)
    return caught.value.problems


def write(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({"varables": {}}, "varables: unknown key; did you mean 'variables'?"),
        ({"data": {"path": "a", "mising_codes": {}}}, "data.mising_codes: unknown key; did you mean 'missing_codes'?"),
        ({"variables": {"age": {"rol": "keep"}}}, "variables.age.rol: unknown key; did you mean 'role'?"),
        ({"groups": {"publik": True}}, "groups.publik: unknown key; did you mean 'public'?"),
        (
            {"groups": {"rules": {"high": "age > 85"}, "publc": True}},
            "groups.publc: unknown key; did you mean 'public'?",
        ),
        ({"masks": {"age": GAUSSIAN | {"copis": 2}}}, "masks.age.copis: unknown key; did you mean 'copies'?"),
        (
            {"masks_by_group": {"high": {"age": GAUSSIAN | {"scal": 2}}}},
            "masks_by_group.high.age.scal: unknown key; did you mean 'scale'?",
        ),
        ({"synthesis": {"copis": 3}}, "synthesis.copis: unknown key; did you mean 'copies'?"),
        ({"synthesis": {"method": "mi", "shufle": True}}, "synthesis.shufle: unknown key; did you mean 'shuffle'?"),
        ({"synthesis": {"model": {"ordr": []}}}, "synthesis.model.ordr: unknown key; did you mean 'order'?"),
        (
            {"synthesis": {"model": {"method": "cart", "particle": 8}}},
            "synthesis.model.particle: unknown key; did you mean 'particles'?",
        ),
        (
            {"synthesis": {"method": "mi", "model": {"method": "cart", "min_leav": 8}}},
            "synthesis.model.min_leav: unknown key; did you mean 'min_leaf'?",
        ),
        ({"analyses": [ANALYSIS | {"rul": "x"}]}, "analyses.0.rul: unknown key; did you mean 'rule'?"),
        ({"evaluation": {"row": "none"}}, "evaluation.row: unknown key; did you mean 'rows'?"),
        ({"release": {"max_individul": 1}}, "release.max_individul: unknown key; did you mean 'max_individual'?"),
        ({"constraint": ["a < b"]}, "constraint: unknown key; did you mean 'constraints'?"),
        # a column or a group may be called like a section or a method
        ({"variables": {"data": {"rol": 1}}}, "variables.data.rol: unknown key; did you mean 'role'?"),
        (
            {"masks_by_group": {"masks": {"gaussian": GAUSSIAN | {"ds": 1}}}},
            "masks_by_group.masks.gaussian.ds: unknown key; did you mean 'sd'?",
        ),
    ],
)
def test_an_unknown_key_names_the_nearest_one(block, sentence):
    assert problems(block) == (sentence,)


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        (
            {"masks": {"age": {"method": "gausian", "sd": 1}}},
            f"masks.age.method: must be one of {MASKS}; found 'gausian'; did you mean 'gaussian'?",
        ),
        ({"masks": {"age": {"sd": 1}}}, f"masks.age.method: must be one of {MASKS}; it is absent."),
        (
            {"masks_by_group": {"high": {"age": {"method": "pram"}}}},
            f"masks_by_group.high.age.method: must be one of {MASKS}; found 'pram'.",
        ),
        (
            {"synthesis": {"method": "dami"}},
            f"synthesis.method: must be one of {SYNTHESES}; found 'dami'; did you mean 'da_mi'?",
        ),
        (
            {"groups": {"method": "neighbors"}},
            "groups.method: must be one of neighbours, rules; found 'neighbors'; did you mean 'neighbours'?",
        ),
        (
            {"synthesis": {"model": {"method": "crat"}}},
            "synthesis.model.method: must be one of regression, auto, cart, copula, pymc; found 'crat'; did you mean "
            "'cart'?",
        ),
        (
            {"analyses": [ANALYSIS | {"model": "olss"}]},
            "analyses.0.model: no model named 'olss'; did you mean 'ols'?",
        ),
        (
            {"analyses": [ANALYSIS | {"rule": "reiter"}]},
            "analyses.0.rule: no combining rule named 'reiter'; did you mean 'reiter2003'?",
        ),
        (
            {"evaluation": {"risk": ["identiy"]}},
            "evaluation.risk.0: must be 'identity', 'identity_averaged', 'identity_linked', 'identity_likelihood', "
            "'identity_public', 'identity_extremes', 'identity_bayes', 'verbatim', 'memorised', 'exposure', "
            "'attribute', 'membership', 'membership_shadow', 'singling', 'linkage', 'linkability', 'inference', "
            "'anonymity', 'population', 'odds' or 'group_size'.",
        ),
        (
            {"evaluation": {"risk": ["identity", "anonymeter"]}},
            "evaluation.risk: anonymeter: was removed in 0.3; use singling, linkability, inference.",
        ),
        (
            {"evaluation": {"intruders": {"neighbour": {"eror": {"age": 2}}}}},
            "evaluation.intruders.neighbour.eror: unknown key; did you mean 'error'?",
        ),
        (
            {"evaluation": {"rows": "alligned"}},
            "evaluation.rows: must be aligned, none, or a .csv or .parquet file with the row order of each copy.",
        ),
        (
            {"variables": {"age": {"kind": "continous"}}},
            "variables.age.kind: must be "
            "'continuous', 'semicontinuous', 'count', 'binary', 'ordinal', 'nominal' or 'date'.",
        ),
        (
            {"variables": {"age": {"role": "replaced"}}},
            "variables.age.role: must be 'replace', 'keep', 'drop' or 'derived'.",
        ),
    ],
)
def test_a_misspelt_word(block, sentence):
    assert problems(block) == (sentence,)


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({"variables": {"age": {"bounds": [NAN, 18]}}}, "variables.age.bounds.0: must be a finite number."),
        ({"variables": {"age": {"bounds": [0, INF]}}}, "variables.age.bounds.1: must be a finite number."),
        ({"variables": {"age": {"tolerance": NAN}}}, "variables.age.tolerance: must be a finite number."),
        ({"variables": {"a": {"levels": [NAN, 1]}}}, "variables.a.levels.0: must be a number, text, true or false."),
        (
            {"data": {"path": "a", "missing_codes": {"x": [None]}}},
            "data.missing_codes.x.0: must be a number, text, true or false.",
        ),
        ({"masks": {"age": {"method": "gaussian", "sd": NAN}}}, "masks.age.sd: must be a finite number."),
        ({"masks": {"age": {"method": "gaussian", "scale": INF}}}, "masks.age.scale: must be a finite number."),
        ({"masks": {"sex": {"method": "shifted_normal", "alpha": NAN}}}, "masks.sex.alpha: must be a finite number."),
        ({"synthesis": {"model": {"prior_sd": INF}}}, "synthesis.model.prior_sd: must be a finite number."),
        ({"synthesis": {"model": "cart"}}, "synthesis.model: must be a block of settings."),
        (
            {"synthesis": {"model": {"method": "cart", "particles": 1}}},
            "synthesis.model.particles: must be greater than or equal to 2.",
        ),
        ({"release": {"max_individual": NAN}}, "release.max_individual: must be a finite number."),
    ],
)
def test_nan_and_infinity_are_refused(block, sentence):
    assert problems(block) == (sentence,)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"bounds": [90, 18]}, "bounds must be increasing, found [90, 18]"),
        ({"bounds": [18, 18]}, "bounds must be increasing, found [18, 18]"),
        ({"bounds": [0, 1], "bounds_from": "data"}, "give bounds or bounds_from, not both"),
        ({"levels": [1, 1.0]}, "levels must differ from each other"),
        ({"levels": [1, "1"]}, "levels must differ from each other"),
        ({"levels": []}, "levels must name at least one level; leave them out to take them from the data"),
        ({"kind": "binary", "bounds": [0, 1]}, "bounds is for numeric columns, this one is binary"),
        ({"kind": "binary", "bounds_from": "data"}, "bounds_from is for numeric columns, this one is binary"),
        ({"kind": "nominal", "tolerance": 1}, "tolerance is for numeric columns, this one is nominal"),
        ({"kind": "ordinal", "decimals": 1}, "decimals is for numeric columns, this one is ordinal"),
        ({"kind": "binary", "transform": "log"}, "transform is for numeric columns, this one is binary"),
        ({"kind": "continuous", "levels": [1, 2]}, "levels are for categorical columns, this one is continuous"),
    ],
)
def test_contradictions_in_a_variable(settings, sentence):
    assert problems({"variables": {"x": settings}}) == (f"variables.x: {sentence}.",)


@pytest.mark.parametrize(
    ("mask", "sentence"),
    [
        ({"method": "gaussian"}, "give either sd (in units of the column's own sd) or scale (in the column's units)."),
        (
            {"method": "gaussian", "sd": 1, "scale": 1},
            "give either sd (in units of the column's own sd) or scale (in the column's units).",
        ),
        ({"method": "transition"}, "give either keep or matrix."),
        ({"method": "transition", "keep": 0.5, "matrix": [[1]]}, "give either keep or matrix."),
        (
            {"method": "transition", "matrix": [[0.5, 0.5], [0.2, 0.2]]},
            "matrix row 2 must hold 2 probabilities that sum to 1.",
        ),
        ({"method": "transition", "matrix": [[], [1, 0]]}, "matrix row 1 must hold 2 probabilities that sum to 1."),
        (
            {"method": "transition", "matrix": [[2, -1], [0, 1]]},
            "matrix row 1 must hold 2 probabilities that sum to 1.",
        ),
    ],
)
def test_contradictions_in_a_mask(mask, sentence):
    assert problems({"masks": {"x": mask}}) == (f"masks.x: {sentence}",)
    assert problems({"masks_by_group": {"high": {"x": mask}}}) == (f"masks_by_group.high.x: {sentence}",)


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ({"version": 2}, "version: must be 1."),
        ({"seed": -1}, "seed: must be greater than or equal to 0."),
        ({"seed": 1.5}, "seed: must be a whole number."),
        ({"seed": "secret"}, "seed: must be a whole number."),
        ({"data": None}, "data: must be a block of settings."),
        ({"data": {}}, "data.path: required, but absent."),
        ({"data": {"path": None}}, "data.path: must be the name of a file."),
        ({"data": {"path": "a", "missing_codes": {"x": -8}}}, "data.missing_codes.x: must be a list."),
        ({"variables": {"age": None}}, "variables.age: must be a block of settings."),
        ({"variables": {"age": {"key": "perhaps"}}}, "variables.age.key: must be true or false."),
        ({"variables": {"age": {"decimals": 1.5}}}, "variables.age.decimals: must be a whole number."),
        ({"variables": {1: {"role": "keep"}}}, "variables.1: must be text; put it in quotes."),
        ({2: {}}, "2: must be text; put it in quotes."),
        ({"groups": None}, "groups: must be a block of settings."),
        ({"groups": {"k": 0}}, "groups.k: must be greater than or equal to 1."),
        ({"groups": {"rules": {}}}, "groups.rules: must not be empty."),
        ({"groups": {"rules": {"high": 3}}}, "groups.rules.high: must be text."),
        ({"masks": None}, "masks: must be a block of settings."),
        ({"masks": {"age": "gaussian"}}, "masks.age: must be a block of settings."),
        ({"masks": {"age": GAUSSIAN | {"sd": "wide"}}}, "masks.age.sd: must be a number."),
        ({"masks": {"age": {"method": "gaussian", "sd": 0}}}, "masks.age.sd: must be greater than 0."),
        ({"synthesis": "da_mi"}, "synthesis: must be a block of settings."),
        ({"synthesis": {"copies": "many"}}, "synthesis.copies: must be a whole number."),
        ({"synthesis": {"imputations": 0}}, "synthesis.imputations: must be greater than or equal to 1."),
        ({"evaluation": {"risk": "identity"}}, "evaluation.risk: must be a list."),
    ],
)
def test_values_of_the_wrong_kind(block, sentence):
    assert problems(block) == (sentence,)


def test_a_rule_that_cannot_be_read():
    (sentence,) = problems({"groups": {"rules": {"high": "age >"}}})
    assert sentence.startswith("groups.rules: expression 'age >': cannot be read")
    assert sentence.endswith("sex == 'F'.")


def test_everything_wrong_is_listed_at_once():
    found = problems({"analyses": [{"name": "a"}], "seed": -1, "masks": {"x": {"method": "gaussian"}}})
    assert [sentence.split(":")[0] for sentence in found] == [
        "masks.x",
        "analyses.0.model",
        "analyses.0.formula",
        "seed",
    ]
    with pytest.raises(InputError, match=r"^data: required, but absent\.$"):
        parse({})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a mapping with at least `data:` is required, found none."),
        ("# only a comment", "a mapping with at least `data:` is required, found none."),
        ("- data", "a mapping with at least `data:` is required, found none."),
        ("data: [1", "not valid YAML at line 1: expected ',' or ']', but got '<stream end>'."),
        ("data:\n  path: a: b", "not valid YAML at line 2: mapping values are not allowed here."),
        ("data: {path: a}\nvariables:\n  age: {}\n  age: {}", "not valid YAML at line 4: the key 'age' occurs twice."),
        ("data: \x00", "not valid YAML."),
    ],
)
def test_a_file_that_is_no_config(tmp_path, text, sentence):
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: {sentence}"


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"absent\.yaml: no such file\.$"):
        load(tmp_path / "absent.yaml")
    with pytest.raises(InputError, match=r": this is a folder; give a file\.$"):
        load(tmp_path)
    (tmp_path / "latin.yaml").write_bytes("data: {path: größe.csv}".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.yaml: the config file cannot be read as text\.$"):
        load(tmp_path / "latin.yaml")


def test_words_are_not_taken_for_something_else(tmp_path):
    text = "data: {path: a.csv}\nvariables:\n  a: {levels: [NO, YES, 01, 08, 2020-01-31, 12:30]}\n  no: {key: yes}\n"
    config = load(write(tmp_path, text + "seed: 0x1F\n"))
    assert config.variables["a"].levels == ("NO", "YES", "01", "08", "2020-01-31", "12:30")
    assert config.variables["no"].key is True
    assert config.seed == 31
    text = "data: {path: a.csv}\nvariables:\n  a: {levels: [true, False, -8, 10, 1.5, '11']}\n"
    assert load(write(tmp_path, text)).variables["a"].levels == (True, False, -8, 10, 1.5, "11")


def test_paths_are_relative_to_the_config(tmp_path):
    (tmp_path / "rows.csv").touch()
    config = load(write(tmp_path, "data: {path: sub/a.csv}\nevaluation: {rows: rows.csv}\n"))
    assert config.data.path == tmp_path / "sub" / "a.csv"
    assert config.evaluation.rows == str(tmp_path / "rows.csv")
    (tmp_path / "none").touch()
    assert load(write(tmp_path, "data: {path: /b.csv}\nevaluation: {rows: none}\n")).evaluation.rows == "none"


def test_overrides(tmp_path):
    path = write(tmp_path, "data: {path: a.csv}\nsynthesis: {copies: 3}\n")
    overrides = (
        "synthesis.copies=10",
        "variables.sex.levels=[F, M]",
        "masks.age={method: gaussian, sd: 1}",
        "masks.age.sd=0.5",
        "seed=18446744073709551616",
        "release.max_individual=null",
        "evaluation.rows=none",
    )
    config = load(path, overrides)
    assert config.synthesis.copies == 10
    assert config.variables == {"sex": Variable(levels=("F", "M"))}
    assert config.masks["age"].model_dump(exclude_defaults=True) == {"sd": 0.5}
    assert config.seed == 2**64
    assert config.release.max_individual is None
    assert config.evaluation.rows == "none"


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("synthesis.copies", "--set synthesis.copies: must have the form KEY=VALUE."),
        ("=3", "--set =3: must have the form KEY=VALUE."),
        ("analyses.first.name=x", "--set analyses.first.name: analyses is not a block of settings."),
        ("version.x=1", "--set version.x: version is not a block of settings."),
        ("masks.age=[1", "--set masks.age: the value is not valid YAML."),
        ("synthesis.copis=3", "synthesis.copis: unknown key; did you mean 'copies'?"),
        ("variables.age.bounds=[9, 1]", "variables.age: bounds must be increasing, found [9, 1]."),
    ],
)
def test_overrides_that_cannot_be_made(tmp_path, override, sentence):
    path = write(tmp_path, "version: 1\ndata: {path: a.csv}\nanalyses: []\n")
    with pytest.raises(InputError) as caught:
        load(path, [override])
    assert str(caught.value) == sentence


def test_a_config_is_frozen_and_hides_its_seed():
    config = parse(DATA | {"seed": 0xABCDEF123456789})
    with pytest.raises(ValidationError, match="frozen"):
        config.seed = 3  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        config.synthesis.copies = 3  # type: ignore[misc]
    for text in (repr(config), str(config)):
        assert str(config.seed) not in text
        assert "seed" not in text


def test_the_design_is_a_config(tmp_path):
    config = load(write(tmp_path, DESIGN))
    assert config.groups.method == "neighbours"
    assert config.synthesis.model.order == ("sex", "age")
    # what was left out says the same as what was written
    default = parse(DATA)
    for block in ("groups", "synthesis", "evaluation", "release"):
        written = getattr(config, block)
        if block == "synthesis":
            written = written.model_copy(update={"model": default.synthesis.model})
        assert written == getattr(default, block)


# JSON Schema: what pydantic writes of it, checked by hand as no validator is among our libraries


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return fits(value, root["$defs"][name], root)
    if "anyOf" in schema:
        return any(fits(value, part, root) for part in schema["anyOf"])
    if "oneOf" in schema:
        return sum(fits(value, part, root) for part in schema["oneOf"]) == 1
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema:
        return value in schema["enum"]
    kinds: dict[str, Any] = {
        "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
        "null": type(None),
    }  # fmt: skip
    kind = schema["type"]
    if not isinstance(value, kinds[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return False
    if kind in ("integer", "number"):
        low, above = schema.get("minimum", -INF), schema.get("exclusiveMinimum", -INF)
        return low <= value <= schema.get("maximum", INF) and above < value < schema.get("exclusiveMaximum", INF)
    if kind == "array":
        items = [*schema.get("prefixItems", ()), *[schema.get("items")] * len(value)]
        return len(value) >= schema.get("minItems", 0) and all(map(lambda v, s: fits(v, s, root), value, items))
    if kind == "object":
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        if len(value) < schema.get("minProperties", 0) or set(schema.get("required", ())) - set(value):
            return False
        if others is False and set(value) - set(known):
            return False
        return all(fits(item, known.get(key, others), root) for key, item in value.items())
    return True


def test_the_json_schema_accepts_what_we_accept(tmp_path):
    schema = json_schema()
    assert schema["type"] == "object"
    assert schema["required"] == ["data"]
    assert set(schema["properties"]) == set(Config.model_fields)
    references = str(schema).count("$ref")
    assert references > 10
    for design in (
        yaml.safe_load(DESIGN),
        DATA,
        DATA | {"synthesis": {"copies": 3}},
        DATA | {"groups": {"public": True}},
        DATA | {"groups": {"rules": {"high": "age > 85"}}},
        DATA | {"synthesis": {"method": "mi"}},
        DATA | {"synthesis": {"model": {}}},
        DATA | {"synthesis": {"model": {"exclude": ["vote"]}}},
        DATA | {"synthesis": {"model": {"method": "cart", "particles": 8}}},
        DATA | {"synthesis": {"method": "sequential", "model": {}}},
    ):
        parse(design)
        assert fits(design, schema, schema)


def test_the_json_schema_refuses_what_we_refuse():
    schema = json_schema()
    for block in (
        {"varables": {}},
        {"variables": {"age": {"rol": "keep"}}},
        {"variables": {"age": {"tolerance": -1}}},
        {"masks": {"age": {"method": "gausian"}}},
        {"synthesis": {"copies": 0}},
        {"groups": {"rules": {}}},
        {"seed": "secret"},
    ):
        problems(block)
        assert not fits(DATA | block, schema, schema)


def test_every_section_of_the_schema_forbids_unknown_keys():
    definitions = json_schema()["$defs"]
    for name, definition in definitions.items():
        if definition["type"] == "object":
            assert definition["additionalProperties"] is False, name
            assert definition["description"], name
