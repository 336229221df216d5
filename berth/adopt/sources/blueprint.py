"""Read a blueprint of the Cluster Toolkit (gcluster): its variables and modules, as gcluster expands them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import yaml
from msgspec import Struct, field

from berth.adopt.api_objects import NotAdopted
from berth.adopt.sources import toolkit
from berth.adopt.sources.expressions import evaluate, expand
from berth.adopt.sources.kueue_files import KueueFiles, is_kueue_file
from berth.adopt.sources.source_fleet import Names, Scope, SourceFleet, UnusableSource, list_or_empty, unresolved_in
from berth.adopt.sources.toolkit import APPLY, CLUSTER, EXISTING_CLUSTER, NODE_POOL
from berth.adopt.sources.toolkit_cluster import toolkit_cluster, toolkit_system_pools
from berth.diagnostics import did_you_mean, join_words
from berth.yaml_loader import load_yaml

_MODULE = re.compile(r"(?:^|/)modules/[\w-]+/(?P<name>[\w-]+)")
_OLD_EXPRESSION = re.compile(r"^\(\((?P<inside>.*)\)\)$", re.DOTALL)
_STAGED: Final = re.compile(r"ghpc_stage\(")
_MAX_DIGITS = 9
_MAX_VALUES = 100_000
"""Maximum number of values in a blueprint: aliases of YAML can multiply a small text."""


class Module(Struct):
    """A module of a blueprint: its id, the name of its source, the modules it uses, and its settings as written."""

    id: str
    name: str
    source: str
    uses: list[str]
    written: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict[str, Any])


def read_blueprint(files: Mapping[str, str], values: Mapping[str, str]) -> SourceFleet | None:
    """Return what a blueprint creates; None if no file is one. Raises UnusableSource.

    Other files are deployment files: their `vars` replace those of the blueprint, and `values` both.
    """
    if not any(
        re.search(r"^\s*[\"']?(?:deployment_groups|blueprint_name)[\"']?\s*:", text, re.MULTILINE)
        for text in files.values()
    ):
        return None
    kueue = KueueFiles({file: text for file, text in files.items() if is_kueue_file(text)})
    documents = {file: _document(file, text) for file, text in files.items() if file not in kueue.files}
    blueprints = {file: each for file, each in documents.items() if "deployment_groups" in each}
    if len(blueprints) != 1:
        names = ", ".join(blueprints) or ", ".join(files)
        raise UnusableSource(f"{names}: error: {len(blueprints)} files have deployment_groups; name one blueprint")
    ((file, blueprint),) = blueprints.items()
    written: dict[str, Any] = {}
    for name, each in ((file, blueprint), *(item for item in documents.items() if item[0] != file)):
        written |= {
            key: value
            for key, value in _mapping(each.get("vars"), f"{name}: error: vars").items()
            if value is not None or key not in written
        }
    written |= {name: load_yaml(value) for name, value in values.items()}
    return _Reader(file, blueprint, written, kueue).fleet()


def _document(file: str, text: str) -> dict[str, Any]:
    try:
        value = load_yaml(text)
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark is not None else file
        what = " ".join(str(getattr(error, "problem", None) or error).split())
        raise UnusableSource(f"{place}: error: not valid YAML: {what}") from None
    except RecursionError:
        raise UnusableSource(f"{file}: error: is nested too deep; remove levels") from None
    if _number_of_values(value) > _MAX_VALUES:
        raise UnusableSource(f"{file}: error: has more than {_MAX_VALUES:,} values; write aliases out, or remove them")
    return _mapping(value, f"{file}: error: the file")


def _number_of_values(value: Any) -> int:
    count, level = 0, [value]
    while level and count <= _MAX_VALUES:
        count += len(level)
        level = [inner for each in level for inner in _inside(each)]
    return count


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnusableSource(f"{what} is not a mapping; write 'key: value' lines")
    return {str(key): inner for key, inner in cast("dict[object, Any]", value).items()}


class _Reader:
    """Evaluates one blueprint: variables when they are used, modules in their order."""

    def __init__(self, file: str, blueprint: dict[str, Any], written: dict[str, Any], kueue: KueueFiles) -> None:
        self._file, self._kueue = file, kueue
        self._name = str(blueprint.get("blueprint_name", "without a name"))
        self._written = written
        self._vars = Names("vars", {name: self._lazy(value) for name, value in written.items() if value is not None})
        self._scope: dict[str, Any] = {"vars": self._vars, "var": self._vars}
        self._modules = list(self._read_modules(blueprint))
        self._notes: list[NotAdopted] = []
        self._faults: list[str] = []

    def fleet(self) -> SourceFleet:
        """Return the cluster and node pools. Raises UnusableSource."""
        clusters = [each for each in self._modules if each.name in (CLUSTER, EXISTING_CLUSTER)]
        self._check_clusters(clusters)
        for module in self._modules:
            if toolkit.is_read_module(module.name):
                self._expand(module)
                self._scope[module.id] = toolkit.module_outputs(module.name, module.settings)
                continue
            if module.name != APPLY or not self._kueue.apply(module.id, self._value(module.written), self._notes):
                self._notes.append(
                    NotAdopted(f"module {module.id}", toolkit.instead_of_module(module.name, module.source))
                )
            self._scope[module.id] = Names(module.id, {})
        (cluster_module,) = clusters
        cluster = toolkit_cluster(cluster_module.name, cluster_module.settings)
        pools = toolkit_system_pools(cluster_module.name, cluster_module.settings, self._notes)
        for module in self._modules:
            if module.name == NODE_POOL:
                pools += toolkit.toolkit_node_pools(module.id, module.settings, str(cluster["project"]), self._notes)
        self._check_known(cluster, pools)
        keeps = cluster_module.name == EXISTING_CLUSTER
        notes = [*self._notes, *self._kueue.unapplied()]
        return SourceFleet(
            f"blueprint {self._name}", cluster, pools, notes, keeps_cluster=keeps, objects=self._kueue.objects
        )

    def _read_modules(self, blueprint: dict[str, Any]) -> Iterator[Module]:
        groups = blueprint.get("deployment_groups")
        for at, group in enumerate(cast("list[Any]", groups) if isinstance(groups, list) else [None]):
            place = f"{self._file}: error: deployment_groups[{at}]"
            modules = _mapping(group, place).get("modules")
            if not isinstance(modules, list):
                raise UnusableSource(f"{place} has no list of modules; write modules")
            for number, each in enumerate(cast("list[Any]", modules)):
                module = _mapping(each, f"{place}.modules[{number}]")
                source, own_id = module.get("source"), module.get("id")
                if not isinstance(source, str) or not isinstance(own_id, str):
                    raise UnusableSource(f"{place}.modules[{number}] has no {'id' if source else 'source'}; write both")
                if loop := next((key for key in ("for_each", "count") if key in module), None):
                    what = f"has {loop}, and blueprints repeat no module; write '{own_id}' once for each"
                    raise UnusableSource(f"{place}.modules[{number}] {what}")
                match = _MODULE.search(source)
                uses = list_or_empty(module.get("use"))
                written = _mapping(module.get("settings"), f"{place}.modules[{number}].settings")
                yield Module(own_id, match["name"] if match else source, source, [str(use) for use in uses], written)

    def _check_clusters(self, clusters: Sequence[Module]) -> None:
        what = f"{self._file}: error: blueprint {self._name}"
        if not clusters:
            others = sorted({each.name for each in self._modules if toolkit.makes_other(each.name)})
            made = f" (its modules are {', '.join(others)})" if others else ""
            raise UnusableSource(
                f"{what} makes no GKE cluster{made}: Slurm clusters and VMs have no place in a stack file; name a "
                f"blueprint with modules/scheduler/{CLUSTER}"
            )
        if len(clusters) > 1:
            ids = join_words([each.id for each in clusters])
            raise UnusableSource(
                f"{what} has {len(clusters)} clusters ({ids}), and a stack has one; give each a blueprint"
            )

    def _lazy(self, value: Any) -> Callable[[], Any]:
        return lambda: self._value(value)

    def _value(self, value: Any) -> Any:
        """Return a value with its expressions evaluated: `$(…)` in text, or the older `((…))`."""
        if isinstance(value, str):
            if old := _OLD_EXPRESSION.match(value):
                return evaluate(old["inside"].replace("\n", " "), self._all_names())
            return value if _STAGED.search(value) else expand(value, self._all_names(), "$(", ")")
        if isinstance(value, dict):
            return {str(key): self._value(inner) for key, inner in cast("dict[object, Any]", value).items()}
        if isinstance(value, list):
            return [self._value(each) for each in cast("list[Any]", value)]
        return value

    def _all_names(self) -> Scope:
        return {**self._scope, "module": self._scope}

    def _expand(self, module: Module) -> None:
        """Set a module's inputs in gcluster's order: its settings, outputs of modules it uses, variables, defaults."""
        inputs = toolkit.module_inputs(module.name)
        settings: dict[str, Any] = {}
        for name, value in module.written.items():
            if name not in inputs:
                hint = did_you_mean(name, inputs)
                self._faults.append(f"{self._file}: error: module {module.id} has no input '{name}'{hint}")
            settings[name] = self._value(value)
        settings = {**self._used(module, inputs), **settings}
        for name in inputs:
            if name not in settings and name in self._written and name != "labels":
                settings[name] = self._vars.get(name)
        settings |= {
            name: self._number(module, name, settings[name])
            for name in toolkit.number_inputs(module.name)
            if name in settings
        }
        module.settings = {**toolkit.module_defaults(module.name), **settings}
        toolkit.set_slice_nodes(module.name, module.settings, given=settings)

    def _used(self, module: Module, inputs: Collection[str]) -> dict[str, Any]:
        """Return the inputs that a module has from the modules it uses: the first one's, and lists of all."""
        result: dict[str, Any] = {}
        for used in module.uses:
            if used not in self._scope:
                self._faults.append(
                    f"{self._file}: error: module {module.id} uses '{used}', which is no module above it; write its id"
                )
                continue
            for name, value in toolkit.given_outputs(self._scope[used]).items():
                if name in inputs and name not in module.written:
                    result[name] = (
                        [*result.get(name, []), *value] if isinstance(value, list) else result.get(name, value)
                    )
        return result

    def _number(self, module: Module, name: str, value: Any) -> Any:
        """Return a whole number, which may be written as text."""
        if not isinstance(value, str):
            return value
        if value.isdecimal() and len(value) <= _MAX_DIGITS:
            return int(value)
        self._faults.append(f"{self._file}: error: {name} of module {module.id} is '{value}'; write a whole number")
        return 0

    def _check_known(self, cluster: dict[str, Any], pools: Sequence[dict[str, Any]]) -> None:
        """Raise UnusableSource with every variable that has no value and that the cluster or a node pool needs."""
        needed = [{key: cluster.get(key) for key in ("name", "project", "location")}, *pools]
        unresolved = dict.fromkeys(each.text for value in needed for each in unresolved_in(value))
        for text in unresolved:
            name = text.removeprefix("vars.").removeprefix("var.")
            if ", which " in text:
                self._faults.append(f"{self._file}: error: vars: {text}; write a value")
            elif name != text and re.fullmatch(r"[\w-]+", name):
                self._faults.append(
                    f"{self._file}: error: vars.{name}: has no value; add --value {name}=…, or a deployment file"
                )
        if self._faults:
            raise UnusableSource(*dict.fromkeys(self._faults))
