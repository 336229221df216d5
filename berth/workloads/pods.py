"""The pods of a workload: image, accelerators, selectors, network and identity, as the queue's machines require.

The node labels and tolerations of a flavor are omitted, because Kueue adds them on admission; a workload can so get
any flavor of its queue.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.jobs.gke_webhooks import FUSE_PREFIX
from berth.names import MAX_LABEL, shorten
from berth.plan.dynamic_slices import FormedSlice
from berth.plan.gke import CHECKPOINT_DRIVER
from berth.plan.kueue import ClaimTemplatePlan
from berth.plan.node_settings import Toleration
from berth.plan.workloads import PodPlan
from berth.workloads.bucket_mounts import bucket_mounts, mount_annotations, sidecar_of
from berth.workloads.options import TRIAL_COMMAND, TRIAL_IMAGE, WorkloadOptions
from berth.workloads.placement import network_annotations, placement_annotations
from berth.workloads.pod_resources import cores_memory, pod_cpu_and_memory
from berth.workloads.pod_templates import (
    accelerators_in,
    cpu_in,
    inline_volumes,
    on_any_node,
    without_accelerators,
)
from berth.workloads.target import WorkloadTarget

_WITHOUT_CLAIMS = ("provisioning-request", "trainjob")
"""Kinds whose pods claim no devices: a request is for machines, and the pods of a TrainJob are its runtime's."""
_WITHOUT_DOMAIN = (*_WITHOUT_CLAIMS, "deployment")
"""Kinds whose pods need no channel to each other: those of a Deployment are alone."""
LAUNCHER_RESOURCES = {"cpu": 500, "memory": 512 * 2**20}
"""An MPI launcher, which only starts processes on the workers (cpu in milli, memory in bytes)."""
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
        selector, tolerations = self._node_constraints()
        identity = self.target.team.identity
        # Slices communicate over the host network, except on Autopilot, which refuses pods on it and does not need it.
        is_multislice = shape.is_tpu and self.kind == "jobset" and self.slice_count() > 1
        host_network = is_multislice and not shape.has_pod_network and self.target.plan.cluster.mode != "autopilot"
        annotations: Mapping[str, str] = {}
        resources = self._resources()
        accelerators = resources[shape.flavor.resource]
        domain_nodes = self._domain_nodes(accelerators)
        if self.kind != "provisioning-request":
            group_size = self.hosts if shape.is_tpu else self.pod_count()
            annotations = placement_annotations(
                self.target, group_size, in_domain=domain_nodes is not None, formed=self.formed
            )
        # A template and a trainjob's runtime already have an image.
        is_given = bool(options.image or options.template is not None or self.kind == "trainjob")
        is_alone = self.pod_count() < 2 or self.kind == "provisioning-request"
        network = {} if is_alone else network_annotations(self.target)
        rdma = shape.rdma if network else None
        mounts = (
            ()
            if self.kind in _WITHOUT_CLAIMS
            else bucket_mounts(self.target.team, options.template, host_network=host_network)
        )
        return PodPlan(
            image=options.image or ("" if is_given else TRIAL_IMAGE),
            command=options.command or (() if is_given else TRIAL_COMMAND),
            resources=resources,
            ports=options.ports or (TPU_PORTS if shape.is_tpu and self.kind == "jobset" else ()),
            node_selector=selector,
            absent_labels=self._accelerator_labels() if self._plain_labels() else (),
            tolerations=tolerations,
            host_network=host_network,
            restart_policy=restart_policy,
            service_account=options.service_account or (identity.service_account if identity else None),
            runtime_class=shape.flavor.node_labels.get(catalog.labels().sandbox),
            annotations={
                **annotations,
                **network,
                **(mount_annotations(self.target.team, options.template) if mounts else {}),
            },
            capabilities=rdma.capabilities if rdma is not None else (),
            claims=() if self.kind in _WITHOUT_CLAIMS else self._claims(accelerators),
            domain_nodes=domain_nodes,
            checkpoints=self._saves_checkpoints(),
            mounts=mounts,
            template=options.template,
        )

    def _saves_checkpoints(self) -> bool:
        """Whether the pods get the volume of multi-tier checkpointing, which is for pods of JobSets alone.

        All nodes that the workload may get must have it, and a team's own template has it by itself.
        """
        return (
            self.kind == "jobset"
            and all(shape.saves_checkpoints for shape in self.target.shapes)
            and all(each.get("driver") != CHECKPOINT_DRIVER for each in inline_volumes(self.options.template))
        )

    def _claims(self, accelerators: int) -> tuple[str, ...]:
        """Name the templates of the claims for a pod's share of the network devices of its node."""
        devices = self.target.shape.flavor.devices
        wanted = devices.claimed(accelerators) if devices is not None else 0
        if devices is None or not wanted:
            return ()
        size = next(each for each in devices.claim_sizes if wanted % each == 0)
        template = ClaimTemplatePlan(device_class=devices.device_class, count=size)
        return (template.name,) * (wanted // size)

    def _domain_nodes(self, accelerators: int) -> int | None:
        """Return the nodes that the workload has of an NVLink domain; None if its pods need no channel to others."""
        channels, pods = self.target.shape.flavor.channels, self.pod_count()
        if channels is None or pods < 2 or self.kind in _WITHOUT_DOMAIN or not channels.claimed(accelerators):
            return None
        return pods

    def _resources(self) -> dict[str, int]:
        """Return chips or GPUs with their share of cpu and memory, or cores with their memory.

        The default is the cores of a whole node, less those that are left for a launcher and sidecars.
        """
        shape, options = self.target.shape, self.options
        if shape.is_cpu:
            is_mpi = self.kind == "mpijob"
            beside = sidecar_of(self.target.team, options.template).get(catalog.CPU, 0) * (1 + is_mpi)
            beside += LAUNCHER_RESOURCES[catalog.CPU] if is_mpi else 0
            cores = max(1, shape.per_node - -(-beside // 1000))
            milli = options.cpu or cpu_in(options.template) or cores * shape.flavor.scale
            return {catalog.CPU: milli, **cores_memory(self.target, options, milli)}
        templated = accelerators_in(options.template, shape.flavor.resource)
        number = shape.per_pod if shape.is_tpu else options.gpus or min(templated or shape.per_pod, shape.per_pod)
        return {**pod_cpu_and_memory(self.target, options, number), shape.flavor.resource: number}

    def controller(self, pod: PodPlan, resources: Mapping[str, int], command: tuple[str, ...] = ()) -> PodPlan:
        """Build a Ray head or an MPI launcher: a worker's image and identity, without an accelerator.

        In a queue that also has machines without accelerators it selects those, as a policy asks.
        """
        template = without_accelerators(pod.template)
        pod = replace(
            pod,
            command=command,
            resources=resources,
            annotations={key: each for key, each in pod.annotations.items() if key.startswith(FUSE_PREFIX)},
            capabilities=(),
            claims=(),
            domain_nodes=None,
            template=template,
        )
        if self.target.shape.is_cpu or not (plain := self._queue_plain_labels()):
            return pod
        shapes = [each for each in self.target.other_shapes if plain & each.flavor.node_labels.items()]
        labels: Mapping[str, str] = shapes[0].flavor.node_labels if shapes else {}
        return replace(
            pod,
            node_selector=dict(sorted(plain & labels.items() or plain)[:1]),
            absent_labels=self._accelerator_labels(),
            runtime_class=labels.get(catalog.labels().sandbox),
            template=None if template is None else on_any_node(template),
        )

    def _node_constraints(self) -> tuple[dict[str, str], tuple[Toleration, ...]]:
        """Selectors and tolerations of the pods, without those that Kueue adds."""
        flavor = self.target.shape.flavor
        if self.kind == "provisioning-request":
            return dict(flavor.node_labels), flavor.tolerations
        selector = self._distinguishing_labels()
        if flavor.slicing is not None and flavor.slicing.controller is not None:
            # The webhooks of the slice controller read only pods that select the accelerator.
            key = catalog.labels().tpu_accelerator
            selector |= {key: flavor.node_labels[key]}
        plain = self._plain_labels()
        if not selector.items() & plain:
            selector |= dict(sorted(plain)[:1])
        group = self.options.placement_group
        if not group and self.target.shape.pool.grouped:
            job = self.options.name or self.target.local_queue.name
            group = shorten(f"{self.target.local_queue.namespace}-{job}", MAX_LABEL)
        if group:
            selector[catalog.labels().placement_group] = group
        return selector, ()

    def _distinguishing_labels(self) -> dict[str, str]:
        """Labels that distinguish the chosen flavors from the queue's other flavors."""
        labels = self.target.shape.flavor.node_labels
        shared_labels = {
            k: v for k, v in labels.items() if all((k, v) in s.flavor.node_labels.items() for s in self.target.shapes)
        }
        other_labels = [each.flavor.node_labels for each in self.target.other_shapes]
        return {k: v for k, v in shared_labels.items() if any(other.get(k, v) != v for other in other_labels)}

    def _plain_labels(self) -> set[tuple[str, str]]:
        """Labels of the flavors that keep pods off accelerator machines of the queue; a policy asks one of them."""
        if not self.target.shape.is_cpu:
            return set()
        return self._queue_plain_labels().intersection(
            *(each.flavor.node_labels.items() for each in self.target.shapes)
        )

    def _queue_plain_labels(self) -> set[tuple[str, str]]:
        """Labels that only machines without accelerators have, in a queue that has both."""
        door = self.target.local_queue
        asked = [each.plain_machines for each in self.target.team.namespaces if each.name == door.namespace]
        return {label for each in asked for label in each.get(door.name, ())}

    def _accelerator_labels(self) -> tuple[str, ...]:
        """Labels of the queue's accelerators. Kueue compares a pod with a flavor by the labels of that flavor alone.

        So a label that only machines without accelerators have does not keep the pod from another flavor (0.19.2,
        pkg/scheduler/flavorassigner, `flavorSelector`).
        """
        labels, shapes = catalog.labels(), (*self.target.shapes, *self.target.other_shapes)
        keys = {key for each in shapes for key in each.flavor.node_labels}
        return tuple(sorted(keys & {labels.gpu_accelerator, labels.tpu_accelerator}))

    @property
    def has_plain_machines(self) -> bool:
        """Whether the queue has machines without accelerators beside others, which a policy asks pods to select."""
        return bool(self._queue_plain_labels())

    @property
    def formed(self) -> FormedSlice | None:
        """The slice that the job forms: of the option's topology, or a whole block; None where slices are fixed."""
        slicing = self.target.shape.flavor.slicing
        return None if slicing is None else slicing.formed(self.options.topology or slicing.block)

    @property
    def hosts(self) -> int:
        """The hosts of one slice."""
        return self.target.shape.hosts if self.formed is None else self.formed.nodes

    def slice_count(self) -> int:
        """Count the TPU slices; the default is 1."""
        return self.options.slices or 1

    def pod_count(self) -> int:
        """Count the pods of a workload without multi-host slices of a fixed topology."""
        return self.slice_count() * self.hosts if self.target.shape.is_tpu else self.options.pods or 1
