"""The registered resources of `berth preview`, as a tree and as JSON."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from msgspec import Struct

from berth import outputs as exports
from berth.backends.interface import backend_of
from berth.cli.preview.live_cluster import answer_function
from berth.cli.terminal import is_coloured
from berth.diagnostics import format_path
from berth.engine import Marker, Preview, RecordedResource, References, read_project_name, run_program
from berth.evaluate import Evaluation

_MAX_TEXT = 200
"""Maximum length of a string in the tree; the JSON has the whole string."""
_BOLD, _DIM, _YELLOW = 1, 2, 33
_PROVIDER = "pulumi:providers:"


def _styled(text: str, style: int, enabled: bool) -> str:
    """Return text in a style of terminals."""
    return f"\x1b[{style}m{text}\x1b[0m" if enabled and text else text


def run_stack_program(evaluation: Evaluation, root: Path, *, preview: bool = True) -> Preview:
    """Run the Pulumi program with the config of a stack without faults. Raises ProgramError if the program fails.

    With `preview` False it runs as in `pulumi up`, with invented values for outputs that only a cloud knows.
    """
    kind, secrets = evaluation.loaded.config_key, stand_in_secrets(evaluation)
    config = {**evaluation.loaded.config, **secrets}
    return run_program(
        root,
        evaluation.loaded.stack,
        config.pop(kind),
        config,
        config_key=kind,
        preview=preview,
        secrets=secrets.keys(),
        references=stand_in_references(evaluation, root),
        invoke=partial(answer_function, evaluation.fleet_plan),
    )


def stand_in_secrets(evaluation: Evaluation) -> dict[str, str]:
    """Return config keys of workers' kubeconfigs, each with a kubeconfig that reaches no cluster."""
    workers = evaluation.fleet_plan.workers if evaluation.fleet_plan else ()
    return {f"berth:{worker.kubeconfig}": exports.PLACEHOLDER_KUBECONFIG for worker in workers if worker.kubeconfig}


def stand_in_references(evaluation: Evaluation, root: Path) -> References:
    """Return the outputs of other stacks that the program reads."""
    return backend_of(evaluation).stand_in_references(evaluation, read_project_name(root))


