"""The groups of pods of a job, read from the fields of its kind (`kinds.yaml`).

Missing and wrong values become faults with their positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from berth.diagnostics import did_you_mean
from berth.jobs.kinds import Condition, PodsRow, path_keys
from berth.jobs.values import SourceValue, describe_value, get_nested
from berth.manifests.workloads.values import as_list, as_mapping

_NOUNS = {"spec": "a job's spec", "template": "a pod template"}


class TemplatePods(Struct, frozen=True):
    """Pods of one template. `count` is None if it is invalid; `replicas` is the number of child jobs.

    `annotations` are those that the manifest gives this group besides the object's and the pods' own.
    """

    name: str
    template: SourceValue
    count: int | None
    replicas: int = 1
    annotations: Mapping[str, object] = field(default_factory=dict[str, object])


def read_template_pods(job: SourceValue, rows: tuple[PodsRow, ...]) -> list[TemplatePods] | None:
    """Return the groups in Kueue's order; None if a fault leaves one out."""
    groups: list[TemplatePods] = []
    is_complete = True
    for row in rows:
        if row.when is not None and not _holds(job, row.when):
            continue
        items = _items(job, row)
        is_complete &= items is not None
        for item, name in items or ():
            template = _read_template(job, item, row)
            if template is not None:
                groups.append(_read_group(item, template, row, name))
            is_complete &= template is not None or row.optional
    return groups if is_complete else None


def find(source: SourceValue, path: str) -> SourceValue | None:
    """Return the value at a path, or None."""
    for key in path_keys(path):
        value = as_mapping(source.value).get(key)
        if value is None:
            return None
        source = source.child(key, value)
    return source


def require(source: SourceValue, path: str) -> SourceValue | None:
    """Return the value at a path; None after the fault that a part of it is missing or not a mapping."""
    noun = "a Kubernetes object"
    for key in path_keys(path):
        fields = source.mapping(noun)
        if fields is None:
            return None
        if key not in fields:
            source.fault("missing-key", f"'{key}' is missing; write it")
            return None
        source, noun = fields[key], _NOUNS.get(key, "a mapping")
    return source


# --- items ------------------------------------------------------------------------------------------------------------


def _items(job: SourceValue, row: PodsRow) -> list[tuple[SourceValue, str | None]] | None:
    """Return the values that describe groups of pods, each with its name; None after a fault."""
    if row.each is not None:
        source = find(job, row.each)
        items = source.sequence("a list") if source is not None else []
        if not items:
            return _report_empty(job, row.each, "at least one") if items is not None and not row.optional else []
        named = [(item, _item_name(item, row)) for item in items]
        return [(item, name) for item, name in named if name] if all(name for _, name in named) else None
    if row.roles is not None:
        return _role_items(job, row, row.roles)
    return [(job, row.name)]


def _item_name(item: SourceValue, row: PodsRow) -> str | None:
    """Return the name of an item; None after a fault about its fields."""
    fields = item.known_fields(row.item.required, row.item.optional) if row.item else item.mapping("a mapping")
    if fields is None or row.name_at is None:
        return None
    if row.name_at not in fields:
        item.fault("missing-key", f"'{row.name_at}' is missing; write it")
        return None
    return fields[row.name_at].text("a name")


def _role_items(job: SourceValue, row: PodsRow, path: str) -> list[tuple[SourceValue, str | None]] | None:
    source = find(job, path)
    roles = source.mapping(f"a mapping of {_either(row.order, 'and')}") if source is not None else {}
    if roles is None:
        return None
    unknown = [role for role in roles if role not in row.order]
    for role in unknown:  # Kueue 0.19: kubeflowjob_controller.go, OrderedReplicaTypes
        hint = did_you_mean(role, row.order) or f"; write {_either(row.order, 'or')}"
        roles[role].fault("unknown-key", f"unknown role {describe_value(role)}: Kueue does not count its pods{hint}")
    if unknown:
        return None
    known = [(roles[role], role.lower()) for role in row.order if role in roles and roles[role].value is not None]
    return list(known) if known else _report_empty(job, path, _either(row.order, "or"))


