"""Arguments of Controllers. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from berth.spec.fleet import FleetSpec
from berth.spec.model import Model

from .base import ComponentArguments


class ControllersArgs(ComponentArguments):
    """Kueue and JobSet, in releases that are tested together. Kueue counts the network devices of the pools that are
    described, and its manager is sized for their nodes. Deleting the component leaves both in the cluster."""

    models: ClassVar[Sequence[type[Model]]] = (FleetSpec,)

    flavors: Mapping[str, Mapping[str, Any]] | None = None
    """Settings of flavors by name. A flavor exists without an entry here."""
    jobset: Mapping[str, Any] | None = None
    """The JobSet controller."""
    kueue: Mapping[str, Any] | None = None
    """Kueue, and its own Configuration."""
    pools: Mapping[str, Mapping[str, Any]] | None = None
    """Pools of machines by name."""
