"""The pages hold together: links lead somewhere, configs are valid, the README is short, no folder outside is named."""

import re
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from making import measures

from synthdp.config import parse
from synthdp.plugins import BUILT_IN

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
QUESTIONS = sorted((ROOT / "docs" / "questions").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *DOCS]
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        target = (page.parent / name) if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_configs_are_valid(page: Path) -> None:
    for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        parse({"data": {"path": "file.csv"}} | yaml.safe_load(block))


def test_every_page_is_linked_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {link.partition("#")[0] for link in LINK.findall(index.read_text(encoding="utf-8"))}
    assert {page.relative_to(index.parent).as_posix() for page in DOCS} - {index.name} <= linked
    assert "docs/index.md" in LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def test_every_page_has_its_place_on_the_site() -> None:
    listed = re.findall(r"([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {page.relative_to(ROOT / "docs").as_posix() for page in DOCS} <= set(listed)
    elsewhere = {"CONTRIBUTING.md", "CHANGELOG.md", "notebooks/README.md"}
    made = {"config_reference.md"}
    assert all((ROOT / "docs" / page).exists() for page in set(listed) - elsewhere - made)
    assert all((ROOT / page).exists() for page in elsewhere)


@pytest.mark.parametrize("page", QUESTIONS, ids=lambda page: page.stem)
def test_the_code_of_a_question_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(block, page.name, "exec"), {"__name__": "page"})
        assert "nan" not in capsys.readouterr().out


def test_commands_of_the_pages_are_commands() -> None:
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            for name in re.findall(r"^\$ synthdp (\w+)", block, flags=re.MULTILINE):
                assert name in BUILT_IN["commands"], (page.name, name)


def test_the_glossary_has_every_measure() -> None:
    found = measures.entries((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    assert list(found) == list(dict.fromkeys(found))
    # others' measures are registered too where their package is installed
    ours = {name.rpartition(".")[2] for name in BUILT_IN["measures"]}
    assert set(found) == ours <= set(measures.registered())
    for name, entry in found.items():
        assert re.findall(r"^- \*\*(\w+):\*\* \S", entry, flags=re.MULTILINE) == list(measures.WORDS), name


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


def test_no_source_names_a_folder_outside_the_repository() -> None:
    outside = re.compile(r"\.\./shared|\"shared\" / \"data\"|(?<![\w/])/work/")
    sources = [path for folder in ("synthdp", "tests", "benchmarks", "reports", "notebooks", "data")
               for path in (ROOT / folder).rglob("*")
               if path.suffix in {".py", ".ipynb", ".yaml", ".md", ".R", ".sh"} and path != Path(__file__)]  # fmt: skip
    assert not [path.relative_to(ROOT) for path in sources if outside.search(path.read_text(encoding="utf-8"))]


def test_the_tour_leads_through_code_that_is_there() -> None:
    tour = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## A tour")[2].partition("\n## ")[0]
    stops = re.findall(r"^\d+\. ", tour, flags=re.MULTILINE)
    assert 1 <= len(stops) <= 15
    for name in re.findall(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`", tour):
        if name.endswith((".csv", ".json")):
            continue
        *path, last = f"synthdp.{name}".split(".")
        module = import_module(".".join(path))
        assert hasattr(module, last) or import_module(f"{module.__name__}.{last}"), name


def test_the_code_of_the_page_on_python_runs_in_order() -> None:
    page = ROOT / "docs" / "python.md"
    space: dict[str, object] = {"__name__": "page"}
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, page.name, "exec"), space)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_that_is_shown_is_python(page: Path) -> None:
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        compile(block.replace("…", "..."), page.name, "exec")


def test_the_parts_that_are_shown_are_those_of_the_example_package() -> None:
    package = ROOT / "tests" / "example_plugin" / "synthdp_example"
    source = "\n".join(path.read_text(encoding="utf-8") for path in package.glob("*.py"))
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    shown = [block for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL) if "(Association)" in block]
    shown += [block for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL) if "Plain(" in block]
    assert len(shown) == 2
    for line in "".join(shown).splitlines():
        assert line.partition("  #")[0].removesuffix(": ...").strip() in source, line
