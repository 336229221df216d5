"""Labels of a pool's nodes that a flavor selects by, and taints that its pods must tolerate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from berth import catalog
from berth.plan.dynamic_slices import PROVISION_ONLY
from berth.plan.node_settings import Taint, Toleration
from berth.planner.machines.pools import EXTERNAL, PlannedPool
from berth.rules.gke.dynamic_slicing import slicing_plan
from berth.rules.gke.gpu import gpu_labels
from berth.rules.gke.networks import network_labels
from berth.rules.gke.settings import capacity_labels
from berth.rules.gke.settings import gke_capacity_taints as added_taints

INSTANCE_TYPE = "node.kubernetes.io/instance-type"


def _class_labels(pool: PlannedPool) -> dict[str, str]:
    return {catalog.labels().compute_class: pool.compute_class.name} if pool.compute_class else {}


def selecting_labels(pool: PlannedPool) -> dict[str, str]:
    """Return the labels of a pool's nodes to select by, set by GKE or declared for existing nodes."""
    if pool.spec.node_labels:
        return dict(pool.spec.node_labels)
    sandbox = {catalog.labels().sandbox: pool.spec.sandbox} if pool.spec.sandbox else {}
    return hardware_labels(pool) | pool.own_labels | capacity_labels(pool.request) | _class_labels(pool) | sandbox


def shared_labels(labels: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the labels that all have, in the order of the first."""
    return {key: value for key, value in labels[0].items() if all(each.get(key) == value for each in labels)}


def hardware_labels(pool: PlannedPool) -> dict[str, str]:
    """Return GKE's labels of nodes with this accelerator, independent of capacity."""
    machine, shape = pool.hardware.machine, pool.hardware.shape
    if shape is None:
        return gpu_labels(pool.request) | network_labels(pool.request)
    facts = catalog.slicing_of(machine)
    if pool.spec.dynamic_slicing is not None and facts is not None and facts.mode_label is not None:
        # The topology label of such a node is that of the slice which it is in at the moment.
        return {
            **network_labels(pool.request),
            catalog.labels().tpu_accelerator: machine.accelerator,
            facts.mode_label: PROVISION_ONLY,
        }
    return {
        **network_labels(pool.request),
        catalog.labels().tpu_accelerator: machine.accelerator,
        catalog.labels().tpu_topology: shape.topology,
    }


def flavor_tolerations(group: list[PlannedPool]) -> tuple[Toleration, ...]:
    """Return the tolerations of a flavor: for the taint of its accelerator, and for the taints of its pools."""
    machine = group[0].hardware.machine
    accelerator_toleration = [Toleration(key=machine.resource, effect="NoSchedule")] if machine.accelerator else []
    taints = dict.fromkeys(taint for pool in group for taint in node_taints(pool))
    return (*accelerator_toleration, *(taint.tolerated for taint in taints))


def accelerator_taints(pool: PlannedPool) -> tuple[Taint, ...]:
    """Return the taint that GKE puts on every node with this accelerator; none on existing nodes of nodeLabels."""
    kind = pool.hardware.machine.kind
    if kind == "cpu" or (pool.made_by == EXTERNAL and pool.spec.node_labels):
        return ()
    return (catalog.taints().tpu if kind == "tpu" else catalog.taints().gpu,)


def sandbox_taints(pool: PlannedPool) -> tuple[Taint, ...]:
    """Return the taint of nodes of GKE Sandbox. No flavor tolerates it: the runtime class of the pods does."""
    return (catalog.taints().sandbox,) if pool.spec.sandbox else ()


def node_taints(pool: PlannedPool) -> tuple[Taint, ...]:
    """Return the taints of a pool's nodes that a flavor must tolerate, besides that of the accelerator."""
    spot = pool.made_by_gke and (
        pool.spec.capacity.kind == "spot" or (pool.compute_class is not None and pool.compute_class.may_use_spot)
    )
    arm = pool.hardware.machine.arch == "arm64"
    # GKE repeats these labels as taints on nodes that it creates: a pod that selects one without tolerating the taint
    # gets no nodes (GKE docs: workload separation).
    separation = {**_class_labels(pool), **pool.spec.labels} if pool.made_by_gke else {}
    return (
        *pool.taints,
        *added_taints(pool.request),
        *(Taint(key=key, value=value, effect="NoSchedule") for key, value in separation.items()),
        *((Taint(key=catalog.labels().spot, value="true", effect="NoSchedule"),) if spot else ()),
        *((Taint(key="kubernetes.io/arch", value="arm64", effect="NoSchedule"),) if arm else ()),
    )


def all_node_labels(pool: PlannedPool) -> dict[str, str]:
    """Return every known label of a pool's nodes."""
    labels = selecting_labels(pool) | pool.spec.labels
    return labels if pool.spec.node_labels else {**labels, INSTANCE_TYPE: pool.spec.machine_type}


def topology_levels(pools: Sequence[PlannedPool]) -> tuple[str, ...]:
    """Return the node labels by which Kueue places jobs on the nodes of pools of one kind; empty without topology."""
    slicing = slicing_plan([pool.request for pool in pools])
    if slicing is not None:
        return slicing.levels
    return pools[0].hardware.machine.topology_levels if pools[0].spec.topology_aware else ()