def _report_empty(job: SourceValue, path: str, remedy: str) -> None:
    *parents, key = path.split(".")
    parent = require(job, ".".join(parents))
    if parent is not None and parent.mapping("a job's spec") is not None:
        parent.fault("missing-key", f"'{key}' is missing or empty; write {remedy}")


def _either(words: tuple[str, ...], conjunction: str) -> str:
    return f" {conjunction} ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"


# --- one group --------------------------------------------------------------------------------------------------------


def _read_template(job: SourceValue, item: SourceValue, row: PodsRow) -> SourceValue | None:
    written = find(item, row.template)
    if written is None and row.otherwise:
        return _at(item, row.template, {"spec": {"containers": [{"resources": {"requests": dict(row.otherwise)}}]}})
    if written is None and row.optional:
        return None
    template = require(item, row.template)
    if template is None or template.mapping("a pod template") is None:
        return None
    added: list[dict[str, object]] = []
    for each in row.adds:
        if _holds(job, each.when):
            instead = find(job, each.instead) if each.instead is not None else None
            added.append({"resources": instead.value if instead is not None else {"requests": dict(each.requests)}})
    return _with_containers(template, added) if added else template


def _at(source: SourceValue, path: str, value: object) -> SourceValue:
    return SourceValue(value, (*source.path, *path_keys(path)), source.problems)


def _with_containers(template: SourceValue, added: list[dict[str, object]]) -> SourceValue:
    """Return the template, with the containers that the operator adds."""
    value = as_mapping(template.value)
    spec = as_mapping(value.get("spec"))
    containers = as_list(spec.get("containers"))
    if not containers:
        return template
    return SourceValue(
        {**value, "spec": {**spec, "containers": [*containers, *added]}}, template.path, template.problems
    )


def _holds(job: SourceValue, condition: Condition) -> bool:
    value = get_nested(job.value, *path_keys(condition.at))
    return (condition.default if value is None else value) in condition.values


def _read_group(item: SourceValue, template: SourceValue, row: PodsRow, name: str | None) -> TemplatePods:
    factors = [_read_count(item, path, "replicas") for path in row.times]
    replicas, at_most = (_read_count(item, path, "pods", absent=-1) for path in (row.replicas, row.at_most))
    if replicas is None or at_most is None or None in factors:
        return TemplatePods(name or "main", template, None)
    child_jobs = 1
    for factor in factors:
        child_jobs *= factor if factor is not None else 1
    pods = 1 if replicas < 0 else replicas
    pods = min(pods, at_most) if at_most >= 0 else pods
    taken = 1 if row.minus is not None and find(item, row.minus) is not None else 0
    own = find(item, row.metadata) if row.metadata is not None else None
    return TemplatePods(
        name or "main",
        template,
        max(0, child_jobs * pods - taken),
        child_jobs if row.replicas else 1,
        as_mapping(get_nested(own.value, "annotations")) if own is not None else {},
    )


def _read_count(item: SourceValue, path: str | None, noun: str, absent: int = 1) -> int | None:
    """Return a count of at least 0; `absent` if it is not set, None after a fault."""
    written = find(item, path) if path is not None else None
    return absent if written is None else written.integer(f"a whole number of {noun} from 0", 0)


def read_workload_count(job: SourceValue, path: str | None) -> int | None:
    """Return the number of workloads that Kueue creates for an object; None after a fault."""
    return _read_count(job, path, "replicas")


def iterate_containers(value: object) -> Iterator[object]:
    """Yield every list of containers inside an object of any shape, and every single `container` with an image."""
    for key, inside in as_mapping(value).items():
        if key == "containers" and as_list(inside):
            yield inside
        elif key in ("container", "script") and "image" in as_mapping(inside):
            yield [inside]
        else:
            yield from iterate_containers(inside)
    for inside in as_list(value):
        yield from iterate_containers(inside)
