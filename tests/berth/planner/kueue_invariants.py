"""What Kueue 0.19.2 wants of every plan, beyond the schemas of its CRDs; each function yields what does not hold.

Stack files cannot break these: the schema of the stack file and the planner see to them. Sources: CEL rules of the
v1beta2 CRDs, `pkg/webhooks`, `pkg/util/admissioncheck` and the conditions that the controllers set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from berth.manifests.quantities import MAXIMUM
from berth.names import is_dns_label, is_label_key, is_label_value, is_subdomain
from berth.plan.admission_checks import MULTIKUEUE, MULTIKUEUE_CONFIG, PROVISIONING, PROVISIONING_CONFIG, QUEUED_CLASS
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorQuotasPlan, QuotaPlan

HOSTNAME = "kubernetes.io/hostname"
MAX_USER_PRIORITY = 10**9
"""Of a PriorityClass; Kubernetes keeps what is above for itself."""
QUEUED_PARAMETERS = {"maxRunDurationSeconds", "capacitySearchStrategy", "tpu-topology"}
"""What GKE's queued provisioning takes (GKE docs: DWS)."""
QUEUED_SECONDS = range(600, 604801)
"""How long GKE's queued provisioning keeps nodes: ten minutes to seven days (GKE docs: DWS)."""
MAX_TOTAL, MAX_PAIRS = 256, 512
"""Flavors or resources of a cluster queue (webhook validateTotalFlavors); flavors times resources of one group."""

Broken = Iterator[str]


def unique_names(plan: FleetPlan) -> Broken:
    """Objects of one kind have names of their own; metrics and references go by them."""
    for things in (plan.flavors, plan.topologies, plan.cluster_queues, plan.cohorts, plan.priorities,
                   plan.admission_checks, plan.provisioning_configs, plan.multikueue_configs):  # fmt: skip
        for name, count in Counter(thing.name for thing in things).items():
            if count > 1:
                yield f"{count} things are called {name}"


def names_are_names(plan: FleetPlan) -> Broken:
    """Names of objects are subdomains; of what jobs carry as a label, label values too; namespaces DNS labels."""
    named = (*plan.flavors, *plan.topologies, *plan.cluster_queues, *plan.cohorts, *plan.admission_checks)
    yield from (f"'{thing.name}' is no name" for thing in named if not is_subdomain(thing.name))
    doors = [local_queue for queue in plan.cluster_queues for local_queue in queue.local_queues]
    for name in (*(door.name for door in doors), *(priority.name for priority in plan.priorities)):
        if not (is_label_value(name) and is_subdomain(name)) or name.startswith("system-"):
            yield f"'{name}' is no name that jobs can carry"
    namespaces = {*(door.namespace for door in doors), *(n for q in plan.cluster_queues for n in q.namespaces or ())}
    yield from (f"'{name}' is no namespace" for name in namespaces if not is_dns_label(name))


def references_exist(plan: FleetPlan) -> Broken:
    """Whatever names something that is missing stays inactive."""
    flavors, queues = {f.name for f in plan.flavors}, {q.name for q in plan.cluster_queues}
    wanted = {
        "flavor": ({e.flavor for owner in (*plan.cluster_queues, *plan.cohorts) for e in owner.flavors}, flavors),
        "topology": ({f.topology for f in plan.flavors if f.topology}, {t.name for t in plan.topologies}),
        "check": (
            {c.name for q in plan.cluster_queues for c in q.admission_checks},
            {c.name for c in plan.admission_checks},
        ),
        "cluster queue": ({d.cluster_queue for q in plan.cluster_queues for d in q.local_queues}, queues),
        "cohort": (
            {o for o in (*(q.cohort for q in plan.cluster_queues), *(c.parent for c in plan.cohorts)) if o},
            {c.name for c in plan.cohorts},
        ),
        "cluster": (
            {name for config in plan.multikueue_configs for name in config.clusters},
            {cluster.name for cluster in plan.multikueue_clusters},
        ),
    }
    for noun, (names, known) in wanted.items():
        yield from (f"no {noun} {name}" for name in sorted(names - known))


def checks_are_configured(plan: FleetPlan) -> Broken:
    """Each of Kueue's own controllers is configured by one kind, which exists; those that form slices by nothing."""
    known = {
        PROVISIONING: (PROVISIONING_CONFIG, {config.name for config in plan.provisioning_configs}),
        MULTIKUEUE: (MULTIKUEUE_CONFIG, {config.name for config in plan.multikueue_configs}),
    }
    forming = set(_slice_controllers(plan).values())
    for check in plan.admission_checks:
        kind, names = known.get(check.controller, ("", set[str]()))
        if not kind:
            if check.controller not in forming:
                yield f"check {check.name} is of {check.controller}, which decides on no flavor"
            elif check.parameters is not None:
                yield f"check {check.name} has {check.parameters}, which its controller does not read"
        elif check.parameters is None or check.parameters.kind != kind or check.parameters.name not in names:
            yield f"check {check.name} has no {kind}"


