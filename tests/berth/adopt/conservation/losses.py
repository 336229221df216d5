"""What an adoption loses, found without the product's own comparison: answers against registered inputs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from berth.adopt.first_update import lost_node_pools, would_replace
from berth.adopt.inventory import read_inventory
from berth.cli.adopt.answer import adopt_inventory
from berth.google.fleet import google_resources
from berth.plan.fleet import FleetPlan
from berth.resource import ResourceKind
from tests.berth.adopt.conservation.further_variations import vary_further
from tests.berth.adopt.conservation.rare_variations import vary_rarely
from tests.berth.adopt.conservation.variations import Answers, answers_of, random_fleet, texts_of, vary

_PATHS: Mapping[str, str] = {
    "nodeConfig.machineType": "config.machineType",
    "nodeConfig.spot": "config.spot",
    **{
        f"nodeConfig.{each}": f"config.{each}"
        for each in ("preemptible", "nodeGroup", "soleTenantConfig", "localSsdEncryptionMode", "bootDiskKmsKey")
    },
    "nodeConfig.secondaryBootDisks": "config.secondaryBootDisks",
    "nodeConfig.tags": "config.tags",
    "upgradeSettings.strategy": "upgradeSettings.strategy",
    "nodeConfig.serviceAccount": "config.serviceAccount",
    "nodeConfig.diskType": "config.diskType",
    "nodeConfig.diskSizeGb": "config.diskSizeGb",
    "nodeConfig.reservationAffinity.values": "config.reservationAffinity.values",
    "nodeConfig.reservationAffinity.consumeReservationType": "config.reservationAffinity.consumeReservationType",
    "nodeConfig.oauthScopes": "config.oauthScopes",
    "nodeLocations": "locations",
    "placementPolicy.type": "placementPolicy.type",
    "placementPolicy.policyName": "placementPolicy.policyName",
    "placementPolicy.tpuTopology": "placementPolicy.tpuTopology",
    "networkConfig.additionalNodeNetworkConfigs": "networkConfig.additionalNodeNetworkConfigs",
    "networkConfig.enablePrivateNodes": "networkConfig.enablePrivateNodes",
}
"""Input whose change replaces the node pool or recreates its nodes → where an answer has its value."""


_FIRST_RARE = 8
"""The first variation of a fleet that has what few people do, too."""


@lru_cache(maxsize=1)
def _texts_before(seed: int) -> dict[str, str]:
    """Return the answers of a random fleet before its variations, which follow each other."""
    return texts_of(answers_of(random_fleet(random.Random(seed))))


def losses(seed: int, variation: int) -> tuple[list[str], list[str]]:
    """Return the names of the variations, and a line for all that would be lost of a random cluster."""
    answers = {name: json.loads(text) for name, text in _texts_before(seed).items()}
    rng = random.Random(seed * 1000 + variation)
    names, keeps_cluster = vary(rng, answers)
    names += vary_further(rng, answers)
    if variation >= _FIRST_RARE:
        names += vary_rarely(rng, answers)
    return names, list(_losses(answers, keeps_cluster=keeps_cluster))


def _losses(answers: Answers, *, keeps_cluster: bool) -> Iterator[str]:
    inventory = read_inventory(texts_of(answers), keeps_cluster=keeps_cluster)
    _, adopted, evaluation = adopt_inventory(inventory, "test")
    yield from (f"fault: {fault.line()}" for fault in evaluation.faults)
    fleet = evaluation.fleet_plan
    if evaluation.faults or not isinstance(fleet, FleetPlan):
        return
    yield from lost_node_pools(inventory, fleet, {each.subject for each in adopted.not_adopted})
    yield from would_replace(inventory, fleet, ())
    existing = {str(each["name"]): each for each in answers["node-pools.json"]}
    planned = {each.name for pool in fleet.own_pools for each in pool.node_pools}
    wanted = set(existing) - {"system"}
    yield from (f"node pool {name} is not imported" for name in sorted(wanted - planned))
    yield from (f"node pool {name} is created" for name in sorted(planned - wanted))
    yield from _lost_reservations(answers, fleet, {each.subject for each in adopted.not_adopted})
    for resource in google_resources(fleet):
        if resource.kind == ResourceKind.NODE_POOL:
            (registration,) = resource.registrations().values()
            inputs = resource.inputs(registration)[0]
            if inputs["name"] in existing:
                yield from _differences(inputs, registration.ignore_changes, existing[inputs["name"]])


def _lost_reservations(answers: Answers, fleet: FleetPlan, told: set[str]) -> Iterator[str]:
    held = {each.name for each in fleet.held}
    for answer in answers["reservations.json"]:
        if answer["name"] not in held and f"reservation {answer['name']}" not in told:
            yield f"reservation {answer['name']} is in no entry and in no line"
    names = {each["name"] for each in answers["reservations.json"]}
    yield from (f"reservation {each.name} is created" for each in fleet.reservations if each.name not in names)


def _differences(inputs: Mapping[str, Any], ignored: tuple[str, ...], answer: Answers) -> Iterator[str]:
    for place, path in _PATHS.items():
        if any(place == each or place.startswith(f"{each}.") for each in ignored):
            continue
        after, before = _value(inputs, place), _value(answer, path)
        if place in ("networkConfig.enablePrivateNodes", "upgradeSettings.strategy") and after is None:
            continue  # the provider keeps it
        if isinstance(before, list) and all(isinstance(each, str) for each in before):
            before, after = sorted(before), sorted(after or [])
        if (before or None) != (after or None):
            yield f"node pool {inputs['name']}: {place} {before} → {after}"


def _value(nested: Any, path: str) -> Any:
    for step in path.split("."):
        nested = nested.get(step) if isinstance(nested, Mapping) else None
    return nested
