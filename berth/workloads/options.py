"""The options of `berth workload`, whose defaults follow from the queue and its pools, and the kinds that it writes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from berth.diagnostics import Problem, Severity
from berth.manifests.workloads.pods import Manifest
from berth.yaml_loader import load_table


class WorkloadKind(Struct, frozen=True, forbid_unknown_fields=True):
    """One kind; `kinds.yaml` explains the fields."""

    machines: tuple[str, ...]
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    operator: str = ""


@cache
def workload_kinds() -> Mapping[str, WorkloadKind]:
    """Read `kinds.yaml`: kind → row."""
    return msgspec.convert(load_table(Path(__file__).with_name("kinds.yaml")), dict[str, WorkloadKind])


KINDS = tuple(workload_kinds())
"""The kinds that `berth workload` writes, in the order of `kinds.yaml`."""
RESTART_STRATEGIES = ("Recreate", "BlockingRecreate")
"""JobSet's strategies that need no feature gate."""

TRIAL_IMAGE = "busybox:1.37"
TRIAL_COMMAND = ("sleep", "60")
"""Default command without an image and a command; enough to see a job pass through its queue."""


class WorkloadOptions(Struct, frozen=True, kw_only=True):
    """The options of a workload; None for an option that is not set. The default kind is jobset for TPUs, job for GPUs.

    `slices` is the number of TPU slices, `topology` that of each; `pods` and `gpus` (of each pod) are for GPUs. `cpu`
    (milli) and `memory` (bytes) are those of one pod. `max_run_seconds` is the run duration on queued machines.
    `flavor` selects one of several shapes of machines. `placement_group` is the compact placement group of the nodes
    that GKE creates. `template` is the team's own pod template, a mapping with `metadata` and `spec`; `runtime` is a
    trainjob's ClusterTrainingRuntime.
    """

    kind: str | None = None
    name: str | None = None
    image: str | None = None
    command: tuple[str, ...] = ()
    slices: int | None = None
    topology: str | None = None
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


class WorkloadResult(Struct, frozen=True):
    """The objects and comments on them; no objects if there is a fault.

    `verdict` is lint's: runs, never or unknown; None where nobody judges the objects.
    """

    objects: tuple[Manifest, ...]
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]
    verdict: str | None = None

    @property
    def faults(self) -> tuple[Problem, ...]:
        """The problems that prevent a manifest."""
        return tuple(each for each in self.problems if each.severity == Severity.FAULT)
