"""Random fleets, the answers that Google would give of them, and what other tools and people do to those."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.gke_answers import files
from tests.small_fleets import faults, fleet_of_pools, plan

Answers = dict[str, Any]
Variation = Callable[[random.Random, Answers], None]

REGION = "us-central1"
_TPUS = (
    ("ct5lp-hightpu-4t", "2x4"),
    ("ct5lp-hightpu-4t", "4x4"),
    ("ct5lp-hightpu-1t", "1x1"),
    ("ct6e-standard-4t", "4x4"),
    ("ct6e-standard-8t", "2x4"),
    ("ct6e-standard-1t", "1x1"),
    ("ct5p-hightpu-4t", "2x2x2"),
    ("tpu7x-standard-4t", "2x2x2"),
)
_GPUS = ("g2-standard-24", "a2-highgpu-1g", "a3-highgpu-8g", "a3-ultragpu-8g", "n2-t4")
_NAMES = ("train", "serve", "batch", "night", "slow", "ft", "eval", "a", "v6e-4x4", "pool-1")


def random_fleet(rng: random.Random) -> dict[str, Any]:
    """Return a stack's fleet of one to five pools without a fault."""
    while True:
        reservations: dict[str, Any] = {}
        names = rng.sample(_NAMES, rng.randint(1, 5))
        pools = {name: _pool(rng, name, reservations) for name in names}
        rest: dict[str, Any] = {"reservations": reservations} if reservations else {}
        zones = sorted({pool["zone"] for pool in pools.values() if "zone" in pool} | {f"{REGION}-a"})
        fleet = fleet_of_pools(pools, cluster={"zones": zones, "controlPlane": {"publicEndpoint": False}}, **rest)
        if not faults(fleet):
            return fleet


def _pool(rng: random.Random, name: str, reservations: dict[str, Any]) -> dict[str, Any]:
    zone = f"{REGION}-{rng.choice('abc')}"
    pool: dict[str, Any] = {"zone": zone, "acceptZone": True}
    size = rng.choice([1, 2, 3, {"max": 3}, {"min": 1, "max": 2}])
    if rng.random() < 0.6:
        pool["machineType"], pool["topology"] = rng.choice(_TPUS)
        pool["slices"] = size
    else:
        kind = rng.choice(_GPUS)
        pool["machineType"] = kind
        if kind == "n2-t4":
            pool |= {"machineType": "n1-standard-8", "accelerator": {"type": "nvidia-tesla-t4", "count": 1}}
        pool["nodes"] = size
    capacity = rng.choice(["on-demand", "on-demand", "spot", "own", "held"])
    if capacity in ("own", "held"):
        reserved = {key: pool[key] for key in ("machineType", "accelerator", "zone", "acceptZone") if key in pool}
        reservations[name] = {**reserved, "count": 64, "existing": capacity == "held"}
        reservations[name] |= {"name": f"held-{name}"} if capacity == "held" else {}
        pool["capacity"] = {"reservation": name}
    elif capacity != "on-demand":
        pool["capacity"] = capacity
    pool["labels"] = {"use": name}  # so that flavors are told apart whatever other tools change
    if rng.random() < 0.3:
        pool["taints"] = [{"key": "tier", "value": name, "effect": rng.choice(["NoSchedule", "NoExecute"])}]
    pool |= {"diskSizeGb": 200} if rng.random() < 0.2 else {}
    return pool


def answers_of(fleet: dict[str, Any]) -> Answers:
    """Return the answers by file, as APIs give them back."""
    return {name: json.loads(text) for name, text in files(plan(fleet), noise=True).items()}


def texts_of(answers: Answers) -> dict[str, str]:
    """Return the answers as files."""
    return {name: json.dumps(answer) for name, answer in answers.items()}


def machines(answers: Answers) -> list[Answers]:
    """Return the node pools but for that of the controllers."""
    return [each for each in answers["node-pools.json"] if each["name"] != "system"]


def slices(answers: Answers) -> list[Answers]:
    """Return the node pools that are slices of several hosts."""
    return [each for each in machines(answers) if "tpuTopology" in each.get("placementPolicy", {})]


