"""A package outside synthdp brings one of each kind: found, accepted, listed, used, judged and shown."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from synthdp import plugins
from synthdp.testing import people

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests" / "example_plugin"
DECLARED = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRIES: dict[str, dict[str, str]] = DECLARED["entry-points"]


def install(site: Path, name: str, entries: dict[str, dict[str, str]], package: Path | None = None) -> None:
    """Put a distribution on a folder of its own as pip does: the package, METADATA and entry_points.txt.

    By hand, as building a wheel needs the network or a recent setuptools.
    """
    about = site / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = [
        line for group, found in entries.items() for line in (f"[{group}]", *(f"{k} = {v}" for k, v in found.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if package is not None:
        shutil.copytree(package, site / package.name)


def synthdp(*args: object, site: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "synthdp", *map(str, args)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    install(folder, DECLARED["name"], ENTRIES, EXAMPLE / "synthdp_example")
    return folder


CONFIG = {
    "data": {"path": "survey.jsonl"},
    "variables": {
        "id": {"role": "drop"},
        "age": {"role": "replace", "key": True, "bounds": [18, 90], "tolerance": 2},
        "sex": {"role": "replace", "key": True},
        "smoker": {"role": "replace", "key": False},
        "region": {"key": False},
        "z": {"role": "drop"},
        "âge <b>": {"role": "drop"},
    },
    "masks": {"age": {"method": "gaussian", "sd": 3}, "sex": {"method": "shifted_laplace", "alpha": 0.5}},
    "synthesis": {"method": "da_mi", "model": {"method": "independent"}, "copies": 2},
    "analyses": [{"name": "typical age", "model": "trimmed_mean", "formula": "age", "rule": "cautious"}],
    "evaluation": {"utility": ["analyses", "means"], "risk": ["identity", "nearest_row"]},
    "release": {"format": "jsonl", "recorded_in": "none", "limits": {"max_means": 1e-9}},
}


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    people(150).to_json(folder / "survey.jsonl", orient="records", lines=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIG, allow_unicode=True), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def studied(site, work):
    done = synthdp("run", "config.yaml", "--study", "--seed", 1, "--out", "studied", site=site, cwd=work)
    assert done.returncode in (0, 3), done.stderr
    return work / "studied" / "confidential"


def test_every_kind_is_there():
    assert set(ENTRIES) == {f"synthdp.{kind}" for kind in plugins.KINDS}


@pytest.mark.parametrize("group", ENTRIES)
def test_a_kind_takes_one_file_and_one_line(group):
    """At most two files of the plugin's, none of ours: nothing in synthdp knows the example by name."""
    modules = {value.partition(":")[0] for value in ENTRIES[group].values()}
    assert len(modules) == 1
    assert all((EXAMPLE / f"{module.replace('.', '/')}.py").is_file() for module in modules)
    words = [name.rpartition(".")[2] for name in ENTRIES[group]]
    ours = [path.read_text(encoding="utf-8") for path in (ROOT / "synthdp").rglob("*.py")]
    # plain words, which are settings of ours too
    plain = ("columns", "means", "independent")
    assert not [word for word in words for text in ours if f'"{word}"' in text and word not in plain]


def test_the_schema_lists_what_a_config_may_name(site, work):
    done = synthdp("schema", site=site, cwd=work)
    assert done.returncode == 0, done.stderr
    schema = json.loads(done.stdout)
    assert {"ShiftedLaplace", "Independent", "Permuted"} <= set(schema["$defs"])
    assert "#/$defs/ShiftedLaplace" in json.dumps(schema["properties"]["masks"])
    assert "#/$defs/Permuted" in json.dumps(schema["properties"]["synthesis"])
    assert "#/$defs/Independent" in json.dumps(schema["$defs"]["DaMi"]["properties"]["model"])
    assert "trimmed_mean" in schema["$defs"]["Analysis"]["properties"]["model"]["enum"]
    assert "jsonl" in schema["$defs"]["ReleaseSettings"]["properties"]["format"]["enum"]
    assert "cautious" in json.dumps(schema["$defs"]["Analysis"]["properties"]["rule"])
    assert "means" in schema["$defs"]["EvaluationSettings"]["properties"]["utility"]["items"]["enum"]
    assert "nearest_row" in schema["$defs"]["EvaluationSettings"]["properties"]["risk"]["items"]["enum"]


def test_without_the_package_the_same_config_is_refused(tmp_path, work):
    done = synthdp("check", "config.yaml", site=tmp_path, cwd=work)
    assert done.returncode == 2
    assert (
        "masks.sex.method: must be one of gaussian, shifted_normal, transition; found 'shifted_laplace'" in done.stderr
    )


