"""A team's own pod template: checks against the queue's requirements, and its resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from berth.diagnostics import FieldPath, Problems
from berth.manifests.workloads.pods import main_container
from berth.manifests.workloads.values import as_list, as_mapping

OPTION = "--template"


def read_template(value: object, problems: Problems) -> Mapping[str, object] | None:
    """Read the pod template of a document: a bare template, a PodTemplate or a Pod; None after a fault."""
    document = as_mapping(value)
    template = as_mapping(document["template"]) if document.get("kind") == "PodTemplate" else document
    containers = as_list(as_mapping(template.get("spec")).get("containers"))
    if not containers or not all(isinstance(each, dict) for each in containers):
        message = "is not a pod template: it needs spec.containers, a list of at least one container"
        problems.fault("not-a-template", (OPTION,), message)
        return None
    if unknown := sorted(map(str, template.keys() - _TEMPLATE_KEYS)):
        problems.fault(
            "not-a-template", (OPTION,), f"'{unknown[0]}' does not belong in a pod template; remove {unknown[0]}"
        )
        return None
    metadata = as_mapping(template.get("metadata"))
    kept = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    return {**({"metadata": kept} if kept else {}), "spec": template["spec"]}


_TEMPLATE_KEYS: Final = {"apiVersion", "kind", "metadata", "spec", "status"}


def check_template(template: Mapping[str, object], derived: Mapping[str, object], problems: Problems) -> None:
    """Report settings of the template that conflict with the queue: network, subdomain, selectors, accelerators.

    `derived` is the pod template that Berth writes without one.
    """
    own, needed = as_mapping(template["spec"]), as_mapping(derived["spec"])
    for key in ("hostNetwork", "subdomain"):
        _compare(problems, ("spec", key), own, needed)
    for label in as_mapping(needed.get("nodeSelector")):
        selector = as_mapping(own.get("nodeSelector"))
        _compare(problems, ("spec", "nodeSelector", label), selector, as_mapping(needed["nodeSelector"]))
    index = main_container(template)
    resources, derived_resources = (
        as_mapping(as_mapping(as_list(spec["containers"])[at]).get("resources"))
        for spec, at in ((own, index), (needed, 0))
    )
    for part, amounts in derived_resources.items():
        for resource in as_mapping(amounts):
            if "/" in resource:
                path = ("spec", "containers", index, "resources", part, resource)
                _compare(problems, path, as_mapping(resources.get(part)), as_mapping(amounts))


def _compare(problems: Problems, path: FieldPath, own: Mapping[str, object], needed: Mapping[str, object]) -> None:
    key = str(path[-1])
    if key not in needed or str(own.get(key, needed[key])) == str(needed[key]):
        return
    written, wanted = (str(each).lower() if isinstance(each, bool) else each for each in (own[key], needed[key]))
    message = f"{'.'.join(map(str, path))} is '{written}', but the machines of the queue need '{wanted}'"
    problems.fault(
        "template-conflict", (OPTION,), f"{message}; remove it from the template, and Berth writes '{wanted}'"
    )


def accelerators_in(template: Mapping[str, object] | None, resource: str) -> int | None:
    """Count the accelerators that the main container of a template requests; None if it requests none."""
    if template is None:
        return None
    containers = as_list(as_mapping(template["spec"]).get("containers"))
    resources = as_mapping(as_mapping(containers[main_container(template)]).get("resources"))
    amounts = [str(as_mapping(resources.get(part)).get(resource, "")) for part in ("limits", "requests")]
    return next((int(amount) for amount in amounts if amount.isdigit()), None)


def cpu_in(template: Mapping[str, object] | None) -> int | None:
    """Return the milli-cpu that the main container of a template requests, as `4` or `500m`; None if it has neither."""
    if template is None:
        return None
    containers = as_list(as_mapping(template["spec"]).get("containers"))
    resources = as_mapping(as_mapping(containers[main_container(template)]).get("resources"))
    for part in ("requests", "limits"):
        text = str(as_mapping(resources.get(part)).get("cpu", ""))
        if text.removesuffix("m").isdigit():
            return int(text[:-1]) if text.endswith("m") else int(text) * 1000
    return None


def inline_volumes(template: Mapping[str, object] | None) -> list[Mapping[str, object]]:
    """Return what a template says of each volume to a CSI driver; nothing of those without one."""
    volumes = as_list(as_mapping((template or {}).get("spec")).get("volumes"))
    return [as_mapping(as_mapping(each).get("csi")) for each in volumes]


def without_accelerators(template: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """Copy a template for a head or a launcher: the copy's main container has no resources and no command."""
    if template is None:
        return None
    spec, index = as_mapping(template["spec"]), main_container(template)
    containers = [
        {key: value for key, value in as_mapping(each).items() if i != index or key not in _OF_THE_WORKER}
        for i, each in enumerate(as_list(spec.get("containers")))
    ]
    return {**template, "spec": {**spec, "containers": containers}}


def on_any_node(template: Mapping[str, object]) -> Mapping[str, object]:
    """Copy a template without its selection of nodes."""
    spec = as_mapping(template["spec"])
    return {**template, "spec": {key: spec[key] for key in spec if key not in ("affinity", "nodeSelector")}}


_OF_THE_WORKER: Final = ("resources", "command", "args")
