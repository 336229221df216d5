"""The program on docs/components.md runs, and makes what the page says."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import pytest
import yaml

from berth.engine import record_program as run_offline
from berth.spec.model import to_camel
from packages.berth.provider import COMPONENTS
from tests.engine import Run, both_modes, broken_rules, run
from tests.stack_files import ROOT

MANAGED = {"app.kubernetes.io/managed-by": "berth"}
PAGE = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")


@cache
def program(preview: bool = False) -> Run:
    """Return the page's program, run by the in-process engine."""
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "Controllers" in each]
    return run(lambda: exec(compile(code, "docs/components.md", "exec"), {"__name__": "__main__"}), preview)


@both_modes
def test_the_program_makes_these_resources_and_no_others(preview: bool) -> None:
    made = program(preview)
    custom = {each.name: each.type.rpartition(":")[2] for each in made.resources if each.custom}
    assert custom == {
        "google": "gcp",
        "nodes-account": "Account",
        "nodes-container.defaultNodeServiceAccount": "IAMMember",
        "network-vpc": "Network",
        "network-subnet": "Subnetwork",
        "network-router": "Router",
        "network-nat": "RouterNat",
        "cluster-cluster": "Cluster",
        "system-pool": "NodePool",
        "l4-pool": "NodePool",
        "lab": "kubernetes",
        "vision": "Namespace",
        "controllers-kueue": "Release",
        "flavors-l4": "ResourceFlavor",
        "queues-vision-cluster-queue": "ClusterQueue",
        "queues-vision-local-queue/vision/train": "LocalQueue",
    }


@both_modes
def test_the_program_keeps_the_rules_of_components(preview: bool) -> None:
    """The namespace is the page's own resource, and so in no component."""
    assert [line for line in broken_rules(program(preview)) if "::vision: " not in line] == []


def test_the_cluster_has_the_safe_defaults_and_the_pool_what_it_was_given() -> None:
    made = program()
    cluster = made.only_resource("container/cluster:Cluster").inputs
    assert (cluster["deletionProtection"], cluster["project"]) == (True, "acme-ml")
    assert cast("Mapping[str, Any]", cluster["privateClusterConfig"])["enablePrivateNodes"] is True
    pool = made.only_resource("NodePool", "l4-pool")
    assert pool.inputs["autoscaling"] == {"totalMinNodeCount": 0, "totalMaxNodeCount": 4}
    assert pool.inputs["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0}
    assert cast("Mapping[str, Any]", pool.inputs["nodeConfig"])["guestAccelerators"] == [
        {"type": "nvidia-l4", "count": 1, "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"}}
    ]


def test_the_queue_has_four_gpus_and_is_deleted_before_its_flavor() -> None:
    made = program()
    queue = made.only_resource("ClusterQueue")
    (group,) = cast("Mapping[str, Any]", queue.inputs["spec"])["resourceGroups"]
    assert group == {
        "coveredResources": ["nvidia.com/gpu"],
        "flavors": [{"name": "l4", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "4"}]}],
    }
    assert made.only_resource("ResourceFlavor").urn in queue.dependencies
    assert made.only_resource("Release").urn in queue.dependencies
    local_queue = made.only_resource("LocalQueue").inputs
    assert local_queue["metadata"] == {"name": "train", "namespace": "vision", "labels": MANAGED}


@pytest.mark.parametrize("provider", ["google", "lab"])
def test_a_child_has_the_provider_of_its_cloud(provider: str) -> None:
    made = program()
    urn = next(each.urn for each in made.resources if each.name == provider)
    package = "gcp:" if provider == "google" else "kubernetes:"
    children = [each for each in made.resources if each.custom and each.type.startswith(package)]
    assert {each.provider for each in children} == {urn}


# --- the component package --------------------------------------------------------------------------------------------


def block(language: str, containing: str = "") -> str:
    """The first block of code in a language that contains a text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return next(each for each in blocks if containing in each)


def fleet_in_yaml() -> dict[str, Any]:
    return yaml.safe_load(block("yaml"))["resources"]["lab"]["properties"]


def test_the_fleet_on_the_page_is_sound_and_has_the_outputs_of_the_program() -> None:
    program = yaml.safe_load(block("yaml"))
    made: dict[str, Any] = {}

    def build() -> None:
        made.update(COMPONENTS["berth:index:Fleet"]("lab", fleet_in_yaml(), None).outputs)

    assert run_offline(build, project="training", stack="dev", config={}).resources
    assert {text.removeprefix("${lab.").removesuffix("}") for text in program["outputs"].values()} <= made.keys()


def test_the_same_fleet_in_python() -> None:
    """Arguments of the generated SDK are the keys in snake case."""
    tree = ast.parse(block("python", "acme_berth"))
    call = next(
        each for each in ast.walk(tree) if isinstance(each, ast.Call) and ast.unparse(each.func) == "berth.Fleet"
    )
    written = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    assert camel_keys(written) == fleet_in_yaml()


def camel_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {to_camel(key): camel_keys(each) for key, each in cast("dict[str, Any]", value).items()}
    return [camel_keys(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


@pytest.mark.parametrize("language", ["typescript", "go"])
def test_the_same_values_in_other_languages(language: str) -> None:
    """Every text of the fleet is in the program, and no other text between quotes but names of packages."""
    texts = set(re.findall(r'"([^"]+)"', block(language)))
    keys = {"lab", "v5e", "vision", "train", "queues", "kubeconfig"}
    written = texts - keys - {each for each in texts if "/" in each}
    assert written == {each for each in leaves(fleet_in_yaml()) if isinstance(each, str)} - keys


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in cast("dict[str, Any]", value).values() for leaf in leaves(each)]
    return [leaf for each in cast("list[Any]", value) for leaf in leaves(each)] if isinstance(value, list) else [value]


def test_the_version_on_the_page_is_the_projects() -> None:
    version = json.loads((ROOT / "packages" / "berth" / "schema.json").read_text(encoding="utf-8"))["version"]
    assert set(re.findall(r"berth@v([0-9.]+)/packages", PAGE)) == {version}


def test_the_package_is_added_by_a_path_that_ends_in_the_released_version() -> None:
    """Pulumi splits a source at its last @; the rest must be a version."""
    sources = re.findall(r"https://github\.com/\S+/packages/\S+|https://github\.com/\S+@\S+", PAGE)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert set(sources) == {f"https://github.com/acme/berth/packages/berth@v{version}"}
