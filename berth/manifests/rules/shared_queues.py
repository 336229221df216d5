"""Policy `berth-queues`: jobs in a queue that several teams share keep to the priorities and the size that it has.

Kueue's priority label orders a queue and decides who is preempted, so in a shared queue it evicts jobs of other teams.
In a queue with StrictFIFO a job that can never be admitted holds up all jobs behind it, forever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import annotation, list_field
from berth.manifests.rules.admission import (
    EVERYONE,
    QUEUE_LABEL,
    SERVICES,
    AdmissionPolicy,
    entry,
    is_in_queue,
    keys,
    requests_of,
)
from berth.plan.policies import QUEUE_CEILINGS, QUEUE_PRIORITIES

_PRIORITY: Final = "kueue.x-k8s.io/priority-class"


def _too_many(spec: str, replicas: str) -> str:
    """Return an expression for whether the pods of a Job's spec together request more than a ceiling `c`.

    `c` is `<queue>/<resource>=<most>`; amounts that are no plain numbers are left to the queue.
    """
    pods = f"(has({spec}.parallelism) ? {spec}.parallelism : 1) * {replicas}"
    containers = list_field(f"{spec}.template.spec", "containers")
    resource = "c.split('=')[0].split(variables.queue + '/')[1]"
    limits = "has(k.resources) && has(k.resources.limits)"
    amount = f"string(k.resources.limits[{resource}])"
    return (
        f"{containers}.exists(k, {limits} && {resource} in k.resources.limits && "
        f"{amount}.matches('^[0-9]{{1,9}}$') && int({amount}) * {pods} > int(c.split('=')[1]))"
    )


def shared_queue_policy(job_kinds: Mapping[str, Sequence[str]], ordered: Sequence[str]) -> AdmissionPolicy:
    """Return the policy for the kinds that Kueue queues; `ordered` are the local queues with ceilings."""
    groups = {*SERVICES, *job_kinds}
    kinds = {group: tuple({*SERVICES.get(group, ()), *job_kinds.get(group, ())}) for group in groups}
    jobs = "(request.resource.resource == 'jobs' && {})"
    sets = "(request.resource.resource == 'jobsets' && dyn(object).spec.replicatedJobs.exists(r, {}))"
    replicas = "(has(r.replicas) ? r.replicas : 1)"
    of_job = jobs.format(_too_many("dyn(object).spec", "1"))
    of_set = sets.format(_too_many("r.template.spec", replicas))
    return AdmissionPolicy(
        name="queues",
        refuses=(
            "in queues that several teams share: a priority label other than those of the queue, the default and the "
            "team's `podPriorities`; with StrictFIFO, a job above what the queue can ever admit"
        ),
        applies_to=EVERYONE,
        breaks="an urgent job in a shared queue: the team's `podPriorities` allows the priority",
        requests=requests_of(kinds),
        variables=(
            ("queue", entry(QUEUE_LABEL)),
            ("priority", entry(_PRIORITY)),
            ("priorities", annotation(QUEUE_PRIORITIES)),
            (
                "ceilings",
                f"({annotation(QUEUE_CEILINGS)}).filter(c, variables.queue != '' && "
                "c.startsWith(variables.queue + '/'))",
            ),
        ),
        rules=(
            (
                "!((variables.queue + '=') in variables.priorities) || "
                "(variables.queue + '=' + variables.priority) in variables.priorities",
                f"in a queue of several teams this {_PRIORITY} evicts jobs of others; remove the label, or write one "
                f"of the namespace's annotation {QUEUE_PRIORITIES}",
            ),
            (
                f"!variables.ceilings.exists(c, {of_job} || {of_set})",
                "this job asks for more accelerators than its queue can ever admit, and would hold up all jobs "
                f"behind it; write at most what the namespace's annotation {QUEUE_CEILINGS} has",
            ),
        ),
        in_shared=False,
        concern=(in_ordered := is_in_queue(ordered))
        and f"'{_PRIORITY}' in {keys('object', 'labels')} || ({in_ordered})",
        condition=(
            f"request.operation == 'CREATE' || dyn(object).spec != dyn(oldObject).spec || "
            f"{keys('object', 'labels')} != {keys('oldObject', 'labels')}"
        ),
    )
