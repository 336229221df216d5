"""GPUs attached to N1 machines, which a pool requests with machine type, GPU type and count."""

from __future__ import annotations

from berth.catalog.rows import Machine
from berth.catalog.table import attachable_gpus, extended_resource, machines, noun


class GpuAttachmentError(ValueError):
    """Raised if a machine does not support the GPU; the message lists what is supported."""


def attach_gpus(machine_type: str, accelerator: str, count: int) -> Machine:
    """Return an N1 machine with `count` GPUs; `accelerator` is a node-label value. Raises GpuAttachmentError.

    The vCPU limits are from GKE's autoscaler. Such nodes have no compact placement.
    """
    table = attachable_gpus()
    if machine_type not in table.hosts:
        raise GpuAttachmentError(
            f"'{machine_type}' does not support attached GPUs; write one of {', '.join(table.hosts)}"
        )
    vcpu, memory_gb = table.hosts[machine_type]
    if vcpu > (limit := _max_vcpus(accelerator, count)):
        allowed_machines = [name for name, (size, _) in table.hosts.items() if size <= limit]
        raise GpuAttachmentError(
            f"'{machine_type}' has {vcpu} vCPUs, more than the {limit} that {count} {accelerator} can have; "
            f"write one of {', '.join(allowed_machines)}"
        )
    return Machine(
        name=machine_type,
        kind="gpu",
        accelerator=accelerator,
        resource=extended_resource("gpu"),
        noun=noun(accelerator),
        accelerators=count,
        vcpu=vcpu,
        memory_gb=memory_gb,
        ssd_options=table.ssd_options,
        boot_disk_types=table.boot_disk_types,
        provisioning=table.provisioning,
    )


def machine_of_size(machine_type: str, accelerator: str, count: int, vcpu: int, memory_gb: float) -> Machine:
    """Return a machine that the table does not have, with GPUs or TPUs, as a stack file states it.

    Hosts of a TPU slice are placed as those of most generations are, which GKE may refuse.
    """
    kind = "tpu" if accelerator.startswith("tpu") else "gpu"
    known = next((each.noun for each in machines().values() if each.accelerator == accelerator), accelerator)
    return Machine(
        name=machine_type,
        kind=kind,
        accelerator=accelerator,
        resource=extended_resource(kind),
        noun=f"{accelerator} chips" if kind == "tpu" and known == accelerator else known,
        accelerators=count,
        vcpu=vcpu,
        memory_gb=memory_gb,
        multi_host_placement="compact_tpu_topology" if kind == "tpu" else None,
        known="nothing",
    )


def _max_vcpus(accelerator: str, count: int) -> int:
    gpus = attachable_gpus().gpus
    if accelerator not in gpus:
        included = next((machine.name for machine in machines().values() if machine.accelerator == accelerator), "")
        hint = f", or a machineType that includes it, such as {included}, without accelerator" if included else ""
        raise GpuAttachmentError(
            f"'{accelerator}' cannot be attached to a machine; write one of {', '.join(gpus)}{hint}"
        )
    vcpus_by_count = gpus[accelerator]
    if count not in vcpus_by_count:
        allowed = ", ".join(map(str, vcpus_by_count))
        raise GpuAttachmentError(f"{count} {accelerator} cannot be attached to one machine; write one of {allowed}")
    return vcpus_by_count[count]
