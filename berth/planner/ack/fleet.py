"""A fleet on Alibaba Cloud: its machines, and what the same teams and queues as anywhere become there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Path, Problem, dotted
from berth.names import LABEL, shorten
from berth.plan.ack import AckFleetPlan, AckOnePlan, PropagationPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan
from berth.plan.teams import TeamPlan
from berth.planner import backend_losses
from berth.planner.ack import members
from berth.planner.ack.elastic_quotas import ROOT, elastic_quota_tree, node_names
from berth.planner.allowances import FLEET, ack_allowances, protected
from berth.planner.context import Draft
from berth.planner.queueing import cohorts, flavors, priorities, queues
from berth.planner.queueing.quota_tree import accelerator_quotas, quota_tree
from berth.planner.tenancy import teams
from berth.spec.ack import AckFleetSpec
from berth.spec.fleet import FleetSpec
from berth.spec.parse import Parsed
from berth.spec.tenancy import NetworkPolicySpec

_OFF = "networkPolicy, podSecurity and the limits of namespaces"
"""What Berth gives every team on Google Cloud without being asked."""


class AckPlanned(Struct, frozen=True):
    """A plan of everything that could be planned, as `Planned` of a fleet on Google Cloud."""

    plan: AckFleetPlan
    problems: tuple[Problem, ...]
    origins: Mapping[tuple[str, str], Path]
    complete: bool
    machines_complete: bool
    places: Mapping[str, Path]

    def placed(self, problem: Problem) -> Problem:
        """A problem of a pool, at the node pool that it is about."""
        return _placed(problem, self.places)


def plan_ack(stack: str, parsed: Parsed) -> AckPlanned | None:
    """Plan a fleet on Alibaba Cloud; None where the stack is not one."""
    if parsed.ack is None:
        return None
    draft = Draft(stack, _neutral(parsed.ack), set(parsed.set_aside))
    backend_losses.settle(draft, "ack", backend_losses.on_ack(parsed.ack), parsed.ack.accept_loss)
    found = members.members(draft, parsed.ack)
    plan = _plan(draft, parsed.ack, found)
    lost = {section for section, _ in draft.set_aside}
    machines = lost.isdisjoint({"ack", "pools", "flavors"})
    complete = machines and lost.isdisjoint({"cohorts", "teams", "clusterQueues"}) and not draft.incomplete
    problems = tuple(_placed(problem, found.places) for problem in draft.problems.found)
    return AckPlanned(plan, problems, draft.origins, complete, machines, found.places)


def _placed(problem: Problem, places: Mapping[str, Path]) -> Problem:
    if len(problem.path) > 1 and problem.path[0] == "pools" and (at := places.get(str(problem.path[1]))):
        return replace(problem, path=(*at, *problem.path[2:]))
    return problem


def _neutral(spec: AckFleetSpec) -> FleetSpec:
    """What is said of queues and teams, without what is Google's: that is lost, and said so."""
    here = {"identity": None, "groups": (), "pod_security": None, "network_policy": NetworkPolicySpec()}
    sections = {
        "protect": spec.protect,
        "allow_replacement": spec.allow_replacement,
        "allow_deletion": spec.allow_deletion,
        "flavors": spec.flavors,
        "priorities": spec.priorities,
        "cohorts": spec.cohorts,
        "teams": {name: team.model_copy(update=here) for name, team in spec.teams.items()},
        "cluster_queues": spec.cluster_queues,
    }
    return FleetSpec.model_validate({"project": "alibaba-cloud", "region": "none-here1"}).model_copy(update=sections)


def _plan(draft: Draft, spec: AckFleetSpec, found: members.Members) -> AckFleetPlan:
    pools = {name: list(member.node_pools) for name, member in spec.ack.clusters.items()}
    known = members.pools(spec, found.plans)
    kinds = members.flavors(draft, known)
    asked = queues.cluster_queues(draft, known, kinds)
    shared = cohorts.cohorts(draft, asked, known, kinds)
    resource_of = {flavor.name: flavor.resource for flavor in kinds.values()}
    promised = Counter[str]()
    for holder in (*asked, *shared):
        for flavor, quota in accelerator_quotas(holder, resource_of):
            promised[flavor] += quota.nominal
    entitled = teams.teams(draft, asked, quota_tree(asked, shared, resource_of), kinds)
    _leaves_fit(draft, asked)
    _names_fit(draft, asked, shared)
    _says_what_is_missing(draft, spec, entitled)
    return AckFleetPlan(
        stack=draft.stack,
        region=spec.ack.region,
        fleet=_fleet(draft, spec),
        members=tuple(found.plans),
        flavors=tuple(flavors.flavor_plan(draft, flavor, promised[name]) for name, flavor in kinds.items()),
        priorities=priorities.priorities(draft),
        cohorts=shared,
        cluster_queues=asked,
        teams=entitled,
        quotas=elastic_quota_tree(asked, shared),
        propagations=tuple(_propagations(spec, asked)),
        allowances=ack_allowances(draft, pools, [queue.name for queue in asked]),
        tags={"managed-by": "berth", "fleet": shorten(draft.stack.lower(), LABEL)},
    )


