"""Commands of xpk: the stack file has the node pools that xpk would create."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from berth.adopt.sources.described import read_source
from berth.adopt.sources.source_fleet import UnusableSource
from berth.adopt.sources.xpk_flags import xpk_types
from berth.cli.adopt.described import DescribedResult, describe_source
from berth.yaml_loader import load_table
from tests.berth.adopt.sources.lost_table import assert_table, lost_cell
from tests.berth.adopt.sources.pool_rows import pool_rows

PUBLISHED: list[dict[str, Any]] = load_table(Path(__file__).with_name("xpk.yaml"))
VALUES = {"zone": "us-east5-a", "project": "acme-ml"}
COMMAND = "xpk cluster create --cluster=demo --project=acme-ml --zone=us-east5-b --tpu-type=v6e-16 --spot"


@cache
def described(text: str, **values: str) -> DescribedResult:
    """Return what Berth makes of a text with a command."""
    return describe_source(read_source({"create.sh": text}, values), "demo")


def rows(text: str, **values: str) -> list[str]:
    """Return the node pools of the stack file, without the system pool."""
    plan = described(text, **values).evaluation.fleet_plan
    assert plan is not None
    return [row for row in pool_rows(plan) if not row.startswith("system ")]


@pytest.mark.parametrize("entry", PUBLISHED, ids=lambda entry: entry["places"][0])
def test_node_pools_are_those_of_xpk(entry: dict[str, Any]) -> None:
    if "refused" in entry:
        with pytest.raises(UnusableSource) as raised:
            described(f"xpk cluster {entry['command']}", **VALUES)
        assert str(raised.value).removeprefix("create.sh:1: ") == entry["refused"]
        return
    result = described(f"xpk cluster {entry['command']}", **VALUES)
    assert [each.code for each in result.evaluation.faults] == entry.get("faults", [])
    plan = result.evaluation.fleet_plan
    assert plan is not None
    assert pool_rows(plan) == entry["pools"]


def test_golden_table_of_commands() -> None:
    lines: list[str] = []
    for entry in PUBLISHED:
        places = entry["places"]
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        if "refused" in entry:
            lines.append(f"| {places[0]}{more} | 0 | refused | {entry['refused'].partition(';')[0]} |")
            continue
        result = described(f"xpk cluster {entry['command']}", **VALUES)
        faults = ", ".join(f"`{each}`" for each in entry.get("faults", []))
        lines.append(f"| {places[0]}{more} | {len(entry['pools'])} | {faults or '–'} | {lost_cell(result)} |")
    assert_table("commands", "| command | node pools | faults to decide | no key, assumed, or another value |", lines)


def test_every_published_command_is_counted() -> None:
    assert sum(len(each["places"]) for each in PUBLISHED) >= 110
    assert [each["command"] for each in PUBLISHED if "refused" in each] == [
        "create --project=acme-ml --zone=us-central1-a --cluster=demo --tpu-type=tpu7x-8 --spot --adapt-from-ct"
    ]


def test_types_have_the_hosts_and_topologies_of_xpk() -> None:
    """`v5p-128` counts TensorCores, two of a chip: 64 chips are 4x4x4, on 16 hosts of 4."""
    types = xpk_types()
    facts = {name: (types[name].machine_type, types[name].topology, types[name].hosts) for name in (
        "v5p-128", "v6e-256", "v5litepod-16", "v4-8", "tpu7x-4x8x8", "tpu7x-2", "n2-standard-32-8")}  # fmt: skip
    assert facts == {
        "v5p-128": ("ct5p-hightpu-4t", "4x4x4", 16),
        "v6e-256": ("ct6e-standard-4t", "16x16", 64),
        "v5litepod-16": ("ct5lp-hightpu-4t", "4x4", 4),
        "v4-8": ("ct4p-hightpu-4t", "2x2x1", 1),
        "tpu7x-4x8x8": ("tpu7x-standard-4t", "4x8x8", 64),
        "tpu7x-2": ("tpu7x-standard-1t", "1x1x1", 1),
        "n2-standard-32-8": ("n2-standard-32", None, 8),
    }


def test_a_script_gives_its_variables_and_a_page_its_one_command() -> None:
    command = COMMAND.replace("us-east5-b", "${ZONE}")
    script = f"export ZONE=us-east5-b  # ours\nN=2\n{command} \\\n  --num-slices=$N || exit 1\n"
    assert [row.split()[0] for row in rows(script)] == ["demo-np-0", "demo-np-1"]
    page = f"Create it:\n\n```\n$ {COMMAND}\n```\n\nThis is what `xpk cluster create` does.\n\n```\n{COMMAND}\n```\n"
    assert rows(page) == rows(COMMAND)


def test_capacities() -> None:
    for flag, capacity in (("--spot", "spot"), ("--on-demand", "on-demand"), ("--reservation=r-1", "reservation:r-1")):
        assert rows(COMMAND.replace("--spot", flag)) == [
            f"demo-np-0 ct6e-standard-4t 4 4x4 us-east5-b {capacity} -/100 COMPACT"
        ]
    (flexible,) = rows(COMMAND.replace("--spot", "--flex"))
    assert flexible.split()[2:6] == ["0-4", "4x4", "us-east5-b", "flex-start:604800s"]
    two = rows(COMMAND.replace("--spot", "--reservation=r-1,r-2 --num-slices=2"))
    assert [row.split()[5] for row in two] == ["reservation:r-1", "reservation:r-2"]


def test_flags_of_gcloud_reach_cluster_and_node_pools() -> None:
    custom = "--custom-nodepool-arguments='--disk-size=300 --disk-type=hyperdisk-balanced --enable-image-streaming'"
    result = described(f"{COMMAND} {custom}")
    assert "diskSizeGb: 300" in result.stack_file
    lines = [each.line() for each in result.left]
    assert "--enable-image-streaming of --custom-nodepool-arguments: is not read" in lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--num-slice=2 --onn-demand", "'--onn-demand' is no flag of xpk cluster create; did you mean 'on-demand'?"),
        (
            "--autorized-networks=x",
            "'--autorized-networks' is no flag of xpk cluster create; did you mean 'authorized-networks'?",
        ),
        ("-x", "'-x' is no flag of xpk cluster create"),
        ("--frobnicate 3", "'--frobnicate' is no flag of xpk cluster create"),
        ("--num-slices", "--num-slices has no value; write --num-slices=VALUE"),
        ("--num-slices=many", "--num-slices is 'many'; write a whole number"),
        ("--num-slices=$N", "--num-slices is '$N', and $N has no value; add --value N=…"),
        ("--reservation='r", "a quote of the command is not closed; close it"),
        ("--reservation=r", "--spot and --reservation exclude each other; write one of them"),
    ],
)
def test_bad_commands_are_refused_with_what_to_write(words: str, message: str) -> None:
    with pytest.raises(UnusableSource) as raised:
        described(f"{COMMAND} {words}")
    assert str(raised.value).splitlines()[0] == f"create.sh:1: error: {message}"


def test_missing_values_are_all_named() -> None:
    with pytest.raises(UnusableSource) as raised:
        described("xpk cluster create --tpu-type=v6e-16 --spot")
    assert str(raised.value).splitlines() == [
        f"create.sh:1: error: --{name} is not given; add --value {name}=…" for name in ("cluster", "project", "zone")
    ]


def test_different_commands_and_no_command_are_refused() -> None:
    with pytest.raises(UnusableSource, match=r"has 2 different commands that create a cluster \(lines 1, 2\)"):
        described(f"{COMMAND}\n{COMMAND} --num-slices=3\n")
    with pytest.raises(UnusableSource, match="is no blueprint of the Cluster Toolkit, no Terraform of a GKE cluster"):
        described("xpk cluster list --project=acme-ml\n")


def test_an_unknown_type_is_unknown_and_the_rest_is_written() -> None:
    result = described(COMMAND.replace("v6e-16", "v9z-16"))
    assert result.evaluation.faults == ()
    assert any(
        each.line().startswith("type v9z-16: is in no table of Berth: its node pools are unknown")
        for each in result.left
    )
