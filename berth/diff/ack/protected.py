"""Kinds of protected resources on Alibaba Cloud, one row each."""

from __future__ import annotations

from typing import Final

from berth.diff.guard.protected import ProtectedKind
from berth.diff.kinds import ResourceKind

_ACK_KINDS: Final = (
    ProtectedKind(
        ResourceKind.CLUSTER, "alicloud:cs/managedKubernetes:ManagedKubernetes", "-cluster", "clusters.{key}", "member-"
    ),
    ProtectedKind(ResourceKind.NODE_POOL, "alicloud:cs/nodePool:NodePool", "", "{key}"),
    ProtectedKind(ResourceKind.FLEET, "alicloud:ackone/cluster:Cluster", "", "fleet"),
)
PROTECTED_ON_ACK: Final = {each.kind: each for each in _ACK_KINDS}
PROTECTED_BY_TYPE: Final = {each.type_token: each for each in _ACK_KINDS}
