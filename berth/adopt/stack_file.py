"""Put everything together: the stack file, as values and as text."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Sequence
from typing import Any, cast

import yaml
from msgspec import Struct
from msgspec.structs import replace

from berth.adopt.admission_checks import set_queued_options
from berth.adopt.api_objects import Kept, NotAdopted, StackEntry, in_order, mapping_at
from berth.adopt.clusters import cluster_section, project_settings
from berth.adopt.controllers import controller_sections, operators
from berth.adopt.gke_made_pools import compute_class_section, read_gke_made_pools
from berth.adopt.google.identities import needs_project_number
from berth.adopt.google.monitoring import monitoring_section
from berth.adopt.inventory import ClusterInventory
from berth.adopt.kept_cluster import existing_cluster_fleet, kept_cluster_fleet
from berth.adopt.kubernetes.capacity_buffers import add_buffers
from berth.adopt.pools import AdoptedPool, read_pools
from berth.adopt.queues import match_flavors, nominal_quota, read_cohorts, read_priorities
from berth.adopt.reservations import reservation_key
from berth.adopt.teams import platform_section, read_teams, team_of_namespace

_LEADING_KEYS = ("machineType", "accelerator", "topology", "slices", "nodes", "zone", "zones", "capacity", "flavor")


class AdoptedFleet(Struct, frozen=True):
    """The stack's config, and the parts of the cluster that it cannot express."""

    fleet: StackEntry
    not_adopted: tuple[NotAdopted, ...]


def adopt(inventory: ClusterInventory, stack: str, kept: Collection[str] = ()) -> AdoptedFleet:
    """Return the fleet of a cluster, as the stack of that name; pools that are `kept` are `adopted`."""
    not_adopted: list[NotAdopted] = []
    adopted_pools, reserved = read_pools(inventory, stack, not_adopted, kept)
    known = match_flavors(inventory, adopted_pools, not_adopted)
    made = read_gke_made_pools(inventory, known, not_adopted)
    known |= {str(pool.entry.get("flavor", pool.key)): [pool] for pool in made}
    adopted_pools += made
    set_queued_options(inventory, known)

    def reserve(path: str, zone: str, kind: str, count: int) -> str:
        return reservation_key(path, zone, {"machineType": kind}, count, reserved, inventory, stack)

    classes = compute_class_section(inventory, made, reserve, not_adopted)
    for found in reserved.values():
        if found.is_unmanaged:
            not_adopted.append(NotAdopted(f"reservation {found.path}", found.why_unmanaged(), kept=Kept.EXISTING))
    sections: dict[str, object] = {
        "cluster": cluster_section(inventory, stack, not_adopted) if inventory.manages_cluster else {},
        "reservations": {key: found.full_entry() for key, found in sorted(reserved.items())},
        "computeClasses": classes,
        "pools": {
            pool.key: in_order(pool.entry, _LEADING_KEYS) for pool in sorted(adopted_pools, key=lambda pool: pool.key)
        },
        "flavors": _oversubscribed_flavors(inventory, known),
        "monitoring": monitoring_section(inventory, stack, not_adopted),
        **controller_sections(inventory, not_adopted),
        "operators": operators(inventory, {pool.key: pool.entry for pool in adopted_pools}),
        "priorities": read_priorities(inventory, not_adopted),
        "cohorts": read_cohorts(inventory, known, not_adopted),
        "platform": platform_section(inventory),
    }
    namespaces = team_of_namespace(inventory)
    team_entries, shared = read_teams(inventory, namespaces, known, not_adopted)
    add_buffers(inventory, team_entries, namespaces, known, not_adopted)
    sections |= {"teams": team_entries, "clusterQueues": shared}
    number = inventory.rights.project_number if needs_project_number(team_entries) else None
    sections = ({"projectNumber": number} if number else {}) | sections
    fleet = {**project_settings(inventory), **{key: value for key, value in sections.items() if value}}
    if inventory.context is not None:
        fleet = existing_cluster_fleet(inventory, fleet, inventory.context, not_adopted)
    if inventory.keeps_cluster:
        fleet = kept_cluster_fleet(inventory, fleet, not_adopted)
    return AdoptedFleet(fleet, tuple(not_adopted))


