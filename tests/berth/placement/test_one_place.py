"""Placement is decided in `berth/placement` alone: nobody else compares labels, taints or topologies of pods and nodes.

Allowed besides are modules that copy what pods select into messages, sort pods by it, or mirror an admission policy.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.stack_files import ROOT

DECIDING = {
    "affinity_terms",
    "exclusive_topology",
    "host_ports",
    "node_selector",
    "pod_affinity",
    "pod_anti_affinity",
    "spread",
    "tolerations",
}
"""Facts of pods that decide about placement."""
READERS = {
    "berth/lint/dws.py": "queued machines have one shape: pods are compared with each other",
    "berth/lint/job_pods.py": "pods of one group are counted together",
    "berth/lint/machines.py": "the message for a selector that no flavor has",
    "berth/lint/around_pods/rollouts.py": "counts like the quota: the pods that a rollout adds",
    "berth/lint/placement.py": "advice: what keeps slices and placement groups together",
    "berth/lint/unqueued.py": "the tolerations that GKE adds to pods that use a ProvisioningRequest",
    "berth/simulator/occupancy.py": "equal pods are looked up once",
    "berth/simulator/scheduler/model.py": "jobs with equal facts are scheduled alike",
}
MATCHING = {"matches_label", "matches_value", "tolerates"}
"""Functions that compare them with nodes."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted((ROOT / "berth").rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        if not name.startswith(("berth/placement/", "berth/jobs/")):
            yield name, ast.parse(file.read_text(encoding="utf-8"))


def test_only_listed_modules_read_what_decides_about_placement() -> None:
    found = {
        name
        for name, tree in modules()
        if name.startswith(("berth/lint/", "berth/simulator/", "berth/cli/", "berth/team_stack.py", "berth/cost/"))
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in DECIDING and _is_of_pods(node)
    }
    assert found == READERS.keys()


def _is_of_pods(node: ast.Attribute) -> bool:
    """Return whether an attribute is read of a pod set; a flavor has tolerations too."""
    owner = ast.unparse(node.value)
    return "flavor" not in owner and not owner.startswith("plan")


def test_nobody_else_compares_labels_or_taints() -> None:
    found = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and {alias.name for alias in node.names} & MATCHING
    }
    assert found == set()
