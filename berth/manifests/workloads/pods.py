"""Pod templates of workloads: derived from the queue, or a team's own template with what the queue needs added."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from berth.manifests.kueue import toleration
from berth.manifests.quantities import quantity
from berth.manifests.workloads.values import as_list, as_mapping, is_mapping
from berth.names import MAX_LABEL, TEAM_LABEL, shorten
from berth.plan.gke import CHECKPOINT_DRIVER
from berth.plan.workloads import PodPlan, ProvisioningRequestPlan, SubmissionPlan

Manifest = dict[str, object]

QUEUE_NAME_LABEL: Final = "kueue.x-k8s.io/queue-name"


def optional(key: str, value: object) -> Manifest:
    """Return `{key: value}`, or nothing where the value is None."""
    return {} if value is None else {key: value}


def unqueued_object(api_version: str, kind: str, plan: SubmissionPlan | ProvisioningRequestPlan) -> Manifest:
    """Render API version, kind and metadata of an object that Kueue does not queue."""
    metadata = {"name": plan.name, "namespace": plan.namespace, "labels": {TEAM_LABEL: plan.team}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def queued_object(
    api_version: str, kind: str, plan: SubmissionPlan, extra_annotations: dict[str, str] | None = None
) -> Manifest:
    """Render API version, kind and metadata of an object that Kueue queues: it reads the object's own labels."""
    priority = {} if plan.priority is None else {"kueue.x-k8s.io/priority-class": plan.priority}
    metadata: Manifest = {
        "name": plan.name,
        "namespace": plan.namespace,
        "labels": {TEAM_LABEL: plan.team, QUEUE_NAME_LABEL: plan.queue, **priority},
    }
    if annotations := {**plan.annotations, **(extra_annotations or {})}:
        metadata["annotations"] = annotations
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


CONFIG_FOLDER: Final = "/etc/config"
SECRETS_FOLDER: Final = "/var/secrets"
"""Where pods find the files of a ConfigMap, and of secrets, in a folder of its name."""

CHECKPOINTS_FOLDER: Final = "/checkpoints"
"""Where pods save checkpoints in the memory of their node."""

MAIN: Final = "main"
"""The name of the container, where no operator looks for another."""
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
"""The annotation of a pod that names its main container."""

_CHANNEL: Final = "channel"
"""The claim of a pod for a channel of its job's ComputeDomain."""
_SHARED_RESOURCES: Final = ("cpu", "memory")
"""Resources whose requests and limits may differ (Kubernetes requires equal ones of extended resources)."""


