"""Stories of jobs, each run twice: by `berth admit`, and by a real Kueue with jobs on simulated nodes.

A story is a YAML file: `stack` (a stack file), `change` (what of its fleet is different here), `jobs` (a name to the
words of `berth workload` behind STACK) and `steps`. A step does one thing (`submit`, `finish` or `provisioned` a job,
or `change` the fleet again) and says in `then` where the jobs must be.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from berth.evaluate import evaluate_config
from tests.e2e.support.cluster import REQUESTS, Cluster, until
from tests.e2e.support.project import ROOT, Failed, berth
from tests.e2e.support.queueing import Part, queueing_part
from tests.e2e.support.stack import Project, Stack

STORIES = sorted((Path(__file__).parents[1] / "stories").glob("*.yaml"))
_WHERE = {"admitted": "admitted", "reserved": "reserved", "finished": "finished"}
"""Status in `berth admit` → state in a cluster, which tells no others apart: all others wait."""
_SETTLED = 2.0
"""Seconds for which all must stay as foretold: a wait is seen by nothing happening."""


@dataclass(frozen=True)
class Place:
    """Where a job is: `admitted`, `reserved`, `waits` or `finished`.

    `takes` are its accelerators by flavor; `pushed` is Kueue's word for why it was last pushed out.
    """

    state: str
    takes: tuple[tuple[str, int], ...] = ()
    pushed: str = ""


Places = Mapping[str, Place]


class Story:
    """A story on one stack of one project."""

    def __init__(self, file: Path, project: Project, context: str) -> None:
        self.told: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        self.project = project
        self.part = queueing_part(ROOT / self.told["stack"], context)
        self.files: list[Part] = [_changed(self.part, self.told.get("change", {}))]
        for step in self.told["steps"]:
            if "change" in step:
                self.files.append(_changed(self.files[-1], step["change"]))
        plan = evaluate_config(self.part.stack, self.files[0].fleet, ROOT).fleet_plan
        assert plan is not None
        self.resources = {flavor.resource for flavor in plan.flavors}

    def jobs(self) -> None:
        """Write the manifest of every job: what `berth workload` prints for the stack."""
        for name, words in self.told["jobs"].items():
            command = ["workload", self.part.stack, *words.split(), "--name", name]
            self._file(name).write_text(berth(*command, folder=self.project.folder), encoding="utf-8")

    def manifests(self) -> list[Path]:
        """Return the files of all jobs."""
        return [self._file(name) for name in self.told["jobs"]]

    def _file(self, job: str) -> Path:
        return self.project.folder.parent / f"{job}.yaml"

    def foretold(self) -> list[Places]:
        """Where `berth admit` sees all jobs after each step."""
        steps: list[dict[str, str]] = []
        number = 0
        for step in self.told["steps"]:
            kind, value = _deed(step)
            if kind == "change":
                number += 1
                changed = self.project.folder.parent / f"Pulumi.{self.part.stack}-{number}.yaml"
                changed.write_text(self.files[number].text(), encoding="utf-8")
                value = str(changed)
            steps.append({kind: str(self._file(value)) if kind == "submit" else value})
        scenario = self.project.folder.parent / "scenario.yaml"
        scenario.write_text(yaml.safe_dump({"stack": self.part.stack, "steps": steps}), encoding="utf-8")
        document = json.loads(berth("admit", str(scenario), "--json", folder=self.project.folder))
        return list(_as_foretold(document["steps"], self.resources))

    def play(self, cluster: Cluster, stack: Stack) -> Iterator[tuple[str, Places]]:
        """Run each step on the cluster and wait for its predicted result; yield the text of the step and the result."""
        change = 0
        for step, foretold in zip(self.told["steps"], self.foretold(), strict=True):
            kind, value = _deed(step)
            match kind:
                case "submit":
                    cluster.kubectl("create", "-f", str(self._file(value)))
                case "finish":
                    _finish(cluster, value)
                case "provisioned":
                    _provision(cluster, value)
                case _:
                    change += 1
                    stack.write(self.files[change].text())
                    stack.up()
            text = f"{kind} {value}"
            yield text, self._rested(cluster, text, foretold)

    def _rested(self, cluster: Cluster, text: str, foretold: Places) -> Places:
        """Return the result of a step once it equals the prediction and stays so. Raises `Failed`."""

        def seen() -> Places:
            return {name: place for name, place in _places(cluster, self.resources).items() if name in foretold}

        until(f"after '{text}', foretold: {foretold}", seen, lambda now: now == foretold)
        time.sleep(_SETTLED)
        if (now := seen()) != foretold:
            raise Failed(f"after '{text}' it was as foretold, and then: {now}, not {foretold}")
        return now


def _deed(step: Mapping[str, Any]) -> tuple[str, str]:
    """What a step does, and to which job (`fleet` where the fleet changes)."""
    (kind,) = step.keys() - {"then"}
    return kind, "fleet" if kind == "change" else str(step[kind])


def _changed(part: Part, change: Mapping[str, Any]) -> Part:
    return Part(part.stack, _merged(part.fleet, change))


def _merged(whole: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with another laid over it, at every depth."""
    both = {key: (whole.get(key), value) for key, value in change.items()}
    laid = {
        key: _merged(old, new) if isinstance(old, dict) and isinstance(new, dict) else new
        for key, (old, new) in both.items()
    }
    return {**whole, **laid}


