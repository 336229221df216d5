"""What the walks need on a cluster without a cloud: the objects of an example, its nodes, and who makes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import yaml

from tests.e2e.support.cluster import JOB_LABELS, REQUESTS, Cluster, until
from tests.e2e.support.project import BERTH, ROOT, output
from tests.e2e.support.stories import places

BATCH_SECONDS = 300.0
"""How long 32 jobs, or a JobSet that is refused and tried again, may take on a busy machine."""
WORKLOADS = "workloads.kueue.x-k8s.io"
POOL = "cloud.google.com/gke-nodepool"


def bash_blocks(page: str) -> list[str]:
    """Return the blocks of a walk that need a cluster."""
    text = (ROOT / "docs" / "walks" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```bash\n(.*?)^```$", text, flags=re.M | re.S)


def run(script: str, **values: str) -> str:
    """Run lines of bash at the root of the repository, `berth` being the code under test."""
    berth = " ".join(f"'{word}'" for word in BERTH)
    command = ["bash", "-euc", f'berth() {{ {berth} "$@"; }}; export -f berth; {script}']
    return output(command, ROOT, {"PYTHONPATH": str(ROOT), **values})


def nodes_of(stack: str) -> list[dict[str, Any]]:
    """Return the nodes of a stack, one document each."""
    return [each for each in yaml.safe_load_all(output([*BERTH, "render", stack, "--nodes"], ROOT)) if each]


@contextmanager
def deployed(cluster: Cluster, stack: str) -> Generator[None]:
    """Apply what `berth render` prints for kinds and namespaces that are there; delete it at the end, with its jobs."""
    served = cluster.kinds()
    text = output([*BERTH, "render", stack], ROOT)
    objects = [each for each in yaml.safe_load_all(text) if each and each["kind"] in served]
    made = {each["metadata"]["name"] for each in objects if each["kind"] == "Namespace"}
    queues = {each["metadata"]["name"] for each in objects if each["kind"] == "ClusterQueue"}
    namespaces = made | _names(cluster, "namespaces") | {None}
    given = yaml.safe_dump_all(each for each in objects if each["metadata"].get("namespace") in namespaces)
    try:
        cluster.kubectl("apply", "-f", "-", given=given)
        yield
    finally:
        for namespace in made | {"default"}:
            cluster.kubectl("delete", "jobsets.jobset.x-k8s.io,jobs", "--all", "-n", namespace)
            cluster.kubectl("delete", WORKLOADS, "--all", "-n", namespace)
        until("the pods to be gone", lambda: _pods_of_jobs(cluster), lambda left: not left)
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=false", given=given)
        cluster.kubectl("delete", "nodes", "-l", "berth.dev/simulated=true", "--ignore-not-found")
        until("the queues to be gone", lambda: queues & {*cluster.queues()}, lambda left: not left)
        until("the namespaces to be gone", lambda: _names(cluster, "namespaces") & made, lambda left: not left)


def _pods_of_jobs(cluster: Cluster) -> set[str]:
    """Return the names of the pods that are not those of DaemonSets, which go with their nodes."""
    owned = ((each, each["metadata"].get("ownerReferences", ())) for each in cluster.get("pods", "-A")["items"])
    return {each["metadata"]["name"] for each, owners in owned if all(one["kind"] != "DaemonSet" for one in owners)}


def _names(cluster: Cluster, *words: str) -> set[str]:
    return {each["metadata"]["name"] for each in cluster.get(*words)["items"]}


class Autoscaler:
    """Stands in for GKE's: makes the nodes of pools, says so to ProvisioningRequests, and labels placement groups."""

    def __init__(self, cluster: Cluster, stack: str) -> None:
        self.cluster = cluster
        self.nodes = nodes_of(stack)

    def add(self, pool: str, count: int | None = None, **labels: str) -> None:
        """Create so many nodes of a pool that do not exist yet (by default all)."""
        there = _names(self.cluster, "nodes")
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


def states(cluster: Cluster) -> dict[str, str]:
    """Job → `admitted`, `reserved`, `waits` or `finished`, where names are unique."""
    return {job: place.state for job, place in places(cluster)}


def pods(cluster: Cluster, job: str) -> list[dict[str, Any]]:
    """Return the pods of a Job or a JobSet that have not ended."""
    return [pod for pod in cluster.pods_of(job) if pod["status"].get("phase") in ("Pending", "Running")]


def run_on_nodes(cluster: Cluster, job: str, count: int) -> list[str]:
    """Wait until so many pods of a job run; return the node pools that they are on."""

    def running() -> list[str]:
        return [pod["spec"]["nodeName"] for pod in pods(cluster, job) if pod["status"]["phase"] == "Running"]

    names = until(f"{count} pods of {job} to run", running, lambda found: len(found) == count, BATCH_SECONDS)
    pool_of = {each["metadata"]["name"]: each["metadata"]["labels"].get(POOL) for each in cluster.get("nodes")["items"]}
    return sorted({pool_of[name] for name in names})


def finish(cluster: Cluster, wanted: Callable[[str], bool]) -> None:
    """Let the running pods of every job of these names end well, until none of their workloads is left unfinished."""

    def left() -> list[str]:
        for pod in cluster.get("pods", "-A", "--field-selector", "status.phase=Running")["items"]:
            labels = pod["metadata"]["labels"]
            job = next(labels[each] for each in JOB_LABELS[::-1] if each in labels)
            if wanted(job):
                cluster.end_well(pod)
        found = [(job, place.state) for job, place in places(cluster) if wanted(job)]
        return [f"{job} {state}" for job, state in found if state != "finished"]

    until("the jobs to finish", left, lambda names: not names, BATCH_SECONDS)


def submit(cluster: Cluster, *files: str) -> None:
    for file in files:
        cluster.kubectl("create", "-f", str(ROOT / "stacks" / "jobs" / f"{file}.yaml"))


def expect(cluster: Cluster, **wanted: str) -> None:
    """Wait until every job is where the walk says; names of jobs with `_` for `-`."""
    expected = {name.replace("_", "-"): state for name, state in wanted.items()}
    until(f"jobs as in the walk: {expected}", lambda: states(cluster), lambda found: found == expected)
