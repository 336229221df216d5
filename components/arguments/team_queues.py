"""Arguments of TeamQueues. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pulumi

from berth.spec.fleet import FleetSpec
from berth.spec.model import Model
from berth.spec.teams import TeamSpec

from .base import ComponentArguments


class TeamQueuesArgs(ComponentArguments):
    """Cluster queues and local queues of one team in a cluster that has Kueue. Amounts are checked and converted by the
    description of the pools."""

    models: ClassVar[Sequence[type[Model]]] = (TeamSpec, FleetSpec)

    pools: Mapping[str, Mapping[str, Any]]
    """Pools of machines by name."""
    queues: Mapping[str, Mapping[str, Any]]
    """Cluster queues of the team by name."""
    team: str
    """Name of the team: the start of the names of its cluster queues."""
    cohort: str | None = None
    """Cohort of the queues."""
    flavors: Mapping[str, Mapping[str, Any]] | None = None
    """Settings of flavors by name. A flavor exists without an entry here."""
    namespace: pulumi.Input[str] | None = None
    """Namespace of the local queues. By default the team's name."""
    priorities: Mapping[str, Mapping[str, Any]] | None = None
    """Priorities that queues name. They are only described."""
    protect: bool | None = None
    """Protect queues with a guarantee from deletion. Default: `true`."""