def cohorts_form_trees(plan: FleetPlan) -> Broken:
    """A circle makes every member inactive."""
    parents = {cohort.name: cohort.parent for cohort in plan.cohorts}
    for name in parents:
        current, steps = parents[name], 0
        while current is not None and steps <= len(parents):
            current, steps = parents.get(current), steps + 1
        if steps > len(parents):
            yield f"{name} is above itself"


def groups_are_whole(plan: FleetPlan) -> Broken:
    """A resource and a flavor are in one group, once, and each flavor has a quota for each resource, in order."""
    for owner in (*plan.cluster_queues, *plan.cohorts):
        groups = _groups(owner)
        for names in ([r for covered, _ in groups for r in covered], [e.flavor for _, es in groups for e in es]):
            if len(set(names)) < len(names) or len(names) > MAX_TOTAL:
                yield f"{owner.name} has {names}"
        for covered, entries in groups:
            if not covered or not entries or len(covered) * len(entries) > MAX_PAIRS:
                yield f"{owner.name} covers {covered} with {len(entries)} flavors"
            yield from (f"no resource name: {name}" for name in covered if not is_label_key(name))
            yield from (
                f"{owner.name} has another order for {entry.flavor}"
                for entry in entries
                if tuple(quota.resource for quota in entry.quotas) != covered
            )


def quotas_are_amounts(plan: FleetPlan) -> Broken:
    """Nothing is below zero or more than Kubernetes can count, and a queue lends no more than it has."""
    for owner in (*plan.cluster_queues, *plan.cohorts):
        for quota in _quotas(owner):
            amounts = (quota.nominal, quota.borrowing_limit or 0, quota.lending_limit or 0)
            if not all(0 <= amount <= MAXIMUM for amount in amounts):
                yield f"{owner.name}: {quota}"
            if isinstance(owner, ClusterQueuePlan) and amounts[2] > quota.nominal:
                yield f"{owner.name} lends more than it has: {quota}"


def limits_need_others(plan: FleetPlan) -> Broken:
    """Nothing is borrowed or lent without a cohort, or without a parent. A limit of 0 is then not written."""
    above = {o.name: o.cohort if isinstance(o, ClusterQueuePlan) else o.parent for o in _owners(plan)}
    for owner in _owners(plan):
        if above[owner.name] is None and any(q.borrowing_limit or q.lending_limit for q in _quotas(owner)):
            yield f"{owner.name} has limits and nobody to share with"


def queues_cover_every_pod(plan: FleetPlan) -> Broken:
    """Every pod asks for cpu and memory, and what a queue does not cover it never admits."""
    for queue in plan.cluster_queues:
        if missing := {"cpu", "memory"} - set(queue.covered_resources):
            yield f"{queue.name} does not cover {missing}"


def preemption_fits(plan: FleetPlan) -> Broken:
    """Who preempts to borrow also reclaims (CEL ClusterQueue.preemption)."""
    for queue in plan.cluster_queues:
        policies = queue.preemption
        if policies.borrow_within_cohort not in (None, "Never") and policies.reclaim_within_cohort == "Never":
            yield f"{queue.name} preempts to borrow and never reclaims"


def checks_fit_flavors(plan: FleetPlan) -> Broken:
    """Checks of a controller are on those flavors of a queue that need it, all and no others; a queue has each once."""
    needs = {PROVISIONING: {pool.flavor for pool in plan.own_pools if pool.capacity == "queued"}}
    for flavor, controller in _slice_controllers(plan).items():
        needs.setdefault(controller, set()).add(flavor)
    for controller, needing in needs.items():
        names = {check.name for check in plan.admission_checks if check.controller == controller}
        for queue in plan.cluster_queues:
            flavors = {entry.flavor for entry in queue.flavors}
            checks = [check for check in queue.admission_checks if check.name in names]
            checked = [flavor for check in checks for flavor in check.on_flavors or flavors]
            if sorted(checked) != sorted(flavors & needing) or len({c.name for c in checks}) < len(checks):
                yield f"{queue.name} has checks of {controller} on {checked}, and {flavors & needing} need one"


def provisioning_asks_for_accelerators(plan: FleetPlan) -> Broken:
    """A provisioning check manages its flavors' accelerators, and says to GKE only what GKE takes."""
    resource_of = {flavor.name: flavor.resource for flavor in plan.flavors}
    configs = {c.name: c for c in plan.provisioning_configs}
    checks = {check.name: check.parameters for check in plan.admission_checks if check.controller == PROVISIONING}
    config_of = {name: configs.get(parameters.name) for name, parameters in checks.items() if parameters}
    for queue in plan.cluster_queues:
        for check in (each for each in queue.admission_checks if each.name in checks):
            managed = config.managed_resources if (config := config_of.get(check.name)) else ()
            yield from (f"{check.name} is blind to {f}" for f in check.on_flavors if resource_of[f] not in managed)
    for config in configs.values():
        seconds = config.parameters.get("maxRunDurationSeconds", "600")
        if config.parameters.keys() - QUEUED_PARAMETERS or int(seconds) not in QUEUED_SECONDS:
            yield f"{QUEUED_CLASS} does not take {config.parameters}"


