"""Changed rights as plain data, with the names of rights, what each gives, and the order in which they are listed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from ipaddress import ip_network
from typing import Any, Final

from msgspec import Struct

from berth.catalog.google_roles import google_roles
from berth.diff.kinds import ChangeKind
from berth.planner.tenancy.isolation import GOOGLE_API_RANGES


class Rank(IntEnum):
    """How much a right gives; the greatest first."""

    ADMINISTRATION = 0
    """Everything in the cluster or the project: what runs as an administrator, roles that grant roles."""
    PROJECT = 1
    """A role in the whole project."""
    NAMESPACES = 2
    """The use of a namespace that belongs to somebody else."""
    ISOLATION = 3
    """What keeps pods, nodes and the control plane from others."""
    DATA = 4
    """A bucket, a secret, an account, a namespace of one's own, a reservation."""
    WATCHING = 5
    """Alerts, and who gets them."""

    @property
    def title(self) -> str:
        """The rank in words, as JSON and comments have it."""
        return self.name.lower()


TAKEN_BACK: Final = "Rights: taken back"
RIGHTS_TITLES: Final = (*(f"Rights: {rank.title}" for rank in Rank), TAKEN_BACK)
"""The titles under which rights are listed, in order; scripts/compose_comment.py cuts the last of them first."""


ALERT, ALERTS, CHANNEL = "alert", "alerts", "notification channel"
FLEET, OF_CLUSTER, NODES, CONTROL_PLANE = "fleet", "cluster", "nodes", "control plane"
SHARED_WITH, SECURITY_GROUP, AUTHORIZED_NETWORK = "shared with project", "security group", "authorized network"
PUBLIC_ENDPOINT, IP_ENDPOINT, DNS_ENDPOINT = "public endpoint", "IP endpoint", "DNS endpoint"
ROLE, SERVING = "role", "serving in namespace"
EGRESS: Final = "egress"
"""Rights that are not reported for added or removed teams."""
PROGRAM, CHART, VERSION = "program", "chart", "version"
PERMISSION, POLICY = "permission", "check"
NAMESPACE_OF_OTHERS, NETWORK_POLICY = "existing namespace", "network policy"
HANDED_OVER = "namespace of another team"
EXEMPTIONS, API_TOKEN, FLEET_PROJECT = "exemption", "token for the Kubernetes API", "fleet project"
"""Rights that are found in what is rendered (`rendered`)."""
NO_QUEUE: Final = "start of jobs without a queue, outside all quota"
UNMANAGED_JOBS: Final = "start of jobs outside all quota in namespace"
ANY_ADDRESS: Final = "any address"


def is_inside(egress: str, others: Iterable[str]) -> bool:
    """Return whether an egress (`to 10.0.0.0/8, TCP 443`) is a part of one of the others.

    That to every address leaves private addresses and those of the cluster out: only Google's APIs are surely in it.
    """
    own, ports = _addresses_and_ports(egress)
    for network, allowed in map(_addresses_and_ports, others):
        is_within = own.version == network.version and own.subnet_of(network)
        is_known = network.prefixlen > 0 or str(own) in GOOGLE_API_RANGES
        if is_within and is_known and (not allowed or (ports and ports <= allowed)):
            return True
    return False


def _addresses_and_ports(egress: str) -> tuple[Any, set[str]]:
    addresses, _, ports = egress.removeprefix("to ").partition(", TCP ")
    return ip_network(addresses), set(ports.split(", ")) if ports else set()


RightKey = tuple[str, str]
"""The owner of a right, and the right."""


class RightChange(Struct, frozen=True):
    """A right of `owner` that is added, removed, widened, narrowed, changed in an unknown direction, or kept.

    `before` and `after` are its values, None if it does not exist. `gives` is what a role gives in the whole project,
    None for roles known as harmless and for other rights.
    """

    owner: str
    right: str
    what: ChangeKind
    before: str | None
    after: str | None
    gives: str | None = None

    @property
    def rank(self) -> Rank:
        """How much the right gives."""
        if self.right == ROLE and self.gives is not None:
            roles = google_roles()
            value = self.after or self.before or ""
            return Rank.PROJECT if roles.privilege(value) is None else Rank.ADMINISTRATION
        return _RANKS.get(self.right, Rank.PROJECT if self.right == ROLE else Rank.ISOLATION)

    @property
    def title(self) -> str:
        """The title under which it is listed."""
        return RIGHTS_TITLES[self.rank] if self.is_loud else TAKEN_BACK

    @property
    def is_alert(self) -> bool:
        """Whether this is an alert, not a right."""
        return self.right in (ALERT, ALERTS, CHANNEL)

    @property
    def is_loud(self) -> bool:
        """Whether a right is added, widened or not taken back, an alert is removed, or services lose their queue."""
        if self.right == POLICY:
            return True
        if self.is_alert or (self.right == SERVING and self.what == ChangeKind.REMOVED):
            return self.what == ChangeKind.REMOVED
        is_kept = self.what == ChangeKind.KEPT and self.right != AUTHORIZED_NETWORK
        return is_kept or self.what in (ChangeKind.ADDED, ChangeKind.WIDENED, ChangeKind.CHANGED)


_RANKS: Final = {
    **dict.fromkeys((PROGRAM, CHART, VERSION, PERMISSION, "owner group", FLEET_PROJECT), Rank.ADMINISTRATION),
    **dict.fromkeys((NAMESPACE_OF_OTHERS, HANDED_OVER), Rank.NAMESPACES),
    **dict.fromkeys(("bucket", "secret", "impersonation of", "group", SHARED_WITH, SERVING), Rank.DATA),
    **dict.fromkeys((ALERT, ALERTS, CHANNEL), Rank.WATCHING),
}
"""Right → how much it gives; roles are ranked by what they give, and what is not here is a part of the isolation."""


def loudest_first(change: RightChange) -> tuple[bool, Rank, str, str]:
    """Return the place of a right in a list: what allows more comes first, and of it what gives most."""
    return not change.is_loud, change.rank, change.owner, change.right
