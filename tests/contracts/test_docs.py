"""The pages hold together: links lead somewhere, configs are valid, the README is short, no folder outside is named."""

import re
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from synthdp.config import parse

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
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
    assert {page.name for page in DOCS} - {index.name} <= linked
    assert "docs/index.md" in LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))


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
