"""Published samples on a real Kueue: what `berth lint` admits is admitted, and what it refuses is not.

They are submitted twice: by an administrator in the namespaces that they name, one of which Berth does not manage, and
by a member of a team in the team's own namespace, where every policy applies, also to the pods of controllers.

It needs a Kueue with the integrations of `tests/berth/lint/samples_stack.yaml`, and CRDs of the kinds; a kind without a
CRD is left out. A kind that this Kueue does not queue, or of which the cluster's CRD takes no sample, is printed by
name with the reason and not compared. No operator is needed: Kueue admits an object whether or not a controller makes
pods of it. KWOK simulates the nodes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.evaluate import evaluate_config
from berth.jobs.files import read_documents
from berth.jobs.kinds import kinds
from berth.lint.findings import Finding, lint_documents
from berth.lint.fleet import LintContext
from berth.plan.fleet import FleetPlan
from tests.e2e.support import hostile_fleet
from tests.e2e.support.attacks import POLICY
from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.project import BERTH, ROOT, Failed, output
from tests.hostile import Identity

SAMPLES = ROOT / "tests" / "vendored" / "samples"
STACK = ROOT / "tests" / "berth" / "lint" / "samples_stack.yaml"
QUEUEING = (
    "ClusterQueue",
    "LocalQueue",
    "Namespace",
    "PriorityClass",
    "ResourceFlavor",
    "Topology",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
WORKLOADS = "workloads.kueue.x-k8s.io"
OF_NODES = frozenset({"no-shape", "no-nodes"})
"""Codes of pods that Kueue admits and no node runs: Kueue counts quota, not the size of nodes."""
SECONDS = 10.0
"""How long a workload may take that is never admitted."""


OWN = "samples"
"""The namespace of the team that submits as its people do."""
MEMBER = Identity("ana@acme.example", ("samples@acme.example", "system:authenticated"))


def stack() -> dict[str, Any]:
    """The stack file of the fleet that the samples are linted against."""
    return yaml.safe_load(STACK.read_text(encoding="utf-8"))


def stack_of_members() -> dict[str, Any]:
    """The same with a namespace that Berth manages, and people."""
    made = stack()
    teams = made["config"]["berth:fleet"]["teams"]
    teams["samples"]["namespace"] = OWN
    for each in teams.values():
        each["groups"] = [MEMBER.groups[0]]
    return made


def fleet(made: dict[str, Any]) -> FleetPlan:
    """The fleet of a stack file."""
    plan = evaluate_config("samples", made["config"]["berth:fleet"], ROOT).fleet_plan
    assert plan is not None
    return plan


@contextmanager
def standing(cluster: Cluster, made: dict[str, Any], folder: Path) -> Generator[list[dict[str, Any]]]:
    """Provide the queues and the nodes of a stack file on the cluster, and all that `berth render` prints for it.

    A flavor with a topology admits nothing without nodes.
    """
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    (folder / "Pulumi.samples.yaml").write_text(yaml.safe_dump(made), encoding="utf-8")
    rendered = [each for each in yaml.safe_load_all(output([*BERTH, "render", "samples"], folder)) if each]
    text = yaml.safe_dump_all([each for each in rendered if each["kind"] in QUEUEING])
    text += f"---\n{output([*BERTH, 'render', 'samples', '--nodes'], folder)}"
    try:
        cluster.kubectl("apply", "-f", "-", given=text)
        cluster.kubectl("wait", "--for=condition=Ready", "nodes", "-l", "berth.dev/simulated=true", "--timeout=60s")
        yield rendered
    finally:
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", given=text)


@pytest.fixture
def queues(cluster: Cluster, tmp_path: Path) -> Iterator[Cluster]:
    """The cluster with the queues of the samples' fleet, which has every integration, and its nodes."""
    with standing(cluster, stack(), tmp_path):
        yield cluster


@pytest.fixture
def team(cluster: Cluster, tmp_path: Path) -> Iterator[Cluster]:
    """The cluster with the same fleet, and all that a team has in a namespace of its own."""
    with standing(cluster, stack_of_members(), tmp_path) as rendered:
        more = [each for each in rendered if hostile_fleet.is_served(each) and each["kind"] not in QUEUEING]
        hostile_fleet.apply(cluster, more)
        assert not hostile_fleet.patches(rendered), "no namespace has services that Kueue queues"
        hostile_fleet.wait_for_quotas(cluster)
        yield cluster
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", given=hostile_fleet.stream(more))


