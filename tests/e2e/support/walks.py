"""What the walks need on a cluster without a cloud: the objects of an example, its nodes, and who makes them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import yaml

from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.project import BERTH, ROOT, Failed, output

REQUESTS = "provisioningrequests.autoscaling.x-k8s.io"
WORKLOADS = "workloads.kueue.x-k8s.io"
POOL = "cloud.google.com/gke-nodepool"


def bash_blocks(page: str) -> list[str]:
    """Return the blocks of a walk that need a cluster."""
    text = (ROOT / "docs" / "walks" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```bash\n(.*?)^```$", text, flags=re.M | re.S)


def run(script: str, **values: str) -> str:
    """Run lines of bash at the root of the repository, `berth` being the code under test."""
    berth = " ".join(f"'{word}'" for word in BERTH)
    done = subprocess.run(
        ["bash", "-euc", f'berth() {{ {berth} "$@"; }}; export -f berth; {script}'],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **values},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Failed(f"{script}\nended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def nodes_of(stack: str) -> list[dict[str, Any]]:
    """Return the nodes of a stack, one document each."""
    return [each for each in yaml.safe_load_all(output([*BERTH, "render", stack, "--nodes"], ROOT)) if each]


@contextmanager
def deployed(cluster: Cluster, stack: str) -> Iterator[None]:
    """Apply what `berth render` prints of the kinds that the cluster has; delete it at the end, with jobs and nodes."""
    served = {line.split()[-1] for line in cluster.kubectl("api-resources", "--no-headers").splitlines()}
    text = output([*BERTH, "render", stack], ROOT)
    objects = [each for each in yaml.safe_load_all(text) if each and each["kind"] in served]
    given = yaml.safe_dump_all(objects)
    cluster.kubectl("apply", "-f", "-", given=given)
    try:
        yield
    finally:
        for kind in ("jobsets.jobset.x-k8s.io", "jobs", WORKLOADS, "services", "configmaps"):
            for namespace in {each["metadata"].get("namespace") for each in objects} - {None}:
                kept = ("kubernetes", "kube-root-ca.crt")
                names = [each["metadata"]["name"] for each in cluster.get(kind, "-n", namespace)["items"]]
                if left := [name for name in names if name not in kept]:
                    cluster.kubectl("delete", kind, "-n", namespace, *left, "--ignore-not-found")
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=false", given=given)
        cluster.kubectl("delete", "nodes", "-l", "berth.dev/simulated=true", "--ignore-not-found")
        until("the queues to be gone", cluster.queues, lambda left: not left)


class Autoscaler:
    """Stands in for GKE's: makes the nodes of pools, says so to ProvisioningRequests, and labels placement groups."""

    def __init__(self, cluster: Cluster, stack: str) -> None:
        self.cluster = cluster
        self.nodes = nodes_of(stack)

    def add(self, pool: str, count: int | None = None, **labels: str) -> None:
        """Create so many nodes of a pool that do not exist yet (by default all)."""
        there = {each["metadata"]["name"] for each in self.cluster.get("nodes")["items"]}
        of_pool = [each for each in self.nodes if each["metadata"]["labels"][POOL] == pool]
        made = [each for each in of_pool if each["metadata"]["name"] not in there][:count]
        for each in made:
            each["metadata"]["labels"] |= labels
        self.cluster.kubectl("create", "-f", "-", given=yaml.safe_dump_all(made))

    def place(self, number: int) -> None:
        """Create the two nodes of each team's compact job of this number, in its placement group."""
        for team in "abcd" if number < 4 else "":
            self.add("compact", 2, **{"cloud.google.com/gke-placement-group": f"team-{team}-compact-{number}"})

    def remove(self, pool: str) -> None:
        """Delete the nodes of a pool."""
        self.cluster.kubectl("delete", "nodes", "-l", f"{POOL}={pool}")

    def requests(self) -> list[dict[str, Any]]:
        """Return the ProvisioningRequests."""
        return self.cluster.get(REQUESTS, "-A")["items"]

    def answer(self, request: Mapping[str, Any], *conditions: str) -> None:
        """Write conditions into a request, as the autoscaler does."""
        status = {
            "conditions": [
                {"type": each, "status": "True", "reason": each, "message": "", "lastTransitionTime": _DAY}
                for each in conditions
            ]
        }
        where = ("-n", request["metadata"]["namespace"], request["metadata"]["name"])
        patch = yaml.safe_dump({"status": status})
        self.cluster.kubectl("patch", REQUESTS, *where, "--subresource=status", "--type=merge", "-p", patch)


_DAY = "2026-01-01T00:00:00Z"
