"""The enumeration of what a fleet registers, against what its program registers: the diff compares the enumeration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import pytest

from berth.alibaba import fleet as on_alibaba_cloud
from berth.cli.preview.live_cluster import answer_function
from berth.cli.preview.tree import stand_in_references, stand_in_secrets
from berth.engine import RecordedResource, run_program
from berth.evaluate import Evaluation, evaluate_stack
from berth.google import fleet as on_google_cloud
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.registration import Reference, Registration, provider_inputs
from tests import stack_files
from tests.berth.diff.edits import enumerated as manifests
from tests.stack_files import ROOT

_KUBECONFIG: Final = """
clusters: [{name: acme, cluster: {server: "https://acme.example"}}]
contexts: [{name: acme, context: {cluster: acme, user: me}}]
current-context: acme
"""
FULL_FLEETS: Final = ROOT / "tests" / "berth" / "full_fleets"


def enumerated(plan: FleetPlan | AckFleetPlan) -> dict[tuple[str, str], Registration]:
    """(type, name in the program) → its registration, without connections to existing clusters."""
    made: dict[tuple[str, str], Registration] = {}
    resources = (
        on_google_cloud.google_resources(plan)
        if isinstance(plan, FleetPlan)
        else on_alibaba_cloud.alibaba_resources(plan)
    )
    for resource in resources:
        for role, registration in resource.registrations().items():
            identity = registration.type, f"{resource.name}-{role}"
            assert identity not in made
            made[identity] = registration
    return {(kind, name): each for (kind, name), each in made.items() if not kind.startswith("pulumi:")}


def is_of_a_provider(resource: RecordedResource) -> bool:
    """Whether it is a resource of the cloud or a Helm release: not a component, a provider or a Kubernetes object."""
    is_object = resource.type.startswith("kubernetes:") and not resource.type.startswith("kubernetes:helm")
    return resource.custom and not is_object and not resource.type.startswith("pulumi:")


def differences(registration: Registration, recorded: RecordedResource) -> list[str]:
    """Every input and option that the engine recorded with another value; an output may have any."""
    wanted = provider_inputs(registration.arguments)
    sent = {key: value for key, value in recorded.inputs.items() if key != "compat"}  # the SDK adds it to releases
    found = _differing(wanted, sent)
    for option in ("protect", "ignore_changes", "replace_on_changes", "retain_on_delete"):
        if getattr(registration, option) != getattr(recorded, option):
            found.append(option)
    return found


def _differing(wanted: Any, value: Any, path: str = "") -> list[str]:
    if isinstance(wanted, Reference):
        is_output = wanted.value is None or not isinstance(value, str)
        return [] if is_output or value == wanted.value else [f"{path}: {wanted} is {value}"]
    if isinstance(wanted, Mapping) and isinstance(value, Mapping):
        keys = dict.fromkeys([*wanted, *value])
        return [each for key in keys for each in _differing(wanted.get(key), value.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(value, (list, tuple)) and len(wanted) == len(value):
        return [each for one, other in zip(wanted, value, strict=True) for each in _differing(one, other, f"{path}[]")]
    return [] if wanted == value else [f"{path}: {wanted!r} is {value!r}"]


def recorded_by_engine(evaluation: Evaluation, folder: Path) -> list[RecordedResource]:
    """Everything that the program registers for a stack."""
    file = evaluation.file
    assert file is not None
    fleet_values = {key: value for key, value in cast("dict[str, object]", file.fleet).items() if key != "teamFiles"}
    config = {key: value for key, value in file.config.items() if key != "berth:fleet"}
    secrets, references = stand_in_secrets(evaluation), stand_in_references(evaluation, folder)
    secrets = {**secrets, "berth:kubeconfig": _KUBECONFIG}
    result = run_program(
        ROOT,
        evaluation.stack,
        fleet_values,
        config | secrets,
        preview=False,
        secrets=secrets.keys(),
        references=references,
        invoke=partial(answer_function, evaluation.fleet_plan),
    )
    return list(result.resources)


def full_fleets() -> list[str]:
    """The full fleets, without the stacks of teams."""
    files = (file for file in sorted(FULL_FLEETS.glob("Pulumi.*.yaml")) if "berth:team:" not in file.read_text("utf-8"))
    return [file.stem.removeprefix("Pulumi.") for file in files]


CASES = [*((ROOT, stack) for stack in stack_files.FLEET_STACKS), *((FULL_FLEETS, stack) for stack in full_fleets())]


@pytest.mark.parametrize(("folder", "stack"), [pytest.param(*case, id=f"{case[0].name}-{case[1]}") for case in CASES])
def test_the_program_registers_what_is_enumerated_and_nothing_else(folder: Path, stack: str) -> None:
    evaluation = stack_files.evaluation(stack) if folder == ROOT else evaluate_stack(stack, folder)
    plan = evaluation.plan
    assert isinstance(plan, (FleetPlan, AckFleetPlan))
    everything = recorded_by_engine(evaluation, folder)
    recorded = {(each.type, each.name): each for each in everything if is_of_a_provider(each)}
    made = enumerated(plan)
    assert made.keys() == recorded.keys()
    assert {key: found for key, each in made.items() if (found := differences(each, recorded[key]))} == {}
    workers = {worker.key for worker in plan.workers} if isinstance(plan, FleetPlan) else set[str]()
    rendered, objects = (
        objects_by_place(manifests.enumerated(plan).values(), workers),
        objects_by_place(everything, workers),
    )
    assert rendered.keys() == objects.keys()
    assert {
        place: found for place, each in rendered.items() if (found := object_differences(each, objects[place]))
    } == {}


def objects_by_place(
    resources: Iterable[RecordedResource], workers: set[str]
) -> dict[tuple[str, ...], RecordedResource]:
    """The Kubernetes objects by type, worker, namespace and name."""
    found: dict[tuple[str, ...], RecordedResource] = {}
    for each in resources:
        if each.custom and each.type.startswith("kubernetes:") and not each.type.startswith("kubernetes:helm"):
            worker, metadata = each.name.partition("/")[0], cast("Mapping[str, str]", each.inputs["metadata"])
            place = each.type, worker if worker in workers else "", metadata.get("namespace", ""), metadata["name"]
            found[place] = each
    return found


def object_differences(one: RecordedResource, other: RecordedResource) -> list[str]:
    """Every field and option that the engine recorded with another value, but what only Pulumi reads, and secrets."""
    found = [] if one.type == "kubernetes:core/v1:Secret" else _differing(one.inputs, _for_cluster(other.inputs))
    options = ("protect", "ignore_changes", "replace_on_changes")
    return [*found, *(option for option in options if getattr(one, option) != getattr(other, option))]


def _for_cluster(inputs: Mapping[str, object]) -> Mapping[str, object]:
    """Return an object without `pulumi.com/skipAwait`, by which Pulumi does not wait for it."""
    metadata = cast("Mapping[str, object]", inputs["metadata"])
    annotations = dict(cast("Mapping[str, object]", metadata.get("annotations") or {}))
    if annotations.pop("pulumi.com/skipAwait", None) is None:
        return inputs
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**inputs, "metadata": {**rest, "annotations": annotations} if annotations else rest}
