"""Read reservations: those with an answer are adopted, others are `existing`; one of Google's is one entry."""

from __future__ import annotations

from msgspec import Struct, field

from berth import catalog
from berth.adopt.api_objects import (
    ApiObject,
    Kept,
    NotAdopted,
    StackEntry,
    last_segment,
    list_at,
    mapping_at,
    reservation_value,
    value_at,
)
from berth.adopt.google.future_reservations import (
    accepted_zones,
    chips_entry,
    delivered_names,
    future_entry,
    machine_fields,
    shared_projects,
)
from berth.adopt.inventory import ClusterInventory
from berth.names import CAPACITY_MARK


class FoundReservation(Struct):
    """A reservation's path, as an affinity names it, and its entry.

    `users` are the machine types that use it, each with the maximum of machines. Without an answer its size is
    `assumed`: what they use. `project` is that of the stack, if node pools name it and not only the reservation; a
    change of this spelling would replace them.
    """

    path: str
    entry: StackEntry
    is_assumed: bool = False
    users: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    project: str | None = None

    @property
    def is_unmanaged(self) -> bool:
        """Whether the answers have it, and Berth only uses it."""
        return not self.is_assumed and bool(self.full_entry().get("existing"))

    def why_unmanaged(self) -> str:
        """Return why Berth only uses a reservation that the answers have."""
        if "chips" in self.full_entry():
            return "it holds chips of a family, which Berth cannot create; it stays as it is, and pools use it"
        return "node pools name it with its project, which Berth keeps; it stays as it is, and pools use it"

    def full_entry(self) -> StackEntry:
        """Return the entry with its size, in chips if machines of several types of a family use it."""
        types = {self.entry["machineType"], *(machine_type for machine_type, _ in self.users)}
        entry = {**self.entry}
        if "chips" not in entry and len(types) > 1 and all(_chips(each) for each in types):
            count = entry.pop("count", 0)
            entry.pop("sharedWith", None)
            entry |= {"name": entry.get("name", self.path), "existing": True}
            entry["chips"] = self._used(of_chips=True) if self.is_assumed else count * _chips(entry["machineType"])
        elif self.is_assumed:
            entry["count"] = self._used(of_chips=False)
        if self.project is not None:  # only the affinity to a reservation that exists has its project
            entry.pop("sharedWith", None)
            entry |= {"name": entry.get("name", self.path), "existing": True, "project": self.project}
        size = entry["chips"] if "chips" in entry else entry["count"]
        if self._used(of_chips="chips" in entry) > size:
            entry["acceptOverlap"] = "as in the existing cluster"
        return entry

    def _used(self, *, of_chips: bool) -> int:
        return sum(nodes * (_chips(machine_type) if of_chips else 1) for machine_type, nodes in self.users)


def _chips(machine_type: str) -> int:
    """Return the chips of a TPU machine, 0 of any other."""
    machine = catalog.machines().get(machine_type)
    return machine.accelerators if machine is not None and machine.generation is not None else 0


ReservationsByKey = dict[str, FoundReservation]


def own_reservations(inventory: ClusterInventory, stack: str, not_adopted: list[NotAdopted]) -> ReservationsByKey:
    """Return reservations and requests with an answer, which are adopted, by key."""
    result: ReservationsByKey = {}
    delivered = delivered_names(inventory.future_reservations)
    marked = [each for each in inventory.node_pools if CAPACITY_MARK in mapping_at(each, "config.labels")]
    paths = [str(path) for each in marked for path in list_at(each, "config.reservationAffinity.values")]
    of_queues = frozenset(path.rpartition("reservations/")[2].partition("/")[0] for path in paths)
    for answer in inventory.reservations:
        if str(answer["name"]) in delivered:
            continue  # Google made it for a request, which is the one to adopt
        if _is_elsewhere(answer, inventory):
            not_adopted.append(_left_elsewhere("reservation", answer))
            continue
        entry = chips_entry(answer, inventory.project, inventory.node_pools) or _reservation_entry(answer, of_queues)
        if entry is None:
            not_adopted.append(NotAdopted(f"reservation {answer['name']}", _why_left(answer), kept=Kept.UNUSED))
        else:
            _add(result, answer, entry, inventory, stack)
    for answer in inventory.future_reservations:
        if _is_elsewhere(answer, inventory):
            not_adopted.append(_left_elsewhere("future reservation", answer))
            continue
        entry = future_entry(answer, inventory.project, inventory.node_pools, not_adopted)
        if entry is not None:
            _add(result, answer, entry, inventory, stack)
    return result