def served_kinds(cluster: Cluster) -> frozenset[str]:
    """The kinds of jobs that the cluster has, without CronJob, whose first job is created later."""
    words = [line.split() for line in cluster.kubectl("api-resources", "--no-headers").splitlines()]
    served = {(each[-3].rpartition("/")[0], each[-1]) for each in words}
    return frozenset(kind for kind, row in kinds().items() if (row.group, kind) in served) - {"CronJob"}


def moved(folder: Path) -> Path:
    """Return a folder with the samples, whose objects are in the namespace of the team."""
    for file in sorted(SAMPLES.rglob("*.yaml")):
        documents = [each for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]
        for each in documents:
            if each["metadata"].get("namespace", "default") == "default":
                each["metadata"]["namespace"] = OWN
        to = folder / file.relative_to(SAMPLES)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return folder


def samples(
    served: frozenset[str], plan: FleetPlan, folder: Path = SAMPLES
) -> Iterator[tuple[str, str, list[Finding]]]:
    """Name, text and findings of each file whose objects the cluster has, and whose verdict is not open."""
    context = LintContext(plan)
    for file in sorted(folder.rglob("*.yaml")):
        documents, _ = read_documents(file, file.name)
        findings = list(lint_documents(documents, context))
        found = [each for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]
        jobs = [_defaulted(each) for each in found if each["kind"] in served or each["kind"] == "ResourceClaimTemplate"]
        judged = [each for each in findings if each.faults or each.admission]
        if judged and len(judged) == len(findings) and {each.kind for each in findings} <= served:
            yield file.relative_to(folder).as_posix(), yaml.safe_dump_all(jobs), findings


def _defaulted(job: dict[str, Any]) -> dict[str, Any]:
    """A job with the default that the webhook of its controller sets, which does not run here."""
    if job["kind"] == "LeaderWorkerSet":
        job["spec"].setdefault("rolloutStrategy", {"type": "RollingUpdate"})
    return job


def admitted(cluster: Cluster) -> list[bool]:
    """For each workload in the cluster, whether it is admitted."""
    return [
        any(each["type"] == "Admitted" and each["status"] == "True" for each in item["status"].get("conditions", ()))
        for item in cluster.get(WORKLOADS, "-A")["items"]
        if "status" in item
    ]


@dataclass(frozen=True)
class Outcome:
    """What became of a sample: whether each of its workloads is admitted, or what the API server said."""

    workloads: tuple[bool, ...] = ()
    refusal: str = ""

    @property
    def says(self) -> str:
        """The outcome in one line."""
        return self.refusal.splitlines()[-1] if self.refusal else f"admitted: {list(self.workloads)}"

    @property
    def is_impossible(self) -> bool:
        """Whether this cluster may have no part in it: no workload, and no refusal but by the schema of a CRD."""
        return not self.workloads and (not self.refusal or (" is invalid: " in self.refusal and not self._is_judged))

    @property
    def _is_judged(self) -> bool:
        return "admission webhook" in self.refusal or bool(POLICY.search(self.refusal))

    def runs(self, findings: list[Finding]) -> bool:
        """Return whether as many workloads are admitted as lint says fit at a time: all of them, or a part."""
        told = [_FITTING.search(each.message) for finding in findings for each in finding.problems]
        parts = [found for found in told if found is not None]
        if not parts:
            return bool(self.workloads) and all(self.workloads)
        return all(self.workloads.count(True) == int(each[1]) and len(self.workloads) == int(each[2]) for each in parts)


_FITTING = re.compile(r"can hold (\d+) of its (\d+) workloads at a time")
"""What lint says of groups of a LeaderWorkerSet, which are workloads of their own."""


def unqueued(outcomes: dict[str, tuple[str, Outcome]]) -> dict[str, str]:
    """Return each kind of which this cluster runs no sample at all, and what it said of the last one."""
    made = {kind for kind, outcome in outcomes.values() if not outcome.is_impossible}
    left = {kind: outcome.says for kind, outcome in outcomes.values() if kind not in made}
    print("\n".join(f"this cluster runs no {kind}: {says}" for kind, says in left.items()))
    return left


