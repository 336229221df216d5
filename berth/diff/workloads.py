"""A team's own stack: comparison of its workloads and the files of their pods, and what the guard has to know of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from msgspec import Struct

from berth.diff.entitlements import CountChange
from berth.diff.guard.allowances import CLUSTER_KEY, GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import PROVIDER_TYPE, redirected
from berth.diff.guard.preview_steps import HIDDEN, STACK_REFERENCE, Expected, PreviewRules, PreviewStep, connections
from berth.diff.kinds import ChangeKind, FieldEffect
from berth.diff.objects import KeyedManifest, ObjectChange, compare_manifests
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.manifests.releases import kubernetes_provider
from berth.manifests.workloads import objects as manifests
from berth.manifests.workloads.objects import team_stack_manifests
from berth.plan.team_stack import TeamStackPlan
from berth.plan.workloads import ProvisioningRequestPlan, WorkloadPlan
from berth.registration import Reference
from berth.resource import ResourceKind

CONFIG, SECRETS = "config", "secrets"


class WorkloadResources(Struct, frozen=True):
    """The total request of a workload for a resource, over all its pods."""

    resource: str
    amount: CountChange


class WorkloadChange(Struct, frozen=True):
    """A changed workload, with the `kind` and `name` that it has after the change (or had before).

    `queue` is its local queue before and after, `asks` are its requests for accelerators. `because` are immutable
    fields that change: the workload is then replaced and starts again.
    """

    workload: str
    kind: str
    name: str
    what: ChangeKind
    queue: tuple[str | None, str | None]
    asks: tuple[WorkloadResources, ...]
    because: tuple[str, ...] = ()


class FilesChange(Struct, frozen=True):
    """A changed entry of `config` or `secrets`, and the workloads whose pods read it after (or before) the change."""

    kind: str
    name: str
    what: ChangeKind
    workloads: tuple[str, ...]


def compare_team_objects(old: TeamStackPlan, new: TeamStackPlan) -> tuple[ObjectChange, ...]:
    """Return every changed object, like `compare_objects`; a workload under a new key is a new workload."""
    return compare_manifests(dict(_keyed_manifests(old)), dict(_keyed_manifests(new)))


def _keyed_manifests(plan: TeamStackPlan) -> Iterator[KeyedManifest]:
    for config in plan.configs:
        yield _keyed_manifest(manifests.config_map(config, plan), "")
    for secrets in plan.secrets:
        yield _keyed_manifest(manifests.mounted_secret_class(secrets, plan), "")
    for key, workload in plan.workloads.items():
        yield from (_keyed_manifest(each, key) for each in manifests.workload_manifests(workload))


def _keyed_manifest(manifest: dict[str, object], key: str) -> KeyedManifest:
    metadata = cast("Mapping[str, object]", manifest["metadata"])
    return (str(manifest["kind"]), str(metadata["namespace"]), str(metadata["name"]), key), manifest


def compare_workloads(old: TeamStackPlan, new: TeamStackPlan) -> Iterator[WorkloadChange]:
    """Yield every changed workload, by key."""
    for key in sorted(old.workloads.keys() | new.workloads.keys()):
        old_workload, new_workload = old.workloads.get(key), new.workloads.get(key)
        if old_workload != new_workload:
            yield _compare_workload(key, old_workload, new_workload)


def _compare_workload(key: str, old_workload: WorkloadPlan | None, new_workload: WorkloadPlan | None) -> WorkloadChange:
    before, after = (
        [] if each is None else manifests.workload_manifests(each) for each in (old_workload, new_workload)
    )
    old_objects, new_objects = (dict(_keyed_manifest(m, key) for m in side) for side in (before, after))
    object_changes = compare_manifests(old_objects, new_objects)
    old_total, new_total = _total_accelerators(old_workload), _total_accelerators(new_workload)
    shown = (after or before)[-1]
    main_changes = [change for change in object_changes if change.kind == shown["kind"]]
    because = tuple(dict.fromkeys(path for change in object_changes for path in change.because))
    if old_workload is None or new_workload is None:
        what = ChangeKind.ADDED if old_workload is None else ChangeKind.DELETED
    else:
        what = (
            ChangeKind.REPLACED
            if because or any(change.what == ChangeKind.DELETED for change in main_changes)
            else ChangeKind.CHANGED
        )
    return WorkloadChange(
        workload=key,
        kind=str(shown["kind"]),
        name=str(cast("Mapping[str, object]", shown["metadata"])["name"]),
        what=what,
        queue=(_local_queue(old_workload), _local_queue(new_workload)),
        asks=tuple(
            WorkloadResources(each, CountChange(old_total.get(each, 0), new_total.get(each, 0)))
            for each in sorted(old_total.keys() | new_total.keys())
        ),
        because=because,
    )


def _local_queue(plan: WorkloadPlan | None) -> str | None:
    return None if plan is None or isinstance(plan, ProvisioningRequestPlan) else plan.submission.queue


def _total_accelerators(plan: WorkloadPlan | None) -> dict[str, int]:
    """Return the accelerators of all pods, by resource."""
    if plan is None:
        return {}
    requests = plan.pod.resources.items()
    return {resource: amount * plan.pod_count for resource, amount in requests if resource not in ("cpu", "memory")}


def compare_files(old: TeamStackPlan, new: TeamStackPlan) -> Iterator[FilesChange]:
    """Yield every changed entry of `config`, then of `secrets`, by name."""
    for kind in (CONFIG, SECRETS):
        before, after = (
            {each.name: each for each in (plan.configs if kind == CONFIG else plan.secrets)} for plan in (old, new)
        )
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) == after.get(name):
                continue
            what = ChangeKind.CHANGED if name in after else ChangeKind.DELETED
            pods = {key: each.pod for key, each in (new if name in after else old).workloads.items()}
            readers = (key for key, pod in pods.items() if name in (pod.configs if kind == CONFIG else pod.secrets))
            yield FilesChange(kind, name, what if name in before else ChangeKind.ADDED, tuple(sorted(readers)))


def team_rules(plan: TeamStackPlan) -> PreviewRules:
    """Return the rules for a team's stack: each workload and file is a resource, and only the cluster is guarded."""
    resources = max(1, len(plan.workloads) + len(plan.configs) + len(plan.secrets))
    return PreviewRules(1 + resources, losses=partial(_moved_in_preview, plan), expected=partial(_expected, plan))


