"""The reference of the config, made from its JSON Schema: every block, every word, its type and its default."""

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

Schema = Mapping[str, Any]
INTRO = """# Every setting

Made from the JSON Schema that `synthdp schema` prints. [Configuration](config.md) explains how the blocks work
together and has examples; this page has every word. A word without a default must be stated.
"""
BOUNDS = {"minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}", "exclusiveMaximum": "< {}",
          "minItems": "at least {}", "maxItems": "at most {}"}  # fmt: skip


def page(schema: Schema) -> str:
    """Return the page of a schema: the blocks of a config in their order, then what they refer to."""
    schema = _in_place(schema, {name: block for name, block in schema["$defs"].items() if "enum" in block})
    blocks = {name: block for name, block in schema["$defs"].items() if "properties" in block}
    parts = [INTRO, "## The file\n", _settings(schema, "")]
    for name in _in_turn(schema):
        if name in blocks:
            parts += [f"## {title(name, blocks[name])} {{ #{anchor(name)} }}\n"]
            parts += [_prose(blocks[name].get("description", "")) + "\n", _settings(blocks[name], anchor(name) + "-")]
    return "\n".join(parts)


def title(name: str, block: Schema) -> str:
    """Return the heading of a block: the word that chooses it, where there is one."""
    method = block["properties"].get("method", {}).get("const")
    return f"{name} (`method: {method}`)" if method else name


def anchor(name: str) -> str:
    """Return the anchor of a block.

    >>> anchor("DaMi")
    'block-dami'
    """
    return f"block-{name.lower()}"


def kind(prop: Schema) -> str:
    """Return the type of a setting in words, as HTML.

    >>> kind({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]})
    'number &gt; 0, or null'
    """
    if "$ref" in prop:
        name = prop["$ref"].rpartition("/")[2]
        return f'<a href="#{anchor(name)}">{name}</a>'
    for word in ("anyOf", "oneOf"):
        if word in prop:
            return ", or ".join(dict.fromkeys(kind(one) for one in prop[word]))
    if "const" in prop:
        return _value(prop["const"])
    if "enum" in prop:
        return " | ".join(_value(one) for one in prop["enum"])
    bounds = " ".join(escape(words.format(f"{prop[word]:g}")) for word, words in BOUNDS.items() if word in prop)
    return f"{_plain(prop)} {bounds}".strip()


def _plain(prop: Schema) -> str:
    found = prop.get("type", "anything")
    if found == "array":
        if "prefixItems" in prop:
            return f"[{', '.join(kind(one) for one in prop['prefixItems'])}]"
        return f"list of {kind(prop['items'])}" if prop.get("items") else "list"
    if found == "object":
        inner = prop.get("additionalProperties")
        return f"{{name: {kind(inner)}}}" if isinstance(inner, Mapping) else "block"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(found, str(found))


def _settings(block: Schema, prefix: str) -> str:
    """Return the settings of a block as a list of definitions."""
    return '<dl class="settings">\n' + "\n".join(_terms(block, prefix)) + "\n</dl>\n"


def _terms(block: Schema, prefix: str) -> Iterator[str]:
    required = block.get("required", ())
    for name, prop in block["properties"].items():
        default = "required" if name in required else _default(prop)
        yield (
            f'<dt id="{prefix}{name}"><code>{name}</code> <span class="kind">{kind(prop)}'
            f"{f' · {default}' if default else ''}</span></dt>\n<dd>{_html(prop.get('description', ''))}</dd>"
        )


def _default(prop: Schema) -> str:
    if "default" not in prop:
        return "" if "const" in prop else "default: empty"
    default = prop["default"]
    if isinstance(default, Mapping) and "method" in default:
        return f"default: <code>method: {default['method']}</code>"
    if default and "$ref" in prop:
        return "default: that of each of its words"
    return f"default: {_value(default)}"


def _value(value: object) -> str:
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"<code>{escape(shown)}</code>"


def _prose(text: str) -> str:
    """Return a docstring's sentences as Markdown.

    >>> _prose("``keep`` or what :mod:`~synthdp.table.expressions` allows")
    '`keep` or what `synthdp.table.expressions` allows'
    """
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")


def _html(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(_prose(text), quote=False))


def _in_place(found: Any, words: Mapping[str, Schema]) -> Any:
    """Return a part of a schema with lists of words where it only names them."""
    if isinstance(found, Mapping):
        listed = words.get(str(found.get("$ref", "")).rpartition("/")[2])
        if listed is not None:
            return {"enum": listed["enum"]} | {name: value for name, value in found.items() if name != "$ref"}
        return {name: _in_place(value, words) for name, value in found.items()}
    return [_in_place(value, words) for value in found] if isinstance(found, list) else found


def _in_turn(schema: Schema) -> Iterator[str]:
    """Yield the names of all blocks in the order in which the config comes to them."""
    seen: set[str] = set()
    waiting: list[Any] = [schema["properties"]]
    while waiting:
        found = waiting.pop(0)
        if isinstance(found, Mapping):
            name = str(found.get("$ref", "")).rpartition("/")[2]
            if name and name not in seen:
                seen.add(name)
                yield name
                waiting.insert(0, schema["$defs"][name].get("properties", {}))
            waiting[:0] = [value for word, value in found.items() if word not in ("default", "discriminator")]
        elif isinstance(found, list):
            waiting[:0] = found
