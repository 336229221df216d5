"""What differs between a preview of ours and one of the engine's, in lines; see `real_preview`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_UNKNOWNS = frozenset(
    {  # sdk/go/common/resource/plugin/rpc.go: one for each kind of value
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"


@dataclass(frozen=True)
class Real:
    """What the engine was sent and what it holds, both by URN; `sent` has the shape of `berth preview --json`."""

    sent: Mapping[str, Mapping[str, Any]]
    held: Mapping[str, Mapping[str, Any]]
    urns_agree: bool


@dataclass
class Comparison:
    """One stack's result; a difference is one line."""

    stack: str
    resources: int = 0
    values: int = 0
    added: Counter[str] = field(default_factory=Counter[str])
    differences: list[str] = field(default_factory=list[str])
    seconds: float = 0.0


def compared(stack: str, ours: Mapping[str, Mapping[str, Any]], real: Real) -> Comparison:
    """Return all differences between one preview and the other."""
    result = Comparison(stack, resources=len(ours))
    if not real.urns_agree:
        result.differences.append("a request was given another URN here than by the engine")
    for title, theirs in (("sent", real.sent), ("held", real.held)):
        result.differences += [f"{title}: only in berth preview: {urn}" for urn in sorted(ours.keys() - theirs.keys())]
        result.differences += [f"{title}: only in pulumi preview: {urn}" for urn in sorted(theirs.keys() - ours.keys())]
    for urn in sorted(ours.keys() & real.sent.keys()):
        for name, value in ours[urn].items():
            _values(result, f"sent: {urn}: {name}", value, real.sent[urn][name], added=None)
    for urn in sorted(ours.keys() & real.held.keys()):
        _held(result, urn, ours[urn], real.held[urn])
    return result


def _held(result: Comparison, urn: str, one: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """What the engine holds of a resource against what we say of it."""
    _values(result, f"held: {urn}: inputs", one["inputs"], state.get("inputs", {}), added=result.added)
    for name, ours, theirs in _options(one, state):
        _values(result, f"held: {urn}: {name}", ours, theirs, added=None)


def _options(one: Mapping[str, Any], state: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield every option that a step tells of: its name, ours, the engine's."""
    yield "type", one["type"], state["type"]
    yield "custom", one["custom"], state.get("custom", False)
    yield "parent", one["parent"], state.get("parent")
    yield "protect", one["protect"], state.get("protect", False)
    yield "retainOnDelete", one["retainOnDelete"], state.get("retainOnDelete", False)
    yield "provider", one["provider"], state["provider"].rpartition("::")[0] if state.get("provider") else None
    yield "deletedWith", one["deletedWith"], state.get("deletedWith")
    yield "importID", None if one["read"] else one["importId"], state.get("importID")
    yield "customTimeouts", {k: _seconds(v) for k, v in one["customTimeouts"].items()}, state.get("customTimeouts", {})
    for name in ("dependencies", "ignoreChanges", "replaceOnChanges", "replaceWith", "additionalSecretOutputs"):
        yield name, sorted(one[name]), sorted(state.get(name) or [])
    ours, theirs = one["propertyDependencies"], state.get("propertyDependencies") or {}
    yield "propertyDependencies", _non_empty(ours), _non_empty(theirs)


def _non_empty(dependencies: Mapping[str, list[str] | None]) -> dict[str, list[str]]:
    return {name: sorted(urns) for name, urns in dependencies.items() if urns}


def _seconds(duration: str) -> float:
    """Return a Go duration (`1h30m`) in seconds."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)(ms|h|m|s)", duration))


def _values(result: Comparison, path: str, ours: Any, theirs: Any, added: Counter[str] | None) -> None:
    """Compare at any depth. With `added`, keys that only the engine has are counted there instead of told."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and _marker(theirs) is None:
        _mappings(result, path, ours, theirs, added)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            _values(result, f"{path}[{index}]", one, other, added)
    else:
        result.values += 1
        if not _same(ours, theirs):
            result.differences.append(f"{path}: {_short(ours)} in berth preview, {_short(theirs)} in pulumi preview")


def _mappings(
    result: Comparison, path: str, ours: Mapping[str, Any], theirs: Mapping[str, Any], added: Counter[str] | None
) -> None:
    for name in sorted(ours.keys() | theirs.keys()):
        if name in ours and name in theirs:
            _values(result, f"{path}.{name}", ours[name], theirs[name], added)
        elif added is not None and name not in ours:
            added[name] += 1
        elif ours.get(name) is not None or theirs.get(name) is not None:
            _values(result, f"{path}.{name}", ours.get(name), theirs.get(name), added)


def _marker(value: Any) -> str | None:
    """`[unknown]` or `[secret]` in any of their spellings; None for a plain value."""
    if isinstance(value, dict):
        return "[secret]" if value.get(_SIGNATURE) == _SECRET else None
    if isinstance(value, str):
        return "[unknown]" if value in _UNKNOWNS else value if value in ("[unknown]", "[secret]") else None
    return None


def _same(ours: Any, theirs: Any) -> bool:
    mine, other = _marker(ours), _marker(theirs)
    return mine == other if mine or other else ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."


def report(results: Iterable[Comparison]) -> Iterator[str]:
    """Yield a table, the inputs that providers added, every difference, and a closing line."""
    done = list(results)
    if not done:
        yield "no stack was compared"
        return
    width = max((len(one.stack) for one in done), default=0)
    yield f"{'stack':{width}}  resources  values compared  added by providers  differences  seconds"
    for one in done:
        counts = f"{one.resources:9}  {one.values:15}  {one.added.total():18}  {len(one.differences):11}"
        yield f"{one.stack:{width}}  {counts}  {one.seconds:7.1f}"
    added = sum((one.added for one in done), Counter[str]())
    yield "added by providers: " + (", ".join(f"{name} {count}" for name, count in added.most_common()) or "nothing")
    yield from (f"{one.stack}: {line}" for one in done for line in one.differences)
    wrong = sum(len(one.differences) for one in done)
    evaluation = f"{wrong} differences" if wrong else "every preview offline is what the engine previews"
    yield f"{len(done)} stacks, {sum(one.resources for one in done)} resources: {evaluation}"
