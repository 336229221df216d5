"""Plan capacity buffers: which nodes have the room, how many units and nodes it is, and where it is not possible.

Sources: GKE's pages on capacity buffers, their configuration and their CRD; GKE's autoscaler (pkg/csn,
pkg/processors/capacitybuffers) and Kubernetes' (cluster-autoscaler/capacitybuffer). Read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from berth import catalog
from berth.diagnostics import FieldPath, join_or
from berth.manifests.quantities import quantity
from berth.manifests.serving.capacity_buffers import MACHINE_FAMILY
from berth.plan.capacity import CapacityBufferPlan, CapacityBufferSpec
from berth.plan.configuration import SERVING_FRAMEWORKS
from berth.plan.fleet import PoolPlan
from berth.plan.kueue import CPU, ClusterQueuePlan, FlavorPlan
from berth.plan.teams import NamespacePlan, TeamPlan
from berth.planner.context import PlanningContext
from berth.planner.tenancy.buffer_pools import unfit_for_standby, unfit_pool
from berth.spec.machines.capacity_buffers import BufferAmountSpec
from berth.text import pluralize

_MEMORY: Final = "memory"
_GIB: Final = 2**30
_CODE: Final = "capacity-buffer"
_MOST_SUSPENDED_GB: Final = 208
"""Memory of a machine that Compute Engine suspends, at most (GKE's autoscaler, pkg/csn/pod_operations.go)."""


def with_buffers(
    context: PlanningContext,
    teams: tuple[TeamPlan, ...],
    pools: Iterable[PoolPlan],
    flavors: Iterable[FlavorPlan],
    queues: Iterable[ClusterQueuePlan],
) -> tuple[TeamPlan, ...]:
    """Return the teams with their capacity buffers, without those that have a fault."""
    if not any(each.capacity_buffers for each in context.spec.teams.values()):
        return teams
    planner = _Buffers(context, pools, flavors, queues)
    made = tuple(replace(team, buffers=tuple(planner.of_team(team))) for team in teams)
    planner.check_pools(made)
    return made


class _Buffers:
    """The buffers of a fleet with what they are planned from."""

    def __init__(
        self,
        context: PlanningContext,
        pools: Iterable[PoolPlan],
        flavors: Iterable[FlavorPlan],
        queues: Iterable[ClusterQueuePlan],
    ) -> None:
        self._context = context
        self._pools = {pool.name: pool for pool in pools}
        self._flavors = {flavor.name: flavor for flavor in flavors}
        self._queues = {queue.name: queue for queue in queues}

    def of_team(self, team: TeamPlan) -> Iterator[CapacityBufferPlan]:
        """Yield the sound buffers of a team; report the others."""
        for name, spec in sorted(self._context.spec.teams[team.name].capacity_buffers.items()):
            plan = self._plan(team, name, spec, ("teams", team.name, "capacityBuffers", name))
            if plan is not None:
                yield plan

    def _plan(self, team: TeamPlan, name: str, spec: CapacityBufferSpec, path: FieldPath) -> CapacityBufferPlan | None:
        if reason := self._unfit_cluster():
            self._fault(path, f"{reason}; remove capacityBuffers")
            return None
        if spec.pool is None:
            return self._standby(team, name, spec, path)
        if self._context.resolve("pools", spec.pool, self._context.spec.pools, (*path, "pool")) is None:
            self._context.incomplete = True
            return None
        pool = self._pools.get(spec.pool)
        flavor = None if pool is None else self._flavors.get(pool.flavor)
        if pool is None or flavor is None:
            return None
        if unfit := unfit_pool(self._context, pool):
            self._fault((*path, unfit.key), f"{unfit.reason}; {unfit.remedy or self._other_pools(pool)}")
            return None
        place = self._namespace(team, spec, path)
        if place is None or not self._is_for_services(team, place, pool, path):
            return None
        queue = self._queue(team, place.name, flavor)
        if queue is None and self._is_serving(place):
            if not self._context.incomplete:
                message = f"no queue of the team has machines of pool '{pool.name}', so none of its services runs there"
                remedy = f"write flavors: [{{pool: {pool.name}, guaranteed: <amount>}}] in a queue"
                self._fault((*path, "pool"), f"{message}; {remedy}")
            return None
        plan = CapacityBufferPlan(
            name=name,
            namespace=place.name,
            flavor=flavor.name,
            queue=queue,
            settings=spec,
            # Its own label, where other pools have the labels of the flavor too.
            node_labels=flavor.node_labels
            if len(pool.node_pools) != 1 or len(flavor.pools) < 2
            else {**flavor.node_labels, catalog.labels().nodepool: pool.node_pools[0].name},
            tolerations=flavor.tolerations,
        )
        return self._sized(plan, pool, path)

    def _standby(
        self, team: TeamPlan, name: str, spec: CapacityBufferSpec, path: FieldPath
    ) -> CapacityBufferPlan | None:
        """Return a buffer of suspended nodes, which are in no pool; report where it is not possible."""
        if unfit := unfit_for_standby(self._context):
            self._fault((*path, unfit.key), f"{unfit.reason}; {unfit.remedy}")
            return None
        place = self._namespace(team, spec, path)
        if place is None:
            return None
        if self._is_serving(place):
            message = f"pods in namespace '{place.name}' wait for quota of a pool, so none runs on standby nodes"
            others = [each.name for each in team.namespaces if not self._is_serving(each)]
            remedy = f"write namespace: {others[0]}" if others else "add a namespace without serving"
            self._fault(path, f"{message}; {remedy}, or provisioningStrategy: active with a pool")
            return None
        family = {} if spec.machine_family is None else {MACHINE_FAMILY: spec.machine_family}
        plan = CapacityBufferPlan(name=name, namespace=place.name, settings=spec, node_labels=family)
        return self._sized(plan, None, path)

    def _unfit_cluster(self) -> str | None:
        """Return why no buffer can be in this cluster."""
        if self._context.spec.workers:
            return "has no effect on a manager, which runs no pods of services"
        if self._context.only_connects:
            return "others make the nodes of this cluster, and Berth does not know its autoscaler"
        return None

    def _other_pools(self, pool: PoolPlan) -> str:
        """Return as a remedy the pools that can have the buffer instead of one that cannot."""
        alike = [each for each in self._pools.values() if (each.resource == CPU) == (pool.resource == CPU)]
        fit = sorted(each.name for each in alike if unfit_pool(self._context, each) is None)
        return f"write {join_or(fit)}" if fit else "remove the buffer"

    def _namespace(self, team: TeamPlan, spec: CapacityBufferSpec, path: FieldPath) -> NamespacePlan | None:
        """Return the namespace of a buffer; report one that is not the team's."""
        places = {place.name: place for place in team.namespaces}
        name = spec.namespace or team.namespace
        if name not in places:
            self._fault((*path, "namespace"), f"'{name}' is no namespace of the team; write {join_or(sorted(places))}")
        return places.get(name)

    def _is_serving(self, place: NamespacePlan) -> bool:
        """Return whether Kueue queues services in a namespace, or may do so: its settings are perhaps not read."""
        frameworks = self._context.spec.kueue.integrations.frameworks or ()
        is_queued = place.serving or any(each in SERVING_FRAMEWORKS for each in frameworks)
        return is_queued or self._context.is_set_aside("kueue", "")

    def _is_for_services(self, team: TeamPlan, place: NamespacePlan, pool: PoolPlan, path: FieldPath) -> bool:
        """Return whether services of a namespace can use a pool; report accelerators, which only queued ones get."""
        if pool.resource == CPU or self._is_serving(place) or self._context.spec.kueue.existing:
            return True
        message = f"no service can have accelerators in namespace '{place.name}', and jobs need no buffer"
        others = [each.name for each in team.namespaces if each.serving]
        remedy = (
            f"namespace: {others[0]}" if others else f"namespace: {{name: {place.name}, serving: true}} in the team"
        )
        self._fault(path, f"{message}; write {remedy}")
        return False

    def _queue(self, team: TeamPlan, namespace: str, flavor: FlavorPlan) -> str | None:
        """Return the first local queue of a namespace with a flavor."""
        for each in team.local_queues:
            queue = self._queues.get(each.cluster_queue)
            if each.namespace == namespace and queue and any(one.flavor == flavor.name for one in queue.flavors):
                return each.name
        return None

    def _sized(self, plan: CapacityBufferPlan, pool: PoolPlan | None, path: FieldPath) -> CapacityBufferPlan | None:
        """Return the plan with its amounts; report a unit larger than a node, and a size of no unit."""
        spec = plan.settings
        limits = self._amounts(spec.limits, pool, (*path, "limits"))
        if limits is None:
            return None
        if spec.scalable_ref is not None:
            return replace(plan, limits=limits, units=spec.replicas)
        requests = self._requests(spec, pool, path)
        if requests is None or not self._has_room(requests, pool, path):
            return None
        fits = [limits[each] // requests[each] for each in limits if requests.get(each)]
        units: int | None = min([*([] if spec.replicas is None else [spec.replicas]), *fits], default=None)
        if not units:
            amounts = ", ".join(f"{quantity(each, amount)} {each}" for each, amount in sorted(requests.items()))
            message = f"says nothing of what a unit requests, {amounts}" if units is None else f"is less than {amounts}"
            self._fault((*path, "limits"), f"{message}, which is one unit; write larger limits, or replicas")
            return None
        sized = replace(plan, requests=requests, limits=limits, units=units)
        if pool is None:
            return sized
        room = _room(pool)
        fit_on_node = [room[each] // requests[each] for each in requests if each in room]
        nodes = -(-units // max(1, min(fit_on_node, default=1)))
        return replace(sized, nodes=nodes, accelerators=nodes * _on_node(pool))

    def _requests(self, spec: CapacityBufferSpec, pool: PoolPlan | None, path: FieldPath) -> dict[str, int] | None:
        """Return what one unit requests; report that nothing says it."""
        default = {pool.resource: _on_node(pool)} if pool is not None and pool.resource != CPU else {}
        amounts = self._amounts(spec.unit, pool, (*path, "unit"))
        if amounts is None or default or amounts:
            return None if amounts is None else default | amounts
        message = "a unit by default takes the accelerators of a node, and these nodes have none"
        self._fault(path, f"{message}; write unit: {{cpu: 4, memory: 16Gi}}", "missing-key")
        return None

    def _has_room(self, requests: Mapping[str, int], pool: PoolPlan | None, path: FieldPath) -> bool:
        """Return whether a node has room for a unit; report what is too large."""
        room = _room(pool) if pool is not None else {_MEMORY: _MOST_SUSPENDED_GB * _GIB}
        for resource, amount in requests.items():
            if (most := room.get(resource)) is not None and amount > most:
                node = f"of pool '{pool.name}', which has" if pool else "that GKE suspends, which has at most"
                largest = f"{most // _GIB}Gi" if resource == _MEMORY else quantity(resource, most)
                message = f"a unit of {quantity(resource, amount)} {resource} has no room on a node {node} {largest}"
                key = resource if resource in (CPU, _MEMORY) else "accelerators"
                self._fault((*path, "unit", key), f"{message}; write {key}: {largest}, or less")
                return False
        return True

    def _amounts(self, spec: BufferAmountSpec | None, pool: PoolPlan | None, path: FieldPath) -> dict[str, int] | None:
        """Return amounts by resource; None for accelerators of nodes that have none."""
        if spec is None:
            return {}
        has_none = pool is None or pool.resource == CPU
        if spec.accelerators is not None and has_none:
            self._fault((*path, "accelerators"), "these nodes have no accelerators; write cpu")
            return None
        named = {} if pool is None or has_none else {pool.resource: spec.accelerators}
        amounts = {**named, CPU: spec.cpu, _MEMORY: spec.memory}
        return {resource: amount for resource, amount in amounts.items() if amount is not None}

    def check_pools(self, teams: Iterable[TeamPlan]) -> None:
        """Report buffers that are together larger than their pool."""
        held: dict[str, int] = {}
        for team in teams:
            for buffer in team.buffers:
                if buffer.pool is None:
                    continue
                most = self._pools[buffer.pool].nodes.max
                before = held.get(buffer.pool, 0)
                held[buffer.pool] = before + (buffer.nodes or 0)
                if not before <= most < held[buffer.pool]:
                    continue
                others = f", with {pluralize(before, 'node')} of other buffers," if before else ""
                nodes, units = buffer.nodes or 1, buffer.units or 1
                message = (
                    f"the buffer takes {pluralize(nodes, 'node')}{others} but pool '{buffer.pool}' has at most {most}"
                )
                fitting = (most - before) * -(-units // nodes)
                remedy = f"write replicas: {fitting}" if fitting else "remove the buffer"
                if buffer.settings.replicas is None and fitting:
                    remedy = "write smaller limits"
                path = ("teams", team.name, "capacityBuffers", buffer.name)
                key = "limits" if buffer.settings.replicas is None else "replicas"
                self._fault((*path, key), f"{message}; {remedy}, or a larger maximum of the pool")

    def _fault(self, path: FieldPath, message: str, code: str = _CODE) -> None:
        """Report a buffer that is left out of the plan, which is then incomplete."""
        self._context.problems.fault(code, path, message)
        self._context.incomplete = True


def _on_node(pool: PoolPlan) -> int:
    """Return the accelerators of one node of a pool; cores for a pool without."""
    return pool.accelerators.max // pool.nodes.max


def _room(pool: PoolPlan) -> Mapping[str, int]:
    """Return what pods can request of one node, as far as its size is known."""
    size = catalog.node_allocatable(pool.vcpu, pool.memory_gb)
    certain = catalog.certain_allocatable(size, pool.memory_gb) if size is not None else None
    amounts = {} if certain is None else {CPU: certain.cpu, _MEMORY: certain.memory}
    return amounts if pool.resource == CPU else {**amounts, pool.resource: _on_node(pool)}
