"""Policy `berth-controllers`: what only controllers write, whatever rights an account has in its namespace.

Besides Workloads and bindings: the status of jobs and pods, by which Kueue frees quota; the scale and the size of what
others own; and the machines and pod templates of a ProvisioningRequest, which Kueue finds by name (before 0.19.6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from berth.manifests.rules.admission import IS_CONTROLLER, PEOPLE, AdmissionPolicy, Requests, requests_of


def control_policy(job_kinds: Mapping[str, Sequence[str]]) -> AdmissionPolicy:
    """Return the policy for the kinds that Kueue queues."""
    statuses = {
        group: tuple(f"{kind}/{part}" for kind in kinds for part in ("scale", "status"))
        for group, kinds in job_kinds.items()
    }
    statuses["apps"] = (
        *statuses.get("apps", ()),
        "deployments/status",
        "replicasets/scale",
        "replicasets/status",
        "statefulsets/status",
    )
    statuses["leaderworkerset.x-k8s.io"] = ("leaderworkersets/status",)
    return AdmissionPolicy(
        name="controllers",
        refuses=(
            "Workloads of Kueue; binding a pod to a node; the status of pods, jobs and services; resizing pods; the "
            "scale of jobs and of ReplicaSets; ProvisioningRequests and PodTemplates"
        ),
        applies_to=PEOPLE,
        breaks="an operator with permissions in single namespaces only: install it for the whole cluster",
        requests=(
            Requests("", ("bindings", "pods/binding", "pods/resize", "pods/status", "podtemplates")),
            Requests("autoscaling.x-k8s.io", ("provisioningrequests", "provisioningrequests/status")),
            Requests("kueue.x-k8s.io", ("workloads", "workloads/status")),
            *requests_of(statuses),
        ),
        variables=(IS_CONTROLLER,),
        rules=(
            (
                "variables.isController || !(request.resource.resource in ['bindings', 'workloads'] || "
                "(has(request.subResource) && request.subResource == 'binding'))",
                "only controllers bind pods to nodes and write workloads of Kueue; submit a job with the label "
                "kueue.x-k8s.io/queue-name",
            ),
            (
                "variables.isController || !has(request.subResource) || request.subResource != 'status' || "
                "request.resource.resource == 'workloads'",
                "only controllers write the status of pods and jobs, by which Kueue counts; delete the job to end it",
            ),
            (
                "variables.isController || !has(request.subResource) || !(request.subResource in ['resize', 'scale'])",
                "Kueue does not count pods and resources that are added to what others own; change the job or the "
                "service itself",
            ),
            (
                "variables.isController || !(request.resource.resource in ['podtemplates', 'provisioningrequests'])",
                "only Kueue requests machines, with pod templates that it finds by name; submit a job to a queue with "
                "queued machines",
            ),
        ),
        condition=None,
    )
