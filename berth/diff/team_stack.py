"""What the guard has to know of a team's own stack: whether its workloads move to another cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from berth.diff.guard.allowances import CLUSTER_KEY, GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.preview_rules import STACK_REFERENCE, Expected, PreviewRules, connections
from berth.diff.guard.preview_steps import HIDDEN, PreviewStep
from berth.diff.guard.updates import PROVIDER_TYPE, redirected
from berth.diff.kinds import FieldEffect
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.manifests.releases import kubernetes_provider
from berth.manifests.workloads.objects import team_stack_manifests
from berth.plan.team_stack import TeamStackPlan
from berth.registration import Reference
from berth.resource import ResourceKind


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