def _as_foretold(steps: list[dict[str, Any]], resources: set[str]) -> Iterator[Places]:
    places: dict[str, Place] = {}
    for step in steps:
        for change in step["changes"]:
            state = _WHERE.get(change["status"], "waits")
            if "quotaUses" in change:
                takes = {t["flavor"]: t["amount"] for t in change["quotaUses"] if t["resource"] in resources}
                places[change["job"]] = Place(state, tuple(sorted(takes.items())))
            elif state in ("admitted", "reserved"):  # it has what it had
                places[change["job"]] = replace(places[change["job"]], state=state)
            else:
                lost = change.get("preemptedBy", {}).get("reason", "") if state == "waits" else ""
                places[change["job"]] = Place(state, pushed=lost)
        yield dict(places)


def _places(cluster: Cluster, resources: set[str]) -> Places:
    """Where the cluster has the workload of every job; the job is its owner."""
    return dict(places(cluster, resources))


def places(cluster: Cluster, resources: Set[str] = frozenset()) -> list[tuple[str, Place]]:
    """Return the job and the place of each workload of the cluster."""
    return [
        (each["metadata"]["ownerReferences"][0]["name"], _place(each.get("status", {}), resources))
        for each in cluster.get("workloads.kueue.x-k8s.io", "-A")["items"]
    ]


def _place(status: Mapping[str, Any], resources: Set[str]) -> Place:
    true = {each["type"]: each["reason"] for each in status.get("conditions", ()) if each["status"] == "True"}
    if "Finished" in true:
        return Place("finished")
    if "QuotaReserved" not in true:
        lost = true.get("Evicted", "")
        if lost == "LocalQueueStopped":  # a drained team's door and its queue stop at once: Kueue sees either first
            lost = "ClusterQueueStopped"
        return Place("waits", pushed=true.get("Preempted", "") if lost == "Preempted" else lost)
    takes: dict[str, int] = {}
    for each in status["admission"]["podSetAssignments"]:
        for resource in resources & each.get("flavors", {}).keys():
            flavor = each["flavors"][resource]
            takes[flavor] = takes.get(flavor, 0) + int(each["resourceUsage"][resource])
    return Place("admitted" if "Admitted" in true else "reserved", tuple(sorted(takes.items())))


def _finish(cluster: Cluster, job: str) -> None:
    """Let the pods of a job end well, as their kubelet would say, as soon as they run, until none is left."""

    def left() -> list[str]:
        values = [pod for pod in cluster.pods_of(job) if pod["status"].get("phase") not in ("Succeeded", "Failed")]
        for pod in values:
            if pod["status"].get("phase") == "Running":
                cluster.end_well(pod)
        return [pod["metadata"]["name"] for pod in values]

    until(f"pods of {job} to end", left, lambda names: not names)


def _provision(cluster: Cluster, job: str) -> None:
    """Say what the cluster autoscaler says of a job's ProvisioningRequests when their nodes are there."""
    requests = until(
        f"a ProvisioningRequest of {job}",
        lambda: [each for each in cluster.get(REQUESTS, "-A")["items"] if job in each["metadata"]["name"]],
        bool,
    )
    for each in requests:
        cluster.answer(each, "Provisioned")
