"""Generated fleets of any size, for benchmarks and for tests of scale."""

from __future__ import annotations

import json
import pathlib

COHORT = 10
"""Teams that share one cohort."""


def stack_file(teams: int) -> str:
    """A stack file for `teams` teams with a file each (JSON is YAML)."""
    slices = teams
    fleet = {
        "project": "bench-project",
        "region": "us-central1",
        "cluster": {"network": {"nodeCidrBlock": "10.0.0.0/12", "podCidrBlock": "32.0.0.0/3"}},
        "pools": {
            "v5e": {"machineType": "ct5lp-hightpu-8t", "topology": "2x4", "slices": slices, "zone": "us-central1-a"},
            "l4": {"machineType": "g2-standard-24", "nodes": {"max": teams * 4}},
            "l4-spot": {"machineType": "g2-standard-24", "nodes": {"max": teams * 4}, "capacity": "spot"},
        },
        "priorities": {"low": {"value": 10, "default": True}, "high": {"value": 20}},
        "cohorts": {f"cohort-{n}": {} for n in range(-(-teams // COHORT))},
        "teamFiles": ["teams/*.yaml"],
    }
    config = {"pulumi:disable-default-providers": ["*"], "berth:fleet": fleet}
    return json.dumps({"config": config}, indent=1)


def team_file(number: int) -> str:
    """One team with three queues, as its lead would write it."""
    return f"""\
teams:
  team-{number:05d}:
    cohort: cohort-{number // COHORT}
    queues:
      train:
        priority: high
        flavors:
          - {{pool: v5e, guaranteed: 1 slice, borrow: 1 slice}}
      urgent:
        priority: high
        flavors:
          - {{pool: l4, guaranteed: 8, borrow: 8}}
          - {{pool: l4-spot, guaranteed: 4, borrow: 4}}
      batch:
        priority: low
        flavors:
          - {{pool: l4-spot, guaranteed: 4, borrow: 4, lend: 2}}
"""


def write(folder: pathlib.Path, teams: int) -> pathlib.Path:
    """A project folder with a stack file for `teams` teams (a multiple of COHORT); returns the stack file."""
    (folder / "teams").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    for number in range(teams):
        (folder / "teams" / f"team-{number:05d}.yaml").write_text(team_file(number))
    file = folder / "Pulumi.bench.yaml"
    file.write_text(stack_file(teams))
    return file
