"""Two stacks that extend one base: what a promotion of one to the other changes, and which stacks a base reaches."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.cli.arguments import exit_with_problems
from berth.cli.comparison import StackRevision
from berth.diagnostics import FieldPath, format_path
from berth.document import Block, Lines, Note
from berth.evaluate import Evaluation, evaluate_changed
from berth.loader import locate, read_stack
from berth.loader.locate import stack_names

_OF_A_PLACE: Final = frozenset(
    {"zone", "zones", "location", "project", "projectNumber", "region", "context", "kubeconfig", "secret"}
    | {"hostProject", "subnetwork", "authorizedNetworks", "notificationChannels", "nodeServiceAccount", "buckets"}
    | {"vswitches", "podVswitches", "clusterId", "base", "without"}
)
"""Keys that say where something is or who it belongs to, at any depth of a fleet."""
_PATHS_OF_A_PLACE: Final = frozenset({("cluster", name) for name in ("name", "network", "existing")})


class Promotion(Struct, frozen=True):
    """The stack that is promoted, the one that would take its values, their base, and the paths that are not taken."""

    promoted: str
    to: str
    base: str
    left_out: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, str]:
        """The two sides that are compared."""
        return self.to, f"{self.to} with what {self.promoted} has"


def promotion_of(
    sides: tuple[StackRevision, StackRevision], evaluations: tuple[Evaluation, Evaluation], root: pathlib.Path
) -> tuple[Promotion, tuple[Evaluation, Evaluation]] | None:
    """Return the promotion of the first stack to the second, with the second one before and after it.

    After it, the second stack has the fleet of the first and the values of its own place. None unless both are
    different stacks that extend one base. Prints the faults that the second stack would have, and exits 1, if it would.
    """
    old, new = evaluations
    names = [locate(side.stack, root).stack for side in sides]
    if old.file is None or new.file is None or names[0] == names[1]:
        return None
    bases = {each.file.source_map.base for each in evaluations if each.file is not None}
    if len(bases) > 1 or not (base := bases.pop()):
        return None
    left_out: list[FieldPath] = []
    fleet = _at_place(old.file.fleet, new.file.fleet, (), [])
    written = _at_place(old.file.written, new.file.written, (), left_out)
    after = evaluate_changed(new, {(): fleet}, root)
    if after.faults:
        exit_with_problems(after.faults)
    after = replace(after, file=replace(after.loaded, written=written))
    paths = sorted({format_path(path) for path in left_out} - {"base", "without"})
    return Promotion(names[0], names[1], base, tuple(paths)), (new, after)


def _at_place(value: object, other: object, path: FieldPath, left_out: list[FieldPath]) -> object:
    """Return a value with what belongs to a place from the other one; the paths that differ are added to `left_out`."""
    if not isinstance(value, dict):
        return value
    own = cast("Mapping[str, object]", value)
    others: Mapping[str, object] = cast("Mapping[str, object]", other) if isinstance(other, dict) else {}
    result: dict[str, object] = {}
    for key in dict.fromkeys((*own, *others)):
        at = (*path, key)
        if key in _OF_A_PLACE or at in _PATHS_OF_A_PLACE:
            if own.get(key) != others.get(key):
                left_out.append(at)
            if key in others:
                result[key] = others[key]
        elif key in own:
            result[key] = _at_place(own[key], others.get(key), at, left_out)
    return result


def promotion_blocks(promotion: Promotion) -> Iterable[Block]:
    """Yield what is compared, and what is not because it belongs to a place."""
    yield Note(
        [f"A promotion: {promotion.to} with what {promotion.promoted} has ({promotion.base} is the base of both)."]
    )
    yield Lines("Of the place, so it stays as it is", promotion.left_out, whole=True)


def stacks_with_base(old: Evaluation, new: Evaluation, root: pathlib.Path) -> tuple[str, ...]:
    """Return the other stacks of the repository that extend the base of a stack, if the base itself differs."""
    if old.file is None or new.file is None or new.file.shared is None or old.file.shared == new.file.shared:
        return ()
    base = new.file.source_map.base
    others = {name: read_stack(name, root)[0] for name in stack_names(root) if name != new.stack}
    return tuple(name for name, file in others.items() if file is not None and file.source_map.base == base)


def base_block(stacks: tuple[str, ...], extending: Evaluation, since: str | None) -> Block:
    """Return the stacks that a change of their base reaches, with the command that shows what it does there."""
    revision = f" --since {since}" if since else ""
    base = "" if extending.file is None else extending.file.source_map.base
    return Lines(
        f"Stacks that {base} also changes", [f"{name}: berth diff {name}{revision}" for name in stacks], whole=True
    )
