"""Generated fleets of a manager and its workers, for benchmarks and for tests of scale."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Iterator

CLUSTERS, POOLS = 20, 10
"""Workers, and pools of each; two neighbours hold the same flavors."""
_WIDTH = (5, 4, 5, 2)
"""Cohorts below each cohort, level by level: with the company on top the tree is five deep, with 200 leaves."""


def write(folder: pathlib.Path, teams: int) -> pathlib.Path:
    """A project folder with a manager of CLUSTERS workers and `teams` teams in a tree; returns the stack file."""
    (folder / "teams").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    tree = list(_tree())
    leaves = tree[-math.prod(_WIDTH) :]
    for number in range(teams):
        leaf = leaves[number % len(leaves)][0]
        (folder / "teams" / f"team-{number:05d}.yaml").write_text(_team(number, leaf))
    fleet = {
        "project": "bench-project",
        "region": "us-central1",
        "workers": {f"w{number:02d}": _worker(number, teams) for number in range(CLUSTERS)},
        "priorities": {"low": {"value": 10, "default": True}, "high": {"value": 20}},
        "cohorts": {name: {"parent": parent} if parent else {} for name, parent in tree},
        "teamFiles": ["teams/*.yaml"],
    }
    file = folder / "Pulumi.bench.yaml"
    file.write_text(json.dumps({"config": {"pulumi:disable-default-providers": ["*"], "berth:fleet": fleet}}, indent=1))
    return file


def _tree() -> Iterator[tuple[str, str | None]]:
    """Every cohort with its parent, level by level."""
    level: list[str] = ["company"]
    yield "company", None
    for width in _WIDTH:
        children = [(f"{parent}-{number}", parent) for parent in level for number in range(width)]
        yield from children
        level = [name for name, _ in children]


def _worker(number: int, teams: int) -> dict[str, object]:
    """A cluster whose pools hold the guarantees of its teams."""
    nodes = 4 * -(-teams // (CLUSTERS * POOLS // 2))
    pools = {
        f"p{number // 2}-{pool_number}": {
            "machineType": "g2-standard-24",
            "nodes": {"max": nodes},
            "labels": {"use": f"p{number // 2}-{pool_number}"},
        }
        for pool_number in range(POOLS)
    }
    network = {"nodeCidrBlock": "10.0.0.0/12", "podCidrBlock": "32.0.0.0/6"}
    return {"cluster": {"network": network}, "pools": pools}


def _team(number: int, cohort: str) -> str:
    """One team with two queues on flavors that two workers hold."""
    pair, first = number % (CLUSTERS // 2), number // (CLUSTERS // 2) % POOLS
    return f"""\
teams:
  team-{number:05d}:
    cohort: {cohort}
    queues:
      train:
        priority: high
        flavors: [{{pool: p{pair}-{first}, guaranteed: 8, borrow: 8}}]
      batch:
        priority: low
        flavors: [{{pool: p{pair}-{(first + 1) % POOLS}, guaranteed: 4, borrow: 4, lend: 2}}]
"""