def held(answers: Answers) -> Iterator[list[str]]:
    """The names in the reservation affinity of node pools on a reservation that somebody else made, to change them."""
    for node_pool in machines(answers):
        values: list[str] = node_pool["config"]["reservationAffinity"].get("values", [])
        if values and values[0].startswith("held-"):
            yield values


def _rename(node_pool: Answers, name: str) -> None:
    node_pool["selfLink"] = node_pool["selfLink"].removesuffix(node_pool["name"]) + name
    node_pool["name"] = name


def other_names(rng: random.Random, answers: Answers) -> None:
    """Give node pools names of other tools."""
    for number, node_pool in enumerate(machines(answers)):
        stem = rng.choice(["np-", "nodepool", "gke-a-very-long-name-of-a-pool-", "x"])
        _rename(node_pool, f"{stem}{rng.choice(['', 'a', '0'])}{number * 7 + 1}")


def gap(rng: random.Random, answers: Answers) -> None:
    """Remove some of the slices."""
    gone = [each["name"] for each in slices(answers) if rng.random() < 0.4]
    kept = [each for each in answers["node-pools.json"] if each["name"] not in gone]
    if len(kept) > 1:
        answers["node-pools.json"] = kept


def zero_based(rng: random.Random, answers: Answers) -> None:
    """Count slices from 0."""
    for node_pool in sorted(slices(answers), key=lambda each: str(each["name"])):
        stem, dash, number = str(node_pool["name"]).rpartition("-")
        if number.isdecimal():
            _rename(node_pool, f"{stem}{dash}{int(number) - 1}")


def policies(rng: random.Random, answers: Answers) -> None:
    """Name policies of another tool."""
    for node_pool in machines(answers):
        if "placementPolicy" in node_pool or rng.random() < 0.2:
            node_pool.setdefault("placementPolicy", {})["policyName"] = rng.choice(["cubes", "near-each-other"])


def missing_types(rng: random.Random, answers: Answers) -> None:
    """Leave out the type of a placement with a policy, and drivers of GPUs."""
    for node_pool in machines(answers):
        if "policyName" in node_pool.get("placementPolicy", {}):
            node_pool["placementPolicy"].pop("type", None)
        for gpu in node_pool["config"].get("accelerators", []):
            if rng.random() < 0.5:
                gpu.pop("gpuDriverInstallationConfig", None)


def labels(rng: random.Random, answers: Answers) -> None:
    """Add labels of the owner and of Google, on nodes and on the cluster."""
    answers["cluster.json"]["resourceLabels"]["cost-center"] = "research"
    for node_pool in machines(answers):
        if rng.random() < 0.5:
            node_pool["config"]["labels"]["example.com/owner"] = rng.choice(["vision", "speech"])
            node_pool["config"].setdefault("resourceLabels", {})["owner"] = "someone"


def taints(rng: random.Random, answers: Answers) -> None:
    """Add a taint of the owner, and one of GKE."""
    for node_pool in machines(answers):
        if rng.random() < 0.5:
            node_pool["config"]["taints"].append({"key": "dedicated", "value": "ml", "effect": "NO_SCHEDULE"})
        if node_pool["config"].get("accelerators") and rng.random() < 0.5:
            gpu = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
            node_pool["config"]["taints"].append(gpu)


def disks(rng: random.Random, answers: Answers) -> None:
    """Give nodes other boot disks."""
    for node_pool in machines(answers):
        if rng.random() < 0.5:
            node_pool["config"]["diskSizeGb"] = rng.choice([50, 120, 500])
        if node_pool["config"]["diskType"] == "pd-balanced" and rng.random() < 0.5:
            node_pool["config"]["diskType"] = "pd-ssd"


def accounts(rng: random.Random, answers: Answers) -> None:
    """Let nodes run as other accounts, with other scopes."""
    project = answers["cluster.json"]["selfLink"].partition("/projects/")[2].partition("/")[0]
    for node_pool in machines(answers):
        if rng.random() < 0.6:
            others = [
                "default",
                f"slices@{project}.iam.gserviceaccount.com",
                "123456789012-compute@developer.gserviceaccount.com",
            ]
            node_pool["config"]["serviceAccount"] = rng.choice(others)
        if rng.random() < 0.3:
            node_pool["config"]["oauthScopes"] = ["https://www.googleapis.com/auth/devstorage.read_only"]


