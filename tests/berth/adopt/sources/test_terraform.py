"""Terraform: what the files say becomes the stack file, and what they do not say is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from berth.adopt.sources.described import read_source
from berth.adopt.sources.expressions import evaluate, expand
from berth.adopt.sources.source_fleet import Names, Unresolved, UnusableSource
from berth.cli.adopt.described import DescribedResult, describe, describe_source
from tests.berth.adopt.sources.pool_rows import pool_rows

MAIN = """\
variable "project" { default = "acme-ml" }
variable "gpus" {}
locals {
  zone  = "us-central1-b"
  pools = { a = { nodes = 2, machine = "a2-highgpu-1g" }, b = { nodes = 1, machine = "g2-standard-12" } }
}
provider "google" {
  project = var.project
}
resource "google_container_cluster" "main" {
  name                     = "ml"
  location                 = "us-central1"
  node_locations           = [local.zone]
  remove_default_node_pool = true
  initial_node_count       = 1
  datapath_provider        = "ADVANCED_DATAPATH"
  description              = <<-EOT
    the text hides nothing
  EOT\x20
}
resource "google_container_node_pool" "gpu" {
  for_each   = local.pools
  name       = "gpu-${each.key}"
  cluster    = google_container_cluster.main.id
  node_count = each.value.nodes
  node_config {
    machine_type = each.value.machine
    spot         = true
    disk_type    = "pd-ssd"
    disk_size_gb = 200
    dynamic "taint" {
      for_each = ["vision"]
      content {
        key    = "team"
        value  = taint.value
        effect = "NO_SCHEDULE"
      }
    }
  }
}
resource "google_container_node_pool" "tpu" {
  count          = 2
  name           = "tpu-${count.index}"
  cluster        = google_container_cluster.main.name
  node_locations = [local.zone]
  node_count     = 4
  placement_policy {
    type         = "COMPACT"
    tpu_topology = "4x4"
  }
  node_config {
    machine_type = "ct6e-standard-4t"
    reservation_affinity {
      consume_reservation_type = "SPECIFIC_RESERVATION"
      key                      = "compute.googleapis.com/reservation-name"
      values                   = ["projects/acme-ml/reservations/r-1"]
    }
  }
}
"""
ROWS = [
    "gpu-a a2-highgpu-1g 2 - us-central1-b spot pd-ssd/200 -",
    "gpu-b g2-standard-12 1 - us-central1-b spot pd-ssd/200 -",
    "tpu-0 ct6e-standard-4t 4 4x4 us-central1-b reservation:r-1 -/100 COMPACT",
    "tpu-1 ct6e-standard-4t 4 4x4 us-central1-b reservation:r-1 -/100 COMPACT",
]


def described(text: str, **values: str) -> DescribedResult:
    """Return what Berth makes of a file of Terraform."""
    return describe_source(read_source({"main.tf": text}, values), "ml")


def rows(result: DescribedResult) -> list[str]:
    """Return the node pools of the stack file, without the system pool."""
    plan = result.evaluation.fleet_plan
    assert plan is not None, [each.line() for each in result.evaluation.faults]
    return [row for row in pool_rows(plan) if not row.startswith("system ")]


def lines(result: DescribedResult) -> list[str]:
    """Return what the stack file does not have."""
    return [each.line() for each in result.left]


def test_count_for_each_locals_and_dynamic_blocks_are_resolved() -> None:
    result = described(MAIN)
    assert result.evaluation.faults == ()
    assert rows(result) == ROWS
    assert "nodePoolName: tpu-{i}" in result.stack_file
    assert "taints: [{key: team, value: vision}]" in result.stack_file


def test_what_the_files_do_not_say_is_named_and_not_written() -> None:
    more = """
