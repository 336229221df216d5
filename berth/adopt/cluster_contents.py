"""What lies inside a cluster, adopted alone: cluster and machines stay whose they are, and are only described."""

from __future__ import annotations

from collections.abc import Mapping

from berth.adopt.inventory import Entry, Found, Left, name_of, part, parts
from berth.adopt.labels import own_label

_DESCRIBED = (
    *("machineType", "accelerator", "topology", "slices", "nodes", "flavor", "topologyAware"),
    *("gpuSharing", "gpuPartition"),
)
"""What is said of a pool that is described and not made."""
_CAPACITIES = ("spot", "queued")
"""Capacity that is a label of nodes, or that Kueue asks for."""
_SECTIONS = ("flavors", "kueue", "jobset", "priorities", "cohorts", "platform", "teams", "clusterQueues")


def inside(found: Found, fleet: Entry, context: str, left: list[Left]) -> Entry:
    """The fleet of an existing cluster, which a kubeconfig's `context` reaches; flavors keep their labels."""
    there: Entry = {"context": context}
    services = part(found.cluster, "ipAllocationPolicy").get("servicesIpv4CidrBlock")
    there |= {"serviceCidrBlock": services} if services else {}
    flavors = {name_of(one): part(one, "spec") for one in found.of_kind("ResourceFlavor")}
    pools = {
        key: _pool(entry, flavors.get(str(entry.get("flavor", key)), {}))
        for key, entry in fleet.get("pools", {}).items()
    }
    rest = {section: fleet[section] for section in _SECTIONS if section in fleet}
    if "teams" in rest:
        rest["teams"] = {name: _team(name, team, left) for name, team in rest["teams"].items()}
    return {"cluster": {"name": found.cluster["name"], "existing": there}, "pools": pools, **rest}


def _pool(entry: Entry, flavor: Mapping[str, object]) -> Entry:
    described = {key: entry[key] for key in _DESCRIBED if key in entry}
    capacity = entry.get("capacity")
    if capacity in _CAPACITIES or (isinstance(capacity, dict) and "queued" in capacity):
        described["capacity"] = capacity
    labels = part(flavor, "nodeLabels")
    taints = [
        {"key": t["key"], "value": t.get("value", ""), **({"effect": t["effect"]} if _effect(t) else {})}
        for t in parts(flavor, "tolerations")
        if own_label(str(t.get("key"))) and t.get("operator", "Equal") == "Equal"
    ]
    described |= {"nodeLabels": dict(labels)} if labels else {}
    return described | ({"taints": taints} if taints else {})


def _effect(toleration: Mapping[str, str]) -> bool:
    return toleration.get("effect", "NoSchedule") != "NoSchedule"


def _team(name: str, team: Entry, left: list[Left]) -> Entry:
    identity: Entry = team.get("identity", {})
    kept = {key: value for key, value in identity.items() if key == "serviceAccount"}
    if lost := [key for key in identity if key not in kept]:
        left.append(
            Left(f"team {name}", f"its {' and '.join(lost)} are rights in Google Cloud, and stay whose they are")
        )
    return {key: value for key, value in team.items() if key != "identity"} | ({"identity": kept} if kept else {})