def multikueue_is_alone(plan: FleetPlan) -> Broken:
    """A queue has one MultiKueue check, on all flavors, and no provisioning check beside it."""
    remote = {check.name for check in plan.admission_checks if check.controller == MULTIKUEUE}
    for queue in plan.cluster_queues:
        if any(check.name in remote for check in queue.admission_checks) and (
            len(queue.admission_checks) > 1 or any(check.on_flavors for check in queue.admission_checks)
        ):
            yield f"{queue.name} has {queue.admission_checks}"
    for cluster in plan.multikueue_clusters:
        if (cluster.kubeconfig is None) == (cluster.profile is None):
            yield f"{cluster.name} is reached in no way, or in two"


def topologies_are_ordered(plan: FleetPlan) -> Broken:
    """Levels are different, and nothing is below a host; a flavor with a topology selects its nodes by a label."""
    for topology in plan.topologies:
        if len(set(topology.levels)) < len(topology.levels) or HOSTNAME in topology.levels[:-1]:
            yield f"{topology.name} has levels {topology.levels}"
    yield from (f"{f.name} selects no nodes" for f in plan.flavors if f.topology and not f.node_labels)


def flavors_select_nodes(plan: FleetPlan) -> Broken:
    """Labels are labels; a toleration of any value names none (CEL ResourceFlavor.tolerations)."""
    for flavor in plan.flavors:
        if not all(is_label_key(key) and is_label_value(value) for key, value in flavor.node_labels.items()):
            yield f"{flavor.name} selects by {flavor.node_labels}"
        for toleration in flavor.tolerations:
            if not is_label_key(toleration.key or "") or (toleration.operator == "Exists") == bool(toleration.value):
                yield f"{flavor.name} tolerates {toleration}"


def priorities_are_free(plan: FleetPlan) -> Broken:
    """Kubernetes keeps the highest priorities for itself, and one priority at most is the default."""
    yield from (f"{p.name} is {p.value}" for p in plan.priorities if not -(2**31) <= p.value <= MAX_USER_PRIORITY)
    if sum(priority.default for priority in plan.priorities) > 1:
        yield "two priorities are the default"


def gates_are_in_one_place(plan: FleetPlan) -> Broken:
    """With feature gates in the chart's values too, Kueue's manager does not start (LoadAndValidateFeatureGates)."""
    for chart in plan.charts:
        manager = chart.values.get("controllerManager")
        if chart.name == "kueue" and isinstance(manager, dict) and "featureGates" in manager:
            yield "feature gates in the chart's values"


INVARIANTS: tuple[Callable[[FleetPlan], Iterable[str]], ...] = (
    unique_names,
    names_are_names,
    references_exist,
    checks_are_configured,
    cohorts_form_trees,
    groups_are_whole,
    quotas_are_amounts,
    limits_need_others,
    queues_cover_every_pod,
    preemption_fits,
    checks_fit_flavors,
    provisioning_asks_for_accelerators,
    multikueue_is_alone,
    topologies_are_ordered,
    flavors_select_nodes,
    priorities_are_free,
    gates_are_in_one_place,
)


def broken(plan: FleetPlan) -> list[str]:
    """Everything that does not hold of a plan, each with the name of the invariant."""
    return [f"{invariant.__name__}: {what}" for invariant in INVARIANTS for what in invariant(plan)]


def _slice_controllers(plan: FleetPlan) -> dict[str, str]:
    """Flavor → the controller that forms slices of its nodes, for those that have one."""
    return {f.name: f.slicing.controller for f in plan.flavors if f.slicing and f.slicing.controller}


def _owners(plan: FleetPlan) -> tuple[ClusterQueuePlan | CohortPlan, ...]:
    return (*plan.cluster_queues, *plan.cohorts)


def _groups(owner: ClusterQueuePlan | CohortPlan) -> list[tuple[tuple[str, ...], tuple[FlavorQuotasPlan, ...]]]:
    if isinstance(owner, ClusterQueuePlan):
        return [(owner.covered_resources, owner.flavors)]
    return [(group.covered_resources, group.flavors) for group in owner.resource_groups]


def _quotas(owner: ClusterQueuePlan | CohortPlan) -> Iterator[QuotaPlan]:
    return (quota for _, entries in _groups(owner) for entry in entries for quota in entry.quotas)
