"""Pods of one template, as facts: their number, requests, and everything that decides on which nodes they run.

Every check and the simulator read these facts. None of them reads the manifest again.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from berth.plan.kueue import PODS
from berth.plan.node_settings import Toleration

FieldSteps = tuple[str | int, ...]
"""The path of a field inside a pod template: `("spec", "nodeSelector", "tier")`."""


SAME, DIFFERENT = "Same", "Different"
"""Operators for matchLabelKeys and mismatchLabelKeys: the other pod's value compared with the pod's own."""
EACH_JOB, EACH_CHILD, EACH_POD = "<job>", "<child>", "<pod>"
"""Values of added labels that are not known, but equal for the pods of a job, of a child job, or for no two pods."""


class NodeSelectorRequirement(Struct, frozen=True):
    """One expression of a selector: label key, operator and values; `is_field` for a field of the node (its name)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    is_field: bool = False


class PodAffinityTerm(Struct, frozen=True, kw_only=True):
    """A required term of a pod affinity or anti-affinity.

    `selector` None selects no pod. `namespaces` empty means the pods' own namespace; `has_namespace_selector` is true
    for a namespaceSelector that is not empty, and `all_namespaces` for an empty one.
    """

    topology_key: str
    selector: tuple[NodeSelectorRequirement, ...] | None
    namespaces: tuple[str, ...] = ()
    all_namespaces: bool = False
    has_namespace_selector: bool = False

    def selects_own(self, namespace: str) -> bool | None:
        """Whether it selects pods of their own namespace; None if that is not known."""
        if self.all_namespaces or namespace in self.namespaces:
            return True
        if self.has_namespace_selector:
            return None
        return not self.namespaces

    def selects_others(self, namespace: str) -> bool:
        """Whether it selects pods of other namespaces too, or may do so."""
        return self.all_namespaces or self.has_namespace_selector or any(each != namespace for each in self.namespaces)


class SpreadConstraint(Struct, frozen=True, kw_only=True):
    """A topology spread constraint with whenUnsatisfiable DoNotSchedule."""

    topology_key: str
    max_skew: int
    selector: tuple[NodeSelectorRequirement, ...] | None
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False


class TopologyRequest(Struct, frozen=True, kw_only=True):
    """The annotations `kueue.x-k8s.io/podset-*` of a pod template, as Kueue 0.19 reads them."""

    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    slice_level: str | None = None
    slice_size: int | None = None
    group: str | None = None

    @property
    def is_explicit(self) -> bool:
        """Whether Kueue treats the pods as asking for a topology (`workload.IsExplicitlyRequestingTAS`)."""
        asked = (self.required, self.preferred, self.unconstrained, self.slice_level)
        return any(each is not None for each in asked)


class HostPort(Struct, frozen=True):
    """A port that a pod occupies on its node."""

    port: int
    protocol: str = "TCP"
    address: str = "0.0.0.0"


class PodVolume(Struct, frozen=True):
    """A volume: its kind (`persistentVolumeClaim`, `csi`, `ephemeral`, …), and the claim, driver or class behind it."""

    name: str
    kind: str
    target: str | None
    path: FieldSteps


class VolumeNodes(Struct, frozen=True):
    """The nodes on which a volume can be mounted, by one of `terms`; `name` is its claim, or its StorageClass."""

    name: str
    terms: tuple[tuple[NodeSelectorRequirement, ...], ...]
    path: FieldSteps


class ObjectReference(Struct, frozen=True):
    """An object of the namespace or the cluster that the pods need by name, and where the template names it."""

    kind: str
    name: str
    path: FieldSteps
    optional: bool = False


class PodSet(Struct, frozen=True, kw_only=True):
    """Pods of one template: their number, their requests, and what decides on which nodes they run.

    One of `affinity_terms` must match. `tolerations` None tolerates every taint. `child_jobs` is the number of Jobs (or
    groups) that the pods belong to. `exclusive_topology` is the label whose nodes each child job has to itself.
    `added_labels` are labels that a controller adds to the pods, with their value or one of EACH_JOB, EACH_CHILD and
    EACH_POD. Kueue may start a job with fewer pods, down to `least`; None needs all. `claims` are the resource claims
    and their templates. `request_paths` has the first field that requests each resource. `requests` are what Kueue
    counts; `defaulted` has what the API server and GKE's webhooks make of those that differ on the pods themselves, and
    `added` the part of the webhooks.
    """

    name: str
    count: int
    requests: Mapping[str, int]
    defaulted: Mapping[str, int] = field(default_factory=dict[str, int])
    added: Mapping[str, int] = field(default_factory=dict[str, int])
    least: int | None = None
    namespace: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    affinity_terms: tuple[tuple[NodeSelectorRequirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] | None = None
    child_jobs: int = 1
    exclusive_topology: str | None = None
    topology: TopologyRequest | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    added_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    host_network: bool = False
    volumes: tuple[PodVolume, ...] = ()
    volume_nodes: tuple[VolumeNodes, ...] = ()
    references: tuple[ObjectReference, ...] = ()
    claims: tuple[ObjectReference, ...] = ()
    images: tuple[str, ...] = ()
    scheduler_name: str | None = None
    runtime_class: str | None = None
    priority_class: str | None = None
    service_account: str | None = None
    node_name: str | None = None
    has_gates: bool = False
    restart_policy: str | None = None
    request_paths: Mapping[str, FieldSteps] = field(default_factory=dict[str, "FieldSteps"])

    @property
    def node_requests(self) -> dict[str, int]:
        """What one pod takes of its node, as the scheduler counts it; the pod itself is one of the node's pods."""
        return {**self.requests, **self.defaulted, PODS: 1}

    @property
    def asks_for_topology(self) -> bool:
        """Whether the pods ask Kueue for a topology."""
        return self.topology is not None and self.topology.is_explicit

    def with_count(self, count: int) -> PodSet:
        """Return another number of these pods, in child jobs of the same size."""
        return replace(self, count=count, child_jobs=max(1, self.child_jobs * count // max(1, self.count)))

    def request_path(self, resource: str) -> FieldSteps:
        """Return the field of the template that requests a resource; the pod's spec if none does."""
        return self.request_paths.get(resource, ("spec",))
