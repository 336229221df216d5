"""A resource as the program registers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class RegisteredResource(Protocol):
    """The parts of a registration that decide which existing resource it is."""

    @property
    def urn(self) -> str:
        """Its URN."""
        ...

    @property
    def type(self) -> str:
        """Its type token."""
        ...

    @property
    def name(self) -> str:
        """Its logical name."""
        ...

    @property
    def parent(self) -> str | None:
        """The URN of its parent, None for the stack itself."""
        ...

    @property
    def custom(self) -> bool:
        """Whether a provider creates it; otherwise it is a component."""
        ...

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Its inputs, with the provider's names."""
        ...

    @property
    def provider(self) -> str | None:
        """The URN of its provider."""
        ...

    @property
    def version(self) -> str | None:
        """The version of the provider's plugin."""
        ...
