"""Rules on upgrades of a pool's nodes: their version, blue-green upgrades, and what keeps GKE from upgrading them.

Sources: GKE docs on node upgrade strategies and on version skew (nodes at most two minors older); cluster-toolkit
(1047080, 2026-06-25), gke-node-pool: no blue-green upgrades with compact placement. Read 2026-11-28.
"""

from __future__ import annotations

from typing import Final

from berth.catalog import gke_minor, parse_version
from berth.rules.gke.pool_request import PoolRequest, Violations, gke_fault, gke_warning

_MAX_MINORS: Final = 2
"""Minors by which nodes may be older than the control plane."""


def node_upgrade_violations(request: PoolRequest) -> Violations:
    """Yield what is wrong with the version of a pool's nodes and with how they are upgraded."""
    if request.made_by_gke:
        return
    if request.settings.version is not None:
        yield from _check_version(request, request.settings.version)
    if request.settings.blue_green is not None:
        yield from _check_blue_green(request)


def _check_version(request: PoolRequest, version: str) -> Violations:
    control_plane = request.cluster.version
    if control_plane is not None and _is_newer(version, control_plane):
        message = f"nodes of '{version}' are newer than the control plane, {control_plane}"
        yield gke_fault("node-version", "version", f"{message}; write {control_plane}, or upgrade the cluster first")
    elif control_plane is not None and _minor(control_plane) - _minor(version) > _MAX_MINORS:
        message = f"nodes of '{version}' are more than two minors older than the control plane, {control_plane}"
        yield gke_fault("node-version", "version", f"{message}; write {control_plane}")
    elif not (request.cluster.keeps_nodes or request.settings.exclusion_until_end_of_support):
        message = f"GKE upgrades nodes of '{version}' with the control plane, and the next update takes them back"
        remedy = "write exclusionUntilEndOfSupport: true, or remove version"
        yield gke_warning("node-version-upgraded", "version", f"{message}; {remedy}")


def _is_newer(version: str, other: str) -> bool:
    """Return whether a version is newer than another in the parts that both name."""
    first, second = parse_version(version), parse_version(other)
    length = min(len(first), len(second))
    return first[:length] > second[:length]


def _minor(version: str) -> int:
    return int(gke_minor(version).rpartition(".")[2])


def _check_blue_green(request: PoolRequest) -> Violations:
    if request.settings.surge is not None:
        yield gke_fault("blue-green", "blueGreen", "cannot be combined with surge; remove one of the two")
    elif request.uses_dws:
        message = f"blue-green upgrades have no effect with '{request.capacity}' capacity, whose nodes expire"
        yield gke_warning("dws-upgrade", "blueGreen", f"{message}; remove blueGreen")
    elif request.multi_host or request.machine.domain_topology or request.settings.compact_placement:
        message = "compact placement, which these nodes have, excludes blue-green upgrades"
        yield gke_fault("blue-green", "blueGreen", f"{message}; remove blueGreen")
    elif request.provisioning_model == "reservation-specific":
        message = f"blue-green upgrades need '{request.nodes.max}' more machines of the reservation while they run"
        yield gke_warning("reserved-surge", "blueGreen", f"{message}; remove blueGreen, or reserve twice the machines")