def _is_elsewhere(answer: ApiObject, inventory: ClusterInventory) -> bool:
    """Whether it is in another region than the cluster: Google lists those of the whole project."""
    zone = last_segment(str(answer.get("zone", "")))
    return bool(zone) and catalog.region_of_zone(zone) != inventory.region


def _left_elsewhere(title: str, answer: ApiObject) -> NotAdopted:
    zone = last_segment(str(answer.get("zone", "")))
    why = f"it is in {zone}, outside of the cluster's region; it stays as it is"
    return NotAdopted(f"{title} {answer['name']}", why, kept=Kept.ELSEWHERE)


def _add(
    result: ReservationsByKey, answer: ApiObject, entry: StackEntry, inventory: ClusterInventory, stack: str
) -> None:
    """Add an entry under its key; one whose name is not derived from the stack's keeps it."""
    name = str(answer["name"])
    key = name.removeprefix(f"{stack}-")
    key = key if key not in result else f"{key}-{last_segment(str(answer.get('zone', '')))}"
    entry |= accepted_zones(catalog.machines().get(entry["machineType"]), [entry["zone"]], inventory.region)
    is_named = name == f"{stack}-{key}" and not entry.get("existing")
    result[key] = FoundReservation(name, entry | ({} if is_named else {"name": name}))


def _reservation_entry(answer: ApiObject, of_queues: frozenset[str]) -> StackEntry | None:
    """Return the entry of machines that only pools which name them use; None for any other reservation."""
    specific = mapping_at(answer, "specificReservation")
    fields = machine_fields(mapping_at(specific, "instanceProperties"), of_a_queue=str(answer["name"]) in of_queues)
    if fields is None or answer.get("specificReservationRequired") is False:
        return None
    machine_type = str(fields.pop("machineType"))
    kind = catalog.machines().get(machine_type)
    return {
        "machineType": machine_type,
        "zone": last_segment(str(answer.get("zone", ""))),
        "count": int(specific.get("count") or 0),
        **fields,
        **shared_projects(answer),
        **({"existing": False} if kind is not None and kind.kind == "tpu" else {}),
    }


def _why_left(answer: ApiObject) -> str:
    if isinstance(answer.get("aggregateReservation"), dict):
        return "it holds chips of a family that Berth does not know, and no pool names it; it stays as it is"
    machine = value_at(answer, "specificReservation.instanceProperties.machineType")
    if machine_fields(mapping_at(answer, "specificReservation.instanceProperties")) is None:
        return f"'{machine}' has no accelerators that Berth knows; it stays as it is"
    return (
        "machines of any owner may use it without its name, and Berth makes only reservations that pools name; it "
        "stays as it is, and pools use it with `capacity: any-reservation`"
    )


def reservation_key(
    path: str,
    zone: str,
    machine: StackEntry,
    nodes: int,
    reserved: ReservationsByKey,
    inventory: ClusterInventory,
    stack: str,
) -> str:
    """Return the key of the reservation at a path that machines use; one without an answer is `existing`.

    `path` is a name, a path or a URL; `machine` has the keys of a reservation that say what is reserved.
    """
    kind = str(machine["machineType"])
    is_own = not inventory.is_described and path.startswith(f"projects/{inventory.project}/reservations/")
    project = inventory.project if is_own else None
    path = reservation_value(path, inventory.project)
    for key, found in reserved.items():
        if found.path == path and found.entry["zone"] == zone:
            found.project = found.project or project
            found.users.append((kind, nodes))
            return key
    segments = path.split("/")
    path_ids = dict(zip(segments[::2], segments[1::2], strict=False)) if path.startswith("projects/") else {}
    path_ids = path_ids or {"reservations": segments[0], **dict(zip(segments[1::2], segments[2::2], strict=False))}
    name = path_ids["reservations"]
    own_name = name.removeprefix(f"{stack}-")
    key = own_name if own_name not in reserved else f"{own_name}-{len(reserved)}"
    path_fields = {"project": "projects", "block": "reservationBlocks", "subBlock": "reservationSubBlocks"}
    entry = {"existing": True, "name": name, **{k: path_ids[v] for k, v in path_fields.items() if v in path_ids}}
    entry |= {**machine, "zone": zone, **accepted_zones(catalog.machines().get(kind), [zone], inventory.region)}
    reserved[key] = FoundReservation(path, entry, is_assumed=True, users=[(kind, nodes)], project=project)
    return key
