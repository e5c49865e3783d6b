"""Where a file of the repository stands on the site, and links between files turned into links between pages."""

import posixpath
import re
from collections.abc import Callable, Collection

LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)[ ]*$", flags=re.MULTILINE | re.DOTALL)
OUTSIDE = ("http:", "https:", "mailto:")
# a link to the folder of all studies leads to the page that lists them
FOLDERS = {"reports": "measured.md", "docs": "index.md", "notebooks": "notebooks/README.md"}


def page_of(path: str) -> str:
    """Return where a file of the repository stands on the site: ``docs/`` is its root, notebooks are pages.

    >>> [page_of(path) for path in ("docs/config.md", "notebooks/01_quickstart.ipynb", "reports/gate/README.md")]
    ['config.md', 'notebooks/01_quickstart.md', 'reports/gate/README.md']
    """
    if path in FOLDERS:
        return FOLDERS[path]
    path = path.removeprefix("docs/")
    return path.removesuffix(".ipynb") + ".md" if path.endswith(".ipynb") else path


def file_of(page: str) -> str:
    """Return which file of the repository a page is made of, as far as its links are concerned.

    >>> [file_of(page) for page in ("config.md", "CHANGELOG.md", "reports/gate/README.md")]
    ['docs/config.md', 'CHANGELOG.md', 'reports/gate/README.md']
    """
    at_root = page in ("CHANGELOG.md", "CONTRIBUTING.md")
    return page if at_root or page.startswith(("reports/", "notebooks/")) else f"docs/{page}"


def rewrite(text: str, page: str, known: Collection[str]) -> str:
    """Return a page's text with links to other files as links to their pages; what has no page is not linked.

    Parameters
    ----------
    text
        Markdown as it stands in the repository.
    page
        The page it becomes.
    known
        Every page and picture of the site.
    """
    return _between_fences(text, lambda prose: LINK.sub(lambda found: _link(found, page, known), prose))


def _link(found: re.Match[str], page: str, known: Collection[str]) -> str:
    path, mark, anchor = found["target"].partition("#")
    if not path or path.startswith(OUTSIDE):
        return found[0]
    file = posixpath.normpath(posixpath.join(posixpath.dirname(file_of(page)), path))
    there = page_of(file)
    if there not in known:
        return found["text"]
    target = posixpath.relpath(there, posixpath.dirname(page) or ".")
    return f"{found['image']}[{found['text']}]({target}{mark}{anchor})"


def _between_fences(text: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])