def submit(cluster: Cluster, text: str, who: Identity | None = None) -> Outcome:
    """Create the objects as a user, and wait until their workloads are admitted, or for a while."""
    words = () if who is None else ("--as", who.user, *(word for each in who.groups for word in ("--as-group", each)))
    try:
        cluster.kubectl(*words, "create", "-f", "-", given=text)
    except Failed as failed:
        return Outcome(refusal=str(failed))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and not ((now := admitted(cluster)) and all(now)):
        time.sleep(0.25)
    return Outcome(tuple(admitted(cluster)))


def remove(cluster: Cluster, served: frozenset[str], namespaces: Sequence[str] = ("default", "kueue-test")) -> None:
    """Delete every job, pod and workload of the namespaces of the samples."""
    plurals = [f"{kind.lower()}{'es' if kind.endswith('s') else 's'}" for kind in sorted(served)]

    def left() -> list[Any]:
        for namespace in namespaces:
            for each in (",".join(plurals), "pods", WORKLOADS, "resourceclaimtemplates", "pvc", "events"):
                options = ("--force", "--grace-period=0") if each == "pods" else ()
                cluster.kubectl(
                    "delete", each, "-n", namespace, "--all", "--wait=false", "--ignore-not-found", *options
                )
            for pod in cluster.get("pods", "-n", namespace)["items"]:  # Kueue keeps pods of a group by a finalizer
                release = ("-p", '{"metadata": {"finalizers": null}}', "--type=merge")
                cluster.kubectl("patch", "pod", pod["metadata"]["name"], "-n", namespace, *release)
        return [*cluster.get(WORKLOADS, "-A")["items"], *cluster.get("pods", "-A")["items"]]

    until("the sample to be gone", left, lambda items: not items)


def test_kueue_agrees_with_lint_on_every_published_sample(queues: Cluster) -> None:
    served = served_kinds(queues)
    compared: dict[str, tuple[str, Outcome]] = {}
    disagreements: dict[str, str] = {}
    for name, text, findings in samples(served, fleet(stack())):
        codes = {fault.code for each in findings for fault in each.faults}
        outcome = submit(queues, text)
        remove(queues, served)
        if codes and codes <= OF_NODES | {"policy"}:  # policies let an administrator do what controllers do
            continue
        compared[name] = (", ".join(sorted({each.kind for each in findings})), outcome)
        if outcome.runs(findings) == bool(codes):
            disagreements[name] = f"lint says {sorted(codes) or 'can be admitted'}; Kueue: {outcome.says}"
    print("\n".join(f"{name}: {kind}" for name, (kind, _) in compared.items()))
    left = unqueued(compared)
    assert {name: text for name, text in disagreements.items() if compared[name][0] not in left} == {}
    assert sum(kind not in left for kind, _ in compared.values()) >= 60


def test_a_member_submits_every_published_sample_with_the_policies(team: Cluster, tmp_path: Path) -> None:
    """What lint admits is admitted, and no policy refuses a pod of it; what the API server refuses, lint refuses.

    In a namespace without serving people create no pods and services; lint says nothing of rights here.
    """
    served = served_kinds(team)
    compared: dict[str, tuple[str, Outcome]] = {}
    wrong: dict[str, str] = {}
    for name, text, findings in samples(served, fleet(stack_of_members()), moved(tmp_path / "moved")):
        codes = {fault.code for each in findings for fault in each.faults}
        outcome = submit(team, text, MEMBER)
        time.sleep(1)  # controllers make pods
        events = [each.get("message", "") for each in team.get("events", "-n", OWN)["items"]]
        late = [each for each in events if POLICY.search(each)]
        remove(team, served, (OWN, "kueue-test"))
        compared[name] = (", ".join(sorted({each.kind for each in findings})), outcome)
        said = f"lint {', '.join(sorted(codes)) or '-'}: {outcome.says} {' '.join(late[:1])}"
        print(f"{name}: {said}")
        runs = outcome.runs(findings) and not late
        is_of_rights = "is forbidden: User" in outcome.refusal
        if runs == bool(codes) and not (codes and codes <= OF_NODES) and not is_of_rights:
            wrong[name] = said
    left = unqueued(compared)
    assert {name: text for name, text in wrong.items() if compared[name][0] not in left} == {}
    assert sum(kind not in left for kind, _ in compared.values()) >= 80