def pod_template(
    submission: SubmissionPlan,
    pod: PodPlan,
    *,
    container: str = MAIN,
    subdomain: str | None = None,
    with_restart_policy: bool = True,
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """Render the pod template of a workload, without a restart policy for kinds that have it elsewhere."""
    spec = {**optional("subdomain", subdomain), **_pod_spec(submission, pod, container)}
    if not with_restart_policy:
        spec.pop("restartPolicy", None)
    metadata: Manifest = {"labels": {TEAM_LABEL: submission.team, **(labels or {})}}
    if pod.annotations:
        metadata["annotations"] = dict(pod.annotations)
    derived: Manifest = {"metadata": metadata, "spec": spec}
    return derived if pod.template is None else _fill_template(pod.template, derived, container)


def _pod_spec(submission: SubmissionPlan, plan: PodPlan, container: str) -> Manifest:
    """Render the pod spec that follows from the queue, with one container."""
    network: Manifest = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if plan.host_network else {}
    spec: Manifest = {
        **network,
        **optional("restartPolicy", plan.restart_policy),
        **optional("priorityClassName", submission.priority),
        **optional("serviceAccountName", plan.service_account),
        **optional("runtimeClassName", plan.runtime_class),
    }
    if plan.node_selector:
        spec["nodeSelector"] = dict(plan.node_selector)
    if plan.absent_labels:
        expressions = [{"key": key, "operator": "DoesNotExist"} for key in plan.absent_labels]
        terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    if plan.tolerations:
        spec["tolerations"] = [toleration(each) for each in plan.tolerations]
    own = [*_volumes(plan).values(), *({"name": each.name, **each.volume} for each in plan.mounts)]
    volumes = {"volumes": own} if own else {}
    by_name = _claims(submission, plan)
    claims = [{"name": name, "resourceClaimTemplateName": template} for name, template in by_name.items()]
    containers = [_container(plan, container, by_name)]
    return spec | optional("resourceClaims", claims or None) | {"containers": containers} | volumes


def _claims(submission: SubmissionPlan, plan: PodPlan) -> dict[str, str]:
    """Map the names of the pod's claims to their templates."""
    devices = {f"{template}-{index}" if index else template: template for index, template in enumerate(plan.claims)}
    return devices if plan.domain_nodes is None else {**devices, _CHANNEL: channel_template(submission)}


def channel_template(submission: SubmissionPlan) -> str:
    """Return the name of the ResourceClaimTemplate that a job's ComputeDomain creates."""
    return f"{submission.name}-{_CHANNEL}"


def _volumes(plan: PodPlan) -> dict[str, Manifest]:
    """Map mount paths to volumes for what the pod sees as folders: ConfigMaps, secrets, and room for checkpoints."""
    configs: dict[str, Manifest] = {
        f"{CONFIG_FOLDER}/{name}": {"name": shorten(f"config-{name}", MAX_LABEL), "configMap": {"name": name}}
        for name in plan.configs
    }
    secrets: dict[str, Manifest] = {
        f"{SECRETS_FOLDER}/{name}": {
            "name": shorten(f"secrets-{name}", MAX_LABEL),
            "csi": {
                "driver": "secrets-store-gke.csi.k8s.io",
                "readOnly": True,
                "volumeAttributes": {"secretProviderClass": name},
            },
        }
        for name in plan.secrets
    }
    own: Manifest = {"name": "checkpoints", "csi": {"driver": CHECKPOINT_DRIVER}}
    return {**configs, **secrets, **({CHECKPOINTS_FOLDER: own} if plan.checkpoints else {})}


def _container(plan: PodPlan, name: str, claims_by_name: Iterable[str]) -> Manifest:
    amounts = {resource: quantity(resource, number) for resource, number in plan.resources.items()}
    container: Manifest = {"name": name, **({"image": plan.image} if plan.image else {})}
    written = [(volume["name"], path, path != CHECKPOINTS_FOLDER) for path, volume in _volumes(plan).items()]
    written += [(each.name, each.path, each.read_only) for each in plan.mounts if each.path is not None]
    if written:
        container["volumeMounts"] = [
            {"name": volume, "mountPath": path, **({"readOnly": True} if read_only else {})}
            for volume, path, read_only in written
        ]
    if plan.command:
        container["command"] = list(plan.command)
    if plan.ports:
        container["ports"] = [{"containerPort": port} for port in plan.ports]
    if plan.capabilities:
        container["securityContext"] = {"capabilities": {"add": list(plan.capabilities)}}
    claims = optional("claims", [{"name": name} for name in claims_by_name] or None)
    return container | {"resources": {"requests": dict(amounts), "limits": dict(amounts), **claims}}


# --- a team's own template --------------------------------------------------------------------------------------------


def main_container(template: Mapping[str, object]) -> int:
    """Choose the container that does the work: the annotated one, the one with an accelerator, or the first.

    `template` has a spec with at least one container.
    """
    containers = as_list(as_mapping(template["spec"]).get("containers"))
    main_name = as_mapping(as_mapping(template.get("metadata")).get("annotations")).get(DEFAULT_CONTAINER)
    named = [i for i, each in enumerate(containers) if main_name and as_mapping(each).get("name") == main_name]
    accelerated = [i for i, each in enumerate(containers) if any("/" in key for key in _written_resources(each))]
    return (named or accelerated or [0])[0]


def _written_resources(container: object) -> set[str]:
    resources = as_mapping(as_mapping(container).get("resources"))
    return {str(key) for part in ("requests", "limits") for key in as_mapping(resources.get(part))}


def _fill_template(template: Mapping[str, object], derived: Manifest, container: str) -> Manifest:
    """Add what is derived to the team's template.

    What the template says wins, except the name of the main container where an operator looks for one, and an image
    and a command that are given beside the template.
    """
    own = as_mapping(copy.deepcopy(dict(template)))
    spec, own_spec = dict(as_mapping(derived["spec"])), as_mapping(own["spec"])
    own_container = as_mapping(as_list(own_spec["containers"])[main_container(template)])
    derived_container = as_mapping(as_list(spec.pop("containers"))[0])
    if "resourceClaims" in own_spec:  # what the template claims replaces what Berth would
        as_mapping(derived_container["resources"]).pop("claims", None)
    _fill_container(own_container, derived_container, container)
    for key in ("volumes", "tolerations"):
        written = as_list(own_spec.get(key))
        if added := [each for each in as_list(spec.pop(key, None)) if each not in written]:
            own_spec[key] = [*written, *added]
    return {"metadata": _fill(as_mapping(own.get("metadata")), derived["metadata"]), "spec": _fill(own_spec, spec)}


def _fill_container(own: dict[str, Any], derived: Mapping[str, Any], required_name: str) -> None:
    if required_name != MAIN or "name" not in own:
        own["name"] = required_name
    own |= {key: derived[key] for key in ("image", "command") if key in derived}
    if "securityContext" in derived:
        own["securityContext"] = _fill(as_mapping(own.get("securityContext")), derived["securityContext"])
    for key, identity in (("volumeMounts", "mountPath"), ("ports", "containerPort")):
        written = as_list(own.get(key))
        taken = {as_mapping(each).get(identity) for each in written}
        if added := [each for each in derived.get(key, []) if each[identity] not in taken]:
            own[key] = [*written, *added]
    written_resources = _written_resources(own)
    resources = as_mapping(own.get("resources"))
    own["resources"] = resources | {
        part: {
            resource: amount
            for resource, amount in derived["resources"][part].items()
            if resource not in _SHARED_RESOURCES or resource not in written_resources
        }
        | as_mapping(resources.get(part))
        for part in ("requests", "limits")
    }
    if "claims" in derived["resources"]:
        own["resources"] |= {"claims": [*as_list(resources.get("claims")), *derived["resources"]["claims"]]}


def _fill(own: Mapping[str, Any], derived: object) -> dict[str, Any]:
    """Copy `own` and add the keys of `derived` that it lacks, at every depth."""
    filled = dict(own)
    for key, value in as_mapping(derived).items():
        if is_mapping(value) and is_mapping(filled.get(key)):
            filled[key] = _fill(filled[key], value)
        else:
            filled.setdefault(key, value)
    return filled


def list_additions(before: object, after: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield path and value of everything in `after` that `before` lacks or says otherwise."""
    if is_mapping(after) and after and (before is None or is_mapping(before)):
        for key, value in after.items():
            yield from list_additions(as_mapping(before).get(key), value, f"{path}.{key}" if path else key)
    elif (items := as_list(before)) and as_list(after):
        for index, value in enumerate(as_list(after)):
            yield from list_additions(items[index] if index < len(items) else None, value, f"{path}[{index}]")
    elif before != after:
        yield path, after
