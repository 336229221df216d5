"""Compare the hardware table with the compiled facts in tests/vendored/facts, every row, field by field."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Any, cast

import pytest
import yaml
from msgspec import to_builtins

from berth import catalog as hw
from tests.stack_files import ROOT

FACTS = ROOT / "tests" / "vendored" / "facts" / "accelerators.yaml"
Facts = dict[str, Any]


@pytest.fixture(scope="module")
def facts() -> Facts:
    """The compiled facts."""
    return yaml.load(FACTS.read_text(encoding="utf-8"), yaml.CSafeLoader)


def machine(name: str) -> hw.Machine:
    """A machine of the table."""
    return hw.machines()[name]


_PROPERTIES = {"dws": "supports_dws", "flex_start_compact": "supports_compact_flex_start"}
"""Keys of the facts that the table derives from other columns."""


def _frozen(value: object) -> object:
    """Lists as the tuples that the table has."""
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def test_the_facts_have_no_section_that_is_not_compared(facts: Facts) -> None:
    """A section added to the facts must not be silently ignored."""
    assert set(facts) == {"schema", "rules", "labels", "taints", "resources", "tpu", "gpu", "dws"}
    assert set(facts["gpu"]) == {
        "accelerators", "attachable_n1", "driver_versions", "machine_types", "nolssd_variants", "shared_clients",
        "sharing_strategies",
    }  # fmt: skip


def test_labels_taints_and_resources_are_those_of_the_facts(facts: Facts) -> None:
    """Selectors and tolerations are built from these; a misspelt one matches nothing, silently."""
    assert {name: key for name, key in to_builtins(hw.labels()).items() if name not in _TEXT_ONLY} == facts["labels"]
    assert to_builtins(hw.taints()) == facts["taints"]
    assert {kind: hw.extended_resource(kind) for kind in ("tpu", "gpu")} == facts["resources"]


_TEXT_ONLY = {
    "reservation_project", "reservation_blocks", "reservation_subblocks", "gpudirect", "dra_driver", "compute_class",
    "placement_group",
}  # fmt: skip
"""Labels that only the text of the facts has (1.5, 2.4, 4.4, 4.5), and those of GKE's autoscaler."""


def test_generations_are_those_of_the_facts(facts: Facts) -> None:
    """Field by field; a note where the facts have one."""
    assert list(hw.generations()) == list(facts["tpu"])
    for name, theirs in facts["tpu"].items():
        ours = hw.generations()[name]
        assert {key: getattr(ours, key) for key in _GENERATION} == {
            key: _frozen(theirs.get(key, default)) for key, default in _GENERATION.items()
        }
        assert theirs.get("xpk_max_cubes", 0) * 64 == (ours.pod_chips or 0)
        assert bool(ours.note) == ("note" in theirs)
        assert set(theirs) <= set(_GENERATION) | _COMPARED_ELSEWHERE


_GENERATION: Facts = {
    "aliases": None,
    "dims": None,
    "tensorcores_per_chip": None,
    "max_slice_chips": None,
    "pod_chips": None,
    "multislice_max_chips": None,
    "sub_slicing_topologies": (),
}
_COMPARED_ELSEWHERE = {
    "accelerator_label", "accelerator_network_profile", "all_topologies", "all_topologies_count", "boot_disk_types",
    "dws", "dynamic_slicing_topology",
    "machine_types", "min_gke_autopilot", "min_gke_standard", "multi_host_placement", "note", "status",
    "topologies", "xpk_max_cubes",
}  # fmt: skip


def test_tpu_machines_are_those_of_the_facts(facts: Facts) -> None:
    """Every machine of every generation, field by field, and no supported machine more."""
    theirs = {
        name: _tpu_machine(key, generation, row)
        for key, generation in facts["tpu"].items()
        for name, row in generation["machine_types"].items()
    }
    ours = hw.machines().items()
    assert {name for name, m in ours if m.kind == "tpu" and m.status != "unsupported"} == set(theirs)
    for name, fields in theirs.items():
        assert {key: getattr(machine(name), key) for key in fields} == fields, name


def _tpu_machine(generation: str, shared: Facts, row: Facts) -> Facts:
    assert set(row) == {"chips_per_vm", "vcpu", "memory_gb", "single_host_topology", "multi_host_capable"}
    return {
        "kind": "tpu",
        "generation": generation,
        "accelerator": shared["accelerator_label"],
        "accelerators": row["chips_per_vm"],
        "vcpu": row["vcpu"],
        "memory_gb": row["memory_gb"],
        "single_host_topology": row["single_host_topology"],
        "multi_host": row["multi_host_capable"],
        "multi_host_placement": shared["multi_host_placement"] if row["multi_host_capable"] else None,
        "boot_disk_types": tuple(shared["boot_disk_types"]),
        "accelerator_network_profile": shared.get("accelerator_network_profile"),
        "supports_dws": shared["dws"],
        "status": shared.get("status", "current"),
        "min_gke_standard": shared.get("min_gke_standard"),
        "min_gke_autopilot": shared.get("min_gke_autopilot"),
    }


