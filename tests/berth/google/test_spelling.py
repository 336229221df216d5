"""The arguments of every registration are spelt and typed as the provider's SDK declares them.

The SDK sends a misspelt key inside a block to the provider in silence, so every key is compared with its types here.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import pytest

from berth.alibaba import fleet as on_alibaba_cloud
from berth.evaluate import Evaluation, evaluate_stack
from berth.google import fleet as on_google_cloud
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.registration import FREE_MAPPINGS, Reference, Registration
from tests import stack_files

FULL_FLEETS: Final = stack_files.ROOT / "tests" / "berth" / "full_fleets"


def evaluations() -> Iterator[Evaluation]:
    """Every stack file of the repository and every full fleet."""
    yield from (stack_files.evaluation(stack) for stack in stack_files.FLEET_STACKS)
    for file in sorted(FULL_FLEETS.glob("Pulumi.*.yaml")):
        yield evaluate_stack(file.stem.removeprefix("Pulumi."), FULL_FLEETS)


@cache
def registrations() -> tuple[Registration, ...]:
    """Everything that the stack files of the repository register, except Kubernetes objects."""
    made: list[Registration] = []
    for plan in (each.plan for each in evaluations()):
        if isinstance(plan, FleetPlan):
            made += (one for each in on_google_cloud.google_resources(plan) for one in each.registrations().values())
        elif isinstance(plan, AckFleetPlan):
            made += (one for each in on_alibaba_cloud.alibaba_resources(plan) for one in each.registrations().values())
    return tuple(made)


# --- comparison with the SDK ------------------------------------------------------------------------------------------


def sdk_class(token: str, ending: str = "Args") -> type:
    """The SDK's class of arguments of a type token: gcp:container/nodePool:NodePool gives NodePoolArgs."""
    package, module, name = token.split(":")
    path = {"providers": "", "helm.sh/v3": "helm.v3"}.get(module, module.partition("/")[0])
    if module == "providers":
        package, name = name, "Provider"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # some modules have deprecated classes
        return getattr(importlib.import_module(".".join(filter(None, (f"pulumi_{package}", path)))), f"{name}{ending}")


def class_of_block(cls: type, annotation: str) -> type | None:
    """The SDK's dictionary of a block, from the type of an argument of a class; None if it is not a block."""
    block = re.search(r"ForwardRef\('(\w+Args)(Dict)?'\)", annotation)
    return (
        getattr(importlib.import_module(cls.__module__.rpartition(".")[0]), f"{block.group(1)}Dict") if block else None
    )


@cache
def declared(cls: type) -> Mapping[str, str]:
    """Argument → its type as text, of a class of arguments or of the SDK's dictionary of a block."""
    annotations = cls.__annotations__ if cls.__name__.endswith("Dict") else cls.__init__.__annotations__
    return {name: str(annotation) for name, annotation in annotations.items() if name != "return"}


def mistakes(cls: type, arguments: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Every argument that the class does not have, or whose value has another type."""
    types = declared(cls)
    for key, value in arguments.items():
        where = f"{path}.{key}" if path else key
        if key not in types:
            yield f"{where}: {cls.__name__} has no such argument"
        elif isinstance(value, Reference) or (key in FREE_MAPPINGS and isinstance(value, Mapping)):
            continue
        elif (block_class := class_of_block(cls, types[key])) is not None:
            many = "Sequence" in types[key]
            if isinstance(value, list) != many:
                yield f"{where}: must {'' if many else 'not '}be a list"
                continue
            for number, each in enumerate(value if many else [value]):
                yield from mistakes(block_class, each, f"{where}.{number}" if many else where)
        else:
            yield from wrong_types(types[key], value, where)


def wrong_types(declared_type: str, value: Any, path: str) -> Iterator[str]:
    """The path if a plain value, or an item of a list of them, has another type than declared."""
    if isinstance(value, list) != ("Sequence" in declared_type):
        yield f"{path}: {declared_type}"
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, Reference) and not re.search(rf"\b{type(each).__name__}\b", declared_type):
            yield f"{path}: {type(each).__name__} instead of {declared_type}"


def test_every_argument_is_one_of_the_sdk() -> None:
    wrong = {(made.type, line) for made in registrations() for line in mistakes(sdk_class(made.type), made.arguments)}
    assert sorted(wrong) == []


def paths_of(made: Registration) -> tuple[str, ...]:
    """The paths of a registration's options, with the SDK's spelling."""
    paths = (*made.ignore_changes, *made.replace_on_changes)
    return tuple(re.sub(r"(?<=[a-z0-9])([A-Z])", lambda m: f"_{m.group(1).lower()}", path) for path in paths)


def test_every_path_of_an_option_is_an_argument_of_the_sdk() -> None:
    """`ignoreChanges` and `replaceOnChanges` have no effect on a path that does not exist."""
    unknown: set[str] = set()
    for made in registrations():
        for path in paths_of(made):
            cls = sdk_class(made.type)
            for name in path.replace("[0]", "").split("."):
                if name not in declared(cls):
                    unknown.add(f"{made.type} {path}")
                    break
                cls = class_of_block(cls, declared(cls)[name]) or cls
    assert sorted(unknown) == []


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        ({"machine_type": "n2"}, "machine_type: NodePoolArgs has no such argument"),
        ({"node_config": {"disk_size": 1}}, "node_config.disk_size: NodePoolNodeConfigArgsDict has no such argument"),
        ({"management": [{}]}, "management: must not be a list"),
        ({"node_count": "3"}, "node_count: str instead of"),
        ({"node_locations": "us-central1-a"}, "node_locations: "),
    ],
)
def test_a_misspelt_argument_is_found(arguments: Mapping[str, Any], mistake: str) -> None:
    assert any(each.startswith(mistake) for each in mistakes(sdk_class("gcp:container/nodePool:NodePool"), arguments))