def _fleet(draft: Draft, spec: AckFleetSpec) -> AckOnePlan:
    wanted, path = spec.ack.fleet, ("ack", "fleet")
    if wanted.existing is not None and wanted.name is not None:
        message = f"fleet '{wanted.existing}' exists, and has its name; leave name out"
        draft.problems.fault("contradiction", (*path, "name"), message)
    if not wanted.propagation.suspension:
        message = "jobs go to a member at once: the quotas of the tree hold none of them back; write suspension: true"
        draft.problems.warning("no-suspension", (*path, "propagation", "suspension"), message)
    if not wanted.propagation.propagate_deps:
        # Karmada, whose fields these are, takes no failover without it (pkg/util/validation, ValidatePropagationSpec).
        message = "'false': a job that fails over would leave behind what it refers to, and is refused so; write true"
        draft.problems.fault("left-behind", (*path, "propagation", "propagateDeps"), message)
    if wanted.kubeconfig is None:
        message = "is not written: quotas and policies are not part of `pulumi up`; apply what `berth render` prints"
        draft.problems.note("no-kubeconfig", (*path, "kubeconfig"), message)
    return AckOnePlan(
        name=wanted.name or shorten(draft.stack.lower(), 40),
        existing=wanted.existing,
        vpc=spec.ack.network.vpc,
        vswitches=spec.ack.network.vswitches,
        kubeconfig=wanted.kubeconfig,
        protect=protected(draft, FLEET),
    )


def _propagations(spec: AckFleetSpec, asked: tuple[ClusterQueuePlan, ...]) -> Iterator[PropagationPlan]:
    """A policy in each namespace that has a queue."""
    wanted = spec.ack.fleet.propagation
    for namespace in sorted({door.namespace for queue in asked for door in queue.local_queues}):
        yield PropagationPlan(
            name=wanted.name,
            namespace=namespace,
            gang=wanted.gang,
            suspension=wanted.suspension,
            propagate_deps=wanted.propagate_deps,
            preserve_resources_on_deletion=wanted.preserve_resources_on_deletion,
            toleration_seconds=wanted.failover.toleration_seconds,
            purge_mode=wanted.failover.purge_mode,
        )


# --- what ACK refuses -------------------------------------------------------------------------------------------------


def _leaves_fit(draft: Draft, asked: tuple[ClusterQueuePlan, ...]) -> None:
    """A namespace belongs to one leaf, and every leaf has its own."""
    owner: dict[str, str] = {}
    for queue in asked:
        path = draft.origins["cluster queue", queue.name]
        if queue.namespaces is None:
            message = "'all': a leaf of ACK's quota tree has namespaces, each of them named; leave namespaces out"
            draft.problems.fault("not-expressible", (*path, "namespaces"), message)
        for namespace in sorted({door.namespace for door in queue.local_queues}):
            first = owner.setdefault(namespace, queue.name)
            if first != queue.name:
                message = (
                    f"namespace '{namespace}' is already that of {dotted(draft.origins['cluster queue', first])}: on "
                    "ACK it belongs to one queue; make one queue of the two, or another team"
                )
                draft.problems.fault("not-expressible", path, message)


def _names_fit(draft: Draft, asked: tuple[ClusterQueuePlan, ...], shared: tuple[CohortPlan, ...]) -> None:
    """A name stands once in the whole tree, and `root` is taken."""
    taken: dict[str, tuple[str, str]] = {}
    for node, kind, name in node_names(asked, shared):
        path = draft.origins[kind, name]
        if node == ROOT:
            message = f"'{ROOT}' is the name of the quota tree's own root; write another name"
            draft.problems.fault("duplicate-name", path, message)
        elif (first := taken.setdefault(node, (kind, name))) != (kind, name):
            message = (
                f"'{node}' is already the name of {dotted(draft.origins[first])} in the quota tree, where a name "
                "stands once; name it otherwise"
            )
            draft.problems.fault("duplicate-name", path, message)


def _says_what_is_missing(draft: Draft, spec: AckFleetSpec, entitled: tuple[TeamPlan, ...]) -> None:
    """What comes by itself on Google Cloud and not here is told, though nobody wrote it."""
    if any(place.owned for team in entitled for place in team.namespaces):
        message = f"{_OFF} are not made on ACK: whoever reaches a member's namespaces is held back by quotas alone"
        draft.problems.note("not-on-ack", ("ack",), message)
