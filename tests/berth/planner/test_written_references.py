"""An entry with another fault gets its wrong names reported in the same run, and once."""

from __future__ import annotations

import pathlib

from berth.evaluate import evaluate_stack

TEXT = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {controlPlane: {publicEndpoint: false}}
    pools:
      v5e: {machineType: ct5lp-hightpu-4t, topology: 2x4, slices: 3, zone: us-central1-a}
      bad: {machineType: ct5lp-hightpu-4t, topology: 2x4, slices: three, capacity: {reservation: nope}}
    priorities: {low: {value: 10}}
    cohorts: {research: {}}
    teams:
      vision:
        cohort: reserch
        queues:
          train: {flavors: [{pool: v5x, guaranteed: 1 slce}, {pool: bad, guaranteed: 1}], priority: lo}
        capacityBuffers: {spikes: {pool: l5, replicas: 2}}
"""


def test_wrong_names_beside_another_fault_are_reported_in_the_same_run(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "Pulumi.bad.yaml"
    file.write_text(TEXT, encoding="utf-8")
    problems = evaluate_stack(str(file), tmp_path).faults
    assert [(each.code, each.path[-1], each.message.partition(";")[0]) for each in problems] == [
        ("unknown-reference", "reservation", "no reservation 'nope'"),
        ("bad-type", "slices", "'three' is text"),
        ("unknown-reference", "cohort", "no cohort 'reserch'"),
        ("bad-amount", "guaranteed", "'1 slce' is not an amount"),
        ("unknown-reference", "pool", "no pool 'v5x'"),
        ("unknown-reference", "priority", "no priority 'lo'"),
        ("unknown-reference", "pool", "no pool 'l5'"),
    ]
