"""YAML as people mean it, and settings given on the command line."""

import re
from collections.abc import Hashable
from typing import Any

import yaml

from synthdp.errors import InputError

# the parser's own complaint, a number that is none or has thousands of digits, brackets nested without end
MOST_VALUES = 1_000_000
NOT_YAML = (yaml.YAMLError, ValueError, RecursionError)


class Loader(yaml.SafeLoader):
    """NO is a level and no truth value, 01 and 2020-01-31 are text, a key occurs once, aliases do not multiply."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._written = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Refuse aliases that stand for each other, so that a few lines would stand for millions of values."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        alias, before = self.check_event(yaml.AliasEvent), self._written
        node = super().compose_node(parent, index)
        if not alias:
            self._written += 1
            self._sizes[id(node)] = self._written - before
            return node
        if id(node) not in self._sizes:
            raise yaml.MarkedYAMLError(None, None, "an alias stands for what it is part of", mark)
        self._written += self._sizes[id(node)]
        if self._written > MOST_VALUES:
            raise yaml.MarkedYAMLError(None, None, f"its aliases stand for more than {MOST_VALUES:,} values", mark)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse a key that occurs twice."""
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        seen: set[str] = set()
        for key in keys:
            if key.value in seen:
                raise yaml.MarkedYAMLError(None, None, f"the key {key.value!r} occurs twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in known if tag.rpartition(":")[2] not in ("bool", "int", "timestamp")]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("(true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile("[-+]?(0|[1-9][0-9]*|0x[0-9a-fA-F]+)$"), list("-+0123456789")
)


def override(raw: dict[str, Any], text: str) -> None:
    """Write KEY=VALUE, with a dotted key and a YAML value, into the mapping of a config file."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InputError(f"--set {text}: must have the form KEY=VALUE.")
    here = raw
    *parents, last = key.split(".")
    for parent in parents:
        here = here.setdefault(parent, {})
        if not isinstance(here, dict):
            raise InputError(f"--set {key}: {parent} is not a block of settings.")
    try:
        here[last] = yaml.load(value, Loader)
    except NOT_YAML:
        raise InputError(f"--set {key}: the value is not valid YAML.") from None
