"""What else other tools and people do to clusters: settings of creation, upgrades, policies, blocks, several zones."""

from __future__ import annotations

import random
from collections.abc import Mapping

from tests.berth.adopt.conservation.variations import REGION, Answers, Variation, held, machines, slices

_KEY = f"projects/acme-ml-dev/locations/{REGION}/keyRings/nodes/cryptoKeys/disks"


def _gpus(answers: Answers) -> list[Answers]:
    return [each for each in machines(answers) if each["config"].get("accelerators")]


def placement_by_policy(rng: random.Random, answers: Answers) -> None:
    """State the topology of TPU7x slices in their placement policy alone."""
    path = answers["cluster.json"]["selfLink"].partition("/projects/")[2].partition("/")[0]
    link = f"https://www.googleapis.com/compute/v1/projects/{path}/regions/{REGION}/resourcePolicies"
    policies: dict[str, Answers] = {}
    for node_pool in slices(answers):
        if node_pool["config"]["machineType"].startswith("tpu7x"):
            topology = node_pool["placementPolicy"]["tpuTopology"]
            name = f"{rng.choice(['cube', 'ironwood'])}-{topology}"
            node_pool["placementPolicy"] = {"policyName": name}
            workload = {"type": "HIGH_THROUGHPUT", "acceleratorTopology": topology}
            policies[name] = {"name": name, "selfLink": f"{link}/{name}", "workloadPolicy": workload}
    answers["placement-policies.json"] = [*policies.values()]


def upgrades(rng: random.Random, answers: Answers) -> None:
    """Upgrade GPU nodes by blue-green, in counts or shares, or not at all."""
    batches = ({"batchNodeCount": 2, "batchSoakDuration": "60s"}, {"batchPercentage": 0.25})
    for node_pool in _gpus(answers):
        if "placementPolicy" not in node_pool and rng.random() < 0.6:
            rollout = {"nodePoolSoakDuration": "3600s", "standardRolloutPolicy": rng.choice(batches)}
            node_pool["upgradeSettings"] = {"strategy": "BLUE_GREEN", "blueGreenSettings": rollout}
        if rng.random() < 0.4:
            node_pool["maintenancePolicy"] = {"exclusionUntilEndOfSupport": {"enabled": True}}


def creation(rng: random.Random, answers: Answers) -> None:
    """Create nodes with settings that no key has."""
    settings = {
        "preemptible": True,
        "nodeGroup": "rack-7",
        "soleTenantConfig": {"minNodeCpus": 8},
        "fastSocket": {"enabled": True},
        "localSsdEncryptionMode": "EPHEMERAL_KEY_ENCRYPTION",
        "resourceManagerTags": {"tags": {"tagKeys/1": "tagValues/2"}},
    }
    for node_pool in machines(answers):
        if rng.random() < 0.5 and not node_pool["config"].get("spot"):
            key = rng.choice([*settings])
            node_pool["config"][key] = settings[key]


def disks_and_tags(rng: random.Random, answers: Answers) -> None:
    """Encrypt boot disks, add secondary ones, and tag nodes."""
    settings = {
        "bootDiskKmsKey": _KEY,
        "secondaryBootDisks": [{"diskImage": "projects/acme/global/images/i", "mode": "CONTAINER_IMAGE_CACHE"}],
        "tags": ["allow-ssh", "training"],
    }
    for node_pool in machines(answers):
        key = rng.choice([*settings])
        node_pool["config"][key] = settings[key]


def blocks(rng: random.Random, answers: Answers) -> None:
    """Use a block of a reservation that somebody else made, for all of its machines or for some slices of a flavor."""
    for values in held(answers):
        if rng.random() < 0.7:
            values[0] = f"{values[0]}/reservationBlocks/{values[0]}-block-1"


def several_zones(rng: random.Random, answers: Answers) -> None:
    """Spread GPU nodes over zones that have no reservation, placement or further networks, which are of one zone."""
    for node_pool in _gpus(answers):
        is_reserved = bool(node_pool["config"]["reservationAffinity"].get("values"))
        is_reserved |= bool(node_pool["networkConfig"].get("additionalNodeNetworkConfigs"))
        if not is_reserved and "placementPolicy" not in node_pool and rng.random() < 0.7:
            node_pool["locations"] = [f"{REGION}-{letter}" for letter in rng.choice(["ab", "bc", "abc"])]


FURTHER: Mapping[str, Variation] = {
    each.__name__: each for each in (placement_by_policy, upgrades, creation, disks_and_tags, blocks, several_zones)
}


def vary_further(rng: random.Random, answers: Answers) -> list[str]:
    """Apply none to three of these, and return their names."""
    names = rng.sample(list(FURTHER), rng.randint(0, 3))
    for name in names:
        FURTHER[name](rng, answers)
    return names
