"""`berth preview`: what would be registered, as a tree for people or as JSON."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from msgspec import Struct

from berth import outputs as exports
from berth.cli.terminal import coloured
from berth.diagnostics import dotted
from berth.engine import Marker, Preview, Recorded, References, project_name, run_program
from berth.evaluate import Verdict

_LONGEST = 200
"""Characters of a string that the tree shows; the JSON has all of it."""


class _Paint(Struct, frozen=True):
    """Colours, or none."""

    on: bool

    def dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.on and text else text

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.on else text

    def strong(self, text: str) -> str:
        return f"\x1b[33m{text}\x1b[0m" if self.on and text else text


def run(verdict: Verdict, root: Path, *, preview: bool = True) -> Preview:
    """Run the real program with the config of a sound stack. Raises `ProgramError` with what to tell its author.

    Without `preview` it runs as in `pulumi up`, with made-up answers for what only a cloud knows.
    """
    assert verdict.file is not None
    kind, known = verdict.file.kind, stand_in_secrets(verdict)
    config = {**verdict.file.config, **known}
    return run_program(
        root,
        verdict.file.stack,
        config.pop(kind),
        config,
        kind=kind,
        preview=preview,
        secrets=known.keys(),
        references=stand_in_references(verdict, root),
    )


def stand_in_secrets(verdict: Verdict) -> dict[str, str]:
    """Config keys of workers' kubeconfigs, each with one that leads nowhere: only the engine has theirs."""
    workers = verdict.plan.workers if verdict.plan else ()
    return {f"berth:{worker.kubeconfig}": exports.STAND_IN for worker in workers if worker.kubeconfig}


def stand_in_references(verdict: Verdict, root: Path) -> References:
    """What other stacks would export: those of workers' clusters, and a team's platform by its own plan."""
    if verdict.plan is not None:
        outputs = {exports.KUBECONFIG: exports.STAND_IN}
        return {worker.stack: (outputs, {exports.KUBECONFIG}) for worker in verdict.plan.workers if worker.stack}
    if verdict.team is None or verdict.platform is None or verdict.platform.plan is None:
        return {}
    name = f"organization/{project_name(root)}/{verdict.team.platform}"
    return {name: (exports.stand_in(verdict.platform.plan), {exports.KUBECONFIG})}


def tree(preview: Preview, inputs: bool, colour: bool | None = None) -> str:
    """The resources by parent, each with the options that matter; then exports, warnings, counts by type and the total.

    Siblings are sorted by type and name. A provider is named where its package has more than one. `inputs` adds every
    input, one line each. `colour` None colours only on a terminal (and never with NO_COLOR set).
    """
    paint = _Paint(coloured(sys.stdout) if colour is None else colour)
    parts = [_forest(preview, inputs, paint), _exports(preview), _warnings(preview), _counts(preview.resources, paint)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _forest(preview: Preview, inputs: bool, paint: _Paint) -> list[str]:
    """The stack and, where the program leaves them to the engine, default providers, with all that is under them."""
    children: dict[str | None, list[Recorded]] = defaultdict(list)
    for one in sorted(preview.resources, key=lambda r: (r.type, r.name)):
        children[one.parent].append(one)
    branch = _Branches(children, _ambiguous(preview.resources), inputs, paint)
    return [line for top in children[None] for line in branch.lines(top, "", "")]


class _Branches(Struct, frozen=True):
    """What drawing a branch needs to know."""

    children: Mapping[str | None, Sequence[Recorded]]
    ambiguous: frozenset[str]
    inputs: bool
    paint: _Paint

    def lines(self, one: Recorded, lead: str, below: str) -> Iterator[str]:
        """The resource after `lead`, and all under it after `below`."""
        under = self.children.get(one.urn, ())
        yield lead + self._line(one)
        bar = below + ("│  " if under else "   ")
        yield from (self.paint.dim(bar + line) for line in (_details(one) if self.inputs else ()))
        for child in under:
            last = child is under[-1]
            yield from self.lines(child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))

    def _line(self, one: Recorded) -> str:
        options = ", ".join(_options(one, one.type.split(":", 1)[0] in self.ambiguous))
        return "  ".join(filter(None, [one.name, self.paint.dim(one.type), self.paint.strong(options)]))


def _ambiguous(resources: Iterable[Recorded]) -> frozenset[str]:
    """Packages with more than one provider, whose resources have to say which is theirs."""
    counts = Counter(one.type.rsplit(":", 1)[1] for one in resources if one.type.startswith("pulumi:providers:"))
    return frozenset(package for package, count in counts.items() if count > 1)


def _options(one: Recorded, name_provider: bool) -> Iterator[str]:
    """The options of a resource that change what an update may do to it, in words."""
    if one.protect:
        yield "protected"
    if one.delete_before_replace:
        yield "deleted before replaced"
    if one.replace_on_changes:
        yield f"replaced on {' '.join(one.replace_on_changes)}"
    if one.ignore_changes:
        yield f"ignores {' '.join(one.ignore_changes)}"
    if one.retain_on_delete:
        yield "retained on delete"
    if one.import_id:
        yield f"{'read' if one.read else 'imported'} as {one.import_id}"
    if one.aliases:
        yield f"was {' '.join(_former(one, alias) for alias in one.aliases)}"
    if one.provider and name_provider:
        yield f"via {_name(one.provider)}"


