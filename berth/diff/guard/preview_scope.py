"""Whether a preview is one whole run of this stack and this file: what keeps the guard from answering at all."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, cast

from berth.diff.guard.preview_steps import REPLACING_OPS, EnginePreview, PreviewFormatError, PreviewStep
from berth.text import pluralize

_URN = re.compile(r"urn:pulumi:(?P<stack>[^:]+)::(?P<project>[^:]+)::")
_STATES: Final = {
    **dict.fromkeys(("create", "import", "read"), (False, True)),
    **dict.fromkeys(("delete", "delete-replaced", "discard", "discard-replaced", "refresh"), (True, False)),
    **dict.fromkeys(("update", "replace", "create-replacement", "import-replacement"), (True, True)),
}
"""Which states a step must have: the one before, the one after."""
_UNCOUNTED: Final = frozenset(
    {
        *("same", "read", "read-replacement", "refresh", "remove-pending-replace", "discard-replaced"),
        *("create-replacement", "delete-replaced", "import-replacement"),
    }
)
"""Operations whose steps the engine does not list or count one by one: those of a replacement are in its `replace`."""


class OtherStackError(Exception):
    """The preview is of another stack or project, in one line."""


def require_stack(preview: EnginePreview, stack: str, project: str | None) -> None:
    """Check that every resource of a preview belongs to `stack`, and to `project` where it is known.

    Raises OtherStackError, or PreviewFormatError for a URN that is none.
    """
    for step in preview.steps:
        if _URN.match(step.urn) is None:
            raise PreviewFormatError(f"'{step.urn}' is not a URN")
    texts = (*(step.urn for step in preview.steps), *preview.errors)
    for match in (match for text in texts for match in _URN.finditer(text)):
        other_stack, other_project = match["stack"], match["project"]
        if other_stack != stack or project not in (None, other_project):
            raise OtherStackError(
                f"the preview is of stack '{other_stack}' of project '{other_project}', not of stack '{stack}' of "
                f"project '{project or other_project}'; run `pulumi preview --stack {stack} --json` in the folder of "
                "this project"
            )


def unfinished_program(preview: EnginePreview, expected: int) -> tuple[str, ...]:
    """Errors of a preview without any whose program stopped before it registered the `expected` number of resources.

    What a program prints on stderr may be a warning or the reason why it stopped: the number of resources tells.
    """
    registered = preview.registered
    is_short = registered is None if preview.printed else registered is not None and registered < 2
    if preview.errors or not (is_short or (preview.printed and (registered or 0) < expected)):
        return ()
    count = f"the program registered {pluralize(registered or 0, 'resource')}"
    return f"{count}, and the stack file needs at least {expected}: it did not run to its end", *preview.printed


def doubts_of_run(preview: EnginePreview, expected: int, config: Mapping[str, object] | None) -> Iterator[str]:
    """Yield why a preview may not be one whole run of the stack, each in one line.

    `expected` is the number of resources that the stack file registers at least, `config` the stack file's own
    config. A preview that failed ends early, so only what is wrong with any preview counts.
    """
    yield from preview.doubts
    yield from _changed_config(preview.config, config)
    yield from _doubts_of_steps(preview.steps)
    if preview.errors:
        return
    if not any(step.type == "pulumi:pulumi:Stack" for step in preview.steps):
        yield "it has no step of the stack itself, so nothing says which stack it is of"
    if preview.counts is None:
        yield "it has no summary, so steps may be missing"
        return
    yield from _differing_counts(preview)
    if preview.config is None and config and not preview.lists_all:
        yield "it has no config and does not list what stays as it is, so nothing says which stack file it is of"
    if (registered := preview.registered or 0) < expected and not unfinished_program(preview, expected):
        count = pluralize(registered, "resource")
        yield f"the program registered {count}, and the stack file needs at least {expected}: the run was partial"


def notes_of_run(preview: EnginePreview) -> Iterator[str]:
    """Yield what cannot be seen in a preview that may be whole all the same, each in one line."""
    listed = sum(step.op == "same" for step in preview.steps)
    unlisted = (preview.counts or {}).get("same", 0) - listed
    if unlisted > 0 and not preview.lists_all:
        yield (
            f"the preview only counts what stays as it is ({pluralize(unlisted, 'resource')}), and a run with --target "
            "prints the same; `pulumi preview --json --show-sames` lists them, and the guard then compares each"
        )


def _changed_config(engine: Mapping[str, object] | None, config: Mapping[str, object] | None) -> Iterator[str]:
    """Yield the keys of the stack file that the engine had with another value: the preview is of another file."""
    if engine is None or config is None:
        return
    for key, value in config.items():
        if isinstance(value, Mapping) and "secure" in cast("Mapping[str, object]", value):  # the engine blinds it
            continue
        if key not in engine:
            yield f"the preview is of another version of the stack file: {key} was not set; run it again"
        elif (path := _difference(cast("object", value), _parsed(engine[key], cast("object", value)))) is not None:
            yield f"the preview is of another version of the stack file: {key}{path} had another value; run it again"


def _parsed(text: object, like: object) -> object:
    """Return a value of the engine's config, which has texts: objects and lists as JSON, the rest as printed."""
    if isinstance(like, str) or not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _difference(ours: object, theirs: object) -> str | None:
    """Return the path of the first difference of two plain values, None if they are equal; 1 equals 1.0."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        one, two = cast("Mapping[str, object]", ours), cast("Mapping[str, object]", theirs)
        for key in sorted({*one, *two}, key=str):
            if key not in one or key not in two:
                return f".{key}"
            if (path := _difference(one[key], two[key])) is not None:
                return f".{key}{path}"
        return None
    if isinstance(ours, list) and isinstance(theirs, list):
        items, others = cast("list[object]", ours), cast("list[object]", theirs)
        for index, (one, two) in enumerate(zip(items, others, strict=False)):
            if (path := _difference(one, two)) is not None:
                return f"[{index}]{path}"
        return None if len(items) == len(others) else f"[{min(len(items), len(others))}]"
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return None if ours is theirs else ""
    return None if ours == theirs else ""


def _doubts_of_steps(steps: tuple[PreviewStep, ...]) -> Iterator[str]:
    seen: Counter[tuple[str, str]] = Counter()
    by_urn: dict[str, set[str]] = {}
    for step in steps:
        if not step.is_leftover:
            seen[step.urn, step.op] += 1
            by_urn.setdefault(step.urn, set()).add(step.op)
        yield from _missing_states(step)
    for (urn, op), count in seen.items():
        if count > 1:
            yield f"'{urn}' has {count} × {op}"
    for urn, ops in by_urn.items():
        if "replace" not in ops and (parts := ops.intersection(REPLACING_OPS)):
            yield f"'{urn}' has {min(parts)} without replace"
        alone = ops - {"refresh", "read", *REPLACING_OPS, "discard-replaced", "read-replacement"}
        if (len(alone) > 1 and alone != {"create", "delete"}) or ("replace" in ops and alone):
            yield f"'{urn}' has {' and '.join(sorted(ops))} at once"


def _missing_states(step: PreviewStep) -> Iterator[str]:
    """Yield which states of a step are missing or of another resource."""
    needed = _STATES.get(step.op, (False, False))
    for title, state, is_needed in zip(("oldState", "newState"), (step.old, step.new), needed, strict=True):
        if state is None:
            if is_needed:
                yield f"the step {step.op} of '{step.urn}' has no {title}"
            continue
        fields, inputs = state, state.get("inputs")
        if is_needed and not step.is_component and not (isinstance(inputs, Mapping) and inputs):
            yield f"{title} of '{step.urn}' has no inputs"
        elif not isinstance(inputs, Mapping | None):
            yield f"{title} of '{step.urn}' has inputs of another type"
        if title == "newState":  # a state before may have the name of an alias
            if fields.get("urn", step.urn) != step.urn or fields.get("type", step.type) != step.type:
                yield f"{title} of '{step.urn}' is of another resource"
        elif step.op in ("delete", "delete-replaced") and fields.get("type", step.type) != step.type:
            yield f"{title} of '{step.urn}' is of another type"


def _differing_counts(preview: EnginePreview) -> Iterator[str]:
    """Yield the operations that the summary counts otherwise than the steps."""
    counts = preview.counts or {}
    listed = Counter(step.op for step in preview.steps)
    # A refresh lists what it found as an update or a deletion, and counts it as a refresh.
    surplus = counts.get("refresh", 0) - listed["refresh"] if not preview.is_stream else 0
    for op in sorted({*listed, *counts} - _UNCOUNTED):
        difference = listed[op] - counts.get(op, 0)
        if op in ("update", "delete") and 0 < difference <= surplus:
            surplus -= difference
        elif difference:
            yield f"its summary counts {counts.get(op, 0)} × {op}, and its steps have {listed[op]}"
    same = listed["same"]
    if preview.is_stream:  # a refresh counts what it finds unchanged as same
        same += len(preview.only_refreshed)
    if (preview.is_stream or same > counts.get("same", 0)) and same != counts.get("same", 0):
        yield f"its summary counts {counts.get('same', 0)} × same, and its steps have {same}"
