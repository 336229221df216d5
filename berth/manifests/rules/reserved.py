"""Policy `berth-reserved`: labels and annotations that controllers write are theirs.

`reserved_keys.yaml` lists them. Kueue's webhook writes some within a person's request, before policies see it, so a
rule compares those with the value that the webhook writes. Pods of a Deployment are created by a controller: their keys
come from the template, which a person writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from berth.manifests.policy_rules import Rule, list_field
from berth.manifests.rules.admission import (
    HAS_NEW_TEMPLATES,
    IS_CONTROLLER,
    PEOPLE,
    TEMPLATES,
    AdmissionPolicy,
    keys,
    requests_accelerators,
    with_templates,
)
from berth.yaml_loader import load_table

_FILE: Final = Path(__file__).with_name("reserved_keys.yaml")
_GROUP: Final = "kueue.x-k8s.io/pod-group-name"
_BY_TEMPLATE: Final = ("DaemonSet", "Job", "LeaderWorkerSet", "ReplicaSet", "ReplicationController", "StatefulSet")
"""Owners whose pods Kueue groups itself, after they exist, or admits one by one."""


@cache
def reserved_keys() -> list[dict[str, Any]]:
    """Return the rows of the table."""
    return load_table(_FILE)


def _rules(accelerators: Sequence[str]) -> tuple[Rule, ...]:
    return (
        *(rule for field in ("labels", "annotations") for rule in _rules_of(field)),
        (
            "request.resource.resource != 'pods' || request.operation != 'CREATE' || (variables.isController && "
            f"!{list_field('object.metadata', 'ownerReferences')}.exists(o, has(o.controller) && o.controller && "
            f"o.kind in {list(_BY_TEMPLATE)})) || (!('{_GROUP}' in {keys('object', 'labels')}) && "
            f"!('{_GROUP}' in {keys('object', 'annotations')})) || (variables.isController && "
            f"variables.templates.all(t, !{requests_accelerators('t', accelerators)}))",
            f"these pods are no group of Kueue's, which counts a group by what its pods say of themselves; remove "
            f"{_GROUP}, and submit a JobSet",
        ),
    )


def _rules_of(field: str) -> Iterator[Rule]:
    """Yield the rules for labels or annotations of objects and of templates, then those of keys that a webhook writes.

    The template of a pod is the pod itself.
    """
    rows = [row for row in reserved_keys() if row["in"] == field]
    of_object, before, of_template = keys("object", field), keys("oldObject", field), keys("t", field)
    every, plain = [row["key"] for row in rows], [row["key"] for row in rows if not row["templates"]]
    kept = f"(request.operation == 'UPDATE' && k in {before} && {of_object}[k] == {before}[k])"
    reason = f"Kueue and JobSet count pods by these {field}, which controllers write"
    yield (
        f"variables.isController || variables.isPod || {every}.all(k, !(k in {of_object}) || {kept})",
        f"{reason}; remove those of kueue.x-k8s.io/ and jobset.sigs.k8s.io/ from the {field} of the object, except the "
        "queue and the priority",
    )
    yield (
        f"variables.isController || !variables.isChecked || variables.templates.all(t, {plain}.all(k, "
        f"!(k in {of_template}) || (variables.isPod && {kept})))",
        f"{reason}; remove those of kueue.x-k8s.io/ and jobset.sigs.k8s.io/ from the {field} of the pod template, "
        "except topology requests",
    )
    for row in rows:
        if row["templates"]:
            key = row["key"]
            allowed = [
                f"(request.resource.resource == '{kind}'"
                + (
                    " && request.operation == 'CREATE')"
                    if value == "any"
                    else f" && {of_template}['{key}'] == '{value}')"
                )
                for kind, value in sorted(row["templates"].items())
            ]
            kept_key = f"'{key}' in {before} && {of_object}['{key}'] == {before}['{key}']"
            allowed.append(f"(variables.isPod && request.operation == 'UPDATE' && {kept_key})")
            yield (
                "variables.isController || !variables.isChecked || variables.templates.all(t, "
                f"!('{key}' in {of_template}) || {' || '.join(allowed)})",
                f"Kueue writes {key}; remove it from the {field} of the pod template",
            )


def has_reserved(holder: str) -> str:
    """Return an expression for whether an object or a template has a key of the table, or the name of a pod group."""
    listed = {
        field: [row["key"] for row in reserved_keys() if row["in"] == field] for field in ("labels", "annotations")
    }
    return " || ".join(f"{keys(holder, field)}.exists(k, k in {[*each, _GROUP]})" for field, each in listed.items())


def reserved_policy(job_kinds: Mapping[str, Sequence[str]], accelerators: Sequence[str]) -> AdmissionPolicy:
    """Return the policy for every kind with pod templates."""
    return AdmissionPolicy(
        name="reserved",
        refuses=(
            "labels and annotations of pods, jobs and pod templates that Kueue and JobSet write, such as "
            "`kueue.x-k8s.io/role-hash`"
        ),
        applies_to=PEOPLE,
        breaks="a manifest that was exported from a cluster with such keys: remove them",
        requests=with_templates(job_kinds),
        variables=(
            # A CronJob's job has the labels and annotations that a person wrote.
            (
                IS_CONTROLLER[0],
                "!(request.operation == 'CREATE' && request.resource.resource == 'jobs' && "
                f"{list_field('object.metadata', 'ownerReferences')}.exists(o, o.kind == 'CronJob')) && "
                f"({IS_CONTROLLER[1]})",
            ),
            TEMPLATES,
            ("isPod", "request.resource.resource == 'pods'"),
            HAS_NEW_TEMPLATES,
            ("isChecked", "variables.isPod || variables.hasNewTemplates"),
        ),
        rules=_rules(accelerators),
        condition=None,
        concern=(
            f"request.operation != 'CREATE' || {has_reserved('object')} || "
            f"({TEMPLATES[1]}).exists(t, {has_reserved('t')})"
        ),
    )
