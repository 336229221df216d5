"""The workloads, queues and nodes in the output of kubectl, by name and as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from msgspec import Struct

from berth.jobs.files import ManifestDocument
from berth.jobs.quantities import format_quantity
from berth.jobs.values import get_nested, read_time
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.fleet import FleetPlan
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.live import ClusterState
from berth.simulator.scheduler.model import FlavorResource

LiveObject = Mapping[str, Any]


class Asked(Struct, frozen=True):
    """A job that a person asks about: its name or the start of one, with namespace and kind where they are known."""

    name: str
    namespace: str | None = None
    kind: str | None = None
    is_prefix: bool = False

    def __str__(self) -> str:
        """Return `Job team/name`, without what is not known."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} '{name}'" if self.kind else f"'{name}'"

    def matches(self, workload: LiveWorkload) -> bool:
        """Return whether a workload is the job's, or has the name itself."""
        if self.namespace not in (None, workload.namespace):
            return False
        if self.kind is None and self.name == workload.name:
            return True
        return any(
            self.kind in (None, kind) and (name.startswith(self.name) if self.is_prefix else name == self.name)
            for kind, name in workload.owners
        )


class LiveWorkload(Struct, frozen=True):
    """A Workload of Kueue as the API server has it."""

    value: LiveObject

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(get_nested(self.value, "metadata", "namespace") or "")

    @property
    def name(self) -> str:
        """Its own name, which Kueue makes from that of the job."""
        return str(get_nested(self.value, "metadata", "name") or "")

    @property
    def key(self) -> str:
        """Its name in a simulation, `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def owners(self) -> list[tuple[str, str]]:
        """Kind and name of its job."""
        listed = as_list(get_nested(self.value, "metadata", "ownerReferences"))
        return [(str(get_nested(each, "kind")), str(get_nested(each, "name"))) for each in listed]

    @property
    def job(self) -> str:
        """Kind and name of its job, `Job/train`; its own without an owner."""
        return next((f"{kind}/{name}" for kind, name in self.owners), f"Workload/{self.name}")

    def condition(self, kind: str) -> tuple[str, str, str, datetime | None] | None:
        """Return status, reason, message and time of a condition; None if it is not set."""
        for each in as_list(get_nested(self.value, "status", "conditions")):
            if get_nested(each, "type") == kind:
                texts = (str(get_nested(each, field) or "") for field in ("status", "reason", "message"))
                status, reason, message = texts
                return status, reason, message, read_time(get_nested(each, "lastTransitionTime"))
        return None

    def is_true(self, kind: str) -> bool:
        """Return whether a condition is set and true."""
        found = self.condition(kind)
        return found is not None and found[0] == "True"

    @property
    def checks(self) -> list[LiveObject]:
        """The states of its admission checks."""
        return [as_mapping(each) for each in as_list(get_nested(self.value, "status", "admissionChecks"))]

    @property
    def run_seconds(self) -> int | None:
        """The longest that it may still run from its admission; None without a limit."""
        longest = get_nested(self.value, "spec", "maximumExecutionTimeSeconds")
        past = get_nested(self.value, "status", "accumulatedPastExecutionTimeSeconds")
        return longest - (past if isinstance(past, int) else 0) if isinstance(longest, int) else None


class SeenCluster(Struct, frozen=True):
    """A plan, and a cluster as kubectl prints it: the documents, and what the simulation takes from them."""

    plan: FleetPlan
    fleet: SimulatedFleet
    documents: Sequence[ManifestDocument]
    state: ClusterState

    @property
    def workloads(self) -> list[LiveWorkload]:
        """Every Workload."""
        return [LiveWorkload(each) for each in live_objects(self.documents, "Workload")]

    def amount(self, stock: FlavorResource, number: int) -> str:
        """Return `8 v5e chips` or `4 cpu`."""
        noun = self.fleet.accelerator_nouns.get(stock, stock[1])
        return f"{format_quantity(stock[1], number)} {noun}"


def later(time: datetime, seconds: int) -> datetime | None:
    """Return a time some seconds later; None beyond the years that can be written."""
    try:
        return time + timedelta(seconds=seconds)
    except OverflowError:
        return None


def live_objects(documents: Iterable[ManifestDocument], kind: str) -> Iterator[LiveObject]:
    """Yield the objects of a kind."""
    for document in documents:
        for item in as_list(get_nested(document.value, "items")) or [document.value]:
            if get_nested(item, "kind") == kind:
                yield cast("LiveObject", item)
