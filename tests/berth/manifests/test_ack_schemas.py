"""What is rendered and sent for Alibaba Cloud, against field tables with their sources and the provider's own types."""

from __future__ import annotations

import copy
import typing
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from berth.engine import RecordedResource
from berth.manifests.ack import ack_manifests, training_job
from berth.plan.workloads import PodPlan, PyTorchJobPlan, SubmissionPlan
from berth.yaml_loader import LOADER
from tests.stack_files import ACK_STACKS, resources
from tests.stacks.test_ack_stacks import plan

with warnings.catch_warnings():
    # The SDK warns of names of its own that nobody here uses.
    warnings.simplefilter("ignore", DeprecationWarning)
    import pulumi_alicloud as alicloud

TABLE: dict[str, Any] = yaml.load((Path(__file__).parent / "ack_schemas.yaml").read_text(encoding="utf-8"), LOADER)
OWN = {kind: row for kind, row in TABLE.items() if not kind.startswith("$")}

# --- Kubernetes objects -----------------------------------------------------------------------------------------------


def strict(schema: Any) -> Any:
    """The schema, which rejects unknown fields in every object with known ones."""
    if isinstance(schema, list):
        return [strict(each) for each in typing.cast("list[Any]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: strict(value) for key, value in typing.cast("Mapping[str, Any]", schema).items()}
    return {"additionalProperties": False, **made} if "properties" in made and made.get("type") == "object" else made


@cache
def validator(kind: str) -> Draft202012Validator:
    """The strict schema of an object of one kind."""
    row = OWN[kind]
    properties = {
        "apiVersion": {"const": row["apiVersion"]},
        "kind": {"const": kind},
        "metadata": {},
        "spec": row["spec"],
    }
    schema = {"type": "object", "required": ["apiVersion", "kind", "metadata", "spec"], "properties": properties}
    return Draft202012Validator(strict({**schema, "$defs": TABLE["$defs"]}))


def faults(manifest: Mapping[str, Any]) -> list[str]:
    """What is wrong with an object, by its path."""
    return [f"{error.json_path}: {error.message}" for error in validator(manifest["kind"]).iter_errors(manifest)]


def rendered() -> list[dict[str, Any]]:
    """Every object of the fleets on Alibaba Cloud of a kind in the table, and a job with all that it can say."""
    jobs = PyTorchJobPlan(
        submission=SubmissionPlan(name="j", namespace="n", team="t", queue="q", priority="urgent", annotations={}),
        pod=PodPlan(
            image="i",
            command=("sleep", "1"),
            resources={"cpu": 4000, "memory": 2**30, "nvidia.com/gpu": 8},
            restart_policy="OnFailure",
            service_account="sa",
            node_selector={"a": "b"},
        ),
        workers=2,
        backoff_limit=3,
    )
    values: list[Any] = [manifest for stack in ACK_STACKS for manifest in ack_manifests(plan(stack))]
    return [*(manifest for manifest in values if manifest["kind"] in OWN), typing.cast("Any", training_job(jobs))]


def test_every_rendered_object_has_only_fields_of_its_kind() -> None:
    assert [fault for manifest in rendered() for fault in faults(manifest)] == []


def test_every_kind_of_the_table_is_rendered_and_has_its_sources() -> None:
    assert {manifest["kind"] for manifest in rendered()} == OWN.keys()
    assert all(row["sources"] for row in OWN.values())


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("ElasticQuotaTree", ("root", "namespace"), ["default"]),  # namespaces
        ("ElasticQuotaTree", ("root", "min", "cpu"), 512),  # a number, where the quantity is a text
        ("PropagationPolicy", ("failover", "application", "purgeMode"), "Gracefully"),
        ("PropagationPolicy", ("placement", "replicaScheduling", "schedulingType"), "Gang"),
        ("PropagationPolicy", ("suspension", "schedule"), True),
        ("PyTorchJob", ("pytorchReplicaSpecs", "Workers"), {}),
        ("PyTorchJob", ("runPolicy", "suspended"), True),
    ],
)
def test_a_misspelt_field_or_a_wrong_value_is_caught(kind: str, path: tuple[str, ...], value: object) -> None:
    """The table must be able to refuse."""
    broken = copy.deepcopy(next(manifest for manifest in rendered() if manifest["kind"] == kind))
    place = broken["spec"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert len(faults(broken)) == 1


# --- resources of the provider ----------------------------------------------------------------------------------------

ARGUMENTS: Mapping[str, type] = {
    "alicloud:cs/managedKubernetes:ManagedKubernetes": alicloud.cs.ManagedKubernetesArgs,
    "alicloud:cs/nodePool:NodePool": alicloud.cs.NodePoolArgs,
    "alicloud:ackone/cluster:Cluster": alicloud.ackone.ClusterArgs,
    "alicloud:ackone/membershipAttachment:MembershipAttachment": alicloud.ackone.MembershipAttachmentArgs,
}
"""The classes in which pulumi-alicloud says what a resource takes."""


def inputs_of(kind: type) -> dict[str, Any]:
    """The provider's name of each input of an argument class → its type."""
    hints = typing.get_type_hints(getattr(kind, "__init__"))  # noqa: B009  (mypy's and pyright's rule on __init__)
    return {
        getattr(each.fget, "_pulumi_name", name): hints[name]
        for name, each in vars(kind).items()
        if isinstance(each, property) and name in hints
    }


def wrong(value: Any, hint: Any, path: str) -> Iterator[str]:
    """Where a value, as it is sent, is not what its type says."""
    if typing.get_origin(hint) is typing.Union:
        tried = [list(wrong(value, each, path)) for each in typing.get_args(hint) if _plain(each)]
        if tried and all(tried):
            yield min(tried, key=len)[0]
    elif typing.get_origin(hint) is not None:
        inner = typing.get_args(hint)[-1]
        if isinstance(value, Mapping) == issubclass(typing.get_origin(hint), Mapping) and not isinstance(value, str):
            entries: Any = value.items() if isinstance(value, Mapping) else enumerate(value)
            for key, each in entries:
                yield from wrong(each, inner, f"{path}[{key}]")
        else:
            yield f"{path}: {value!r} is no {hint}"
    elif isinstance(value, Mapping) and not issubclass(hint, (str, int, float)):
        known = inputs_of(hint)
        yield from (f"{path}.{key}: is no input" for key in value if key not in known)
        for key in value.keys() & known.keys():
            yield from wrong(value[key], known[key], f"{path}.{key}")
    elif type(value) is not hint and not (hint is float and type(value) is int):
        yield f"{path}: {value!r} is no {hint}"


def _plain(hint: Any) -> bool:
    """Neither what is awaited nor an output, a typed dict or nothing."""
    origin = typing.get_origin(hint) or hint
    return hint is not type(None) and not typing.is_typeddict(origin) and origin.__name__ not in ("Awaitable", "Output")


def sent() -> list[RecordedResource]:
    """Every resource that is Alibaba Cloud's, as an update sends it."""
    return [one for stack in ACK_STACKS for one in resources(stack, False) if one.type.startswith("alicloud:")]


def test_inputs_match_the_schema_of_the_provider() -> None:
    assert {one.type for one in sent()} == ARGUMENTS.keys()
    values = [fault for one in sent() for fault in wrong(one.inputs, ARGUMENTS[one.type], one.name)]
    assert values == []


@pytest.mark.parametrize(
    ("kind", "change", "text"),
    [
        ("alicloud:cs/nodePool:NodePool", {"desiredSize": 2}, "desiredSize: 2 is no"),
        ("alicloud:cs/nodePool:NodePool", {"instanceType": "ecs"}, "instanceType: is no input"),
        ("alicloud:cs/nodePool:NodePool", {"labels": [{"name": "a"}]}, "name: is no input"),
        ("alicloud:cs/managedKubernetes:ManagedKubernetes", {"deletionProtection": "yes"}, "'yes' is no"),
    ],
)
def test_a_wrong_input_is_caught(kind: str, change: dict[str, Any], text: str) -> None:
    (one, *_) = (one for one in sent() if one.type == kind)
    (each,) = wrong({**one.inputs, **change}, ARGUMENTS[kind], "pool")
    assert text in each
