"""The hook of the site: adds the pages that are made when it is built, and lets links lead from page to page."""

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url
from plotly.offline import get_plotlyjs

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from making import links, measures, notebooks, reference, settings  # noqa: E402
from synthdp.config import json_schema  # noqa: E402

PICTURES = (".svg", ".png")
# the theme fetches this from afar where pages are read from a folder; docs/worker.js does the same
SHIM = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add every study, notebook and room of the package to the tab that is theirs."""
    tabs: dict[str, Any] = {title: pages for tab in config.nav or [] for title, pages in tab.items()}
    tabs["Studies"] += [f"reports/{study.name}/README.md" for study in _studies()]
    tabs["Notebooks"] += [f"notebooks/{path.stem}.md" for path in _notebooks()]
    tabs["Reference"].append({"Python": list(reference.pages())})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here, and those that stand elsewhere in the repository."""
    made = reference.pages()
    made["config_reference.md"] = settings.page(json_schema())
    made |= {f"notebooks/{path.stem}.md": notebooks.page(path) for path in _notebooks()}
    for where, text in made.items():
        files.append(File.generated(config, where, content=text))
    if any(notebooks.DRAWS in text for text in made.values()):
        files.append(File.generated(config, "plotly.min.js", content=get_plotlyjs()))
    standing = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "notebooks" / "README.md"]
    for study in _studies():
        standing += [study / "README.md", *(path for path in sorted(study.iterdir()) if path.suffix in PICTURES)]
    for path in standing:
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page with its links, and what only the site has."""
    where = page.file.src_uri
    if where.startswith("python/"):
        return markdown
    text = links.rewrite(markdown, where, {file.src_uri for file in files})
    text = text.replace("[Back to the index](index.md). ", "", 1)
    if where == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
        return with_doors(text)
    return measures.with_facts(text) if where == "glossary.md" else text


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Return a page that fetches nothing from afar."""
    return SHIM.sub(f'<script src="{get_relative_url("worker.js", page.url)}"></script>', output)


def on_post_template(output: str, *, template_name: str, config: MkDocsConfig) -> str:
    """Do the same for the page of wrong addresses."""
    return SHIM.sub("", output)


def with_doors(text: str) -> str:
    """Return the first page with its sections as doors, side by side; what comes after "All pages" is below them."""
    before, *doors = text.split("\n## ")
    *doors, last = doors
    inner = "\n".join(f'<div class="door" markdown="1">\n\n## {door.strip()}\n\n</div>' for door in doors)
    return f'{before}\n<div class="doors" markdown="1">\n{inner}\n</div>\n\n## {last}'


def _studies() -> list[Path]:
    return sorted(path.parent for path in (ROOT / "reports").glob("*/README.md"))


def _notebooks() -> list[Path]:
    return sorted((ROOT / "notebooks").glob("*.ipynb"))
