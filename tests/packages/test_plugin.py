"""The plugin driven over gRPC as the engine drives it: schema, Construct in a preview and in an update, and faults."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from berth.engine.values import UNKNOWN_ON_WIRE
from tests.packages.plugin import Constructed, Plugin, is_secret, output_value, shared_plugin
from tests.packages.test_components import GOOGLE, POOL_ARGS, RESERVED, SMALL, refused
from tests.stack_files import ROOT

HELD = "urn:pulumi:dev::mine::berth:index:Reservation::held"


@pytest.fixture(scope="module")
def plugin() -> Plugin:
    return shared_plugin()


def test_it_serves_the_schema_and_its_version(plugin: Plugin) -> None:
    assert plugin.schema() == (ROOT / "packages" / "berth" / "schema.json").read_text(encoding="utf-8")
    assert f'"version": "{plugin.version()}"' in plugin.schema()


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])
def test_a_fleet_is_constructed(plugin: Plugin, preview: bool) -> None:
    made = plugin.construct("Fleet", SMALL, preview=preview)
    assert made.urn == "urn:pulumi:dev::mine::berth:index:Fleet::lab"
    assert {each.parent for each in made.resources if each.name == "lab-cluster"} == {made.urn}
    assert made.state["queues"] == {"vision": ["train"]}
    assert is_secret(made.state["kubeconfig"])
    assert made.state["plan"]["pools"][0]["slices"] == 3.0
    assert address_of(made) == (UNKNOWN_ON_WIRE if preview else "https://203.0.113.10")


def address_of(made: Constructed) -> object:
    """The address of the cluster's control plane, among the outputs."""
    server = made.state["clusters"]["lab"]["server"]
    return (
        server["value"]
        if isinstance(server, dict) and "value" in server
        else UNKNOWN_ON_WIRE
        if isinstance(server, dict)
        else server
    )


def test_the_outputs_depend_on_what_they_come_from(plugin: Plugin) -> None:
    made = plugin.construct("Fleet", SMALL, preview=False)
    cluster = next(each.urn for each in made.resources if each.type == "gcp:container/cluster:Cluster")
    assert cluster in made.dependencies["kubeconfig"]
    namespace = next(each.urn for each in made.resources if each.type == "kubernetes:core/v1:Namespace")
    assert namespace in made.dependencies["namespaces"]


def test_warnings_are_the_components(plugin: Plugin) -> None:
    logged = plugin.construct("Fleet", SMALL, preview=True).logged
    assert logged[0].startswith("WARNING cluster.controlPlane: the control plane is open to every address")


@pytest.mark.parametrize("known", [False, True], ids=["unknown", "known"])
def test_a_node_pool_accepts_the_reservation_name_of_another_resource(plugin: Plugin, known: bool) -> None:
    name = "held" if known else UNKNOWN_ON_WIRE
    inputs = {**POOL_ARGS, "reservation": output_value(name, HELD)}
    made = plugin.construct("NodePool", inputs, preview=not known, dependencies={"reservation": [HELD]})
    pool = next(each for each in made.resources if each.type == "gcp:container/nodePool:NodePool")
    config: Any = pool.inputs["nodeConfig"]
    values = config["reservationAffinity"]["values"]
    assert values == ["held"] if known else repr(values) == "['[unknown]']"
    assert HELD in pool.dependencies


def test_a_provider_in_the_options_is_used(plugin: Plugin) -> None:
    made = plugin.construct("Fleet", SMALL, preview=True, providers={"gcp": f"{GOOGLE}::{UNKNOWN_ON_WIRE}"})
    google = [each for each in made.resources if each.custom and each.type.startswith("gcp:")]
    assert {each.provider for each in google} == {GOOGLE}
    assert {each.inputs["project"] for each in google if each.type.startswith("gcp:compute/")} == {"acme-ml-dev"}


def test_faults_end_in_one_error_with_paths(plugin: Plugin) -> None:
    pool = {**SMALL["pools"]["v5e"], "topologie": "2x4", "slices": 1.5}
    assert refused("Fleet", {**SMALL, "pools": {"v5e": pool}}) == [
        "pools.v5e.slices: '1.5' is a number; write a whole number, or {min: 1, max: 24}",
        "pools.v5e.topologie: unknown key 'topologie'; did you mean 'topology'?",
    ]


@pytest.mark.parametrize("zone", [UNKNOWN_ON_WIRE, output_value("us-central1-a", HELD)], ids=["unknown", "output"])
def test_an_output_in_place_of_a_planned_value_is_a_fault(plugin: Plugin, zone: object) -> None:
    inputs = {**SMALL, "pools": {"v5e": {**SMALL["pools"]["v5e"], "zone": zone}}}
    assert refused("Fleet", inputs) == [
        "pools.v5e.zone: is an output of a resource or a secret, and the plan is made before either is known; "
        "write a plain value"
    ]


def test_a_refused_component_leaves_the_plugin_running(plugin: Plugin) -> None:
    refused("Fleet", {"project": "acme-ml"})
    assert plugin.construct("Reservation", RESERVED, preview=False).state["name"] is not None


MISSPELT = {
    "typescript": {"machineTyp": "g2-standard-24", "zone": "us-central1-a", "nodes": 4.0, "cluster": "theirs"},
    "yaml": yaml.safe_load("""
        machineTyp: g2-standard-24
        zone: us-central1-a
        nodes: 4
        cluster: ${cluster.name}
    """),
}
"""The properties of a program as they arrive: numbers of TypeScript are floats, and a cast lets any name through."""


@pytest.mark.parametrize("language", MISSPELT)
def test_a_misspelt_argument_is_one_line_in_every_language(plugin: Plugin, language: str) -> None:
    """Python's classes are in tests/components/test_arguments.py."""
    inputs = {**MISSPELT[language], "cluster": output_value(UNKNOWN_ON_WIRE, HELD)}
    assert refused("NodePool", inputs) == ["machineTyp: unknown key 'machineTyp'; did you mean 'machineType'?"]
