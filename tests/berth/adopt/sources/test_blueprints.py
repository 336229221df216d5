"""Blueprints of the Cluster Toolkit: the stack file has the node pools that its Terraform would make."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.adopt.sources.described import read_source
from berth.adopt.sources.source_fleet import UnusableSource
from berth.cli.adopt.described import DescribedResult, describe_source
from berth.yaml_loader import load_table
from tests.berth.adopt.sources.lost_table import assert_table, lost_cell
from tests.berth.adopt.sources.pool_rows import pool_rows

PUBLISHED: list[dict[str, Any]] = load_table(Path(__file__).with_name("blueprints.yaml"))


def described(entry: dict[str, Any]) -> DescribedResult:
    """Return what Berth makes of a published blueprint."""
    return _described(entry["file"])


@cache
def _described(file: str) -> DescribedResult:
    entry = next(each for each in PUBLISHED if each["file"] == file)
    blueprint = {
        "blueprint_name": "published",
        "vars": entry["vars"],
        "deployment_groups": [{"modules": [*entry["modules"], *entry.get("others", [])]}],
    }
    files = {"blueprint.yaml": yaml.safe_dump(blueprint)}
    if "deployment" in entry:
        files["deployment.yaml"] = yaml.safe_dump({"vars": entry["deployment"]})
    values = {name: str(value) for name, value in entry.get("values", {}).items()}
    return describe_source(read_source(files, values), "demo")


@pytest.mark.parametrize("entry", PUBLISHED, ids=lambda entry: entry["file"])
def test_node_pools_are_those_of_the_toolkit(entry: dict[str, Any]) -> None:
    result = described(entry)
    assert [each.code for each in result.evaluation.faults] == entry.get("faults", [])
    plan = result.evaluation.fleet_plan
    assert plan is not None
    registered = [row for row in pool_rows(plan) if row.split()[0] in {each.split()[0] for each in entry["pools"]}]
    told = " ".join(each.line() for each in result.left)
    for expected in entry["pools"]:
        name = expected.split()[0]
        made = [row for row in registered if row.split()[0] == name]
        if made != [expected]:  # then the output says so
            assert (name in told and "→ none" in told) or entry.get("faults"), (expected, made)


def test_golden_table_of_blueprints() -> None:
    lines: list[str] = []
    for entry in PUBLISHED:
        result, faults = described(entry), ", ".join(f"`{each}`" for each in entry.get("faults", []))
        lines.append(f"| {entry['file']} | {len(entry['pools'])} | {faults or '–'} | {lost_cell(result)} |")
    assert_table(
        "blueprints", "| blueprint | node pools | faults to decide | no key, assumed, or another value |", lines
    )


def test_most_examples_are_read_without_a_fault() -> None:
    examples = [each for each in PUBLISHED if each["file"].startswith(("examples/", "community/examples/"))]
    assert len(examples) >= 28
    assert sum("faults" not in each for each in examples) >= 25


BLUEPRINT = """\
blueprint_name: mine
vars: {project_id: acme-ml, deployment_name: mine, region: us-east5, zone: us-east5-b, slices: 2}
deployment_groups:
- group: primary
  modules:
  - {id: net, source: modules/network/vpc}
  - {id: cluster, source: modules/scheduler/gke-cluster, use: [net]}
  - id: pool
    source: modules/compute/gke-node-pool
    use: [cluster]
    settings:
      machine_type: ct6e-standard-4t
      num_slices: $(vars.slices)
      zones: [$(vars.zone)]
      placement_policy: {type: COMPACT, tpu_topology: 4x4}
"""


def rows(text: str, **values: str) -> list[str]:
    """Return the node pools of the stack file for a blueprint."""
    result = describe_source(read_source({"b.yaml": text}, values), "mine")
    plan = result.evaluation.fleet_plan
    assert plan is not None
    return [each for each in pool_rows(plan) if not each.startswith("system ")]


def test_a_blueprint_becomes_a_pool_with_a_pattern() -> None:
    result = describe_source(read_source({"b.yaml": BLUEPRINT}, {}), "mine")
    assert "nodePoolName: ct6e-standard-4t-pool-{i}" in result.stack_file
    assert rows(BLUEPRINT) == [
        f"ct6e-standard-4t-pool-{number} ct6e-standard-4t 4 4x4 us-east5-b on-demand -/100 COMPACT" for number in (0, 1)
    ]


def test_values_replace_variables_and_global_variables_reach_modules() -> None:
    assert len(rows(BLUEPRINT, slices="3")) == 3
    spot = BLUEPRINT.replace("slices: 2}", "slices: 1, spot: true}")
    assert rows(spot) == ["ct6e-standard-4t-pool ct6e-standard-4t 4 4x4 us-east5-b spot -/100 COMPACT"]


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        ({}, {"imageStreaming": False}),
        ({"enable_gcfs": True}, {}),
        ({"enable_gcfs": True, "enable_shielded_nodes": False}, {"shieldedNodes": False}),
        ({"enable_gcfs": True, "enable_inference_gateway": True}, {"gatewayApi": True}),
        ({"enable_gcfs": True, "enable_gcsfuse_csi": True}, {"storageDrivers": ["gcs-fuse"]}),
        ({"enable_gcfs": True, "enable_parallelstore_csi": True}, {"storageDrivers": ["parallelstore"]}),
        ({"enable_gcfs": True, "enable_private_nodes": False}, {"privateNodes": False}),
    ],
)
def test_a_setting_of_the_cluster_becomes_its_key(settings: dict[str, Any], keys: dict[str, Any]) -> None:
    """`imageStreaming` and the others are left out where the toolkit has Berth's default."""
    text = BLUEPRINT.replace("gke-cluster, use: [net]}", f"gke-cluster, use: [net], settings: {json.dumps(settings)}}}")
    result = describe_source(read_source({"b.yaml": text}, {}), "mine")
    written = yaml.safe_load(result.stack_file)["config"]["berth:fleet"]["cluster"]
    known = ("imageStreaming", "shieldedNodes", "gatewayApi", "storageDrivers", "privateNodes")
    assert {key: written[key] for key in known if key in written} == keys


