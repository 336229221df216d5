"""The programs on docs/components.md run, and make what the page says.

`tests/wheel` runs those that use the installed components where these are installed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import pytest
import yaml

from berth.engine import ProgramError
from berth.engine import record_program as run_offline
from berth.names import to_camel
from components.arguments.node_pool import NodePoolArgs
from components.gke.node_pool import NodePool
from tests.engine import Run, both_modes, broken_rules, run
from tests.packages.plugin import shared_plugin
from tests.stack_files import ROOT

MANAGED = {"app.kubernetes.io/managed-by": "berth"}
PAGE = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
PAGES = [file.read_text(encoding="utf-8") for file in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))]


@cache
def program(preview: bool = False) -> Run:
    """Return the page's program, run by the in-process engine."""
    code = block("python", "TeamQueues(").replace("berth_components", "components")
    return run(lambda: exec(compile(code, "docs/components.md", "exec"), {"__name__": "__main__"}), preview)


@both_modes
def test_the_program_makes_these_resources_and_no_others(preview: bool) -> None:
    made = program(preview)
    custom = {each.name: each.type.rpartition(":")[2] for each in made.resources if each.custom}
    assert custom == {
        "google": "gcp",
        "nodes": "IAMMember",
        "network-vpc": "Network",
        "network-subnet": "Subnetwork",
        "network-router": "Router",
        "network-nat": "RouterNat",
        "lab-cluster": "Cluster",
        "system-pool": "NodePool",
        "l4-pool": "NodePool",
        "kubernetes": "kubernetes",
        "vision": "Namespace",
        "controllers-jobset": "Release",
        "controllers-kueue": "Release",
        "flavors-l4": "ResourceFlavor",
        "queues-vision-train-cluster-queue": "ClusterQueue",
        "queues-vision-train-local-queue/vision/train": "LocalQueue",
    }


@both_modes
def test_the_program_keeps_the_rules_of_components(preview: bool) -> None:
    """The account and the namespace are the page's own resources, and so in no component."""
    own = ("::nodes: ", "::vision: ")
    assert [line for line in broken_rules(program(preview)) if not any(each in line for each in own)] == []


def test_the_cluster_has_the_safe_defaults_and_the_pool_what_it_was_given() -> None:
    made = program()
    cluster = made.only_resource("container/cluster:Cluster").inputs
    assert (cluster["deletionProtection"], cluster["project"]) == (True, "acme-ml")
    assert cast("Mapping[str, Any]", cluster["privateClusterConfig"])["enablePrivateNodes"] is True
    pool = made.only_resource("NodePool", "l4-pool")
    assert pool.inputs["autoscaling"] == {
        "totalMinNodeCount": 0,
        "totalMaxNodeCount": 4,
        "locationPolicy": "ANY",
    }
    assert pool.inputs["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0}
    assert cast("Mapping[str, Any]", pool.inputs["nodeConfig"])["guestAccelerators"] == [
        {"type": "nvidia-l4", "count": 1, "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"}}
    ]


def test_the_queue_has_four_gpus_and_is_deleted_before_its_flavor() -> None:
    made = program()
    queue = made.only_resource("ClusterQueue")
    (group,) = cast("Mapping[str, Any]", queue.inputs["spec"])["resourceGroups"]
    assert group["coveredResources"] == ["cpu", "memory", "nvidia.com/gpu"]
    (flavor,) = group["flavors"]
    assert {each["name"]: each["nominalQuota"] for each in flavor["resources"]} == {
        "cpu": "32",
        "memory": "128Gi",
        "nvidia.com/gpu": "4",
    }
    assert made.only_resource("ResourceFlavor").urn in queue.dependencies
    kueue = made.only_resource("Release", "controllers-kueue")
    assert kueue.urn in queue.dependencies
    jobset = made.only_resource("Release", "controllers-jobset")
    assert jobset.urn in kueue.dependencies
    assert made.only_resource("NodePool", "system-pool").urn in jobset.dependencies
    local_queue = made.only_resource("LocalQueue").inputs
    assert local_queue["metadata"] == {
        "name": "train",
        "namespace": "vision",
        "labels": MANAGED | {"berth.dev/team": "vision"},
    }


@pytest.mark.parametrize("provider", ["google", "kubernetes"])
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
    lab = shared_plugin().construct("Fleet", fleet_in_yaml(), preview=False)
    assert {text.removeprefix("${lab.").removesuffix("}") for text in program["outputs"].values()} <= lab.exports.keys()


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


def test_a_commit_is_pinned_and_no_tag_is_named() -> None:
    """A tag that does not exist is what a reader copies. Pulumi splits a source at its last @."""
    sources = {each for page in PAGES for each in re.findall(r"[\w:/.+]+/acme/[\w/.]*@\w+(?:\.\w+)*", page)}
    assert sources and {each.rpartition("@")[2] for each in sources} == {"COMMIT"}
    assert [line for page in PAGES for line in re.findall(r".*(?:berth|packages)@v[0-9].*", page)] == []


# --- arguments on the page --------------------------------------------------------------------------------------------


def test_the_parts_in_typescript_have_arguments_of_the_package() -> None:
    """Every name is an argument of its component, and every required one is there."""
    resources = json.loads((ROOT / "packages" / "berth" / "schema.json").read_text(encoding="utf-8"))["resources"]
    parts = re.findall(r"new berth\.(\w+)\(\"[\w-]+\", \{(.*?)\}\)", block("typescript", "held.name"), re.DOTALL)
    assert [kind for kind, _ in parts] == ["Reservation", "NodePool"]
    for kind, text in parts:
        written = set(re.findall(r"(?:^|[{,])\s*(\w+)(?=[:,])", re.sub(r"//.*|\"[^\"]*\"", "", text), re.MULTILINE))
        component = resources[f"berth:index:{kind}"]
        assert written <= component["inputProperties"].keys(), kind
        assert set(component["requiredInputs"]) <= written, kind


def test_the_faults_on_the_page_are_what_is_printed() -> None:
    """Those of the package and those of the classes in Python."""
    shown = re.findall(r"(?m)^  (\w+: .*\[[a-z-]+\])$", PAGE)
    assert "machine_typ: unknown argument; did you mean 'machine_type'? [unknown-key]" in shown

    def build() -> None:
        where = {"cluster": "c", "zone": "us-central1-a"}
        NodePool("v5e", NodePoolArgs(machine_typ="ct5lp-hightpu-4t", topology="2x4", slices="3", **where))  # pyright: ignore[reportCallIssue, reportArgumentType]

    with pytest.raises(ProgramError) as caught:
        run_offline(build, project="training", stack="dev", config={})
    assert set(str(caught.value.__cause__).splitlines()[1:]) <= set(shown)
