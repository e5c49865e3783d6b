"""Committed notebooks as pages: text as it stands, code, and the outputs they were saved with. Nothing is run."""

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any
from zlib import crc32

FROM_AFAR = re.compile(
    r"<(script|link)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>(?:\s*</script>)?", flags=re.IGNORECASE
)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
# figures of plotly are drawn by a script that stands beside the pages, once for all notebooks
PLOTLY = "application/vnd.plotly.v1+json"
DRAWS = '<script src="../plotly.min.js"></script>'
# the best form of an output that a page can show comes first
FORMS = (PLOTLY, "text/html", "image/svg+xml", "image/png", "text/markdown", "text/plain")


def page(path: Path) -> str:
    """Return a notebook as Markdown."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    language = notebook["metadata"].get("kernelspec", {}).get("language", "python")
    text = "\n\n".join(piece for cell in notebook["cells"] for piece in _cell(cell, language) if piece) + "\n"
    first = text.find("Plotly.newPlot")
    start = text.rfind('<div class="output">', 0, max(first, 0))
    return text if first < 0 else f"{text[:start]}{DRAWS}\n\n{text[start:]}"


def _cell(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    source = _text(cell["source"]).strip()
    if cell["cell_type"] == "markdown":
        yield source
    elif cell["cell_type"] == "code":
        yield f"```{language}\n{source}\n```" if source else ""
        for output in cell["outputs"]:
            yield f'<div class="output">\n{shown(output)}\n</div>'


def shown(output: Mapping[str, Any]) -> str:
    """Return one output as HTML without blank lines, which would end the block in Markdown."""
    if output["output_type"] == "stream":
        return _verbatim(_text(output["text"]))
    if output["output_type"] == "error":
        return _verbatim(f"{output['ename']}: {output['evalue']}")
    data = output["data"]
    form = next((form for form in FORMS if form in data), None)
    if form == PLOTLY:
        return _drawn(data[form])
    if form in ("text/html", "image/svg+xml"):
        html = FROM_AFAR.sub("", _text(data[form]))
        return re.sub(r"\n\s*\n", "\n", html).strip()
    if form == "image/png":
        words = escape(_text(data.get("text/plain", "a figure")), quote=True).replace("\n", " ")
        return f'<img alt="{words}" src="data:image/png;base64,{_text(data[form]).replace(chr(10), "")}">'
    return _verbatim(_text(data[form]) if form else "")


def _drawn(figure: Mapping[str, Any]) -> str:
    import plotly.io

    shown = {name: figure[name] for name in ("data", "layout")}
    name = f"plot-{crc32(json.dumps(shown, sort_keys=True).encode())}"
    html: str = plotly.io.to_html(
        shown,
        config={"displayModeBar": False, "responsive": True},  # its buttons would lie on the heading
        include_plotlyjs=False,
        full_html=False,
        div_id=name,
        validate=False,
    )
    return html


def _verbatim(text: str) -> str:
    # a blank line would end the block, a space in it does not
    kept = escape(ESCAPES.sub("", text).rstrip(), quote=False).replace("\n\n", "\n&#32;\n").replace("\n\n", "\n&#32;\n")
    return f"<pre><code>{kept}</code></pre>"


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)