def tree(preview: Preview, inputs: bool, colour: bool | None = None) -> str:
    """Return the resources as a tree, then outputs, warnings, counts by type and the total.

    Siblings are sorted by type and name. A provider is named where its package has more than one. `inputs` adds every
    input, one line each. `colour` None colours only on a terminal (and never with NO_COLOR set).
    """
    coloured = is_coloured(sys.stdout) if colour is None else colour
    children: dict[str | None, list[RecordedResource]] = defaultdict(list)
    for resource in sorted(preview.resources, key=lambda r: (r.type, r.name)):
        children[resource.parent].append(resource)
    providers = Counter(
        each.type.removeprefix(_PROVIDER) for each in preview.resources if each.type.startswith(_PROVIDER)
    )
    several = frozenset(package for package, count in providers.items() if count > 1)
    printer = _TreePrinter(children, several, inputs, coloured)
    exports = [f"  {path} = {value}" for path, value in _leaves((), preview.exports)]
    parts = [
        [line for top in children[None] for line in printer.lines(top, "", "")],
        ["exports", *exports] if exports else [],
        [f"{message.severity}: {message.text}" for message in preview.messages if message.severity != "info"],
        _counts(preview.resources, coloured),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


class _TreePrinter(Struct, frozen=True):
    """The context in which lines are written; resources of a package with `several` providers name theirs."""

    children: Mapping[str | None, Sequence[RecordedResource]]
    several: frozenset[str]
    inputs: bool
    coloured: bool

    def lines(self, resource: RecordedResource, indent: str, child_indent: str) -> Iterator[str]:
        """Yield the resource after `indent`, and its children after `child_indent`."""
        children = self.children.get(resource.urn, ())
        options = ", ".join(_options(resource, resource.type.split(":", 1)[0] in self.several))
        kind, marks = _styled(resource.type, _DIM, self.coloured), _styled(options, _YELLOW, self.coloured)
        yield indent + "  ".join(filter(None, [resource.name, kind, marks]))
        detail_indent = child_indent + ("│  " if children else "   ")
        for line in _details(resource) if self.inputs else ():
            yield _styled(detail_indent + line, _DIM, self.coloured)
        for child in children:
            last = child is children[-1]
            yield from self.lines(
                child, child_indent + ("└─ " if last else "├─ "), child_indent + ("   " if last else "│  ")
            )


def _options(resource: RecordedResource, name_provider: bool) -> Iterator[str]:
    """Yield the options of a resource that affect an update, as text."""
    if resource.protect:
        yield "protected"
    if resource.delete_before_replace:
        yield "deleted before replaced"
    if resource.replace_on_changes:
        yield f"replaced on {' '.join(resource.replace_on_changes)}"
    if resource.ignore_changes:
        yield f"ignores {' '.join(resource.ignore_changes)}"
    if resource.retain_on_delete:
        yield "retained on delete"
    if resource.import_id:
        yield f"{'read' if resource.read else 'imported'} as {resource.import_id}"
    if resource.aliases:
        yield f"was {' '.join(_former_identity(resource, alias) for alias in resource.aliases)}"
    if resource.provider and name_provider:
        yield f"via {_name_in_urn(resource.provider)}"


def _former_identity(resource: RecordedResource, alias: str) -> str:
    """Return how an alias differs: its name, its type, or otherwise its URN without stack and project."""
    (above, name), (was_above, was_name) = resource.urn.rsplit("::", 1), alias.rsplit("::", 1)
    if above == was_above:
        return was_name
    own_type_only = (
        name == was_name and above.removesuffix(resource.type) == was_above[: len(above) - len(resource.type)]
    )
    return was_above.rsplit("$", 1)[-1] if own_type_only else alias.split("::", 2)[-1]


def _name_in_urn(urn: str) -> str:
    return urn.split("::", 3)[-1]


def _details(resource: RecordedResource) -> Iterator[str]:
    """Yield each input of the resource, then its other options, one line each."""
    yield from (f"{path} = {value}" for path, value in _leaves((), resource.inputs))
    if resource.provider:
        yield f"(provider) {_name_in_urn(resource.provider)}"
    if resource.deleted_with:
        yield f"(deleted with) {_name_in_urn(resource.deleted_with)}"
    if resource.dependencies:
        yield f"(depends on) {' '.join(sorted(map(_name_in_urn, resource.dependencies)))}"
    if resource.custom_timeouts:
        yield f"(timeouts) {' '.join(f'{action}={time}' for action, time in resource.custom_timeouts.items())}"


def _leaves(path: tuple[str | int, ...], value: object) -> Iterator[tuple[str, str]]:
    """Yield every scalar or empty collection in a value as JSON, with its path.

    A marker has no quotes, and a long string is truncated, with its length.
    """
    items: list[tuple[str | int, object]] = []
    if isinstance(value, Mapping):
        items = list(cast(Mapping[str | int, object], value).items())
    elif isinstance(value, list):
        items = list(enumerate(cast(list[object], value)))
    for key, item in items:
        yield from _leaves((*path, key), item)
    if path and isinstance(value, Marker):
        yield format_path(path), value
    elif path and not items:
        text = json.dumps(value, ensure_ascii=False)
        cut = f"{text[:_MAX_TEXT]}… ({len(text)} characters)"
        yield format_path(path), text if len(text) <= _MAX_TEXT else cut


def _counts(resources: Sequence[RecordedResource], coloured: bool) -> list[str]:
    """Return the number of resources of each type, most frequent first, and the total without the stack itself."""
    counted = [resource for resource in resources if resource.type != "pulumi:pulumi:Stack"]
    types = sorted(Counter(resource.type for resource in counted).items(), key=lambda item: (-item[1], item[0]))
    components, protected = sum(not resource.custom for resource in counted), sum(one.protect for one in counted)
    total = f"{len(counted)} resources ({components} of them components), {protected} protected"
    return [*(f"{count:5}  {kind}" for kind, count in types), _styled(total, _BOLD, coloured)]


def preview_as_json(preview: Preview) -> dict[str, object]:
    """Return the preview as JSON values: resources sorted by URN, with all keys, spelled as in Pulumi."""
    return {
        "project": preview.project,
        "stack": preview.stack,
        "resources": [_resource(resource) for resource in sorted(preview.resources, key=lambda r: r.urn)],
        "exports": dict(preview.exports),
        "messages": [{"severity": m.severity, "text": m.text, "urn": m.urn or None} for m in preview.messages],
    }


def _resource(resource: RecordedResource) -> dict[str, object]:
    return {
        "urn": resource.urn,
        "type": resource.type,
        "name": resource.name,
        "parent": resource.parent,
        "custom": resource.custom,
        "inputs": dict(resource.inputs),
        "protect": resource.protect,
        "provider": resource.provider,
        "dependencies": list(resource.dependencies),
        "propertyDependencies": {key: list(urns) for key, urns in resource.property_dependencies.items()},
        "aliases": list(resource.aliases),
        "deleteBeforeReplace": resource.delete_before_replace,
        "replaceOnChanges": list(resource.replace_on_changes),
        "ignoreChanges": list(resource.ignore_changes),
        "additionalSecretOutputs": list(resource.additional_secret_outputs),
        "hideDiffs": list(resource.hide_diffs),
        "retainOnDelete": resource.retain_on_delete,
        "deletedWith": resource.deleted_with,
        "replaceWith": list(resource.replace_with),
        "replacementTrigger": resource.replacement_trigger,
        "customTimeouts": dict(resource.custom_timeouts),
        "importId": resource.import_id,
        "version": resource.version,
        "pluginDownloadUrl": resource.plugin_download_url,
        "read": resource.read,
        "outputs": None if resource.outputs is None else dict(resource.outputs),
    }
