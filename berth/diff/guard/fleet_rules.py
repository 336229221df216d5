"""What the guard has to know of a fleet on Google Cloud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from berth.diff.guard.accounts import accounts_lost_in_preview
from berth.diff.guard.capacity import lost_capacity
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import (
    guarded_updates,
    lost_resource,
    plan_of_worker,
    updated_resources,
    worker_allowances,
)
from berth.diff.guard.guarantees import guarantees_lost_in_preview
from berth.diff.guard.preview_steps import HIDDEN, Expected, PreviewRules, PreviewStep, connections
from berth.diff.renames import BEFORE
from berth.google.fleet import google_resources
from berth.manifests.fleet import all_manifests
from berth.manifests.releases import kubernetes_provider
from berth.manifests.worker_access import kubeconfig_secret
from berth.plan.fleet import ExistingClusterPlan, FleetPlan, cluster_identifier
from berth.plan.gke import ClusterPlan
from berth.registration import Registration, without_none
from berth.resource import IN_WORKER


def fleet_rules(plan: FleetPlan) -> PreviewRules:
    """Return the rules for a fleet; its program registers the stack itself, cloud resources, objects and components."""
    names = {
        key: name
        for worker in plan.workers
        if worker.formerly
        for key, name in ((worker.key, worker.name), (worker.name, f"{worker.name}{BEFORE}"))
    }
    registrations = {
        (each.type, f"{_with_todays_worker(resource.name, names)}-{role}"): each
        for resource in google_resources(plan)
        for role, each in resource.registrations().items()
    }
    least = 1 + len(registrations) + sum(1 for _ in all_manifests(plan))
    in_clouds = {key: each for key, each in registrations.items() if not key[0].startswith("pulumi:")}
    return PreviewRules(
        least,
        partial(lost_resource, plan=plan),
        partial(_losses, plan),
        lambda worker: (plan if worker is None else plan_of_worker(plan, worker)).allowances,
        frozenset(worker.name for worker in plan.workers),
        names,
        lambda: Expected(tuple(_objects(plan)), {**in_clouds, **_connections(plan)}),
        guards_objects=True,
    )


def _with_todays_worker(name: str, names: Mapping[str, str]) -> str:
    first, slash, rest = name.partition(IN_WORKER)
    return f"{names.get(first, first)}{slash}{rest}" if slash else name


def _objects(plan: FleetPlan) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield each object with its worker, or ""; the kubeconfig of a worker is in the manager."""
    yield from (("", each) for each in all_manifests(plan))
    for worker in plan.workers:
        if worker.plan.manager_access is not None:
            yield "", {**kubeconfig_secret(worker.plan.manager_access), "stringData": HIDDEN}
        yield from ((worker.name, each) for each in all_manifests(worker.plan))


def _connections(plan: FleetPlan) -> dict[tuple[str, str], Registration]:
    """Return the providers of the cluster and of its workers, and the stacks that workers are of."""
    cluster = plan.cluster
    is_existing = isinstance(cluster, ExistingClusterPlan)
    kubeconfig = cluster.kubeconfig if is_existing and not cluster.secret else HIDDEN
    context = cluster.context if is_existing else None
    made = connections(
        (
            "kubernetes",
            kubernetes_provider(kubeconfig=kubeconfig, cluster_identifier=cluster_identifier(cluster), context=context),
        ),
        ("google", _google(plan)),
    )
    for worker in plan.workers:
        at = f"{worker.name}{IN_WORKER}"
        reached = kubernetes_provider(kubeconfig=HIDDEN, cluster_identifier=worker.cluster_identifier)
        made |= connections(
            (f"{at}kubernetes", reached),
            (f"{at}google", _google(worker.plan)),
            stack=(f"{at}stack", worker.stack) if worker.stack else None,
        )
    return made


def _google(plan: FleetPlan) -> Registration:
    arguments = without_none({"project": plan.project, "region": plan.region})
    return Registration(type="pulumi:providers:gcp", arguments=arguments)


def _losses(plan: FleetPlan, steps: Sequence[PreviewStep]) -> Iterator[GuardedChange]:
    made_here = {worker.name for worker in plan.workers if worker.made_here}
    made_here |= {""} if isinstance(plan.cluster, ClusterPlan) else set()
    yield from guarded_updates(False, plan.allowances, updated_resources(steps, made_here), worker_allowances(plan))
    yield from accounts_lost_in_preview(steps, plan)
    yield from lost_capacity(steps, plan)
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    kept = {queue.name for queue in plan.cluster_queues if queue.stop_policy == "HoldAndDrain"}
    kept |= {each.queue for each in plan.calendar}  # the stack file says until when they have no guarantee
    yield from guarantees_lost_in_preview(steps, resources, plan.allowances, kept)
