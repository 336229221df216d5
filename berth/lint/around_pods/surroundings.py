"""What pods need around them, compared with what the plan grants and switches on: accounts, secrets, volumes, images.

Objects that only a person can create, and grants that Berth does not make, are unknown. Sources: GKE docs on each
storage driver (`surroundings.yaml`); Kubernetes docs on images, volumes and service accounts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from berth.catalog import fact_tables
from berth.diagnostics import did_you_mean, join_quoted
from berth.jobs.gke_webhooks import FUSE_DRIVER, FUSE_VOLUMES
from berth.jobs.pod_set import ObjectReference, PodVolume
from berth.jobs.values import get_nested
from berth.lint.around_pods.storage import (
    Findings,
    check_driver,
    check_storage_classes,
    claimed_volumes,
    surroundings_table,
)
from berth.lint.fleet import JobPods, SubmittedJob, list_job_pods
from berth.manifests.policy_rules import RUNTIME_CLASSES
from berth.manifests.workloads.values import as_list
from berth.plan.teams import READER_ROLES, SECRETS, IdentityPlan, TeamPlan

_IMAGE = re.compile(
    r"(?:[a-z0-9.-]+(?::\d+)?/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::[\w][\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,})?"
)
_REGISTRY = re.compile(r"(?:[a-z0-9-]+-docker\.pkg\.dev|(?:[a-z]+\.)?gcr\.io)/([^/]+(?:\.[a-z]+/[^/]+)?)/")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]|_")


def check_surroundings(job: SubmittedJob) -> None:
    """Report what the pods of a job need and do not get, and what Berth cannot know."""
    team = next(each for each in job.context.plan.teams if each.name == job.local_queue.team)
    said: set[tuple[str, str]] = set()
    for pods in list_job_pods(job):
        for check in _CHECKS:
            for code, source, message in check(pods, team):
                if (code, message) in said:
                    continue
                said.add((code, message))
                if code.endswith("-unknown"):
                    source.problems.unknown(code, source.path, message)
                else:
                    source.fault(code, message)


def _check_account(pods: JobPods, team: TeamPlan) -> Findings:
    """Check that the service account exists: the API server refuses pods without one."""
    name, namespace = pods.pod_set.service_account, pods.submitted.local_queue.namespace
    own = [team.identity.service_account] if team.identity is not None else []
    if (
        name is None
        or name in ("default", *own)
        or pods.submitted.context.objects.has("ServiceAccount", namespace, name)
    ):
        return
    source = pods.settings.field("serviceAccountName")
    if hint := did_you_mean(name, own):
        yield "no-account", source, f"no service account '{name}' in namespace '{namespace}'{hint}"
        return
    what = f"the platform makes {join_quoted([*own, 'default'])}"
    yield (
        "account-unknown",
        source,
        f"not checked: whether '{namespace}' has the service account '{name}', which neither the platform nor "
        f"the files make; {what}, and teams may make none",
    )


def _check_runtime_class(pods: JobPods, team: TeamPlan) -> Findings:
    """Check that the cluster has the RuntimeClass: otherwise the API server refuses the pods."""
    name, nodes = pods.pod_set.runtime_class, pods.submitted.context.nodes
    if not name or name in nodes.runtime_classes:
        return
    source = pods.settings.field("runtimeClassName")
    is_owned = any(each.owned for each in team.namespaces if each.name == pods.submitted.local_queue.namespace)
    if is_owned and name not in RUNTIME_CLASSES:
        return  # the policies of the namespace refuse it
    if nodes.open_reason is not None or name not in RUNTIME_CLASSES:
        why = nodes.open_reason or "Berth makes none, and somebody else may"
        message = f"not checked: whether the cluster has the RuntimeClass '{name}': {why}"
        yield "runtime-class-unknown", source, message
        return
    message = f"the cluster has no RuntimeClass '{name}', which GKE makes for nodes of GKE Sandbox only"
    yield "no-runtime-class", source, f"{message}, so the API server refuses its pods; remove runtimeClassName"


def _check_secrets(pods: JobPods, team: TeamPlan) -> Findings:
    """Check the Kubernetes Secrets that containers and volumes read: the platform makes none, and teams may not."""
    namespace, identity = pods.submitted.local_queue.namespace, team.identity
    for reference in _objects(pods, "Secret"):
        if pods.submitted.context.objects.has("Secret", namespace, reference.name):
            continue
        remedy = _secret_remedy(reference.name, identity)
        yield (
            "secret-unknown",
            pods.at(reference.path),
            f"not checked: whether '{namespace}' has the Secret '{reference.name}', which neither the platform "
            f"nor the files make, and teams may make none{remedy}",
        )


def _objects(pods: JobPods, kind: str) -> Iterator[ObjectReference]:
    return (each for each in pods.pod_set.references if each.kind == kind and not each.optional)


def _secret_remedy(name: str, identity: IdentityPlan | None) -> str:
    granted = identity.secrets if identity is not None else ()
    if not granted:
        return "; write the secret of Secret Manager under identity.secrets of the team, and mount it"
    file = next((each.file for each in granted if name in (each.secret, each.file)), granted[0].file)
    return f"; mount the SecretProviderClass '{SECRETS}', in which the platform has the secret as the file '{file}'"


def _check_volumes(pods: JobPods, team: TeamPlan) -> Findings:
    for volume in pods.pod_set.volumes:
        source = pods.at(volume.path)
        if volume.kind == "csi" and volume.target:
            yield from check_driver(pods, source, volume.target)
            if volume.target == FUSE_DRIVER:
                yield from _check_bucket(pods, team, volume)
            elif volume.target == "secrets-store-gke.csi.k8s.io":
                yield from _check_provider_class(pods, team, volume)
    yield from check_storage_classes(pods)


def _check_bucket(pods: JobPods, team: TeamPlan, volume: PodVolume) -> Findings:
    """Check the annotation of Cloud Storage FUSE, and the rights on the bucket."""
    annotations = pods.settings.annotations
    source = pods.at(volume.path)
    if annotations.get(FUSE_VOLUMES) != "true":
        written = f"is {str(annotations[FUSE_VOLUMES]).lower()}" if FUSE_VOLUMES in annotations else "is missing"
        message = f"the annotation {FUSE_VOLUMES} of its pods {written}, so the volume is never mounted"
        yield "no-fuse", source, f"{message}; write {FUSE_VOLUMES}: 'true' in the metadata of the pod template"
    attributes = pods.settings.volume_fields(volume)
    bucket = str(get_nested(attributes, "volumeAttributes", "bucketName") or "")
    where = source.child("volumeAttributes", None).child("bucketName", bucket)
    if not _BUCKET.fullmatch(bucket):
        name = bucket.removeprefix("gs://").partition("/")[0]
        remedy = f"write {name}" if _BUCKET.fullmatch(name) else "write the name of a bucket"
        yield "bad-bucket", where, f"'{bucket}' is not the name of a bucket, so the volume is never mounted; {remedy}"
        return
    if bucket == "_":
        return
    identity = team.identity
    role = identity.buckets.get(bucket) if identity is not None else None
    account = pods.pod_set.service_account or "default"
    if identity is None or role is None:
        hint = did_you_mean(bucket, identity.buckets) if identity is not None else ""
        remedy = (
            hint or f"; write identity.buckets: {{{bucket}: roles/storage.objectUser}} in the team of the stack file"
        )
        message = (
            f"not checked: whether its pods may use the bucket '{bucket}', which the platform does not grant{remedy}"
        )
        yield "bucket-unknown", where, message
    elif account != identity.service_account:
        message = f"not checked: whether the service account '{account}' may use the bucket '{bucket}'"
        remedy = f"the platform grants it to '{identity.service_account}'; write that as serviceAccountName"
        yield "bucket-unknown", where, f"{message}; {remedy}"
    elif role in READER_ROLES and get_nested(attributes, "readOnly") is not True:
        message = f"not checked: whether its pods write to the bucket '{bucket}', where {role} lets them only read"
        yield "bucket-unknown", where, f"{message}; write readOnly: true, or roles/storage.objectUser for the team"


def _check_provider_class(pods: JobPods, team: TeamPlan, volume: PodVolume) -> Findings:
    """Check the SecretProviderClass of a volume: the platform has one for teams with secrets."""
    name = str(get_nested(pods.settings.volume_fields(volume), "volumeAttributes", "secretProviderClass") or "")
    namespace = pods.submitted.local_queue.namespace
    source = pods.at(volume.path).child("volumeAttributes", None).child("secretProviderClass", name)
    own = [SECRETS] if team.identity is not None and team.identity.secrets else []
    if name in own or pods.submitted.context.objects.has("SecretProviderClass", namespace, name):
        return
    if name == SECRETS:
        message = (
            f"the platform has the SecretProviderClass '{name}' only for teams with secrets, and this team has none"
        )
        yield "no-secrets", source, f"{message}; write identity.secrets in the team of the stack file"
    elif hint := did_you_mean(name, own):
        yield "no-secrets", source, f"no SecretProviderClass '{name}' in namespace '{namespace}'{hint}"
    else:
        message = f"not checked: whether '{namespace}' has the SecretProviderClass '{name}'"
        yield "secret-unknown", source, f"{message}, which is not in the files"


def _check_mounts(pods: JobPods, team: TeamPlan) -> Findings:
    """Check that the pod has the volumes that its containers mount: otherwise the API server refuses it."""
    volumes = [*(each.name for each in pods.pod_set.volumes), *claimed_volumes(pods)]
    for container in pods.settings.containers:
        for mounted, _ in container.mounts:
            name = str(mounted.value)
            if name not in volumes:
                message = f"a container mounts '{name}', but its pods have no such volume: the API server refuses them"
                remedy = did_you_mean(name, volumes) or "; write it under volumes"
                yield "no-volume", mounted, message + remedy


def _check_images(pods: JobPods, team: TeamPlan) -> Findings:
    """Check the names of images, and whether nodes may pull those of other projects."""
    plan = pods.submitted.context.plan
    pulls = bool(as_list(pods.settings.field("imagePullSecrets").value))
    for image in pods.pod_set.images:
        containers = [each.image for each in pods.settings.containers if each.image.value == image]
        source = containers[-1] if containers else pods.settings.field("containers")
        if not _IMAGE.fullmatch(image):
            written = image if image else "nothing"
            yield "bad-image", source, f"'{written}' is not the name of an image, so its pods never start"
            continue
        match = _REGISTRY.match(image)
        project = match.group(1).replace("/", ":") if match else plan.project
        if project == plan.project or pulls or project in surroundings_table()["public_projects"]:
            continue
        message = fact_tables()["surroundings"].unknown(
            f"project '{project}'", "whether the nodes may pull its images is"
        )
        own = f"use an image of '{plan.project}'" if plan.project else "name a secret in imagePullSecrets"
        remedy = f"grant their service account roles/artifactregistry.reader there, or {own}"
        yield "image-unknown", source, f"{message}; {remedy}"


_CHECKS = (_check_account, _check_runtime_class, _check_secrets, _check_volumes, _check_mounts, _check_images)
