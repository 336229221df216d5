"""How Kueue asks for queued machines: its checks and requests become options of a pool's capacity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.adopt.inventory import Answer, Entry, Found, at, name_of, part, parts
from berth.adopt.pools import duration
from berth.adopt.queues import Flavors

_RETRY = {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}
_MERGE = "IdenticalWorkloadSchedulingRequirements"


def queued(found: Found, known: Flavors) -> None:
    """Fill in the options of every queued pool."""
    checks = {name_of(one): one for one in found.of_kind("AdmissionCheck")}
    configs = {name_of(one): one for one in found.of_kind("ProvisioningRequestConfig")}
    for flavor, members in known.items():
        check = checks.get(_check_of(found, flavor) or f"dws-{flavor}")
        config = configs.get(str(at(check or {}, "spec.parameters.name")))
        if check is None or config is None:
            continue
        for pool in members:
            if isinstance(capacity := pool.entry.get("capacity"), dict) and "queued" in capacity:
                options = _options(flavor, name_of(check), config, pool.machine.resource)
                pool.entry["capacity"] = {"queued": options} if options else "queued"


def _check_of(found: Found, flavor: str) -> str | None:
    """The check that some queue has on a flavor."""
    for queue in found.of_kind("ClusterQueue"):
        for check in parts(queue["spec"], "admissionChecksStrategy.admissionChecks"):
            if flavor in parts(check, "onFlavors"):
                return str(check["name"])
    return None


def _options(flavor: str, check: str, config: Answer, resource: str) -> Entry:
    spec: Mapping[str, Any] = config["spec"]
    entry: Entry = {}
    if seconds := at(spec, "parameters.maxRunDurationSeconds"):
        entry["maxRunDuration"] = duration(int(seconds))
    if check != f"dws-{flavor}":
        entry["admissionCheck"] = check
    if name_of(config) != check:
        entry["provisioningRequestConfig"] = name_of(config)
    retry = {k: v for k, v in part(spec, "retryStrategy").items() if _RETRY.get(k) != v}
    entry |= {"retryStrategy": retry} if retry else {}
    merge = spec.get("podSetMergePolicy", _MERGE)
    entry |= {"podSetMergePolicy": merge} if merge != _MERGE else {}
    managed = list(parts(spec, "managedResources"))
    return entry | ({"managedResources": managed} if managed and managed != [resource] else {})
