"""Read the Kueue configuration that a blueprint applies: a template of Terraform with Kueue's objects."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import yaml
from msgspec import Struct, field

from berth.adopt.api_objects import ApiObject, NotAdopted
from berth.adopt.sources.expressions import evaluate, expand
from berth.adopt.sources.source_fleet import Scope, Unresolved, UnusableSource, list_or_empty, mapping_or_empty
from berth.yaml_loader import load_yaml

_KUEUE = re.compile(r"^\s*apiVersion:\s*[\"']?kueue\.x-k8s\.io/", re.MULTILINE)
_FILE = re.compile(r"[\w.-]+\.ya?ml(?:\.tftpl)?")
_CONDITION = re.compile(r"%\{~?\s*if (?P<condition>[^}]*?)\s*~?\}(?P<then>.*?)%\{~?\s*endif\s*~?\}", re.DOTALL)
_READ: Final = frozenset(
    {
        *("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue", "Cohort", "AdmissionCheck"),
        *("ProvisioningRequestConfig", "WorkloadPriorityClass", "PriorityClass", "Namespace"),
    }
)
"""Kinds that become teams, queues, flavors, cohorts and priorities."""

_WITH_SPEC: Final = frozenset({"ClusterQueue", "LocalQueue", "AdmissionCheck"})


def is_kueue_file(text: str) -> bool:
    """Return whether a file has objects of Kueue, and is no blueprint."""
    return _KUEUE.search(text) is not None and "deployment_groups" not in text


class KueueFiles(Struct):
    """The files of Kueue's objects beside a blueprint, and what the modules that apply them say."""

    files: Mapping[str, str]
    objects: list[ApiObject] = field(default_factory=list[ApiObject])
    applied: set[str] = field(default_factory=set[str])

    def apply(self, module: str, settings: Mapping[str, Any], notes: list[NotAdopted]) -> bool:
        """Read what a module `kubectl-apply` applies; return whether one of the files is among it."""
        kueue = mapping_or_empty(settings.get("kueue"))
        manifests = [(kueue.get("config_path"), kueue.get("config_template_vars"))]
        for each in map(mapping_or_empty, list_or_empty(settings.get("apply_manifests"))):
            manifests.append((each.get("source"), each.get("template_vars")))
        named = [(self._file_of(str(path)), mapping_or_empty(names)) for path, names in manifests]
        found = [(file, names) for file, names in named if file is not None]
        for file, names in found:
            self.applied.add(file)
            self.objects += _objects(module, file, self.files[file], names, notes)
        return bool(found)

    def _file_of(self, path: str) -> str | None:
        """Return the given file that a path of the blueprint names: a staged one keeps its name."""
        names = _FILE.findall(path)
        return next((file for file in self.files if names and pathlib.Path(file).name == names[-1]), None)

    def unapplied(self) -> Iterator[NotAdopted]:
        """Yield a line for each file that no module applies."""
        for file in self.files:
            if file not in self.applied:
                yield NotAdopted(
                    file, "no module kubectl-apply of the blueprint names this file: its queues are not read"
                )


def _objects(module: str, file: str, text: str, names: Scope, notes: list[NotAdopted]) -> Iterator[ApiObject]:
    expanded = expand(_CONDITION.sub(lambda match: _chosen(match, names), text), names)
    if isinstance(expanded, Unresolved) or "%{" in str(expanded):
        missing = expanded.text if isinstance(expanded, Unresolved) else "a directive of the template"
        notes.append(NotAdopted(f"module {module}", f"{missing} has no value: the queues of {file} are not read"))
        return
    for part in re.split(r"^---[^\S\n]*$", str(expanded), flags=re.MULTILINE):
        resource = _document(file, part)
        if resource is None:
            continue
        kind, name = str(resource["kind"]), str(resource["metadata"]["name"])
        if kind in _READ:
            yield _in_newest_form(resource)
        else:
            notes.append(NotAdopted(f"{kind} {name} of {file}", "Berth makes no such object, and does not apply it"))


def _chosen(match: re.Match[str], names: Scope) -> str:
    """Return what a condition leaves of its text; as it is, if its value is unknown."""
    then, _, other = match["then"].partition("%{ else }")
    value = evaluate(match["condition"], names)
    return match[0] if isinstance(value, Unresolved) else then if value else other


def _document(file: str, text: str) -> dict[str, Any] | None:
    try:
        value = load_yaml(text)
    except (yaml.YAMLError, RecursionError) as error:
        what = " ".join(str(getattr(error, "problem", None) or "nests too deep").split())
        raise UnusableSource(f"{file}: error: not valid YAML: {what}") from None
    if value is None:
        return None
    resource = mapping_or_empty(value)
    metadata = mapping_or_empty(resource.get("metadata"))
    if not isinstance(resource.get("kind"), str) or not isinstance(metadata.get("name"), str):
        raise UnusableSource(f"{file}: error: an object without kind and metadata.name; write both")
    if resource["kind"] in _WITH_SPEC and not isinstance(resource.get("spec"), Mapping):
        raise UnusableSource(f"{file}: error: {resource['kind']} {metadata['name']} has no mapping `spec`; write it")
    return cast("dict[str, Any]", value)


def _in_newest_form(resource: dict[str, Any]) -> dict[str, Any]:
    """Return an object as newer releases have it: with cohortName, and with the namespace that kubectl gives it."""
    spec, metadata = dict(mapping_or_empty(resource.get("spec"))), dict(resource["metadata"])
    if "cohort" in spec:
        spec["cohortName"] = spec.pop("cohort")
    if resource["kind"] == "LocalQueue":
        metadata.setdefault("namespace", "default")
    return {**resource, "metadata": metadata} | ({"spec": spec} if "spec" in resource else {})
