"""Whether a preview is one of the whole stack: of this stack and project, by a program that ran to its end."""

from __future__ import annotations

import re

from berth.diff.guard.preview_file import EnginePreview, PreviewFormatError
from berth.text import pluralize

_URN = re.compile(r"urn:pulumi:(?P<stack>[^:]+)::(?P<project>[^:]+)::")


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

    What a program prints on stderr may be a warning or the reason why it stopped: the number of resources tells. A
    preview of some targets registers fewer than all, so without any such message only an empty one is an error.
    """
    registered = preview.registered
    is_short = registered is None if preview.printed else registered is not None and registered < 2
    if preview.errors or not (is_short or (preview.printed and (registered or 0) < expected)):
        return ()
    count = f"the program registered {pluralize(registered or 0, 'resource')}"
    return f"{count}, and the stack file needs at least {expected}: it did not run to its end", *preview.printed
