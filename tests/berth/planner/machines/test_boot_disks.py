"""Boot disks follow from the machine's series, and `berth preview --inputs` shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth import catalog
from berth.cli import app
from berth.rules.gke.disks import boot_disk_types
from tests.berth.catalog.test_gke_machines import MACHINES as SOURCED
from tests.small_fleets import faults, fleet_of_pools, fleet_with, pool
from tests.small_fleets import plan as plan_of

SERIES = {
    "c4-standard-96": "hyperdisk-balanced",
    "c4d-standard-96": "hyperdisk-balanced",
    "c4n-standard-96": "hyperdisk-balanced",
    "n4d-standard-96": "hyperdisk-balanced",
    "n4a-standard-64": "hyperdisk-balanced",
    "h4d-highmem-192-lssd": "hyperdisk-balanced",
    "m4-megamem-56": "hyperdisk-balanced",
    "n2-standard-32": "pd-balanced",
    "c3-standard-88": "pd-balanced",
    "z3-highmem-88": "pd-balanced",
}
"""Machine types of series → the boot disk of a pool that writes none, by hand."""


def disk_of(machine: str, **keys: Any) -> str | None:
    """The boot disk of a pool of this machine."""
    (node_pool,) = pool(
        plan_of(fleet_of_pools({"p": {"machineType": machine, "nodes": {"max": 2}, **keys}})), "p"
    ).node_pools
    return node_pool.settings.disk_type


@pytest.mark.parametrize("machine", SERIES)
def test_the_boot_disk_follows_from_the_series(machine: str) -> None:
    assert disk_of(machine) == SERIES[machine]
    assert SERIES[machine] in SOURCED[machine].boot_disks


@pytest.mark.parametrize("machine", sorted({source.series: name for name, source in SOURCED.items()}.values()))
def test_a_written_boot_disk_is_taken_exactly_where_the_source_lists_it(machine: str) -> None:
    """One machine of each series of GKE's autoscaler that Berth knows, with every type of disk."""
    known = catalog.cpu_machine(machine)
    if known is None or not known.accelerators:
        return
    for disk in boot_disk_types():
        fleet = fleet_of_pools({"p": {"machineType": machine, "nodes": {"max": 2}, "diskType": disk}})
        if disk in SOURCED[machine].boot_disks:
            assert faults(fleet) == []
            assert disk_of(machine, diskType=disk) == disk
        else:
            assert faults(fleet) == ["boot-disk pools.p.diskType"]


@pytest.mark.parametrize(
    ("keys", "disk"),
    [
        ({}, "pd-balanced"),
        ({"machineType": "n4-standard-4"}, "hyperdisk-balanced"),
        ({"machineType": "c3-standard-4", "diskType": "hyperdisk-balanced"}, "hyperdisk-balanced"),
        ({"machineType": "n1-standard-4"}, "pd-balanced"),
        ({"machineType": "nope-standard-8"}, "pd-balanced"),
    ],
)
def test_the_system_pool_gets_the_disk_of_its_series(keys: dict[str, Any], disk: str) -> None:
    plan = plan_of(fleet_with({"cluster.systemPool": keys}))
    assert plan.system_pool is not None
    assert plan.system_pool.settings.disk_type == disk


def test_preview_shows_the_disk_that_each_series_takes(tmp_path: Path) -> None:
    """In the inputs of the node pools, for pools of ten series and the system pool."""
    pools = {name.partition("-")[0]: {"machineType": name, "nodes": {"max": 2}} for name in SERIES}
    fleet = fleet_with({"cluster.systemPool": {"machineType": "n4-standard-4"}, "pools": pools, "teams": {}})
    stack = tmp_path / "Pulumi.disks.yaml"
    stack.write_text(json.dumps({"config": {"berth:fleet": fleet}}), encoding="utf-8")
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["preview", str(stack), "--inputs", "--json"])
    assert result.exit_code == 0, result.output
    shown = {
        each["inputs"]["nodeConfig"]["machineType"]: each["inputs"]["nodeConfig"]["diskType"]
        for each in json.loads(result.stdout)["resources"]
        if each["type"] == "gcp:container/nodePool:NodePool"
    }
    assert shown == {**SERIES, "n4-standard-4": "hyperdisk-balanced"}
