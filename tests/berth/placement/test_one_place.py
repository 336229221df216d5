"""Placement is decided in `berth/placement` alone: nobody else compares labels, taints or topologies of pods and nodes.

Allowed besides are modules that copy what pods select into messages, sort pods by it, or mirror an admission policy. A
manifest is read in `berth/jobs` alone: checks have the facts of pod sets and of pod templates, and no raw template.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache

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
    "berth/lint/dws.py": "queued machines have one shape, and are made for requests alone",
    "berth/lint/fleet.py": "pods of one group are counted together",
    "berth/lint/machines.py": "the message for a selector that no flavor has",
    "berth/lint/around_pods/rollouts.py": "counts like the quota: the pods that a rollout adds",
    "berth/lint/placement.py": "advice: what keeps slices and placement groups together",
    "berth/lint/queue_policies.py": "mirrors the policies of the namespace",
    "berth/lint/likely_queue.py": "the tolerations that GKE adds to pods that use a ProvisioningRequest",
    "berth/simulator/occupancy.py": "equal pods are looked up once",
    "berth/simulator/scheduler/model.py": "jobs with equal facts are scheduled alike",
}
MATCHING = {"matches_label", "matches_value", "tolerates"}
"""Functions that compare them with nodes."""


POD_FIELDS = {
    *("affinity", "nodeAffinity", "podAffinity", "podAntiAffinity", "nodeSelector", "nodeSelectorTerms", "tolerations"),
    *("topologySpreadConstraints", "nodeName", "schedulerName", "schedulingGates", "runtimeClassName", "hostNetwork"),
    *("hostPort", "hostPID", "hostIPC", "containers", "initContainers", "resources", "requests", "limits"),
    *("resourceClaims", "volumes", "volumeMounts", "securityContext", "priorityClassName", "serviceAccountName"),
    *("imagePullSecrets", "overhead", "matchExpressions", "matchLabels", "terminationGracePeriodSeconds"),
}
"""Keys of a pod template."""
READING = {"get_nested", "inside", "find", "require", "child", "get"}
"""Functions that read a key of a manifest."""
RAW_READERS = {
    "berth/lint/admission.py": "the selector of a term, and where the resources of a container are written",
    "berth/lint/local_queues.py": "objects of unknown kinds: the resources of whatever looks like a container",
}
"""Modules of the checks that read such keys themselves, besides `berth/lint/validity`, which mirrors the API server's
own rules for fields that may have any type."""
FIELD_READERS = {
    "berth/lint/admission.py": "mirrors the policies of the namespace",
    "berth/lint/around_pods/dynamic_slices.py": "the place of a message",
    "berth/lint/around_pods/surroundings.py": "the place of a message",
    "berth/lint/dws.py": "the place of a message",
    "berth/lint/placement.py": "whose account pods on the network of their node use",
    "berth/lint/pod_rules.py": "the API server refuses an overhead without a RuntimeClass",
    "berth/lint/queue_policies.py": "mirrors the policies of the namespace",
}
"""Modules that ask the facts of a template for a field that decides about placement."""
OTHER_REQUESTS = ("berth/simulator/", "berth/cli/", "berth/team_stack.py")
"""Rooms in which `requests` and `resources` are keys of other things: recorded cases, scenarios and documents."""
CHECKS = ("berth/lint/", "berth/simulator/", "berth/cli/", "berth/team_stack.py", "berth/cost/", "berth/why/")


@cache
def modules() -> Sequence[tuple[str, ast.Module]]:
    files = {file.relative_to(ROOT).as_posix(): file for file in sorted((ROOT / "berth").rglob("*.py"))}
    return [
        (name, ast.parse(file.read_text(encoding="utf-8")))
        for name, file in files.items()
        if not name.startswith(("berth/placement/", "berth/jobs/"))
    ]


def test_only_listed_modules_read_what_decides_about_placement() -> None:
    found = {
        name
        for name, tree in modules()
        if name.startswith(CHECKS)
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


def calls(tree: ast.Module, names: set[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in names:
                yield node


def named(nodes: Sequence[ast.expr]) -> set[object]:
    return {each.value for each in nodes if isinstance(each, ast.Constant)}


def test_no_check_reads_a_raw_template() -> None:
    found = {
        name
        for name, tree in modules()
        if name.startswith(CHECKS) and not name.startswith("berth/lint/validity/")
        for keys in (
            *(named(call.args) for call in calls(tree, READING)),
            *(named([node.slice]) for node in ast.walk(tree) if isinstance(node, ast.Subscript)),
        )
        if keys & (POD_FIELDS - {"requests", "resources"} if name.startswith(OTHER_REQUESTS) else POD_FIELDS)
    }
    assert found == RAW_READERS.keys()


def test_only_listed_modules_ask_for_fields_that_decide_about_placement() -> None:
    deciding = POD_FIELDS - {"containers", "resources", "requests", "limits", "resourceClaims", "volumes"}
    deciding -= {"priorityClassName", "serviceAccountName", "imagePullSecrets", "securityContext"}
    found = {
        name
        for name, tree in modules()
        for call in calls(tree, {"field", "is_true", "has", "pod_terms"})
        if name.startswith("berth/lint/") and named(call.args) & deciding
    }
    assert found == FIELD_READERS.keys()
