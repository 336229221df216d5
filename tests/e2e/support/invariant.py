"""The invariant of tenancy, watched while an attack runs: what runs is what is counted.

For every namespace and flavor, accelerators of pods that exist on nodes are at most what Kueue counts for the
namespace, after a bounded time: a pod that is being deleted is out of the count for the fleet's longest grace period.
Pods are read from the API server, the count from the status of local queues, which follows a moment later: of two
samples the larger count is compared.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.e2e.support.api import Api

Manifest = dict[str, Any]
Use = Counter[tuple[str, str]]
"""(namespace, flavor) → accelerators."""
_ENDED = ("Succeeded", "Failed")
_STEP = 0.5
_QUIET = 5.0
"""Seconds for which an excess must be gone: one that returns sooner is the same."""


@dataclass
class Excess:
    """What one namespace ran above its count, of one flavor: seconds, accelerators, accelerator-seconds.

    `most` and `total` have pods within their grace period, `longest` has not.
    """

    longest: float = 0.0
    most: int = 0
    total: float = 0.0
    since: float | None = None
    last: float = 0.0


@dataclass
class Watch:
    """Samples pods and counts of a cluster until it is stopped; `flavors` maps a node's name to its flavor."""

    api: Api
    flavors: Mapping[str, str]
    accelerators: frozenset[str]
    grace: float
    excess: dict[tuple[str, str], Excess] = field(default_factory=dict[tuple[str, str], Excess])
    samples: int = 0
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        assert self._thread is not None
        self._thread.join()

    @property
    def longest(self) -> float:
        """The longest time in seconds for which any namespace ran more than is counted for it."""
        return max((each.longest for each in self.excess.values()), default=0.0)

    @property
    def most(self) -> int:
        """The most accelerators that any namespace ran above its count."""
        return max((each.most for each in self.excess.values()), default=0)

    @property
    def total(self) -> float:
        """Accelerator-seconds above the count, of all namespaces."""
        return sum(each.total for each in self.excess.values())

    def _run(self) -> None:
        before = time.monotonic()
        last: tuple[Use, Use] | None = None
        last_count: Use = Counter()
        while not self._stopped.wait(_STEP):
            pods = self.api.list("Pod")
            leaving = [pod for pod in pods if is_leaving(pod, self.grace, datetime.now(UTC))]
            running = used(pods, self.flavors, self.accelerators)
            late = running - used(leaving, self.flavors, self.accelerators)
            count = counted(self.api.list("LocalQueue"), self.accelerators)
            now = time.monotonic()
            if last is not None:
                self._note(*last, last_count | count, now, now - before)
            last, last_count, before = (running, late), count, now

    def _note(self, running: Use, late: Use, count: Use, now: float, step: float) -> None:
        self.samples += 1
        for key in {*running, *self.excess}:
            each = self.excess.setdefault(key, Excess())
            if (above := running[key] - count[key]) > 0:
                each.most, each.total = max(each.most, above), each.total + above * step
            if late[key] > count[key]:
                if each.since is None or now - each.last > _QUIET:
                    each.since = now - step
                each.longest, each.last = max(each.longest, now - each.since), now


def is_leaving(pod: Manifest, grace: float, now: datetime) -> bool:
    """Return whether a pod is being deleted, for at most so many seconds."""
    metadata = pod["metadata"]
    if "deletionTimestamp" not in metadata:
        return False
    end = datetime.fromisoformat(metadata["deletionTimestamp"])
    left = (end - now).total_seconds()
    return metadata.get("deletionGracePeriodSeconds", 0) - left <= grace


def used(pods: Iterable[Manifest], flavors: Mapping[str, str], accelerators: frozenset[str]) -> Use:
    """Return the accelerators of pods that exist on nodes, also of those that are being deleted."""
    use: Use = Counter()
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node in flavors and pod.get("status", {}).get("phase") not in _ENDED:
            use[pod["metadata"]["namespace"], flavors[node]] += effective(pod["spec"], accelerators)
    return use


def effective(spec: Manifest, accelerators: frozenset[str]) -> int:
    """Return the accelerators of a pod: of its containers with its sidecars, or of an earlier init container."""
    most = sidecars = 0
    for each in spec.get("initContainers", []):
        (amount,) = requested([each], accelerators)
        if each.get("restartPolicy") == "Always":
            sidecars += amount
        else:
            most = max(most, amount + sidecars)
    return max(most, sidecars + sum(requested(spec.get("containers", []), accelerators)))


def requested(containers: Iterable[Manifest], accelerators: frozenset[str]) -> list[int]:
    """Return the accelerators of each container."""
    limits = [each.get("resources", {}).get("limits", {}) for each in containers]
    return [sum(int(amount) for name, amount in each.items() if name in accelerators) for each in limits]


def counted(queues: Iterable[Manifest], accelerators: frozenset[str]) -> Use:
    """Return the accelerators that Kueue counts for each namespace: reserved or used."""
    use: Use = Counter()
    for queue in queues:
        most: Counter[str] = Counter()
        for field_name in ("flavorsReservation", "flavorsUsage"):
            for flavor in queue.get("status", {}).get(field_name, []):
                amounts = [r["total"] for r in flavor.get("resources", []) if r["name"] in accelerators]
                most[flavor["name"]] = max(most[flavor["name"]], sum(int(amount) for amount in amounts))
        for flavor, amount in most.items():
            use[queue["metadata"]["namespace"], flavor] += amount
    return use
