"""Plan the Pod Security level of a team, and exemptions for access to the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from berth import catalog
from berth.diagnostics import FieldPath, join_words
from berth.plan.teams import HostAccessPlan
from berth.planner.context import PlanningContext
from berth.planner.queueing.flavors import FlavorGroup

DEFAULT_LEVEL = "baseline"


def pod_security(
    context: PlanningContext, team: str, flavors: Iterable[str], planned_flavors: Mapping[str, FlavorGroup]
) -> tuple[str, HostAccessPlan | None]:
    """Return the level as written, else `baseline` with an exemption for what training on its machines needs.

    Multislice jobs use the host network, jobs with GPUDirect mount libraries of the host, and jobs with RDMA lock
    memory (GKE docs: TPU multislice, GPU networking). `baseline` rejects all three. `restricted` also rejects
    images that run as root, as many images for training do. Autopilot adds its own rules.
    """
    written = context.spec.teams[team].pod_security
    path: FieldPath = ("teams", team, "podSecurity")
    access = _host_access([planned_flavors[name] for name in sorted(flavors)])
    if context.spec.cluster.mode != "standard":
        access = None
    if written == "privileged":
        message = (
            "'privileged' gives every job root on every node of the cluster, including system nodes and nodes of other "
            "teams; remove podSecurity, because multi-host jobs and GPUDirect work without it"
        )
        context.problems.warning("privileged-pods", path, message)
    if written is not None and written != "privileged" and access is not None:
        capabilities = [f"the capability {name}" for name in access.capabilities]
        network = ["the host network"] if access.network_for else []
        needed = [*network, *access.paths, *access.read_only_paths] or capabilities
        message = (
            f"'{written}' rejects {join_words(needed)}, which jobs on the team's machines need; remove podSecurity"
        )
        context.problems.warning("pod-security", path, message)
    return written or DEFAULT_LEVEL, access if written is None else None


def _host_access(flavors: Iterable[FlavorGroup]) -> HostAccessPlan | None:
    """Return the host access that jobs on these flavors need beyond `baseline`; None if they need none."""
    network, paths, read_only, capabilities = set[str](), set[str](), set[str](), set[str]()
    for flavor in flavors:
        shapes = (pool.hardware.shape for pool in flavor.pools)
        if any(shape is not None and shape.multi_host for shape in shapes):
            network.add(flavor.resource)
        mode = flavor.pools[0].hardware.machine.gpudirect
        if flavor.pools[0].spec.networking is not None and mode in catalog.gpudirect():
            needs = catalog.gpudirect()[mode]
            paths |= set(needs.host_paths)
            read_only |= set(needs.read_only_host_paths)
            capabilities |= set(needs.capabilities)
    if not network and not paths and not read_only and not capabilities:
        return None
    return HostAccessPlan(
        network_for=tuple(sorted(network)),
        paths=tuple(sorted(paths)),
        read_only_paths=tuple(sorted(read_only - paths)),
        capabilities=tuple(sorted(capabilities)),
    )
