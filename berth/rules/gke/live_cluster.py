"""Compare an existing GKE cluster with what a stack file states and needs of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast

import msgspec
from msgspec import Struct

from berth.catalog import compare_version
from berth.plan.fleet import ExistingGkeClusterPlan


class LiveCluster(Struct, frozen=True, kw_only=True):
    """What GKE answers about a cluster, in the terms of ExistingGkeClusterPlan.

    `limits` maps a resource of node auto-provisioning to its maximum, and is None if that is off. `pod_range_names` are
    those of the cluster and its additional ranges. `add_ons` are those for volumes of pods that are on, None if that is
    not known. `node_accounts` maps each node pool to the service account of its nodes.
    """

    mode: str
    datapath: str
    zones: tuple[str, ...]
    release_channel: str
    version: str
    workload_pool: str | None
    limits: Mapping[str, int] | None
    pod_range_names: tuple[str, ...]
    service_range_name: str | None
    service_range: str | None
    confidential_nodes: str | None
    security_group: str | None
    multi_networking: bool
    dns_endpoint: bool
    secret_manager: bool
    managed_prometheus: bool
    add_ons: tuple[str, ...] | None = None
    node_accounts: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])


CHECKPOINTING: Final = "checkpointing"
"""The add-on of multi-tier checkpointing, as the key of a cluster."""
_STATED = {
    "mode": "mode",
    "datapath": "datapathProvider",
    "zones": "zones",
    "release_channel": "releaseChannel",
    "service_range_name": "network.serviceRangeName",
    "service_range": "existing.serviceCidrBlock",
    "confidential_nodes": "confidentialNodes",
}
"""Field that must equal the cluster's → its key below `cluster`."""
_SWITCHES = {"multi_networking", "secret_manager", "managed_prometheus"}
_REMEDIES = {
    "workload_pool": "enable it: gcloud container clusters update {name} --location {location} --workload-pool {pool}",
    "multi_networking": "GKE enables it only at creation; remove networking from the pools, or use another cluster",
    "secret_manager": "enable it: gcloud container clusters update {name} --location {location} "
    "--enable-secret-manager",
    "managed_prometheus": "enable it: gcloud container clusters update {name} --location {location} "
    "--enable-managed-prometheus, or write monitoring.backends: []",
}
_FEATURES = {
    "workload_pool": "Workload Identity",
    "multi_networking": "multi-networking",
    "secret_manager": "the Secret Manager add-on",
    "managed_prometheus": "managed collection of Prometheus metrics",
}


def contradictions(plan: ExistingGkeClusterPlan, live: LiveCluster) -> tuple[str, ...]:
    """Return a line for each statement or need of the plan that the cluster contradicts: what, and what to do."""
    return (*_stated(plan, live), *_version(plan, live), *_auto_provisioning(plan, live), *_needs(plan, live))


def _stated(plan: ExistingGkeClusterPlan, live: LiveCluster) -> Iterator[str]:
    for field, key in _STATED.items():
        stated, actual = getattr(plan, field), getattr(live, field)
        if stated and stated != actual:  # zones are sorted on both sides
            yield _difference(key, stated, actual)
    if plan.pod_range_name and plan.pod_range_name not in live.pod_range_names:
        yield _difference("network.podRangeName", plan.pod_range_name, " or ".join(live.pod_range_names))
    stated_add_ons = dict.fromkeys(plan.storage_drivers, "storageDrivers")
    stated_add_ons |= {CHECKPOINTING: CHECKPOINTING} if plan.checkpointing is not None else {}
    for name, key in stated_add_ons.items() if live.add_ons is not None else ():
        if name not in (live.add_ons or ()):
            yield f"cluster.{key}: '{name}' is off in the cluster; ask its owner to turn it on, or remove it"
    if plan.dns_endpoint and not live.dns_endpoint:
        yield _difference("dnsEndpoint", True, False)


def _difference(key: str, stated: object, actual: object) -> str:
    written = f"write {key.rpartition('.')[2]}: {_show(actual)}" if actual else f"remove {key}"
    return f"cluster.{key}: '{_show(stated)}', but the cluster has {_show(actual) if actual else 'none'}; {written}"


def _show(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(cast('tuple[str, ...]', value))}]"
    text = str(value or "")
    return text.lower() if text in ("RAPID", "REGULAR", "STABLE", "EXTENDED", "UNSPECIFIED") else text


def _version(plan: ExistingGkeClusterPlan, live: LiveCluster) -> Iterator[str]:
    if plan.version and compare_version(live.version, plan.version) == "older":
        minor = re.sub(r"(\d+\.\d+).*", r"\1", live.version)
        yield (
            f"cluster.version: '{plan.version}', but the cluster has {live.version}; write version: \"{minor}\", or "
            "upgrade the cluster"
        )


def _auto_provisioning(plan: ExistingGkeClusterPlan, live: LiveCluster) -> Iterator[str]:
    if plan.auto_provisioning is None:
        return
    if live.limits is None:
        yield "cluster.nodeAutoProvisioning: node auto-provisioning of the cluster is off; enable it, or remove the key"
        return
    for limit in plan.auto_provisioning.limits:
        if limit.maximum > (actual := live.limits.get(limit.resource, 0)):
            section = "" if limit.resource in ("cpu", "memory") else "accelerators."
            yield (
                f"cluster.nodeAutoProvisioning.{section}{limit.resource}: '{limit.maximum}', but the cluster's limit "
                f"is {actual}; write at most {actual}, or raise the limit of the cluster"
            )


def _needs(plan: ExistingGkeClusterPlan, live: LiveCluster) -> Iterator[str]:
    for need, reason in plan.needs.items():
        actual = getattr(live, need)
        if actual is True or (need not in _SWITCHES and actual == plan.workload_pool):
            continue
        remedy = _REMEDIES[need].format(name=plan.name, location=plan.location, pool=plan.workload_pool)
        state = f"has {actual} instead of {plan.workload_pool}" if isinstance(actual, str) else "does not have it"
        yield f"{reason} need {_FEATURES[need]}, and the cluster {state}; {remedy}"
    if plan.security_group and plan.security_group != live.security_group:
        remedy = f"gcloud container clusters update {plan.name} --location {plan.location} --security-group"
        yield (
            f"groups of teams and owners need Google Groups for RBAC with {plan.security_group}, and the cluster has "
            f"{live.security_group or 'none'}; enable it: {remedy} {plan.security_group}"
        )