def _former(one: Recorded, alias: str) -> str:
    """What differs in an alias: its name, or its own type, or else all of it after stack and project."""
    (above, name), (was_above, was_name) = one.urn.rsplit("::", 1), alias.rsplit("::", 1)
    if above == was_above:
        return was_name
    own_type_only = name == was_name and above.removesuffix(one.type) == was_above[: len(above) - len(one.type)]
    return was_above.rsplit("$", 1)[-1] if own_type_only else alias.split("::", 2)[-1]


def _name(urn: str) -> str:
    return urn.split("::", 3)[-1]


def _details(one: Recorded) -> Iterator[str]:
    """Everything a provider gets for the resource, a line each, then what else the engine knows of it."""
    yield from (f"{path} = {value}" for path, value in _leaves((), one.inputs))
    if one.provider:
        yield f"(provider) {_name(one.provider)}"
    if one.deleted_with:
        yield f"(deleted with) {_name(one.deleted_with)}"
    if one.dependencies:
        yield f"(depends on) {' '.join(sorted(map(_name, one.dependencies)))}"
    if one.custom_timeouts:
        yield f"(timeouts) {' '.join(f'{action}={time}' for action, time in one.custom_timeouts.items())}"


def _leaves(path: tuple[str | int, ...], value: object) -> Iterator[tuple[str, str]]:
    """Every scalar (or empty collection) in a value, with its path."""
    items = _items(value)
    if not items and path:
        yield dotted(path), _shown(value)
    for key, item in items:
        yield from _leaves((*path, key), item)


def _items(value: object) -> list[tuple[str | int, object]]:
    """What a collection holds, by key or index; nothing for a scalar."""
    if isinstance(value, Mapping):
        return list(cast(Mapping[str | int, object], value).items())
    return list(enumerate(cast(list[object], value))) if isinstance(value, list) else []


def _shown(value: object) -> str:
    """A scalar as JSON, a marker bare; a long string is cut and its length told."""
    if isinstance(value, Marker):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


def _exports(preview: Preview) -> list[str]:
    """The stack's outputs."""
    lines = [f"  {path} = {value}" for path, value in _leaves((), preview.exports)]
    return ["exports", *lines] if lines else []


def _warnings(preview: Preview) -> list[str]:
    """What the SDK, Python or the program warned of."""
    return [f"{m.severity}: {m.text}" for m in preview.messages if m.severity != "info"]


def _counts(resources: Sequence[Recorded], paint: _Paint) -> list[str]:
    """How many of each type, most frequent first, and of all; the stack itself is not counted."""
    counted = [one for one in resources if one.type != "pulumi:pulumi:Stack"]
    types = sorted(Counter(one.type for one in counted).items(), key=lambda item: (-item[1], item[0]))
    components, protected = sum(not one.custom for one in counted), sum(one.protect for one in counted)
    total = f"{len(counted)} resources ({components} of them components), {protected} protected"
    return [*(f"{count:5}  {kind}" for kind, count in types), paint.bold(total)]


def as_json(preview: Preview) -> dict[str, object]:
    """The preview as plain JSON values: resources sorted by URN, keys as Pulumi spells them, every key always there."""
    return {
        "project": preview.project,
        "stack": preview.stack,
        "resources": [_resource(one) for one in sorted(preview.resources, key=lambda r: r.urn)],
        "exports": dict(preview.exports),
        "messages": [{"severity": m.severity, "text": m.text, "urn": m.urn or None} for m in preview.messages],
    }


def _resource(one: Recorded) -> dict[str, object]:
    return {
        "urn": one.urn,
        "type": one.type,
        "name": one.name,
        "parent": one.parent,
        "custom": one.custom,
        "inputs": dict(one.inputs),
        "protect": one.protect,
        "provider": one.provider,
        "dependencies": list(one.dependencies),
        "propertyDependencies": {key: list(urns) for key, urns in one.property_dependencies.items()},
        "aliases": list(one.aliases),
        "deleteBeforeReplace": one.delete_before_replace,
        "replaceOnChanges": list(one.replace_on_changes),
        "ignoreChanges": list(one.ignore_changes),
        "additionalSecretOutputs": list(one.additional_secret_outputs),
        "hideDiffs": list(one.hide_diffs),
        "retainOnDelete": one.retain_on_delete,
        "deletedWith": one.deleted_with,
        "replaceWith": list(one.replace_with),
        "replacementTrigger": one.replacement_trigger,
        "customTimeouts": dict(one.custom_timeouts),
        "importId": one.import_id,
        "version": one.version,
        "pluginDownloadUrl": one.plugin_download_url,
        "read": one.read,
        "outputs": None if one.outputs is None else dict(one.outputs),
    }
