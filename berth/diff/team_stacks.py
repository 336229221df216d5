"""What a change of a team's own stack means: its workloads, and the files that their pods read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from msgspec import Struct

from berth.diff.entitlements import Step
from berth.diff.objects import Keyed, ObjectChange, compare_keyed
from berth.diff.resources import DELETED, REPLACED
from berth.manifests import workloads as manifests
from berth.plan.team_stack import TeamStackPlan
from berth.plan.workloads import JobPlan, JobSetPlan, ProvisioningRequestPlan, PyTorchJobPlan, WorkloadPlan

CONFIG, SECRETS = "config", "secrets"


class Asked(Struct, frozen=True):
    """How much a workload asks for of a resource, all its pods together."""

    resource: str
    amount: Step


class WorkloadChange(Struct, frozen=True):
    """What becomes of a workload of the stack file, of the `kind` and `name` that it has after (or had before).

    `queue` is its local queue before and after, `asks` are accelerators. `because` are fields that cannot change: what
    is replaced begins anew.
    """

    workload: str
    kind: str
    name: str
    what: str
    queue: tuple[str | None, str | None]
    asks: tuple[Asked, ...]
    because: tuple[str, ...] = ()


class FilesChange(Struct, frozen=True):
    """What becomes of an entry of `config` or `secrets`, and the workloads whose pods read it after (or before)."""

    kind: str
    name: str
    what: str
    workloads: tuple[str, ...]


def compare_deployed(old: TeamStackPlan, new: TeamStackPlan) -> tuple[ObjectChange, ...]:
    """Every object that is not left as it is, as `compare_objects`; a workload under another key is another one."""
    return compare_keyed(dict(_keyed(old)), dict(_keyed(new)))


def _keyed(plan: TeamStackPlan) -> Iterator[Keyed]:
    for config in plan.configs:
        yield _identified(manifests.config_map(config, plan), "")
    for secrets in plan.secrets:
        yield _identified(manifests.secret_provider_class(secrets, plan), "")
    for key, workload in plan.workloads.items():
        yield from (_identified(each, key) for each in manifests.manifests(workload))


def _identified(manifest: dict[str, object], key: str) -> Keyed:
    metadata = cast("Mapping[str, object]", manifest["metadata"])
    return (str(manifest["kind"]), str(metadata["namespace"]), str(metadata["name"]), key), manifest


def compare_workloads(old: TeamStackPlan, new: TeamStackPlan) -> Iterator[WorkloadChange]:
    """What becomes of each workload that is not left as it is, by key."""
    for key in sorted(old.workloads.keys() | new.workloads.keys()):
        one, other = old.workloads.get(key), new.workloads.get(key)
        if one != other:
            yield _workload(key, one, other)


def _workload(key: str, one: WorkloadPlan | None, other: WorkloadPlan | None) -> WorkloadChange:
    before, after = ([] if each is None else manifests.manifests(each) for each in (one, other))
    found = compare_keyed(*(dict(_identified(m, key) for m in side) for side in (before, after)))
    shown = (after or before)[-1]
    main = [change for change in found if change.kind == shown["kind"]]
    because = tuple(dict.fromkeys(path for change in found for path in change.because))
    if one is None or other is None:
        what = "added" if one is None else DELETED
    else:
        what = REPLACED if because or any(change.what == DELETED for change in main) else "changed"
    return WorkloadChange(
        workload=key,
        kind=str(shown["kind"]),
        name=str(cast("Mapping[str, object]", shown["metadata"])["name"]),
        what=what,
        queue=(_queue(one), _queue(other)),
        asks=tuple(_asks(one, other)),
        because=because,
    )


def _queue(plan: WorkloadPlan | None) -> str | None:
    return None if plan is None or isinstance(plan, ProvisioningRequestPlan) else plan.submission.queue


def _asks(one: WorkloadPlan | None, other: WorkloadPlan | None) -> Iterator[Asked]:
    before, after = _amounts(one), _amounts(other)
    for resource in sorted(before.keys() | after.keys()):
        yield Asked(resource, Step(before.get(resource, 0), after.get(resource, 0)))


def _amounts(plan: WorkloadPlan | None) -> dict[str, int]:
    """Accelerators of all pods together, by resource."""
    if plan is None:
        return {}
    each = plan.pod.resources.items()
    return {resource: amount * _pods(plan) for resource, amount in each if resource not in ("cpu", "memory")}


def _pods(plan: WorkloadPlan) -> int:
    match plan:
        case JobPlan() | ProvisioningRequestPlan():
            return plan.pods
        case JobSetPlan():
            return plan.replicas * plan.pods
        case PyTorchJobPlan():
            return 1 + plan.workers


def compare_files(old: TeamStackPlan, new: TeamStackPlan) -> Iterator[FilesChange]:
    """What becomes of each entry of `config`, then of `secrets`, that is not left as it is, by name."""
    for kind in (CONFIG, SECRETS):
        before, after = _files(kind, old), _files(kind, new)
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                what = "added" if name not in before else DELETED if name not in after else "changed"
                yield FilesChange(kind, name, what, _readers(kind, name, old if what == DELETED else new))


def _files(kind: str, plan: TeamStackPlan) -> dict[str, object]:
    return {each.name: each for each in (plan.configs if kind == CONFIG else plan.secrets)}


def _readers(kind: str, name: str, plan: TeamStackPlan) -> tuple[str, ...]:
    pods = {key: workload.pod for key, workload in plan.workloads.items()}
    return tuple(sorted(key for key, pod in pods.items() if name in (pod.configs if kind == CONFIG else pod.secrets)))