def _expected(plan: TeamStackPlan) -> Expected:
    """Return what the program registers; of an existing cluster the client may find the kubeconfig itself."""
    kubeconfig = Reference("stack", plan.platform, "kubeconfig") if plan.context else HIDDEN
    provider = kubernetes_provider(
        kubeconfig=kubeconfig, cluster_identifier=plan.cluster_identifier, context=plan.context
    )
    objects = tuple(("", each) for each in team_stack_manifests(plan))
    return Expected(objects, connections(("kubernetes", provider), stack=("platform", plan.platform)))


def moved_to_cluster(old: TeamStackPlan, new: TeamStackPlan) -> Iterator[GuardedChange]:
    """Yield that the workloads move to another cluster, which `allowChange: {cluster: <why>}` allows."""
    names = ["cluster_identifier", "context", "kubeconfig", "project"]
    names += [] if new.is_on_google else ["platform"]
    fields = [FieldEffect(each, each, getattr(old, each), getattr(new, each), UpdateEffect.UPDATE) for each in names]
    yield from _moved(new, [each for each in fields if each.before != each.after])


def _moved_in_preview(plan: TeamStackPlan, steps: Sequence[PreviewStep]) -> Iterator[GuardedChange]:
    """Yield that in a preview the provider is one of another cluster, or the platform of an existing cluster another.

    A kubeconfig comes from the output of the platform, whose preview this stack does not see.
    """
    fields: dict[str, FieldEffect] = {}
    for step in steps:
        before, after = step.inputs
        if not before or not after:
            continue
        if step.type == PROVIDER_TYPE:
            found = [*_changed("clusterIdentifier", before, after), *redirected(step)]
        elif step.type == STACK_REFERENCE and not plan.is_on_google:
            found = _changed("name", before, after, "platform")
        else:
            continue
        fields |= {each.path: each for each in found}
    yield from _moved(plan, list(fields.values()))


def _changed(name: str, before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> Iterator[FieldEffect]:
    if before.get(name) != after.get(name):
        yield FieldEffect(path or name, name, before.get(name), after.get(name), UpdateEffect.UPDATE)


def _moved(plan: TeamStackPlan, fields: Sequence[FieldEffect]) -> Iterator[GuardedChange]:
    if fields:
        kind, action, allowed = ResourceKind.CONNECTION, GuardedAction.REDIRECT, plan.allowed_changes.get(CLUSTER_KEY)
        yield GuardedChange(kind, CLUSTER_KEY, CLUSTER_KEY, action, tuple(fields), allowed=allowed)
