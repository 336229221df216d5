"""Pods of kinds whose manifest has no pod template: SparkApplication, TrainJob and AppWrapper.

Sources: Kueue 0.19.2 `pkg/controller/jobs/{sparkapplication,trainjob,appwrapper}`, read 2026-11-22.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from berth.jobs.kinds import kinds
from berth.jobs.pod_templates import TemplatePods, find, read_template_pods, require
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import SourceValue, describe_value, get_nested
from berth.manifests.workloads.values import as_list, as_mapping

_JAVA_MEMORY = re.compile(r"([0-9]+)([kmgtp])b?", re.IGNORECASE)
_JAVA_SUFFIXES = {"k": "Ki", "m": "Mi", "g": "Gi", "t": "Ti", "p": "Pi"}
_SPARK_AMOUNTS = {"cpu": ("coreRequest", "coreLimit"), "memory": ("memory", "memoryLimit")}
_POD_FIELDS = ("nodeSelector", "tolerations", "affinity", "priorityClassName", "initContainers")

Groups = list[TemplatePods] | None


def read_derived(job: SourceValue, reader: str) -> tuple[Groups, str]:
    """Return the groups of pods (None after a fault), and a phrase for what cannot be read ("" for nothing)."""
    return _READERS[reader](job)


# --- SparkApplication -------------------------------------------------------------------------------------------------


def _spark_application(job: SourceValue) -> tuple[Groups, str]:
    driver, executor = require(job, "spec.driver"), require(job, "spec.executor")
    if driver is None or executor is None:
        return None, ""
    if driver.mapping("a mapping") is None or executor.mapping("a mapping") is None:
        return None, ""
    if not all([_has_amounts(driver), _has_amounts(executor)]):
        return None, ""
    instances = find(executor, "instances")
    count = 0 if instances is None else instances.integer("a whole number of executors from 0", 0)
    return [
        TemplatePods("driver", _spark_template(driver), 1),
        TemplatePods("executor", _spark_template(executor), count),
    ], ""


def _has_amounts(role: SourceValue) -> bool:
    """Return whether the amounts of a role can be read; report those that cannot."""
    is_sound = True
    for resource, keys in _SPARK_AMOUNTS.items():
        for key in keys:
            written = as_mapping(role.value).get(key)
            if written is not None and parse_quantity(resource, _kubernetes_memory(written)) is None:
                example = "2g" if resource == "memory" else "500m or 4"
                message = f"{describe_value(written)} is not an amount of {resource}; write one such as {example}"
                role.child(key, written).fault("bad-quantity", message)
                is_sound = False
    return is_sound


def _spark_template(role: SourceValue) -> SourceValue:
    """Return the pod that Kueue counts for a driver or an executor; resources come from the role, not a template."""
    fields = as_mapping(role.value)
    requests = {"cpu": fields.get("coreRequest"), "memory": _kubernetes_memory(fields.get("memory"))}
    limits = {"cpu": fields.get("coreLimit"), "memory": _kubernetes_memory(fields.get("memoryLimit"))}
    gpu = as_mapping(fields.get("gpu"))
    if gpu.get("name"):
        limits[str(gpu["name"])] = gpu.get("quantity")
    container = {"resources": {"requests": _written(requests), "limits": _written(limits)}}
    containers = [container, *as_list(fields.get("sidecars"))]
    metadata = {key: fields[key] for key in ("labels", "annotations") if key in fields}
    spec = {key: fields[key] for key in _POD_FIELDS if key in fields}
    value = {"metadata": metadata, "spec": {**spec, "containers": containers}}
    return SourceValue(value, role.path, role.problems)


def _kubernetes_memory(written: object) -> object:
    """Convert Java's `512m` to Kubernetes' `512Mi`."""
    match = _JAVA_MEMORY.fullmatch(written) if isinstance(written, str) else None
    return f"{match[1]}{_JAVA_SUFFIXES[match[2].lower()]}" if match else written


def _written(values: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if value is not None}


# --- TrainJob ---------------------------------------------------------------------------------------------------------


def _train_job(job: SourceValue) -> tuple[Groups, str]:
    """Return the trainer's nodes if the job has their resources; all other settings are in the runtime."""
    runtime = find(job, "spec.runtimeRef.name")
    if runtime is None:
        require(job, "spec.runtimeRef.name")
        return None, ""
    unread = f"the pods of its runtime '{runtime.value}', which is not in the manifest"
    trainer, resources = find(job, "spec.trainer"), find(job, "spec.trainer.resourcesPerNode")
    if trainer is None or resources is None:
        return [], unread
    nodes = find(job, "spec.trainer.numNodes")
    count = 1 if nodes is None else nodes.integer("a whole number of nodes from 0", 0)
    value = {"spec": {"containers": [{"resources": resources.value}]}}
    unread = f"selectors, tolerations and further pods of its runtime '{runtime.value}', which is not in the manifest"
    return [TemplatePods("node", SourceValue(value, trainer.path, trainer.problems), count)], unread


# --- AppWrapper -------------------------------------------------------------------------------------------------------


def _app_wrapper(job: SourceValue) -> tuple[Groups, str]:
    """Return the pods of every component: those in its `podSets`, otherwise those of its kind."""
    source = require(job, "spec.components")
    components = source.sequence("a list of components") if source is not None else None
    if components is None:
        return None, ""
    groups: list[TemplatePods] = []
    unread: list[str] = []
    for index, component in enumerate(components):
        inner, clause = _component_groups(component)
        if inner is None:
            return None, ""
        groups += [TemplatePods(f"{each.name}-{index}", each.template, each.count, each.replicas) for each in inner]
        unread += [clause] if clause else []
    return groups, " and ".join(unread)


def _component_groups(component: SourceValue) -> tuple[Groups, str]:
    wrapped = require(component, "template")
    if wrapped is None or wrapped.mapping("a Kubernetes object") is None:
        return None, ""
    declared = find(component, "podSets")
    if declared is not None:
        return _declared_groups(component, declared), ""
    kind = str(get_nested(wrapped.value, "kind"))
    row = kinds().get(kind)
    if row is None:
        return [], f"the pods of the {kind} that it wraps"
    if row.reader is not None:
        return read_derived(wrapped, row.reader)
    groups = read_template_pods(wrapped, row.pods)
    copies = get_nested(wrapped.value, *row.workloads.split(".")) if row.workloads else 1
    times = copies if isinstance(copies, int) and copies >= 0 else 1
    return None if groups is None else [_multiplied(each, times) for each in groups], ""


def _multiplied(group: TemplatePods, times: int) -> TemplatePods:
    return TemplatePods(
        group.name, group.template, None if group.count is None else group.count * times, group.replicas
    )


def _declared_groups(component: SourceValue, declared: SourceValue) -> Groups:
    groups: list[TemplatePods] = []
    for entry in declared.sequence("a list of pod sets") or ():
        fields = entry.known_fields(("path",), ("replicas", "annotations"))
        path = fields["path"].text("the path of a pod template") if fields else None
        if fields is None or path is None:
            return None
        template = require(component, path)
        if template is None:
            return None
        count = fields["replicas"].integer("a whole number of pods from 0", 0) if "replicas" in fields else 1
        groups.append(TemplatePods(f"pods-{len(groups)}", template, count))
    return groups


_READERS: Mapping[str, Callable[[SourceValue], tuple[Groups, str]]] = {
    "spark-application": _spark_application,
    "train-job": _train_job,
    "app-wrapper": _app_wrapper,
}
