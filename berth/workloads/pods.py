"""The pods of a workload: image, accelerators, selectors, network and identity, as the queue's machines require.

The node labels and tolerations of a flavor are omitted, because Kueue adds them on admission; a workload can so get
any flavor of its queue.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.names import MAX_LABEL, shorten
from berth.plan.nodes import Toleration
from berth.plan.workloads import PodPlan
from berth.workloads.options import TRIAL_COMMAND, TRIAL_IMAGE, WorkloadOptions
from berth.workloads.placement import placement_annotations
from berth.workloads.pod_resources import cores_memory, pod_cpu_and_memory
from berth.workloads.pod_templates import accelerators_in, cpu_in, without_accelerators
from berth.workloads.target import WorkloadTarget

TPU_PORTS = (8471, 8080)
"""Ports over which the hosts of a slice, and the slices of a multislice, communicate."""


class PodBuilder(Struct, frozen=True):
    """Builds the pods of one workload of a kind."""

    target: WorkloadTarget
    options: WorkloadOptions
    kind: str

    def pod(self, restart_policy: str | None = None) -> PodPlan:
        """Build a pod with accelerators."""
        shape, options = self.target.shape, self.options
        resources = self._cores() if shape.is_cpu else self._accelerators()
        selector, tolerations = self._node_constraints()
        identity = self.target.team.identity
        # A template and a trainjob's runtime already have an image.
        is_given = bool(options.image or options.template is not None or self.kind == "trainjob")
        return PodPlan(
            image=options.image or ("" if is_given else TRIAL_IMAGE),
            command=options.command or (() if is_given else TRIAL_COMMAND),
            resources=resources,
            ports=options.ports or (TPU_PORTS if shape.is_tpu and self.kind == "jobset" else ()),
            node_selector=selector,
            tolerations=tolerations,
            host_network=self._needs_host_network(),
            restart_policy=restart_policy,
            service_account=options.service_account or (identity.service_account if identity else None),
            annotations=placement_annotations(self.target, self._group_size())
            if self.kind != "provisioning-request"
            else {},
            template=options.template,
        )

    def _accelerators(self) -> dict[str, int]:
        """Resources of a pod with chips or GPUs, and with their share of cpu and memory."""
        shape, options = self.target.shape, self.options
        templated = accelerators_in(options.template, shape.flavor.resource)
        number = shape.per_pod if shape.is_tpu else options.gpus or min(templated or shape.per_pod, shape.per_pod)
        return {**pod_cpu_and_memory(self.target, options, number), shape.flavor.resource: number}

    def _cores(self) -> dict[str, int]:
        """Resources of a pod without accelerators: the cores of a whole node unless written, and their memory."""
        shape, options = self.target.shape, self.options
        milli = options.cpu or cpu_in(options.template) or shape.per_node * shape.flavor.scale
        return {catalog.CPU: milli, **cores_memory(self.target, options, milli)}

    def controller(self, pod: PodPlan, resources: Mapping[str, int], command: tuple[str, ...] = ()) -> PodPlan:
        """Build a Ray head or an MPI launcher: a worker's image and identity, without an accelerator."""
        return replace(
            pod,
            command=command,
            resources=resources,
            annotations={},
            template=without_accelerators(pod.template),
        )

    def _group_size(self) -> int:
        """Count the pods that are placed together: those of a slice, or all."""
        return self.target.shape.hosts if self.target.shape.is_tpu else self.pod_count()

    def _node_constraints(self) -> tuple[dict[str, str], tuple[Toleration, ...]]:
        """Selectors and tolerations of the pods, without those that Kueue adds."""
        flavor = self.target.shape.flavor
        if self.kind == "provisioning-request":
            return dict(flavor.node_labels), flavor.tolerations
        selector = self._distinguishing_labels()
        if group := self._placement_group():
            selector[catalog.labels().placement_group] = group
        return selector, ()

    def _placement_group(self) -> str | None:
        """Name the placement group of the pods' nodes: the option, or one of the job's own on compact nodes of GKE."""
        job = self.options.name or self.target.local_queue.name
        own = shorten(f"{self.target.local_queue.namespace}-{job}", MAX_LABEL)
        return self.options.placement_group or (own if self.target.shape.pool.grouped else None)

    def _distinguishing_labels(self) -> dict[str, str]:
        """Labels that distinguish the chosen flavors from the queue's other flavors."""
        labels = self.target.shape.flavor.node_labels
        shared_labels = {
            k: v for k, v in labels.items() if all((k, v) in s.flavor.node_labels.items() for s in self.target.shapes)
        }
        other_labels = [each.flavor.node_labels for each in self.target.other_shapes]
        return {k: v for k, v in shared_labels.items() if any(other.get(k, v) != v for other in other_labels)}

    def _needs_host_network(self) -> bool:
        """Whether pods need the host network: slices communicate over it unless pods have another network.

        Autopilot refuses pods on the host network, and does not need it.
        """
        shape = self.target.shape
        is_multislice = shape.is_tpu and self.kind == "jobset" and self.slice_count() > 1
        return is_multislice and not shape.has_pod_network and self.target.plan.cluster.mode != "autopilot"

    def slice_count(self) -> int:
        """Count the TPU slices; the default is 1."""
        return self.options.slices or 1

    def pod_count(self) -> int:
        """Count the pods of a workload without multi-host slices."""
        return self.slice_count() if self.target.shape.is_tpu else self.options.pods or 1