def test_errors_name_the_nearest_plugin(site, work):
    done = synthdp("check", "config.yaml", "--set", "masks.sex.method=shifted_laplac", site=site, cwd=work)
    assert done.returncode == 2
    assert "did you mean 'shifted_laplace'?" in done.stderr
    done = synthdp("check", "config.yaml", "--set", "masks.sex.alhpa=1", site=site, cwd=work)
    assert "masks.sex.alhpa: unknown key; did you mean 'alpha'?" in done.stderr


def test_the_mask_model_analysis_and_rule_are_used(studied):
    metrics = json.loads((studied / "metrics.json").read_text(encoding="utf-8"))
    assert "shifted Laplace, alpha 0.5" in (studied / "report.html").read_text(encoding="utf-8")
    (analysis,) = metrics["utility"]["analyses"]
    assert (analysis["model"], analysis["rule"]) == ("trimmed_mean", "cautious")
    assert analysis["terms"][0]["synthetic"]["se"] > 0
    assert "caution, for partially synthetic data" in (studied / "report.html").read_text(encoding="utf-8")


def test_the_measures_are_taken_judged_and_shown(studied):
    metrics = json.loads((studied / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["utility"]["means"]["columns"] == 1
    assert 0 <= metrics["risk"]["nearest_row"]["mean_individual"] <= 1
    checks = {(one["name"], one["attack"]): one for one in metrics["gate"]["checks"]}
    assert checks["max_individual", "nearest_row"]["limit"] == 0.33
    own = checks["max_means", "means"]
    assert own["passed"] is False
    assert own["value"] > own["limit"] == 1e-9
    report = (studied / "report.html").read_text(encoding="utf-8")
    assert "The nearest row is the right one for" in report
    assert "Worst: " in report


def test_a_limit_that_no_measure_states_is_refused(site, work):
    done = synthdp("check", "config.yaml", "--set", "release.limits={max_maens: 1}", site=site, cwd=work)
    assert done.returncode == 2
    assert "no measure from outside states a limit named 'max_maens'; did you mean 'max_means'?" in done.stderr


def test_the_synthesizer_publishes_in_the_format(site, work):
    off = [
        f"release.{name}=null"
        for name in ("max_individual", "max_claims_right", "max_expected_match_rate", "max_memorised")
    ]
    settings = [
        "synthesis={method: permuted, copies: 2}",
        "masks={}",
        "release.max_excess_verbatim=null",
        "release.max_attribute_gain=null",
        *off,
    ]
    changes = [word for change in settings for word in ("--set", change)]
    done = synthdp("run", "config.yaml", "--out", "published", *changes, site=site, cwd=work)
    assert done.returncode == 0, done.stderr
    public = work / "published" / "public"
    assert (public / "synthetic_01.jsonl").is_file()
    assert "read_json(path, lines=True)" in (public / "README.md").read_text(encoding="utf-8")
    assert synthdp("verify", public, site=site, cwd=work).returncode == 0
    found = synthdp(
        "analyse", public, "--model", "trimmed_mean", "--formula", "age", "--rule", "cautious", site=site, cwd=work
    )
    assert found.returncode == 0, found.stderr
    assert "2 copies combined by cautious" in found.stdout


def test_the_command_is_one_of_ours(site, work):
    assert "columns" in synthdp("--help", site=site, cwd=work).stdout
    assert synthdp("columns", "survey.jsonl", site=site, cwd=work).stdout.split()[0] == "id"
    assert synthdp("columns", "absent.jsonl", site=site, cwd=work).returncode == 2


@pytest.mark.parametrize(
    ("group", "entry", "words"),
    [
        ("synthdp.masks", {"mine": "no_such_module:Mask"}, "cannot be loaded: ModuleNotFoundError: No module named"),
        ("synthdp.masks", {"mine": "synthdp.masking.gaussian:Gaussian"}, "calls itself 'gaussian'"),
        ("synthdp.masks", {"mine": "json:dumps"}, "is no mask: it lacks model_fields, bind"),
        ("synthdp.masks", {"gaussian": "synthdp.masking.gaussian:Gaussian"}, "both register 'gaussian'"),
        ("synthdp.commands", {"mine": "no_such_module:run"}, "cannot be loaded"),
    ],
)  # fmt: skip
def test_a_plugin_that_cannot_be_used_is_one_sentence(tmp_path, group, entry, words):
    install(tmp_path / "site", "broken-plugin", {group: entry})
    done = synthdp("schema", site=tmp_path / "site", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "broken-plugin 1.0" in done.stderr
    assert words in done.stderr


def test_two_plugins_of_one_name_are_an_error(tmp_path):
    for name in ("first-plugin", "second-plugin"):
        install(tmp_path / "site", name, {"synthdp.formats": {"mine": "json:dumps"}})
    done = synthdp("schema", site=tmp_path / "site", cwd=tmp_path)
    assert done.returncode == 2
    assert "second-plugin 1.0 and first-plugin 1.0 both register 'mine'; uninstall one of them." in done.stderr