def without_alerts(adopted: AdoptedFleet, keys: Sequence[str]) -> AdoptedFleet:
    """Return the fleet with alerts switched off: those that the cluster has not, although it has others of Berth."""
    monitoring: StackEntry = adopted.fleet.get("monitoring", {})
    alerts = {**monitoring.get("alerts", {}), **dict.fromkeys(keys, False)}
    return replace(
        adopted, fleet={**adopted.fleet, "monitoring": {**monitoring, "alerts": dict(sorted(alerts.items()))}}
    )


def with_kueue_keys(adopted: AdoptedFleet, keys: StackEntry) -> AdoptedFleet:
    """Return the fleet with keys of Kueue's own Configuration."""
    return replace(adopted, fleet={**adopted.fleet, "kueue": {**adopted.fleet.get("kueue", {}), **keys}})


def _oversubscribed_flavors(inventory: ClusterInventory, known: dict[str, list[AdoptedPool]]) -> dict[str, StackEntry]:
    """Return flavors with more guarantees than capacity: the existing amount is accepted."""
    quota_owners = [*inventory.objects_of_kind("ClusterQueue"), *inventory.objects_of_kind("Cohort")]
    result: dict[str, StackEntry] = {}
    for flavor, members in sorted(known.items()):
        resource, capacity = (
            members[0].machine.resource,
            sum(pool.max_nodes * pool.accelerators_per_node for pool in members),
        )
        guaranteed = sum(
            nominal_quota({**quota_owner, "spec": mapping_at(quota_owner, "spec")}, resource, flavor)
            for quota_owner in quota_owners
        )
        if capacity and guaranteed > capacity:
            percent = -(-guaranteed * 100 // capacity)
            factor = percent // 100 if percent % 100 == 0 else percent / 100
            result[flavor] = {"oversubscription": factor, "reason": "as in the existing cluster"}
    return result


HEADER = """\
# Written by `berth adopt` from the answers of an existing cluster. docs/adopt.md has the next steps.
"""


_SECTION_DEPTH, _LINE_WIDTH = 3, 100
"""Depth of sections in the file, and the maximum length of an entry on one line."""


class _Writer(yaml.SafeDumper):
    """A dumper without anchors for values that occur twice."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return whether a value is written in full wherever it occurs."""
        return True


_RETYPED = re.compile(r"[0-9][0-9_:.+-]*")
"""Text that Pulumi reads as a number or a time unless it is quoted, such as the time `09:00`."""


def _represent_text(writer: Any, text: str) -> Any:
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style="'" if _RETYPED.fullmatch(text) else None)


def _represent_number(writer: Any, number: float) -> Any:
    """Return a float without a fraction as the integer that Pulumi makes of it."""
    return writer.represent_int(int(number)) if number.is_integer() else writer.represent_float(number)


_Writer.add_representer(str, _represent_text)
_Writer.add_representer(float, _represent_number)


def render_stack_file(adopted: AdoptedFleet, header: str = HEADER) -> str:
    """Return the stack file as text, with short entries on one line, as people write them."""
    config = {"pulumi:disable-default-providers": ["*"], "berth:fleet": adopted.fleet}
    writer: Any = _Writer(io.StringIO(), sort_keys=False)
    node = writer.represent_data({"config": config})
    _set_flow_style(node, 0)
    return header + str(cast("Any", yaml).serialize(node, Dumper=_Writer, width=_LINE_WIDTH + 20, allow_unicode=True))


def _set_flow_style(node: Any, depth: int) -> int:
    """Decide how a node is written; return about how many characters it takes on one line."""
    if node.id == "scalar":
        return len(node.value) + 2
    pairs: list[Any] = node.value
    children: list[Any] = [each for pair in pairs for each in pair] if node.id == "mapping" else pairs
    length = sum(_set_flow_style(each, depth + 1) + 2 for each in children)
    is_plain = all(each.id == "scalar" for each in children)
    node.flow_style = (
        (
            length <= _LINE_WIDTH
            and (depth > _SECTION_DEPTH or (depth == _SECTION_DEPTH and len(pairs) == 1 and is_plain))
        )
        or not children
        or (depth == _SECTION_DEPTH - 1 and node.id == "sequence" and is_plain)
    )
    return length
