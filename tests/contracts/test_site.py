"""The site: pages made at build time say what they should, and the whole is read without a network."""

import doctest
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from making import links, measures, notebooks, reference, settings

import synthdp
from synthdp.config import json_schema

ROOT = Path(__file__).parents[2]
KNOWN = {"index.md", "config.md", "measured.md", "reports/gate/README.md", "reports/gate/map.svg", "notebooks/01_a.md"}


@pytest.mark.parametrize(
    "module", [links, measures, notebooks, reference, settings], ids=lambda module: module.__name__
)
def test_examples(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("page", "text", "there"),
    [
        ("index.md", "[gate](../reports/gate/README.md#a)", "[gate](reports/gate/README.md#a)"),
        ("questions/why.md", "[c](../config.md)", "[c](../config.md)"),
        ("questions/why.md", "[n](../../notebooks/01_a.ipynb)", "[n](../notebooks/01_a.md)"),
        ("CONTRIBUTING.md", "[c](docs/config.md)", "[c](config.md)"),
        ("reports/gate/README.md", "![map](map.svg)", "![map](map.svg)"),
        ("index.md", "all under [`reports/`](../reports)", "all under [`reports/`](measured.md)"),
        ("plugins.md", "[the package](../tests/example_plugin)", "the package"),
        ("index.md", "[x](https://example.org/a.md) [here](#words)", "[x](https://example.org/a.md) [here](#words)"),
        (
            "index.md",
            "```text\n[n](../reports)\n```\n[n](../reports)",
            "```text\n[n](../reports)\n```\n[n](measured.md)",
        ),
    ],
)
def test_links_lead_from_page_to_page(page, text, there):
    assert links.rewrite(text, page, KNOWN) == there


def test_every_setting_is_on_its_page():
    schema = json_schema()
    page = settings.page(schema)
    for name in schema["properties"]:
        assert f'<dt id="{name}">' in page
    for block, found in schema["$defs"].items():
        for name, prop in found.get("properties", {}).items():
            term = page.partition(f'<dt id="{settings.anchor(block)}-{name}">')[2].partition("</dd>")[0]
            assert term, f"{block}.{name}"
            assert not term.endswith("<dd>"), f"{block}.{name} has no description"
            assert prop.get("default") in (None, [], {}) or "default:" in term or name in found.get("required", ()), (
                term
            )


def test_outputs_of_a_notebook_are_shown_and_fetch_nothing(tmp_path):
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["a < b\n", "\n", "\n", "\x1b[31mred\x1b[0m\n"]},
        {"output_type": "display_data", "data": {"text/html": ["<b>x</b>\n\n<script src='https://cdn.org/p.js'></script>"]}},
        {"output_type": "display_data", "data": {"image/png": "QUJD\n", "text/plain": ["<Figure>"]}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []},
    ]  # fmt: skip
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "source": "print(1)", "outputs": outputs},
        {"cell_type": "raw", "source": "left out"},
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}}), encoding="utf-8")
    page = notebooks.page(path)
    assert page.startswith("# Title\ntext\n\n```python\nprint(1)\n```")
    assert "a &lt; b\n&#32;\n&#32;\nred" in page
    assert "<b>x</b>" in page
    assert "cdn.org" not in page
    assert 'src="data:image/png;base64,QUJD"' in page
    assert 'alt="&lt;Figure&gt;"' in page
    assert "ValueError: no" in page
    assert "left out" not in page
    blocks = re.findall(r'<div class="output">(.*?)</div>', page, flags=re.DOTALL)
    assert len(blocks) == len(outputs)
    assert not any("\n\n" in block for block in blocks)


def test_figures_of_plotly_are_drawn_by_a_script_of_the_site(tmp_path):
    figure = {"data": [{"type": "scatter", "x": [1, 2], "y": [3, 4]}], "layout": {}}
    output = {"output_type": "display_data", "data": {notebooks.PLOTLY: figure, "text/html": "https://cdn.plot.ly"}}
    path = tmp_path / "a.ipynb"
    cells = [{"cell_type": "code", "source": "show()", "outputs": [output]}] * 2
    path.write_text(json.dumps({"cells": cells, "metadata": {}}), encoding="utf-8")
    page = notebooks.page(path)
    assert page.count("Plotly.newPlot") == 2
    assert page.count(notebooks.DRAWS) == 1
    assert page.index(notebooks.DRAWS) < page.index("Plotly.newPlot")
    assert "cdn.plot.ly" not in page


def test_the_reference_has_everything_public():
    pages = reference.pages()
    rooms = [name for name in ("datasets", "dp", "privacy") if f"python/{name}.md" in pages]
    assert rooms == ["datasets", "dp", "privacy"]
    own = [name for name in synthdp.__all__ if not name.startswith("_") and name not in rooms]
    said = re.findall(r"^::: (\S+)$", "\n".join(pages.values()), flags=re.MULTILINE)
    assert {name.rpartition(".")[2] for name in said} >= set(own) | {"mean", "Ledger", "anes96", "epsilon"}
    assert len(said) == len(set(said))
    assert all(name.startswith("synthdp.") for name in said)


class Page(HTMLParser):
    """What a page fetches, where it links to, and where one can link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.linked: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a":
            self.linked += [given["href"]] if "href" in given else []
        elif tag == "link":
            # what only says where the page stands is not fetched
            self.fetched += [given["href"]] if given.get("rel") not in ("canonical", "prev", "next") else []
        else:
            self.fetched += [given[name] for name in ("src", "srcset", "data", "poster") if name in given]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    there = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(there)],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(there.rglob("*.html"))}, there


@pytest.mark.slow
def test_the_site(site):
    """One build, everything that can be asked of it."""
    pages, there = site
    names = {path.relative_to(there).as_posix() for path in pages}
    assert {"index.html", "glossary.html", "config_reference.html", "sources.html", "python/index.html"} <= names
    for path in (ROOT / "reports").glob("*/README.md"):
        assert f"reports/{path.parent.name}/index.html" in names
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{path.stem}.html" in names

    # nothing is fetched from afar, by no page, style sheet or script of ours
    for path, page in pages.items():
        assert not [found for found in page.fetched if re.match(r"(https?:)?//", found)], path.name
    for path in there.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", path.read_text(encoding="utf-8")), path.name

    # every link and every picture leads somewhere
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for link in [*page.linked, *page.fetched]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), (path.name, link)
            anchor = unquote(parts.fragment)
            assert not anchor or target not in pages or anchor in pages[target].anchors, (path.name, link)

    # what is made at build time is there
    glossary = (there / "glossary.html").read_text(encoding="utf-8")
    assert glossary.count('class="facts"') == len(
        measures.entries((ROOT / "docs/glossary.md").read_text(encoding="utf-8"))
    )
    assert (there / "index.html").read_text(encoding="utf-8").count('class="door"') == 4
    prose = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    assert 'class="language-mermaid' not in prose
    assert 'class="mermaid"' not in prose
    assert str(ROOT) not in prose
    assert not re.search(r":(func|class|mod):`", prose)
