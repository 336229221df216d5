"""Policy `berth-machines`: pods without accelerators use the machines without, where their queue has some.

On accelerator machines such pods take cores, memory and places of pods that others' jobs need beside their
accelerators. Kueue assigns the first flavor with enough quota, so a pod says which machines it means. A queue without
other machines lets them run where its accelerators are: quotas of cpu, memory and pods bound them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import annotation, list_field
from berth.manifests.rules.admission import (
    EVERYONE,
    HAS_NEW_TEMPLATES,
    IS_CONTROLLER,
    QUEUE_LABEL,
    TEMPLATES,
    AdmissionPolicy,
    entry,
    is_in_queue,
    requests_accelerators,
    with_templates,
)
from berth.plan.policies import PLAIN_MACHINES

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _selects_plain(template: str) -> str:
    """Return an expression for whether a pod template selects a label of `variables.plain`."""
    spec = f"{template}.spec"
    terms = f"{spec}.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    return (
        f"(has({spec}.nodeSelector) && {spec}.nodeSelector.exists(k, (variables.queue + '/' + k + '=' + "
        f"{spec}.nodeSelector[k]) in variables.plain)) || (has({spec}.affinity) && has({spec}.affinity.nodeAffinity) "
        f"&& has({spec}.affinity.nodeAffinity.{_REQUIRED}) && {terms}.all(n, {list_field('n', 'matchExpressions')}"
        ".exists(e, e.operator == 'In' && e.values.all(v, (variables.queue + '/' + e.key + '=' + v) in "
        "variables.plain))))"
    )


def machines_policy(
    job_kinds: Mapping[str, Sequence[str]], accelerators: Sequence[str], queues: Sequence[str]
) -> AdmissionPolicy:
    """Return the policy for every kind with pod templates; the local queues `queues` have both kinds of machines."""
    queue, old_queue = entry(QUEUE_LABEL), entry(QUEUE_LABEL, "oldObject")
    return AdmissionPolicy(
        name="machines",
        refuses=(
            "pods without accelerators that may get accelerator machines, in queues that also have machines without"
        ),
        applies_to=EVERYONE,
        breaks=(
            "a job without accelerators, or with such a role, in such a queue: its pods select a label of the machines "
            "without"
        ),
        requests=with_templates(job_kinds),
        variables=(
            IS_CONTROLLER,
            TEMPLATES,
            HAS_NEW_TEMPLATES,
            (
                # Kueue writes into the templates of older jobs that it starts; pods of a job have its selectors.
                "isChecked",
                "(request.resource.resource != 'pods' || "
                f"!{list_field('object.metadata', 'ownerReferences')}.exists(o, has(o.controller) && o.controller)) && "
                f"(variables.hasNewTemplates || {queue} != {old_queue}) && "
                "(request.operation == 'CREATE' || !variables.isController)",
            ),
            ("queue", queue),
            (
                "plain",
                f"({annotation(PLAIN_MACHINES)}).filter(m, variables.queue != '' && m.startsWith(variables.queue + "
                "'/'))",
            ),
        ),
        rules=(
            (
                "!variables.isChecked || variables.plain.size() == 0 || variables.templates.all(t, "
                f"{requests_accelerators('t', accelerators)} || {_selects_plain('t')})",
                "pods without accelerators would take cores of accelerator machines, and this queue has others; write "
                f"one of the labels of the namespace's annotation {PLAIN_MACHINES} in the nodeSelector of these pods",
            ),
        ),
        condition=None,
        concern=is_in_queue(queues),
        in_shared=False,
    )
