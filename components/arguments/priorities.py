"""Arguments of Priorities. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from berth.spec.fleet import FleetSpec
from berth.spec.model import Model

from .base import ComponentArguments


class PrioritiesArgs(ComponentArguments):
    """A PriorityClass and a WorkloadPriorityClass for each priority, in a cluster that has Kueue."""

    models: ClassVar[Sequence[type[Model]]] = (FleetSpec,)

    priorities: Mapping[str, Mapping[str, Any]]
    """Priorities by name. Each becomes a PriorityClass and a WorkloadPriorityClass."""
