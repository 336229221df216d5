"""Policy `berth-volumes`: pods mount only volumes that the node does not reach the network for.

The node mounts network file systems and inline CSI volumes itself, so the NetworkPolicy of the namespace does not apply
to them. The allowed types are those of the Pod Security level `restricted` (Kubernetes 1.36, pod-security-admission,
check_restrictedVolumes.go); `berth-pods` decides about hostPath.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import annotation, list_field
from berth.manifests.rules.admission import EVERYONE, TEMPLATES, AdmissionPolicy, with_templates
from berth.plan.policies import MOUNTED_BY_THE_NODE, POD_SECURITY_LABEL, VOLUME_TYPES

CSI_DRIVERS: Final = ("gcsfuse.csi.storage.gke.io", "secrets-store-gke.csi.k8s.io", "secrets-store.csi.k8s.io")
"""Drivers of inline volumes that act as the pod: Cloud Storage FUSE and Secret Manager."""

_TYPES: Final = " && ".join(f"(!has(v.{name}) || '{name}' in variables.allowed)" for name in MOUNTED_BY_THE_NODE)

_MOUNTED: Final = " || ".join(f"has(v.{name})" for name in (*MOUNTED_BY_THE_NODE, "csi"))


def volumes_policy(job_kinds: Mapping[str, Sequence[str]], drivers: Sequence[str] = ()) -> AdmissionPolicy:
    """Return the policy for every kind with pod templates; `drivers` are further ones of the platform."""
    known = [*CSI_DRIVERS, *drivers]
    return AdmissionPolicy(
        name="volumes",
        refuses=(
            "inline volumes that the node mounts from the network (nfs, iscsi, cephfs and the like), and inline CSI "
            "volumes of other drivers than Cloud Storage FUSE and Secret Manager"
        ),
        applies_to=EVERYONE,
        breaks="an inline nfs volume: the team's `volumeTypes` allows it, or a PersistentVolume of the platform has it",
        requests=with_templates(job_kinds),
        variables=(
            TEMPLATES,
            (
                "unrestricted",
                "has(namespaceObject.metadata.labels) && "
                f"'{POD_SECURITY_LABEL}' in namespaceObject.metadata.labels && "
                f"namespaceObject.metadata.labels['{POD_SECURITY_LABEL}'] == 'privileged'",
            ),
            ("allowed", annotation(VOLUME_TYPES)),
        ),
        rules=(
            (
                "variables.unrestricted || variables.templates.all(t, "
                f"{list_field('t.spec', 'volumes')}.all(v, {_TYPES}))",
                "the node mounts this volume beside the network policy; write a persistentVolumeClaim, or ask the "
                "platform's owners for the type in volumeTypes",
            ),
            (
                "variables.unrestricted || variables.templates.all(t, "
                f"{list_field('t.spec', 'volumes')}.all(v, !has(v.csi) || v.csi.driver in {known} || "
                "v.csi.driver in variables.allowed))",
                "inline CSI volumes of this driver are mounted by the node, beside the network policy; write a "
                "persistentVolumeClaim, or ask the platform's owners for the driver in volumeTypes",
            ),
        ),
        concern=f"({TEMPLATES[1]}).exists(t, {list_field('t.spec', 'volumes')}.exists(v, {_MOUNTED}))",
        in_shared=False,
    )
