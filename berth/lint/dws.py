"""What the Dynamic Workload Scheduler takes: one shape of pods, for a bounded time.

Sources: GKE docs on queued provisioning; Kueue 0.19 `pkg/controller/admissionchecks/provisioning`.
"""

from __future__ import annotations

from berth import catalog
from berth.jobs.values import At, as_mapping, deep
from berth.lint.fleet import Submitted
from berth.lint.machines import Pods, pods_of
from berth.plan.admission_checks import PROVISIONING

PREFIX = "provreq.kueue.x-k8s.io/"
RUN_DURATION = f"{PREFIX}maxRunDurationSeconds"
CONSUME = "consume-provisioning-request"
_SAME_TEMPLATES = "IdenticalPodTemplates"
_SAME_NEEDS = "IdenticalWorkloadSchedulingRequirements"


def takes(job: Submitted) -> None:
    """Report what a provisioning check would never let pass; of a queue without one, what is said in vain."""
    checked = _checked_flavors(job)
    at = job.job.metadata.under("annotations", job.job.annotations).under(RUN_DURATION, "")
    if RUN_DURATION in job.job.annotations:
        if not checked:
            job.warn("no-check", at.path, f"{job.place} has no queued machines: the annotation says nothing here")
        run_duration(At(job.job.annotations[RUN_DURATION], at.path, at.problems))
    if not checked:
        return
    having = [pods for pods in pods_of(job) if any(pods.pods.requests.get(r) for r in _managed(job))]
    _one_shape(job, having)
    for pods in having:
        _alone(pods)
        most = catalog.limits().max_request_nodes
        if pods.pods.count > most:
            message = f"{pods.pods.count} pods, and a request is for {most} machines at the most"
            pods.request(_managed(job)[0]).fault("dws", message)


def run_duration(at: At) -> None:
    """Report a run duration that GKE refuses."""
    limits = catalog.limits()
    low, high = limits.min_run_seconds, limits.max_run_seconds
    text = str(at.value)
    if not isinstance(at.value, str):
        at.fault("dws", f"{text} must be quoted: annotations and parameters are text")
    elif not text.isdecimal() or not low <= int(text) <= high:
        at.fault("dws", f"'{text}' is no number of seconds between {low} (10 minutes) and {high} (7 days)")


def _checked_flavors(job: Submitted) -> list[str]:
    """The flavors of the queue whose machines are asked for first."""
    asking = {check.name for check in job.fleet.plan.admission_checks if check.controller == PROVISIONING}
    all_flavors = [entry.flavor for entry in job.queue.flavors]
    found = [check.on_flavors or all_flavors for check in job.queue.admission_checks if check.name in asking]
    return [flavor for flavors in found for flavor in flavors]


def _managed(job: Submitted) -> list[str]:
    return [shape.flavor.resource for shape in job.fleet.shapes(job.queue)]


def _one_shape(job: Submitted, having: list[Pods]) -> None:
    """Kueue merges pod sets into one where its config says how, and they are alike; GKE takes one alone."""
    if len(having) < 2:
        return
    names = {check.name for check in job.queue.admission_checks}
    checks = [check for check in job.fleet.plan.admission_checks if check.name in names and check.parameters]
    configs = {check.parameters.name for check in checks if check.parameters}
    policies = {each.merge_policy for each in job.fleet.plan.provisioning_configs if each.name in configs}
    if None not in policies and (_SAME_TEMPLATES not in policies or _same_templates(having)) and _same_needs(having):
        return
    sets = " and ".join(f"{each.pods.count} {each.pods.name}" for each in having)
    job.job.at.under("spec", {}).fault(
        "dws", f"queued machines are of one shape, and its pods ({sets}) ask for different ones; make them alike"
    )


def _same_templates(having: list[Pods]) -> bool:
    return all(each.template.value == having[0].template.value for each in having)


def _same_needs(having: list[Pods]) -> bool:
    def needs(pods: Pods) -> object:
        each = pods.pods
        return (dict(each.requests), dict(each.selector), each.affinity, each.tolerations)

    return all(needs(each) == needs(having[0]) for each in having)


def _alone(pods: Pods) -> None:
    """Things in a pod template that do not go with queued machines."""
    if deep(pods.template.value, "spec", "affinity", "podAntiAffinity"):
        at = pods.at("affinity", "podAntiAffinity")
        at.fault(
            "dws", "queued machines do not go with podAntiAffinity: each pod has a machine of its own; leave it out"
        )
    metadata = pods.template.under("metadata", deep(pods.template.value, "metadata"))
    annotations = as_mapping(deep(pods.template.value, "metadata", "annotations"))
    for key in annotations:
        if key.endswith(f"/{CONSUME}"):
            at = metadata.under("annotations", annotations).under(key, "")
            at.fault("dws", "Kueue writes this annotation itself; leave it out")