def _chips(node_pool: Answers) -> int:
    """Return the chips of a node pool at its largest."""
    scaled = node_pool.get("autoscaling", {})
    nodes = scaled.get("totalMaxNodeCount") or scaled.get("maxNodeCount") or node_pool["initialNodeCount"]
    return int(node_pool["config"]["machineType"].rpartition("-")[2].removesuffix("t")) * int(nodes)


def chips(rng: random.Random, answers: Answers) -> None:
    """Let all node pools of a TPU family and zone use one reservation of chips."""
    by_family: dict[tuple[str, str], list[Answers]] = {}
    for node_pool in machines(answers):
        kind, spot = node_pool["config"]["machineType"], node_pool["config"].get("spot")
        if kind.startswith("ct") and not spot:
            by_family.setdefault((kind.partition("-")[0], node_pool["locations"][0]), []).append(node_pool)
    path = answers["cluster.json"]["selfLink"].partition("/projects/")[2].partition("/")[0]
    for (family, zone), members in by_family.items():
        name = f"{family}-chips"
        needed = sum(_chips(each) for each in members)
        for node_pool in members:
            affinity = {"consumeReservationType": "SPECIFIC_RESERVATION", "values": [name]}
            node_pool["config"]["reservationAffinity"] = {"key": "compute.googleapis.com/reservation-name", **affinity}
        place = f"https://www.googleapis.com/compute/v1/projects/{path}/zones/{zone}"
        accelerator = {
            "acceleratorType": f"{place}/acceleratorTypes/{family}",
            "acceleratorCount": needed + rng.choice([0, 2, 128]),
        }
        answers["reservations.json"].append(
            {
                "name": name,
                "zone": place,
                "selfLink": f"{place}/reservations/{name}",
                "specificReservationRequired": True,
                "aggregateReservation": {"reservedResources": [{"accelerator": accelerator}]},
            }
        )


def scaling(rng: random.Random, answers: Answers) -> None:
    """Limit autoscaled node pools by total, or without a location policy."""
    for node_pool in machines(answers):
        scaled = node_pool.get("autoscaling")
        if scaled and rng.random() < 0.5:
            scaled.pop("locationPolicy", None)
        if scaled and "maxNodeCount" in scaled and rng.random() < 0.5:
            scaled["totalMaxNodeCount"] = scaled.pop("maxNodeCount")
            scaled["totalMinNodeCount"] = scaled.pop("minNodeCount", 0)


def networks(rng: random.Random, answers: Answers) -> None:
    """Give nodes more interfaces, and addresses of their own."""
    answers["cluster.json"]["networkConfig"]["enableMultiNetworking"] = True
    for node_pool in machines(answers):
        if rng.random() < 0.3:
            node_pool["networkConfig"]["additionalNodeNetworkConfigs"] = [{"network": "storage", "subnetwork": "nfs"}]
        if rng.random() < 0.3:
            node_pool["networkConfig"]["enablePrivateNodes"] = rng.random() < 0.5


VARIATIONS: Mapping[str, Variation] = {
    each.__name__: each
    for each in (
        *(other_names, gap, zero_based, policies, missing_types, labels, taints, disks, accounts, chips, scaling),
        networks,
    )
}


def vary(rng: random.Random, answers: Answers) -> tuple[list[str], bool]:
    """Apply one to four variations, and return their names; half of the clusters are kept, some of them are zonal."""
    names = rng.sample(list(VARIATIONS), rng.randint(1, 4))
    for name in names:
        VARIATIONS[name](rng, answers)
    keeps_cluster = rng.random() < 0.5
    if keeps_cluster and rng.random() < 0.4:
        names.append("zonal")
        for one in (answers["cluster.json"], *answers["node-pools.json"]):
            one["selfLink"] = one["selfLink"].replace(f"/locations/{REGION}/", f"/zones/{REGION}-a/")
        answers["cluster.json"]["location"] = f"{REGION}-a"
    return names, keeps_cluster
