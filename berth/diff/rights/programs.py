"""Rights of code that runs with an account that is not a team's: charts, images, commands and settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from berth.diff.fields import compare_fields
from berth.diff.kinds import ChangeKind
from berth.diff.objects import ClusterObjects, Manifest
from berth.diff.rights.changes import (
    CHART,
    PROGRAM,
    UNMANAGED_JOBS,
    VERSION,
    RightChange,
)
from berth.google.fleet import google_resources
from berth.manifests.kueue import NAMESPACE_LABEL
from berth.manifests.tenancy import namespace
from berth.plan.fleet import FleetPlan
from berth.resource import IN_WORKER, ResourceKind

_PATCH: Final = re.compile(r"(\d+\.\d+)\.\d+")
_TEMPLATES: Final = ("DaemonSet", "Deployment", "StatefulSet", "Job", "CronJob")
"""Kinds of a fleet's own whose pods run with an account that is not a team's."""


def programs_of_charts(old: FleetPlan, new: FleetPlan) -> Iterator[RightChange]:
    """Yield what of charts is another program. Patch releases of the same chart, and Kueue's configuration, are not."""
    before, after = (_charts(plan) for plan in (old, new))
    clusters = {"", *(f"{worker.name}{IN_WORKER}" for worker in old.workers)}
    for key, chart in after.items():
        owner, known = f"{key[0]}controller {key[1]}", before.get(key)
        if known is None and key[0] in clusters:
            yield RightChange(owner, CHART, ChangeKind.ADDED, None, f"{chart['chart']} {chart['version']}")
        if known is None:
            continue
        if known["chart"] != chart["chart"]:
            yield RightChange(owner, CHART, ChangeKind.CHANGED, known["chart"], chart["chart"])
        versions = str(known["version"]), str(chart["version"])
        minors = {found and found[1] for found in map(_PATCH.fullmatch, versions)}
        is_patch = known["chart"] == chart["chart"] and len(minors) == 1 and None not in minors
        if versions[0] != versions[1] and not is_patch:
            yield RightChange(owner, VERSION, ChangeKind.CHANGED, *versions)
        for change in compare_fields(known.get("values"), chart.get("values")):
            is_configuration = change.path.startswith("managerConfig.") and "execConfig" not in change.path
            if not is_configuration or _has_command(change.before) or _has_command(change.after):
                path = change.path.rpartition("controllerManagerConfigYaml.")[2]
                yield _program(owner, path, change.before, change.after)


def unmanaged_namespaces(old: FleetPlan, new: FleetPlan) -> Iterator[RightChange]:
    """Yield the namespaces of teams that come into, or go out of, those whose jobs Kueue leaves alone."""
    before, after = (_unmanaged(plan) for plan in (old, new))
    for key in [each for each in (*before, *after) if (each in before) != (each in after)]:
        team, name = key
        what, sides = (ChangeKind.ADDED, (None, name)) if key in after else (ChangeKind.REMOVED, (name, None))
        yield RightChange(f"team {team}", UNMANAGED_JOBS, what, *sides)


def _unmanaged(plan: FleetPlan) -> dict[tuple[str, str], None]:
    """Return the team and name of each namespace that Kueue's selector leaves out.

    Of one that exists already only the name is known.
    """
    if plan.kueue is None or (selector := plan.kueue.managed_namespaces) is None:
        return {}
    found: dict[tuple[str, str], None] = {}
    for team in plan.teams:
        for place in team.namespaces:
            metadata = cast("Mapping[str, Any]", namespace(team, place)["metadata"])
            own: Mapping[str, str] = metadata["labels"] if place.owned else {}
            if not selector.matches({**own, NAMESPACE_LABEL: place.name}):
                found[team.name, place.name] = None
    return found


def _charts(plan: FleetPlan) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the arguments of each Helm release, by worker (with a slash, or "") and name."""
    return {
        (f"{worker}{slash}", key): made.arguments
        for each in google_resources(plan)
        if each.kind == ResourceKind.CONTROLLER
        for made in each.registrations().values()
        for worker, slash, key in [each.key.rpartition(IN_WORKER)]
    }


def _program(owner: str, path: str, before: object, after: object) -> RightChange:
    old, new = (None if each is None else _short(each) for each in (before, after))
    what = ChangeKind.ADDED if old is None else ChangeKind.REMOVED if new is None else ChangeKind.CHANGED
    # A change has the path once: `program containers[a].image x → y`.
    return RightChange(owner, PROGRAM, what, old and f"{path} {old}", f"{path} {new}" if old is None else new)


def _has_command(value: object) -> bool:
    return "execConfig" in json.dumps(value, default=str)


def programs_of_objects(cluster: ClusterObjects, prefix: str) -> Iterator[RightChange]:
    """Yield images, commands and settings of pods that are the fleet's own and not a team's."""
    for key in dict.fromkeys((*cluster.before, *cluster.after)):
        if key[0] not in _TEMPLATES or key[3]:
            continue
        old, new = (_pods(objects.get(key) or {}) for objects in (cluster.before, cluster.after))
        owner = f"{prefix}{key[0]} {key[2]} of {key[1]}"
        if not old or not new:
            containers = [each for kind in ("initContainers", "containers") for each in (new or old).get(kind) or ()]
            images = ", ".join(str(each["image"]) for each in containers)
            what, sides = (ChangeKind.ADDED, (None, images)) if new else (ChangeKind.REMOVED, (images, None))
            yield RightChange(owner, PROGRAM, what, *sides)
            continue
        for change in compare_fields(old, new):
            yield _program(owner, change.path, change.before, change.after)


def _pods(manifest: Manifest) -> Mapping[str, Any]:
    """Return the pods that an object runs."""
    spec = cast("Mapping[str, Any]", manifest.get("spec") or {})
    if "jobTemplate" in spec:
        spec = cast("Mapping[str, Any]", spec["jobTemplate"])["spec"]
    template = cast("Mapping[str, Any]", spec.get("template") or {})
    return cast("Mapping[str, Any]", template.get("spec") or {})


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return " ".join(text.split())
