"""The Helm values of the controllers: what Berth changes in the released charts, and nothing else.

Compared with `charts/kueue` of Kueue 0.19.2 and `charts/jobset` of JobSet 0.12.0. The chart takes Kueue's own
configuration as one text, which replaces the chart's default as a whole; so what that default sets is set here too.
Left out on purpose: `internalCertManagement`, which the chart fills in with the names that follow from the release's,
and feature gates, which are refused when they stand in both places.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from components.kueue.manifests import toleration
from components.kueue.quantities import memory
from components.plan.nodes import Toleration

Values = dict[str, object]

JOB_FRAMEWORKS: Final = (
    "batch/job",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/jaxjob",
    "kubeflow.org/mpijob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
)
"""Kinds of jobs that are queued. A kind whose CRD is missing is picked up once it is installed."""

POD_FRAMEWORKS: Final = ("pod", "deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset")
"""Single pods and serving, on in the chart's default and off here: each makes a webhook fail closed, so that while
Kueue is away no pod or Deployment can be made anywhere but in kube-system and Kueue's own namespace."""

_MI: Final = 2**20
_SMALLEST: Final = 512 * _MI


def manager_memory(cluster_queues: int) -> int:
    """Bytes for Kueue's manager: room for 2 MiB a cluster queue above the chart's 512 MiB.

    An estimate (about a hundred waiting workloads a queue), not a measurement. It grows by doubling, so that a new team
    seldom restarts the manager: 1 GiB up to 256 queues, 2 GiB up to 768, 4 GiB up to 1792.
    """
    needed, size = _SMALLEST + 2 * _MI * cluster_queues, _SMALLEST
    while size < needed:
        size *= 2
    return size


def kueue_values(
    *,
    cluster_queues: int,
    pods_ready_seconds: int,
    frameworks: Iterable[str] = JOB_FRAMEWORKS,
    excluded_resources: Iterable[str] = ("ephemeral-storage",),
    node_labels: Mapping[str, str] | None = None,
    tolerations: Iterable[Toleration] = (),
    image: str | None = None,
) -> Values:
    """Values of Kueue's chart. `node_labels` and `tolerations` place the manager, `image` is a mirror's repository.

    `pods_ready_seconds`: how long an admitted workload's pods may take to be ready before it is put back. Kueue ignores
    requests for `excluded_resources` (prefixes); any other that its queue does not cover keeps a workload waiting.
    """
    size = memory(manager_memory(cluster_queues))
    resources = {"requests": {"cpu": "500m", "memory": size}, "limits": {"cpu": "2", "memory": size}}
    manager: Values = {"resources": resources, **_mirrored(image)}
    configuration = _configuration(pods_ready_seconds, frameworks, excluded_resources)
    return {
        "controllerManager": {"manager": manager, **_placement(node_labels, tolerations)},
        "managerConfig": {"controllerManagerConfigYaml": _text(configuration)},
    }


def jobset_values(
    *,
    node_labels: Mapping[str, str] | None = None,
    tolerations: Iterable[Toleration] = (),
    image: str | None = None,
) -> Values:
    """Values of JobSet's chart; its own requests and limits fit large fleets. Parameters as in `kueue_values`."""
    placement = _placement(node_labels, tolerations)
    return {**({"controller": placement} if placement else {}), **_mirrored(image)}


def _mirrored(image: str | None) -> Values:
    """The image from a mirror's repository; its tag stays the chart's."""
    return {} if image is None else {"image": {"repository": image}}


def _placement(node_labels: Mapping[str, str] | None, tolerations: Iterable[Toleration]) -> Values:
    tolerated = [toleration(each) for each in tolerations]
    placed: Values = {"nodeSelector": dict(node_labels)} if node_labels else {}
    return placed | {"tolerations": tolerated} if tolerated else placed


def _configuration(pods_ready_seconds: int, frameworks: Iterable[str], excluded: Iterable[str]) -> Values:
    """Kueue's Configuration: the chart's default, with a time for pods to be ready, quota metrics and exclusions."""
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {"groupKindConcurrency": _concurrency()},
        "clientConnection": {"qps": 300, "burst": 500},
        "waitForPodsReady": {"timeout": f"{pods_ready_seconds}s"},
        "manageJobsWithoutQueueName": False,
        "integrations": {"frameworks": sorted(frameworks)},
        "resources": {"excludeResourcePrefixes": sorted(excluded)},
    }


def _concurrency() -> dict[str, int]:
    """Reconciles at a time by kind, as in the chart's default."""
    return {
        "Job.batch": 5,
        "Pod": 5,
        "Workload.kueue.x-k8s.io": 10,
        "LocalQueue.kueue.x-k8s.io": 5,
        "ClusterQueue.kueue.x-k8s.io": 5,
        "ResourceFlavor.kueue.x-k8s.io": 1,
    }


def _text(configuration: Values) -> str:
    """YAML, one key a line: JSON is YAML, and a preview shows the line that changed."""
    return json.dumps(configuration, indent=2) + "\n"