def test_older_expressions_and_arithmetic_are_read() -> None:
    assert len(rows(BLUEPRINT.replace("$(vars.slices)", "((var.slices * 2 - 1))"))) == 3
    assert len(rows(BLUEPRINT.replace("$(vars.slices)", "'$(vars.zone == \"us-east5-b\" ? 4 : 1)'"))) == 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("slices: 2", "slices: null", "vars.slices: has no value; add --value slices=…, or a deployment file"),
        ("slices: 2", "slices: $(vars.slices)", "vars: vars.slices, which refers to itself; write a value"),
        (
            "slices: 2",
            "slices: $(vars.a), a: $(vars.slices)",
            "vars: vars.slices, which refers to itself; write a value",
        ),
        (
            "slices: 2",
            "slices: $(vars.v0), "
            + ", ".join(f"v{n}: '$(vars.v{n + 1})$(vars.v{n + 1})'" for n in range(40))
            + ", v40: xx",
            "vars: vars.v24, which is larger than 100,000 characters; write a value",
        ),
        ("slices: 2", "slices: MANY", "num_slices of module pool is 'MANY'; write a whole number"),
        ("machine_type:", "machine_typ:", "module pool has no input 'machine_typ'; did you mean 'machine_type'?"),
        ("[cluster]", "[clutser]", "module pool uses 'clutser', which is no module above it; write its id"),
        ("modules:\n", "models:\n", "deployment_groups[0] has no list of modules; write modules"),
        ("{id: net, ", "{", "deployment_groups[0].modules[0] has no id; write both"),
        (
            "{id: net, ",
            "{id: net, for_each: [a, b], ",
            "deployment_groups[0].modules[0] has for_each, and blueprints repeat no module; write 'net' once for each",
        ),
        (
            "- group: primary\n  modules:",
            "- primary\n- modules:",
            "deployment_groups[0] is not a mapping; write 'key: value' lines",
        ),
        ("vars: {", "vars: [", "b.yaml:2:97: error: not valid YAML: did not find expected ',' or ']'"),
    ],
)
def test_bad_blueprints_are_refused_with_what_to_write(old: str, new: str, message: str) -> None:
    with pytest.raises(UnusableSource) as raised:
        read_source({"b.yaml": BLUEPRINT.replace(old, new)}, {})
    assert str(raised.value).splitlines()[0] == (
        message if message.startswith("b.yaml") else f"b.yaml: error: {message}"
    )


def test_blueprints_of_other_kinds_say_so() -> None:
    slurm = BLUEPRINT.replace(
        "modules/scheduler/gke-cluster", "community/modules/scheduler/schedmd-slurm-gcp-v6-controller"
    )
    with pytest.raises(UnusableSource, match="its modules are schedmd-slurm-gcp-v6-controller"):
        read_source({"b.yaml": slurm}, {})
    two = BLUEPRINT.replace("  - {id: net,", "  - {id: other, source: modules/scheduler/gke-cluster}\n  - {id: net,")
    with pytest.raises(UnusableSource, match="has 2 clusters"):
        read_source({"b.yaml": two}, {})


def test_a_bomb_of_aliases_is_refused() -> None:
    levels = "\n".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))
    with pytest.raises(UnusableSource, match="more than 100,000 values"):
        read_source({"b.yaml": f"blueprint_name: x\nvars:\n  a0: &a0 [1]\n{levels}\n"}, {})


def test_unknown_machines_and_modules_are_named_and_nothing_else_is_lost() -> None:
    text = BLUEPRINT.replace("ct6e-standard-4t", "tpu9z-standard-4t").replace(
        "  - {id: net,", "  - {id: odd, source: ./modules/own/thing}\n  - {id: net,"
    )
    result = describe_source(read_source({"b.yaml": text}, {}), "mine")
    lines = [each.line() for each in result.left]
    assert "module odd: './modules/own/thing' is no module that Berth knows: what it makes is unknown" in lines
    for number in (0, 1):
        start = f"node pool tpu9z-standard-4t-pool-{number}: machine type 'tpu9z-standard-4t' is in no table of Berth"
        assert any(line.startswith(f"{start}: unknown, and not written") for line in lines)


def test_values_that_are_unknown_name_what_they_depend_on() -> None:
    text = BLUEPRINT.replace("num_slices: $(vars.slices)", 'num_slices: $(file("n"))\n      disk_type: $(local.disk)')
    lines = [each.line() for each in describe_source(read_source({"b.yaml": text}, {}), "mine").left]
    assert any("node_count is file(), which is unknown here: unknown, and not written" in each for each in lines)


def test_an_existing_cluster_is_kept() -> None:
    text = BLUEPRINT.replace(
        "- {id: cluster, source: modules/scheduler/gke-cluster, use: [net]}",
        "- {id: cluster, source: modules/scheduler/pre-existing-gke-cluster, settings: {cluster_name: theirs}}",
    )
    result = describe_source(read_source({"b.yaml": text}, {}), "mine")
    assert result.evaluation.faults == ()
    assert "existing: {name: theirs, location: us-east5, project: acme-ml}" in result.stack_file
