"""Imports go one way, and the command line starts without the heavy libraries."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "synthdp"

# A module may import from the layers above its own, and inside its own package.
LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "budget",
        "errors",
        "seeding",
        "progress",
        "files",
        "arrays",
        "newton",
        "parallel",
        "plugins",
        "showing",
        "engine",
    ),
    ("table",),
    ("datasets",),
    ("privacy",),
    ("dp",),
    ("tagging",),
    ("masking",),
    ("imputation",),
    ("synthesis",),
    ("inference",),
    ("evaluation",),
    ("config",),
    ("release",),
    ("report",),
    ("stages",),
    ("verification",),
    ("pipeline",),
    ("comparing",),
    ("tuning",),
    ("face",),
    ("api",),
    ("explore",),
    ("cli",),
    ("testing",),
    ("__main__",),
)
FOUNDATION = LAYERS[0]
LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}

# Who judges a release must not know how it was made.
BLIND = ("inference", "evaluation")
UNSEEN = ("masking", "imputation", "synthesis")
SEAM = "synthdp.synthesis.design"

HEAVY = (
    "numpy",
    "pandas",
    "scipy",
    "statsmodels",
    "sklearn",
    "numba",
    "plotly",
    "pyarrow",
    "pyreadstat",
    "optuna",
    "dash",
)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def part(module: str) -> str:
    """Return the top-level name under synthdp: ``masking`` for ``synthdp.masking.gaussian``."""
    return module.split(".")[1]


def imported(source: str, module: str, *, package: bool) -> Iterator[str]:
    """Yield the modules of synthdp that a source imports, wherever in the file the statement stands."""
    here = module if package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "synthdp")
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = here.split(".")[: len(here.split(".")) - node.level + 1]
                base = ".".join([*above, *base.split(".")] if base else above)
            if base.split(".")[0] == "synthdp":
                for alias in node.names:
                    full = f"{base}.{alias.name}"
                    yield full if full in MODULES else base


def imports_of(module: str) -> set[str]:
    path = MODULES[module]
    return set(imported(path.read_text(encoding="utf-8"), module, package=path.name == "__init__.py")) - {module}


def complaints(module: str, target: str) -> Iterator[str]:
    if target == "synthdp":  # the face, which only names the version, imports from everywhere lazily
        return
    mine, theirs = part(module), part(target)
    if mine == theirs:
        return
    if LAYER_OF[theirs] > LAYER_OF[mine]:
        yield f"{module} imports {target}, which comes after it"
    elif LAYER_OF[theirs] == LAYER_OF[mine] and mine not in FOUNDATION:
        yield f"{module} imports {target}, which stands beside it"
    if mine in BLIND and theirs in UNSEEN and target != SEAM:
        yield f"{module} imports {target}, of which it must know nothing"


def test_every_module_has_its_place():
    missing = sorted({part(module) for module in MODULES if module != "synthdp"} - set(LAYER_OF))
    assert not missing, f"say in LAYERS where these belong: {', '.join(missing)}"


@pytest.mark.parametrize("module", [module for module in MODULES if module != "synthdp"])
def test_imports_go_one_way(module):
    found = [text for target in sorted(imports_of(module)) for text in complaints(module, target)]
    assert not found, "; ".join(found)


def test_no_module_imports_itself_by_a_detour():
    # a package's __init__ gathers its modules for the outside, so inside the package it is not an edge
    graph = {
        module: {target for target in imports_of(module) if target != "synthdp" and not module.startswith(f"{target}.")}
        for module in MODULES
        if module != "synthdp"
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize(
    ("module", "target", "words"),
    [
        ("synthdp.masking.gaussian", "synthdp.synthesis.da_mi", "comes after it"),
        ("synthdp.imputation.predictors", "synthdp.synthesis.design", "comes after it"),
        ("synthdp.evaluation.pmse", "synthdp.masking.gaussian", "must know nothing"),
        ("synthdp.inference.pool", "synthdp.synthesis.da_mi", "must know nothing"),
    ],
)
def test_wrong_directions_are_noticed(module, target, words):
    assert any(words in text for text in complaints(module, target))


@pytest.mark.parametrize(
    ("statement", "target"),
    [
        ("import synthdp.table.schema", "synthdp.table.schema"),
        ("from synthdp.table import schema", "synthdp.table.schema"),
        ("from synthdp.table.schema import Column", "synthdp.table.schema"),
        ("from .mask import Target", "synthdp.masking.mask"),
        ("from ..table.schema import Column", "synthdp.table.schema"),
        ("def late():\n    from synthdp.table.schema import Column", "synthdp.table.schema"),
    ],
)
def test_every_form_of_import_is_read(statement, target):
    assert list(imported(statement, "synthdp.masking.gaussian", package=False)) == [target]


def heavy_after(code: str) -> set[str]:
    """Return which heavy libraries a fresh interpreter has loaded after running ``code``."""
    report = f"import sys\n{code}\nprint('LOADED', *sorted(set(sys.modules) & {set(HEAVY)!r}))"
    done = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_import_is_light():
    assert heavy_after("import synthdp") == set()


@pytest.mark.parametrize("command", [[], ["run"], ["demo"], ["explore"], ["dp"], ["dp", "mean"]])
def test_help_is_light(command):
    code = (
        "import io, contextlib\n"
        f"sys.argv = ['synthdp', *{command!r}, '--help']\n"
        "from synthdp.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main()"
    )
    assert heavy_after(code) == set()


def test_commands_that_read_data_load_no_library_before_it_is_used():
    assert heavy_after("import synthdp.cli.starting") <= {"numpy", "pandas", "scipy", "numba", "pyarrow"}
    late = {"scipy.stats", "scipy.optimize", "scipy.spatial", "scipy.sparse"}
    assert heavy_after(f"import synthdp.pipeline\nassert not {late!r} & set(sys.modules)") >= {"pandas"}
