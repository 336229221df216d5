"""Write the inputs that Google's provider replaces a resource for into berth/diff/provider_inputs/replaces.yaml.

`python scripts/provider_replaces.py SCHEMA` reads schema.json of pulumi/pulumi-gcp (`pulumi package get-schema gcp`).
It keeps the types of the file and the part for Alibaba Cloud.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "berth" / "diff" / "provider_inputs" / "replaces.yaml"
MARK = "willReplaceOnChanges"
BY_PARTS = {("gcp:container/nodePool:NodePool", "nodeConfig")}
"""Blocks whose mark is for taking them away: what lies in them is marked one by one."""


def marked_inputs(schema: Mapping[str, Any], token: str) -> list[str]:
    """Return the paths of the marked inputs of a resource type, sorted; nothing inside a marked block."""
    return sorted(_marked(schema, token, schema["resources"][token]["inputProperties"], "", ()))


def _marked(
    schema: Mapping[str, Any], token: str, properties: Mapping[str, Any], prefix: str, around: tuple[str, ...]
) -> Iterator[str]:
    for name, value in properties.items():
        path = f"{prefix}{name}"
        if value.get(MARK):
            yield path
        reference = value.get("$ref") or value.get("items", {}).get("$ref") or ""
        block = schema["types"].get(reference.removeprefix("#/types/"), {})
        if reference not in around and (not value.get(MARK) or (token, path) in BY_PARTS):
            yield from _marked(schema, token, block.get("properties", {}), f"{path}.", (*around, reference))


def regenerated(table: str, schema: Mapping[str, Any]) -> str:
    """Return the table with the rows of Google's types as the schema has them."""
    head, _, rest = table.partition("\ngcp:")
    google, mark, others = f"gcp:{rest}".partition("# Alibaba Cloud")
    tokens = [line.removesuffix(":") for line in google.splitlines() if line.endswith(":")]
    rows = (line for token in tokens for line in (f"{token}:", *(f"  - {p}" for p in marked_inputs(schema, token))))
    return "\n".join([head, *rows]) + f"\n{mark}{others}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("write: python scripts/provider_replaces.py SCHEMA, with the path of the provider's schema.json")
    schema = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    TABLE.write_text(regenerated(TABLE.read_text(encoding="utf-8"), schema), encoding="utf-8")
