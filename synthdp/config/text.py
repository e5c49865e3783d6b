"""YAML as people mean it, and settings given on the command line."""

import re
from collections.abc import Hashable
from typing import Any

import yaml

from synthdp.errors import InputError

# the parser's own complaint, a number that is none or has thousands of digits, brackets nested without end
NOT_YAML = (yaml.YAMLError, ValueError, RecursionError)


class Loader(yaml.SafeLoader):
    """NO is a level and no truth value, 01 and 2020-01-31 are text, a key occurs once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse a key that occurs twice."""
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for position, key in enumerate(keys):
            if any(key.value == earlier.value for earlier in keys[:position]):
                raise yaml.MarkedYAMLError(None, None, f"the key {key.value!r} occurs twice", key.start_mark)
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