resource "google_container_node_pool" "many" {
  count   = var.gpus > 0 ? 1 : 0
  name    = "many"
  cluster = google_container_cluster.main.name
}
resource "google_container_node_pool" "each" {
  for_each = data.google_compute_zones.all.names
  name     = each.key
  cluster  = google_container_cluster.main.name
}
resource "google_container_node_pool" "scaled" {
  name    = "scaled"
  cluster = google_container_cluster.main.name
  autoscaling {
    max_node_count = var.gpus
  }
  node_config {
    machine_type = "g2-standard-12"
    disk_type    = var.disk
  }
}
resource "google_container_node_pool" "tagged" {
  name       = "tagged"
  cluster    = google_container_cluster.main.name
  node_count = 1
  node_config {
    machine_type = "g2-standard-12"
    metadata     = { web = "on" }
    disk_type    = var.disk
  }
}
module "other" {
  source = "./modules/pools"
}
resource "google_compute_network" "vpc" {
  name = "vpc"
}
"""
    told = lines(described(MAIN + more))
    remedy = "not written; add --value NAME=VALUE, or give the output of terraform show -json"
    number = "so how many there are is unknown"
    for line in (
        f"google_container_node_pool.many: count is var.gpus, {number}: {remedy}",
        f"google_container_node_pool.each: for_each is data.google_compute_zones.all.names, {number}: {remedy}",
        "module other: the resources of ./modules/pools are in none of the files: unknown; "
        "give the output of terraform show -json",
        "other resources: google_compute_network are not read",
        "node pool scaled: autoscaling.max_node_count is var.gpus, which is unknown here: unknown, and not written; "
        "give the value, and adopt again",
        "node pool tagged: node_config.disk_type is var.disk, which is unknown here",
        "node pool tagged: config.metadata.web is on, which a stack file cannot express",
    ):
        assert line in told
    assert "tagged g2-standard-12 1 - us-central1-b on-demand -/100 -" in rows(described(MAIN + more))
    given = described(MAIN + more, gpus="2")
    assert not any(line.startswith("google_container_node_pool.many") for line in lines(given))


@pytest.mark.parametrize(
    ("place", "block", "line"),
    [
        (
            "google_container_cluster",
            'workload_identity_config { workload_pool = "other.svc.id.goog" }',
            "cluster ml: workload_pool other.svc.id.goog → acme-ml.svc.id.goog",
        ),
        (
            "google_container_cluster",
            'security_posture_config { mode = "DISABLED" }',
            "cluster ml: securityPostureConfig.mode DISABLED → BASIC",
        ),
        (
            "node_config",
            'workload_metadata_config { mode = "GCE_METADATA" }',
            "node pool gpu-a: config.workloadMetadataConfig.mode GCE_METADATA → GKE_METADATA",
        ),
    ],
)
def test_what_berth_sets_otherwise_is_named(place: str, block: str, line: str) -> None:
    at = MAIN.index("{\n", MAIN.index(place)) + len("{\n")
    assert line in lines(described(f"{MAIN[:at]}  {block}\n{MAIN[at:]}"))
    assert line not in lines(described(MAIN))


def test_tfvars_and_values_replace_variables() -> None:
    text = MAIN.replace("  count          = 2", "  count          = var.gpus")
    files = {"main.tf": text, "prod.tfvars": "gpus = 3\n"}
    assert len(rows(describe_source(read_source(files, {}), "ml"))) == 5
    assert len(rows(describe_source(read_source(files, {"gpus": "1"}), "ml"))) == 3


def _shown(kind: str, **values: Any) -> dict[str, Any]:
    return {"address": f"{kind}.x", "mode": "managed", "type": kind, "name": "x", "values": values}


def test_the_output_of_terraform_show_is_read_with_its_modules() -> None:
    place: dict[str, Any] = {"project": "acme-ml", "location": "us-central1", "node_locations": ["us-central1-b"]}
    own: dict[str, Any] = {"datapath_provider": "ADVANCED_DATAPATH", "release_channel": [{"channel": "RAPID"}]}
    cluster = _shown("google_container_cluster", name="ml", node_pool=[], **place, **own)
    config = {"machine_type": "a2-highgpu-1g", "spot": True, "disk_type": "pd-ssd", "disk_size_gb": 200, "taint": []}
    more: dict[str, Any] = {"node_count": 2, "autoscaling": [], "timeouts": None, "node_config": [config]}
    pool = _shown("google_container_node_pool", name="gpu-a", cluster="ml", **place, **more)
    module = {"resources": [cluster], "child_modules": [{"resources": [pool], "address": "module.pools"}]}
    for key in ("values", "planned_values"):
        text = json.dumps({"format_version": "1.0", key: {"root_module": module}})
        result = describe_source(read_source({"shown.json": text}, {}), "ml")
        assert rows(result) == ROWS[:1]
        assert "releaseChannel: rapid" in result.stack_file


def test_node_pools_of_a_cluster_elsewhere_keep_it() -> None:
    start = MAIN.index('resource "google_container_cluster"')
    text = MAIN[:start] + MAIN[MAIN.index('resource "google_container_node_pool" "gpu"') :].replace(
        "google_container_cluster.main.id", '"ml"'
    ).replace("google_container_cluster.main.name", '"ml"')
    text = text.replace(
        "  node_count = each", '  location = "us-central1"\n  node_locations = [local.zone]\n  node_count = each'
    )
    result = described(text)
    assert "existing: {name: ml, location: us-central1, project: acme-ml}" in result.stack_file
    assert rows(result) == ROWS


TWO = MAIN.replace('"main"', '"second"').replace('"gpu"', '"g2"').replace('"tpu"', '"t2"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('resource "google_container_cluster" "a" {\n  name = \n}\n', "2:"),
        ('variable "x" {}\n', " error: has no google_container_cluster and no google_container_node_pool; name files"),
        (MAIN.replace('"google" {', '"x" {'), " error: the cluster's project is not given; add --value project=…"),
        (MAIN.replace('"us-central1"', "var.r"), " error: the cluster's location is var.r; add --value location=…"),
        (MAIN + TWO, " error: has 2 clusters ("),
        ("locals { a = " + "[" * 60 + "]" * 60 + " }\n", " error: has more than 40 brackets inside each other"),
        ("locals { a = " + " + ".join("1" * 3000) + " }\n", " error: not valid Terraform (RecursionError)"),
        ('{"format_version": "1.0"}', " error: has no values of resources; give the output of terraform show"),
        ('{"values": ', " error: is not JSON: "),
    ],
)
def test_bad_terraform_is_refused_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(UnusableSource) as raised:
        described(text)
    assert str(raised.value).startswith(f"main.tf:{message}")


def test_files_that_are_too_large_or_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "huge.tf").write_text(MAIN + "#" * 5_000_000)
    (tmp_path / "binary.tf").write_bytes(b"\x00\x01")
    for name, message in (("huge.tf", "more than the maximum of 1,048,576"), ("binary.tf", "U+0000 is not allowed")):
        with pytest.raises(UnusableSource) as raised:
            describe("ml", [tmp_path / name], {})
        assert message in str(raised.value)


def test_expressions() -> None:
    scope: dict[str, Any] = {
        "var": Names("var", {"n": lambda: 3, "name": lambda: "x", "loop": lambda: evaluate("var.loop + 1", scope)}),
        "m": {"count": 2, "nets": [{"network": "q"}, {"network": "r"}]},
    }
    known = {
        "var.n * m.count + 1": 7,
        'var.n > 2 && var.name == "x" ? "a" : "b"': "a",
        "m.nets[*].network": ["q", "r"],
        "m.nets[1].network": "r",
        'concat(["a"], flatten([["b"], ["c"]]))': ["a", "b", "c"],
        'merge({a = 1}, {"b": 2})': {"a": 1, "b": 2},
        "max(1, var.n) - -2": 5,
        "10 / 4": 2.5,
        "10 / 5": 2,
        "try(var.none, 4)": 4,
        'coalesce(null, "", "y")': "y",
        '"np-${var.name}-$${x}"': "np-x-${x}",
        '"${m["count"]}-${coalesce("", "b")}"': "2-b",
        "!true": False,
    }
    assert {text: evaluate(text, scope) for text in known} == known
    unknown = {
        "var.none": "var.none", "file(\"x\")": "file()", "[for x in m : x]": "[for x in m : x]", "((((": "((((",
        "var.n / 0": "var.n / 0", "range(1000000)": "range(1000000)", "var.loop": "var.loop, which refers to itself",
        "var.none ? 1 : 2": "var.none", "m.nets[9]": "m.nets.9",
    }  # fmt: skip
    assert {text: evaluate(text, scope) for text in unknown} == {text: Unresolved(why) for text, why in unknown.items()}
    assert expand("$(var.name)-net", scope, "$(", ")") == "x-net"
    assert expand("$(var.n)", scope, "$(", ")") == 3
    assert expand("$(var.n", scope, "$(", ")") == Unresolved("$(var.n")
    assert expand("a$(var.none)", scope, "$(", ")") == Unresolved("var.none")
