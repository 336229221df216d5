"""Name the node pools of a pool in GKE: by Berth, or by `nodePoolName` so that existing node pools keep their names."""

from __future__ import annotations

from collections.abc import Sequence

from berth.diagnostics import FieldPath, format_value
from berth.names import MAX_NODE_POOL_NAME, is_gke_name, shorten
from berth.plan.node_settings import Bounds
from berth.planner.context import PlanningContext
from berth.planner.machines.hardware import Hardware
from berth.spec.base import written_keys
from berth.spec.machines.pools import PoolSpec
from berth.spec.machines.slices import slice_list

_FROM_ONE, _FROM_ZERO = "{n}", "{i}"
"""Placeholders of a slice's number, from 1 and from 0."""

_SETTINGS_OF_CREATION = frozenset(
    {"secure_boot", "driver_version", "confidential_nodes", "max_pods_per_node", "pod_range_name"}
)
"""Settings that an adopted node pool keeps."""


def node_pool_names(spec: PoolSpec, key: str, hardware: Hardware) -> dict[str, str]:
    """Return the key in Pulumi and the name of each node pool: one for each slice of several hosts, else one."""
    shape = hardware.shape
    if shape is None or hardware.slices is None or not shape.multi_host:
        return {key: spec.node_pool_name or shorten(key, MAX_NODE_POOL_NAME)}
    pattern = spec.node_pool_name or f"{key}-{shape.topology}-{_FROM_ONE}"
    return {
        f"{key}-{each}": each if isinstance(each, str) else shorten(_slice_name(pattern, each), MAX_NODE_POOL_NAME)
        for each in _slices_of(spec, hardware.slices)
    }


def _slices_of(spec: PoolSpec, slices: Bounds) -> Sequence[int | str]:
    listed = slice_list(spec.slices)
    return range(1, slices.max + 1) if listed is None else listed


def _slice_name(pattern: str, number: int) -> str:
    return pattern.replace(_FROM_ONE, str(number)).replace(_FROM_ZERO, str(number - 1))


def check_node_pool_name(
    context: PlanningContext, name: str, spec: PoolSpec, hardware: Hardware, *, made_by_berth: bool
) -> bool:
    """Report a `nodePoolName` that cannot name the node pools; after a fault set the pool aside, return False."""
    path: FieldPath = ("pools", name, "nodePoolName")
    if spec.node_pool_name is None:
        return True
    message = (
        _pattern_error(spec.node_pool_name, spec, hardware)
        if made_by_berth
        else "is the name of a node pool, but Berth creates no node pool for this pool; remove nodePoolName"
    )
    if message:
        context.reject("pools", name, "bad-node-pool-name", path, f"'{format_value(spec.node_pool_name)}' {message}")
    return not message


def _pattern_error(pattern: str, spec: PoolSpec, hardware: Hardware) -> str | None:
    placeholders = [each for each in (_FROM_ONE, _FROM_ZERO) for _ in range(pattern.count(each))]
    is_sliced = hardware.shape is not None and hardware.shape.multi_host and hardware.slices is not None
    if len(placeholders) > 1:
        return "has several placeholders; write {n} (from 1) or {i} (from 0) once"
    if placeholders and not is_sliced:
        return f"has {placeholders[0]}, but the pool has only one node pool; write its name without {{n}} and {{i}}"
    slices = _slices_of(spec, hardware.slices) if is_sliced and hardware.slices else (1,)
    numbers = [each for each in slices if isinstance(each, int)]
    if slices and not numbers:
        return "has no effect, because the list of slices has all names; remove nodePoolName"
    if len(numbers) > 1 and not placeholders:
        return (
            f"is one name, but each of the {len(numbers)} slices is a node pool; write a pattern such as {pattern}{{n}}"
        )
    if _FROM_ZERO in placeholders and 0 in numbers:
        return "has {i} (from 0), which is one less than the number of a slice, and slice 0 is listed; write {n}"
    longest = _slice_name(pattern, max(numbers, default=1))
    if not is_gke_name(longest):
        return (
            f"makes '{longest}', which cannot be the name of a node pool; write at most {MAX_NODE_POOL_NAME} "
            "lower-case letters, digits and '-', starting with a letter and ending with a letter or digit"
        )
    return None


def check_slice_list(
    context: PlanningContext, name: str, spec: PoolSpec, hardware: Hardware, *, made_by_berth: bool
) -> bool:
    """Report a list of slices that are no node pools of Berth; then set the pool aside, return False."""
    if slice_list(spec.slices) is None or (made_by_berth and hardware.shape and hardware.shape.multi_host):
        return True
    why = "a slice of one host is a node, and has no number" if made_by_berth else "Berth does not create these slices"
    message = f"the list names slices, but {why}; write how many there are, {hardware.slices and hardware.slices.max}"
    context.reject("pools", name, "bad-size", ("pools", name, "slices"), message)
    return False


def check_pod_range(context: PlanningContext, name: str, spec: PoolSpec, *, made_by_berth: bool) -> bool:
    """Report a `podRangeName` in a VPC that has no such range, or of nodes that GKE creates; then return False."""
    if spec.pod_range_name is None or context.is_set_aside("cluster", "network"):
        return True
    cluster, path = context.spec.cluster, ("pools", name, "podRangeName")
    if not made_by_berth:
        message = "is of node pools that Berth creates, but GKE creates these; remove podRangeName"
    elif cluster.existing is None and cluster.network.existing is None:
        message = (
            "is no range of the VPC that Berth creates, whose pods have one range; remove podRangeName, or write the "
            "existing VPC that has it (cluster.network.existing)"
        )
    else:
        return True
    context.reject("pools", name, "pod-range", path, f"'{spec.pod_range_name}' {message}")
    return False


def check_adopted(context: PlanningContext, name: str, spec: PoolSpec, *, made_by_berth: bool) -> bool:
    """Report settings that an adopted pool keeps, and pools that have no node pool; after a fault return False."""
    if not spec.adopted:
        return _check_new_account(context, name, spec)
    if not made_by_berth:
        message = (
            "'true' is for node pools of another tool that Berth manages from now on, but GKE creates these; remove "
            "adopted"
        )
        context.reject("pools", name, "adopted", ("pools", name, "adopted"), message)
        return False
    written = list(written_keys(spec, _SETTINGS_OF_CREATION))
    for key in written:
        message = (
            f"'{key}' has no effect, because an adopted pool keeps the setting of its creation; "
            f"remove {key}, or adopted"
        )
        context.reject("pools", name, "adopted", ("pools", name, key), message)
    return not written


def _check_new_account(context: PlanningContext, name: str, spec: PoolSpec) -> bool:
    """Report Compute Engine's own account, which an adopted pool may keep; then return False."""
    if spec.service_account != "default":
        return True
    message = (
        "'default' is Compute Engine's account, which often may edit the whole project, and only an adopted pool keeps "
        "it; remove serviceAccount, or write the address of another account"
    )
    context.reject("pools", name, "adopted", ("pools", name, "serviceAccount"), message)
    return False
