"""The script that writes the inputs that replace a resource, from the provider's schema."""

from __future__ import annotations

import runpy
from typing import Any, Final

from tests.stack_files import ROOT

SCRIPT: Final[dict[str, Any]] = runpy.run_path(str(ROOT / "scripts" / "provider_replaces.py"))
NODE_POOL: Final = "gcp:container/nodePool:NodePool"
ADDRESS: Final = "gcp:compute/address:Address"


def _block(kind: str, **options: bool) -> dict[str, Any]:
    return {"$ref": f"#/types/{kind}", **options}


MARKED: Final = {"type": "string", "willReplaceOnChanges": True}
PLAIN: Final = {"type": "string"}
SCHEMA: Final = {
    "resources": {
        NODE_POOL: {
            "inputProperties": {
                "name": MARKED,
                "version": PLAIN,
                "nodeConfig": _block("Nodes", willReplaceOnChanges=True),
                "placementPolicy": _block("Placement", willReplaceOnChanges=True),
                "networkConfig": {"type": "array", "items": _block("Network")},
            }
        },
        ADDRESS: {"inputProperties": {"labels": PLAIN, "region": MARKED, "name": MARKED}},
    },
    "types": {
        "Nodes": {"properties": {"spot": MARKED, "diskSizeGb": PLAIN, "inner": _block("Nodes")}},
        "Placement": {"properties": {"type": MARKED}},
        "Network": {"properties": {"podRange": MARKED, "enablePrivateNodes": PLAIN}},
    },
}


def test_marked_inputs_are_listed_also_in_blocks_and_not_inside_marked_ones() -> None:
    assert SCRIPT["marked_inputs"](SCHEMA, NODE_POOL) == [
        "name",
        "networkConfig.podRange",
        "nodeConfig",
        "nodeConfig.spot",
        "placementPolicy",
    ]


def test_the_head_and_the_part_for_alibaba_cloud_stay_as_they_are() -> None:
    table = f"# head\n{ADDRESS}:\n  - name\n# Alibaba Cloud: by hand\nalicloud:cs/nodePool:NodePool:\n  - clusterId\n"
    assert SCRIPT["regenerated"](table, SCHEMA) == table.replace("  - name\n", "  - name\n  - region\n")


def test_the_table_is_as_the_script_writes_it() -> None:
    """Every type has its rows in order, so that a new version of the provider shows as its own difference only."""
    lines = SCRIPT["TABLE"].read_text(encoding="utf-8").splitlines()
    types = [at for at, line in enumerate(lines) if line.endswith(":")]
    for start, end in zip(types, [*types[1:], len(lines)], strict=True):
        rows = [line for line in lines[start + 1 : end] if line.startswith("  - ")]
        assert rows == sorted(set(rows)), lines[start]
    assert len({lines[at] for at in types}) == len(types)
