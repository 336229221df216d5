"""What somebody asks of `berth workload`; everything that is left out follows from the queue and its pools."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

KINDS = (
    "jobset",
    "job",
    "pytorchjob",
    "mpijob",
    "trainjob",
    "rayjob",
    "raycluster",
    "leaderworkerset",
    "deployment",
    "provisioning-request",
)
RESTART_STRATEGIES = ("Recreate", "BlockingRecreate")
"""JobSet's strategies that need no feature gate."""

TRIAL_IMAGE = "busybox:1.37"
TRIAL_COMMAND = ("sleep", "60")
"""What runs where no image and no command are named: enough to see a job pass through its queue."""


class WorkloadOptions(Struct, frozen=True, kw_only=True):
    """A workload as it was asked for; None is what was not said. The kind is then a jobset for TPUs, a job for GPUs.

    `slices` counts TPU slices; `pods` and `gpus` (of each pod) are for GPUs. `cpu` is in milli, `memory` in bytes, each
    of one pod. `max_run_seconds` is how long queued machines are kept. `flavor` narrows a queue that has machines of
    several shapes. `placement_group` puts the pods onto nodes near each other that GKE makes for them. `template` is
    the team's own pod template, a mapping with `metadata` and `spec`; `runtime` is a trainjob's ClusterTrainingRuntime.
    """

    kind: str | None = None
    name: str | None = None
    image: str | None = None
    command: tuple[str, ...] = ()
    slices: int | None = None
    pods: int | None = None
    gpus: int | None = None
    cpu: int | None = None
    memory: int | None = None
    priority: str | None = None
    flavor: str | None = None
    max_run_seconds: int | None = None
    max_restarts: int = 4
    restart_strategy: str | None = None
    backoff_limit: int | None = None
    ports: tuple[int, ...] = ()
    service_account: str | None = None
    placement_group: str | None = None
    template: Mapping[str, object] | None = None
    runtime: str | None = None
