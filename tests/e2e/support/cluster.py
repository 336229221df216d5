"""The cluster of the suite, by `kubectl`: what is in it, and waiting until it is as it should be."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.support.project import Failed, output

SECONDS = 90.0
"""How long anything may take that a controller does by itself."""
JOB_LABELS = ("batch.kubernetes.io/job-name", "jobset.sigs.k8s.io/jobset-name")
_DAY = "2026-01-01T00:00:00Z"
REQUESTS = "provisioningrequests.autoscaling.x-k8s.io"
_PASSING = (
    "events",
    "leases",
    "endpointslices",
    "endpoints",
    "pods",
    "controllerrevisions",
    "nodes",
)
"""Kinds of objects that come and go by themselves, or are no part of a stack."""
_ITEM = '{range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\\n"}{end}'


class Cluster:
    """Whatever the current context of $KUBECONFIG names."""

    def __init__(self, context: str) -> None:
        self.context = context

    def kubectl(self, *words: str, given: str | None = None) -> str:
        """`kubectl WORDS`, with `given` on its standard input; what it printed. Raises `Failed`."""
        return output(["kubectl", "--context", self.context, *words], Path.cwd(), given=given)

    def get(self, *words: str) -> Any:
        """Objects as JSON: `get("clusterqueues")`, `get("pods", "-n", "vision")`."""
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def objects(self) -> frozenset[str]:
        """Return every object of every kind that stays, as `kind/namespace/name`."""
        kinds = self.kubectl("api-resources", "--verbs=list,delete", "-o", "name").split()
        lasting = sorted(kind for kind in kinds if kind.partition(".")[0] not in _PASSING)
        return frozenset(self.kubectl("get", ",".join(lasting), "-A", "-o", f"jsonpath={_ITEM}").split())

    def queues(self) -> list[str]:
        """Return the cluster queues that are there. Raises `Failed` where no Kueue answers."""
        return [each["metadata"]["name"] for each in self.get("clusterqueues")["items"]]

    def kinds(self) -> frozenset[str]:
        """Return the kinds that there are: `ClusterQueue`."""
        return frozenset(line.split()[-1] for line in self.kubectl("api-resources", "--no-headers").splitlines())

    def pods_of(self, job: str) -> list[Any]:
        """Return the pods of a Job or a JobSet."""
        return [pod for label in JOB_LABELS for pod in self.get("pods", "-A", "-l", f"{label}={job}")["items"]]

    def end_well(self, pod: Any) -> None:
        """Let a pod end, as its kubelet would say."""
        self._patch_status("pod", pod, {"phase": "Succeeded"})

    def answer(self, request: Any, *conditions: str) -> None:
        """Write conditions into a ProvisioningRequest, as the cluster autoscaler does."""
        made = [
            {"type": each, "status": "True", "reason": each, "message": "", "lastTransitionTime": _DAY}
            for each in conditions
        ]
        self._patch_status(REQUESTS, request, {"conditions": made})

    def _patch_status(self, kind: str, item: Any, status: Any) -> None:
        where = ("-n", item["metadata"]["namespace"], item["metadata"]["name"], "--subresource=status", "--type=merge")
        self.kubectl("patch", kind, *where, "-p", json.dumps({"status": status}))

    def serves(self, kind: str) -> bool:
        """Return whether there is such a kind: `clusterqueues.kueue.x-k8s.io`."""
        return kind in self.kubectl("api-resources", "-o", "name").split()


def until(what: str, seen: Callable[[], Any], wanted: Callable[[Any], bool], seconds: float = SECONDS) -> Any:
    """Look until what is seen is as wanted, and return it. Raises `Failed`, which says what was seen last."""
    end = time.monotonic() + seconds
    while not wanted(now := seen()):
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds:.0f} s; last seen: {now}")
        time.sleep(0.5)
    return now
