"""GPUs attached to n1 machines: no machine type says them, so a pool names the machine, the GPU and the count."""

from __future__ import annotations

from berth.catalog.rows import Machine
from berth.catalog.table import attachable, noun, resource


class NotAttachable(ValueError):
    """A GPU that does not go with this machine; the message says what does."""


def attached(machine_type: str, accelerator: str, count: int) -> Machine:
    """An n1 machine with `count` GPUs; `accelerator` is a node-label value. NotAttachable if that does not exist.

    The vCPU limits are those of GKE's autoscaler; such nodes have no compact placement and take any boot disk.
    """
    table = attachable()
    if machine_type not in table.hosts:
        raise NotAttachable(f"'{machine_type}' takes no attached GPU; one of {', '.join(table.hosts)}")
    vcpu, memory_gb = table.hosts[machine_type]
    if vcpu > (limit := _most_vcpus(accelerator, count)):
        fitting = [name for name, (size, _) in table.hosts.items() if size <= limit]
        raise NotAttachable(
            f"'{machine_type}' has {vcpu} vCPUs, but {count} {accelerator} go with at most {limit}; "
            f"one of {', '.join(fitting)}"
        )
    return Machine(
        name=machine_type,
        kind="gpu",
        accelerator=accelerator,
        resource=resource("gpu"),
        noun=noun(accelerator),
        accelerators=count,
        vcpu=vcpu,
        memory_gb=memory_gb,
        ssd_options=table.ssd_options,
        provisioning=table.provisioning,
    )


def _most_vcpus(accelerator: str, count: int) -> int:
    gpus = attachable().gpus
    if accelerator not in gpus:
        raise NotAttachable(f"'{accelerator}' cannot be attached to a machine; one of {', '.join(gpus)}")
    counts = gpus[accelerator]
    if count not in counts:
        allowed = ", ".join(map(str, counts))
        raise NotAttachable(f"{count} {accelerator} cannot be attached to one machine; one of {allowed}")
    return counts[count]
