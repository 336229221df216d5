"""Arguments of Flavors. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from berth.spec.fleet import FleetSpec
from berth.spec.model import Model

from .base import ComponentArguments


class FlavorsArgs(ComponentArguments):
    """The ResourceFlavors of pools, with the Topologies and AdmissionChecks that they need, in a cluster that has
    Kueue."""

    models: ClassVar[Sequence[type[Model]]] = (FleetSpec,)

    pools: Mapping[str, Mapping[str, Any]]
    """Pools of machines by name."""
    flavors: Mapping[str, Mapping[str, Any]] | None = None
    """Settings of flavors by name. A flavor exists without an entry here."""
