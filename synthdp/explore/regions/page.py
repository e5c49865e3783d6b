"""The page: markup, style, formulas and what a config adds, put together into one file that asks for nothing."""

import base64
import hashlib
import json
from pathlib import Path
from string import Template

from synthdp.config import Config
from synthdp.explore.regions.counts import TABLE
from synthdp.explore.regions.masked import Masks, masks_of

HERE = Path(__file__).parent
FORMULAS = ("special.js", "curves.js", "composing.js", "kinds.js", "prices.js")
"""What computes, and knows nothing of the page; ``state.js`` and later files show it."""
SCRIPTS = (*FORMULAS, "dom.js", "plot.js", "state.js", "editor.js", "overview.js", "window.js", "start.js")


def page(settings: Config | None = None) -> str:
    """Return the page of privacy regions: one file, works without a network, asks for nothing.

    Parameters
    ----------
    settings
        A config; its masked columns with a formal bound are offered as regions, and for the others it says why not. Its
        data are read, and nothing of them is in the page but names of columns and bounds fixed beforehand.

    Examples
    --------
    >>> "<script src" in page()
    False
    """
    style = (HERE / "page.css").read_text(encoding="utf-8")
    script = source(SCRIPTS)
    masks = masks_of(settings) if settings is not None else Masks()
    return Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        policy=_policy(script, style), style=style, script=script, context=_harmless({**masks.told()})
    )


def source(scripts: tuple[str, ...] = FORMULAS) -> str:
    """Return scripts in one, with the table of counts that the formulas read."""
    table = json.dumps(json.loads(TABLE.read_text(encoding="utf-8")))
    parts = ['"use strict";', f"const COUNTS = {table};"]
    if scripts != FORMULAS:
        parts.append('const CONTEXT = JSON.parse(document.getElementById("context").textContent);')
    return "\n".join([*parts, *((HERE / name).read_text(encoding="utf-8") for name in scripts)])


def _policy(script: str, style: str) -> str:
    """Return a policy under which nothing runs but this script, and nothing is fetched."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _harmless(told: object) -> str:
    """Return JSON in which no name can end the element that holds it."""
    return json.dumps(told).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
