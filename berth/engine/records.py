"""The result of a run: resources, messages and markers, as plain values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from msgspec import Struct, field

STACK_TYPE: Final = "pulumi:pulumi:Stack"
PROVIDER_TYPE: Final = "pulumi:providers:"
REFERENCE_TYPE: Final = "pulumi:pulumi:StackReference"

References = Mapping[str, tuple[Mapping[str, object], Collection[str]]]
"""The outputs of other stacks by full name (`organization/project/stack`), and the names of secret ones."""


class Marker(str):
    """A string that stands for a value that cannot be shown; an equal string of the program is not a `Marker`."""

    __slots__ = ()


SECRET: Final = Marker("[secret]")
UNKNOWN: Final = Marker("[unknown]")


class ProgramError(Exception):
    """A failed program: one line per fault, each with its place in the program."""


class RecordedResource(Struct, frozen=True, kw_only=True):
    """One resource as the engine would hold it: its inputs, and the options that it inherits from its parent.

    `inputs` have the provider's names (camelCase), sorted; secrets and unknowns in them are `SECRET` and `UNKNOWN`.
    `parent`, `provider`, `dependencies`, `deleted_with` and `aliases` are URNs; `parent` is None for the stack and for
    default providers. `delete_before_replace` is None where the provider decides. `outputs` is what `register_outputs`
    was given, None when it never ran. `read` marks `SomeType.get`. `place` is `file:line` of the call that made it.
    """

    urn: str
    type: str
    name: str
    parent: str | None
    custom: bool
    inputs: Mapping[str, object]
    protect: bool = False
    provider: str | None = None
    providers: Mapping[str, str] = field(default_factory=dict[str, str])
    dependencies: tuple[str, ...] = ()
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    aliases: tuple[str, ...] = ()
    delete_before_replace: bool | None = None
    replace_on_changes: tuple[str, ...] = ()
    ignore_changes: tuple[str, ...] = ()
    additional_secret_outputs: tuple[str, ...] = ()
    hide_diffs: tuple[str, ...] = ()
    retain_on_delete: bool = False
    deleted_with: str | None = None
    replace_with: tuple[str, ...] = ()
    replacement_trigger: object = None
    custom_timeouts: Mapping[str, str] = field(default_factory=dict[str, str])
    import_id: str | None = None
    version: str | None = None
    plugin_download_url: str | None = None
    read: bool = False
    outputs: Mapping[str, object] | None = None
    place: str = ""

    @property
    def outputs_registered(self) -> bool:
        """Whether the resource called `register_outputs`."""
        return self.outputs is not None


class Message(Struct, frozen=True):
    """A message of a run; `severity` is info, warning or error, `urn` is empty unless it is about a resource."""

    severity: str
    text: str
    urn: str = ""
