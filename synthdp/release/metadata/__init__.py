"""How a release is described to catalogues, archives and its users: everything in public/ beside the data and README.

Nothing here sees the confidential file: its sources are ``release.json``, the codebook, the copies, and what the
publisher states.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files as resources
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined

from synthdp.config.publication import Publication
from synthdp.privacy.guarantees import NOT_PRIVATE
from synthdp.release.guide import privacy_words
from synthdp.release.metadata.about import NOT_STATED, About
from synthdp.release.metadata.catalogues import citation, datacite, dublin_core
from synthdp.release.metadata.ddi import ROLE_WORDS, ddi
from synthdp.table.io.formats import FORMATS

DDI, DATACITE, DUBLIN_CORE = "ddi.xml", "datacite.json", "dublin_core.xml"
CITATION, DATASHEET = "CITATION.cff", "datasheet.md"
TEMPLATES = ("readme.md", "metadata/datasheet.md")
DOCUMENTS = (CITATION, DATACITE, DATASHEET, DDI, DUBLIN_CORE)


def documents(
    release: Mapping[str, Any],
    codebook: pd.DataFrame,
    copies: Sequence[pd.DataFrame],
    publication: Publication,
    *,
    year: int,
) -> dict[str, bytes]:
    """Return the documents of a release by name.

    Parameters
    ----------
    release
        The contents of ``release.json``.
    codebook
        The contents of ``codebook.csv``.
    copies
        The released tables; every statistic is theirs.
    publication
        Who publishes, in their own words.
    year
        Of publication, where they do not state it.
    """
    about = About(release, publication, publication.year or year)
    return {
        CITATION: citation(about),
        DATACITE: datacite(about),
        DATASHEET: datasheet(about).encode(),
        DDI: ddi(about, codebook, copies),
        DUBLIN_CORE: dublin_core(about),
    }


@cache
def said_of_any() -> str:
    """Return the words that README and documents hold whatever the data are: they tell nothing about a file."""
    texts = [resources("synthdp.release").joinpath(name).read_text(encoding="utf-8") for name in TEMPLATES]
    nobody = {"records": 0, "files": [], "columns": [], "format": "csv", "method": "", "rule": "", "privacy": {}}
    rows = [{"name": kind, "kind": kind, "role": role} for kind, role in (("count", "kept"), ("date", "replaced"))]
    tables = [pd.DataFrame({"count": [1, 2], "date": [None, None]})]
    made = documents(nobody, pd.DataFrame(rows), tables, Publication(licence="CC-BY-4.0"), year=0)
    return "\n".join([*texts, *(one.decode() for one in made.values()), *ROLE_WORDS.values(), NOT_PRIVATE])


def plain(text: str) -> str:
    r"""Return a text as Markdown that shows it and does nothing else: no HTML, no links, no line of its own.

    Examples
    --------
    >>> plain("a <b> [c](d)")
    'a &lt;b> [c]\\(d)'
    """
    text = re.sub(r"&(?=#?\w+;)", "&amp;", " ".join(text.split()))
    text = re.sub(r"^(?=[#>+*=~-])", r"\\", text)  # at the beginning of a line these make headings and lists
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    return text.replace("`", "\\`").replace("](", "]\\(")


def datasheet(about: About) -> str:
    """Return ``datasheet.md``: what a user of data should ask, with the answers that a release knows."""
    text = resources("synthdp.release.metadata").joinpath("datasheet.md").read_text(encoding="utf-8")
    environment = Environment(trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined, autoescape=False)
    environment.filters["plain"] = plain
    licence = about.licence
    address = f" ({licence.address})" if licence and licence.address and licence.address != licence.words else ""
    return environment.from_string(text).render(
        about=about,
        missing=NOT_STATED,
        creators=plain("; ".join(creator.name for creator in about.creators)) or f"*{NOT_STATED}*",
        many=len(about.files),
        files=", ".join(f"`{name}`" for name in about.files),
        replaced=about.named("replaced"),
        kept=about.named("kept"),
        derived=about.named("derived"),
        masks=", ".join(about.release.get("masks") or ()),
        privacy=privacy_words(about.release.get("privacy") or {}),
        licence=plain(f"{licence.words}{address}") if licence else f"*{NOT_STATED}*: ask before you pass the files on",
        stata=FORMATS[about.release["format"]].stata,
    )
