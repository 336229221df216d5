"""What of a fleet may be lost although it is protected, and why."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class AllowancesPlan(Struct, frozen=True, kw_only=True):
    """What may be lost. `protect` False: all of it; else what is named, with the reason that was given.

    Keys are a pool's name, `reservations.<name>`, `clusterQueues.<Kueue's name>` or `cluster`; on Alibaba Cloud
    `<member>/<node pool>`, `clusters.<member>`, `clusterQueues.<name>` or `fleet`. The `protect` of each plan follows.
    `change` names changes in place that are blocked otherwise: `protect`, `cluster`, `network`, a pool's name.
    """

    protect: bool = True
    replacement: Mapping[str, str] = field(default_factory=dict[str, str])
    deletion: Mapping[str, str] = field(default_factory=dict[str, str])
    change: Mapping[str, str] = field(default_factory=dict[str, str])
