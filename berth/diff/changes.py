"""All changes between two plans of a stack, as plain data for `berth diff` and the report."""

from __future__ import annotations

from msgspec import Struct, field

from berth.diff.calm.differences import Difference
from berth.diff.entitlements import CountChange, QuotaChanges
from berth.diff.guard.allowances import IdleAllowance
from berth.diff.guard.changes import GuardedChange
from berth.diff.kinds import ResourceChange
from berth.diff.objects import ObjectChange
from berth.diff.pools import PoolChange
from berth.diff.rights.changes import RightChange
from berth.diff.settings import SettingChange
from berth.diff.workers import WorkerChange
from berth.diff.workloads import FilesChange, WorkloadChange
from berth.upgrade.findings import Upgrade
from berth.upgrade.restarts import Restart


class ReferrerChange(Struct, frozen=True):
    """What a change leaves a manager whose `worker` is this stack's cluster, in accelerators named by `noun`.

    `room` is what it may describe, `described` what it does. `is_other_cluster`: the cluster becomes another one.
    """

    stack: str
    worker: str
    noun: str
    room: CountChange
    described: int
    is_other_cluster: bool


class DependentChange(Struct, frozen=True):
    """What a change of a platform takes from a team's own stack of the repository.

    `losses` are what it can no longer be deployed with. `is_other_cluster`: its workloads move to another cluster.
    """

    stack: str
    team: str
    losses: tuple[str, ...]
    is_other_cluster: bool

    @property
    def sentence(self) -> str:
        """Return `stack team-a of team vision can no longer be deployed as it is`."""
        what = ["moves to another cluster"] if self.is_other_cluster else []
        what += ["can no longer be deployed as it is"] if self.losses else []
        return f"stack {self.stack} of team {self.team} {' and '.join(what)}"


class Changes(Struct, frozen=True):
    """The changes between two plans of one stack, in order of importance; empty for equal plans.

    `rights` are permissions and isolation. `pools` are accelerator pools as the stack file names them, `things` all
    other cloud resources and controllers. `workers` are those of a manager. `losses` are guarded changes: lost
    machines, clusters, reservations, guarantees and protection; `idle` are unused allowances. `workloads` and `files`
    belong to a team's own stack. `warnings` are those that only the new stack file has, `newly_accepted` the codes of
    those that `acceptWarnings` makes notes.

    `loud` are the differences that no other part of the headline names and that are of no harmless kind. `settings` are
    the differences of the stack file beside the fleet, and `written` those of the fleet as it is written. `upgrade` is
    what changed versions of controllers and of GKE mean; None if none changes. `referrers` are other stacks of the
    repository that run jobs on this one's cluster, `dependents` those of teams that lose something. `restarts` are
    pools whose nodes a new version of GKE recreates, in their order.
    """

    stack: str
    rights: tuple[RightChange, ...] = ()
    entitlements: QuotaChanges = field(default_factory=QuotaChanges)
    pools: tuple[PoolChange, ...] = ()
    things: tuple[ResourceChange, ...] = ()
    workers: tuple[WorkerChange, ...] = ()
    workloads: tuple[WorkloadChange, ...] = ()
    files: tuple[FilesChange, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    losses: tuple[GuardedChange, ...] = ()
    idle: tuple[IdleAllowance, ...] = ()
    warnings: tuple[str, ...] = ()
    newly_accepted: tuple[str, ...] = ()
    loud: tuple[Difference, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    written: tuple[SettingChange, ...] = ()
    upgrade: Upgrade | None = None
    referrers: tuple[ReferrerChange, ...] = ()
    dependents: tuple[DependentChange, ...] = ()
    restarts: tuple[Restart, ...] = ()

    @property
    def blocked(self) -> tuple[GuardedChange, ...]:
        """The losses that the stack file does not allow."""
        return tuple(loss for loss in self.losses if loss.allowed is None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        rest = (self.rights, self.pools, self.things, self.workers, self.workloads, self.files, self.objects)
        rest = (*rest, self.settings)
        return self.entitlements == QuotaChanges() and not any(rest)