def test_slices_are_those_of_the_facts(facts: Facts) -> None:
    """Chips, hosts and kind of each documented row; of 2D generations there are no others."""
    for generation in facts["tpu"].values():
        for row in generation["topologies"]:
            ours = hw.slice_shape(machine(row["machine_type"]), row["topology"])
            assert ours is not None, row
            assert (ours.chips, ours.hosts, ours.multi_host) == (row["chips"], row["hosts"], row["multi_host"])
        listed = {(row["machine_type"], row["topology"]) for row in generation["topologies"]}
        ours = {
            (name, topology) for name in generation["machine_types"] for topology in hw.slice_topologies(machine(name))
        }
        assert generation["dims"] == 3 or ours == listed


def test_the_rule_of_cubes_gives_the_facts_lists_in_their_order(facts: Facts) -> None:
    """896 shapes are not copied but computed; this is what makes that safe."""
    for generation in (g for g in facts["tpu"].values() if g["dims"] == 3):
        spanning = [name for name, row in generation["machine_types"].items() if row["multi_host_capable"]]
        for name in spanning:
            assert list(hw.slice_topologies(machine(name))) == generation["all_topologies"]
            assert len(hw.slice_topologies(machine(name))) == generation["all_topologies_count"]


def test_gpu_machines_are_those_of_the_facts(facts: Facts) -> None:
    """Every GPU machine, field by field; besides them only the variants without local SSD."""
    rows: Facts = facts["gpu"]["machine_types"]
    ours = {name for name, m in hw.machines().items() if m.kind == "gpu" and not name.endswith("-nolssd")}
    assert ours == set(rows)
    for name, row in rows.items():
        fields: Facts = {str(_PROPERTIES.get(key, key)): _frozen(value) for key, value in row.items()}
        note, disk = fields.pop("note", ""), fields.pop("boot_disk")
        fields |= {"accelerators": fields.pop("gpus")} | ({} if disk == "any" else {"boot_disk_types": (disk,)})
        assert {key: getattr(machine(name), key) for key in fields} == fields, name
        assert machine(name).note or not note


def test_nolssd_variants_are_those_of_the_facts(facts: Facts) -> None:
    """By their patterns; a3-edgegpu's is named only among the machines that have no DWS."""
    patterns = facts["gpu"]["nolssd_variants"] + facts["dws"]["disabled_machine_types"]
    variants = {f"{name}-nolssd" for name in facts["gpu"]["machine_types"]}
    expected = {name for name in variants if any(fnmatch(name, pattern) for pattern in patterns)}
    assert {name for name in hw.machines() if name.endswith("-nolssd")} == expected


def test_dws_is_refused_where_the_facts_refuse_it(facts: Facts) -> None:
    """The facts name families and machine types; the table has a value in each row."""
    families, types = facts["dws"]["disabled_machine_families"], facts["dws"]["disabled_machine_types"]
    disabled = {name for name in hw.machines() if name in types or name.split("-")[0] in families}
    refused = {name for name, m in hw.machines().items() if m.status == "unsupported"}
    assert {name for name, m in hw.machines().items() if not m.supports_dws} == disabled | refused


def test_limits_are_those_of_the_facts(facts: Facts) -> None:
    """Run times of DWS, sharing of GPUs, drivers."""
    ours, run, gpu = hw.limits(), facts["dws"], facts["gpu"]
    assert ours.queued_provisioning_class == run["queued_provisioning_class"]
    assert (ours.min_run_seconds, ours.max_run_seconds) == (run["min_run_seconds"], run["max_run_seconds"])
    clients = {"min": ours.min_shared_clients, "max": ours.max_shared_clients}
    assert clients == gpu["shared_clients"]
    assert list(ours.sharing_strategies) == gpu["sharing_strategies"]
    assert list(ours.driver_versions) == gpu["driver_versions"]


def test_mig_partitions_are_those_of_the_facts(facts: Facts) -> None:
    """Every accelerator, those that cannot be partitioned included; each has a name people use."""
    accelerators: Facts = facts["gpu"]["accelerators"]
    assert {name: {"mig": dict(hw.mig_partitions(name))} for name in accelerators} == accelerators
    assert all(hw.noun(name) for name in accelerators)


def test_attachable_gpus_are_those_of_the_facts(facts: Facts) -> None:
    """Counts and vCPU limits; and no compact placement with any of them."""
    theirs: Facts = dict(facts["gpu"]["attachable_n1"])
    compact = theirs.pop("compact_placement")
    assert hw.attachable_gpus().gpus == theirs
    assert all(bool(hw.attach_gpus("n1-highcpu-2", gpu, 1).compact_max_nodes) == compact for gpu in theirs)
