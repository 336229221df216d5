"""State of one planning run: the spec, omitted entries, problems and origins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct, field

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import FieldPath, Problems, did_you_mean, format_value
from berth.plan.capacity import TimedGuarantee
from berth.plan.teams import NamespacePlan
from berth.spec.fleet import FleetSpec

T = TypeVar("T")


class PlanningContext(Struct):
    """A fleet being planned.

    `set_aside` holds faulty parts, as in `Parsed`: references to them are omitted without a further fault. `incomplete`
    is whether a queue, or a part of one, was omitted. `origins` maps `(kind, name)` of a planned object to its path in
    the stack file. `machines_exist` is True for a worker whose cluster exists. `written_project` and `written_region`
    are those of the stack file, where the spec has the ones of an existing GKE cluster. `pool_machines` are the
    machines of the pools, and `namespaces` those of teams, once they were looked up. `calendar` has the guarantees with
    windows, by the path of their entries.

    A part of a fleet is planned without the rest: `named_reservations` maps the key of a reservation of which nothing
    but the name is known to it (None: only its resource knows the name), and `cluster_of_others` is whether the part
    is inside a cluster that others make.
    """

    stack: str
    spec: FleetSpec
    set_aside: set[tuple[str, str]]
    problems: Problems = field(default_factory=Problems)
    origins: dict[tuple[str, str], FieldPath] = field(default_factory=dict[tuple[str, str], FieldPath])
    incomplete: bool = False
    machines_exist: bool = False
    written_project: str | None = None
    written_region: str | None = None
    named_reservations: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    cluster_of_others: bool = False
    pool_machines: tuple[Machine, ...] | None = None
    namespaces: dict[str, tuple[NamespacePlan, ...]] = field(default_factory=dict[str, tuple[NamespacePlan, ...]])
    calendar: dict[FieldPath, TimedGuarantee] = field(default_factory=dict[FieldPath, TimedGuarantee])

    def resolve(self, section: str, name: str, entries: Mapping[str, T], path: FieldPath) -> T | None:
        """Return the entry `name`, to which `path` refers; else None, with a fault unless the entry was set aside."""
        if name in entries:
            return entries[name]
        if not self.is_set_aside(section, name):
            others = sorted(name for of, name in self.set_aside if of == section and name not in ("", "*"))
            hint = did_you_mean(name.rpartition("/")[2], [*entries, *others]) or _known_names(section, entries)
            self.problems.fault("unknown-reference", path, f"no {_SINGULAR[section]} '{format_value(name)}'{hint}")
        return None

    def is_set_aside(self, section: str, name: str) -> bool:
        """Return whether an entry (for `cluster`: a key) was set aside, or may have been."""
        return any((section, part) in self.set_aside for part in (name, "", "*"))

    def lacks_entries(self, *sections: str) -> bool:
        """Return whether one of the sections, or an entry of one, was set aside."""
        return any(section in sections for section, _ in self.set_aside)

    @property
    def cluster_exists(self) -> bool:
        """Whether the cluster is an existing one."""
        is_written = self.spec.cluster.existing is not None or ("cluster", "existing") in self.set_aside
        return is_written or self.cluster_of_others

    @property
    def only_connects(self) -> bool:
        """Whether the cluster and its machines are existing ones."""
        existing = self.spec.cluster.existing
        return self.cluster_exists and not (existing is not None and existing.is_gke)

    @property
    def monitoring_backends(self) -> frozenset[str]:
        """The backends of the stack file; an existing cluster outside GKE has none unless they are written."""
        spec = self.spec.monitoring
        if spec.backend is not None:
            return frozenset({spec.backend} - {"none"})
        if self.only_connects and "backends" not in spec.model_fields_set:
            return frozenset()
        return frozenset(spec.backends)

    @property
    def project(self) -> str:
        """Project of the resources; empty without resources in Google Cloud."""
        return self.spec.project or ""

    @property
    def region(self) -> str:
        """Region of the resources; empty without resources in Google Cloud."""
        return self.spec.region or ""

    def check_region(self) -> None:
        """Report an unknown region and set it aside, so that zones are not checked against it."""
        regions = catalog.zone_table().regions
        if not self.region or self.region in regions or self.is_set_aside("region", ""):
            return
        message = f"'{self.region}' is not in {catalog.fact_tables()['zones'].dated_name}"
        if self.spec.accept_region:
            unknown = catalog.fact_tables()["zones"].unknown(f"'{self.region}'", "whether the region exists is")
            self.problems.unknown("region-unknown", self._region_path, f"{unknown}; accepted by acceptRegion")
        else:
            hint = did_you_mean(self.region, regions) or "; write a region such as us-central1."
            message = f"{message}{hint} If Google Cloud has this region, write acceptRegion: true"
            self.reject("region", "", "unknown-region", self._region_path, message)

    @property
    def _region_path(self) -> FieldPath:
        in_cluster = self.cluster_exists and not self.only_connects
        return ("cluster", "existing", "location") if in_cluster else ("region",)

    def check_zone(
        self, path: FieldPath, zone: str, *, accepted: bool | None = None, machine: Machine | None = None
    ) -> None:
        """Report a zone outside the fleet's region, or an unknown zone.

        `accepted` is acceptZone of the entry that names the zone; None if the entry cannot have that key. Only zones
        that have the `machine` are proposed.
        """
        if not self.region or self.is_set_aside("region", ""):
            return
        if not zone.startswith(f"{self.region}-"):
            self.problems.fault(
                "bad-zone", path, f"'{zone}' is outside the region {self.region}; {self._proposed_zones(machine)}"
            )
        elif zone not in catalog.zone_table().regions.get(self.region, (zone,)):
            self._report_unknown_zone(path, zone, accepted, self._proposed_zones(machine))

    def check_zones(self, path: FieldPath, zones: Iterable[str]) -> None:
        """Check every zone of a list that cannot accept unknown ones."""
        for index, zone in enumerate(zones):
            self.check_zone((*path, index), zone)

    def are_zones_comparable(self, zones: Iterable[str]) -> bool:
        """Return whether to compare zones with machines: not of existing nodes, nor where a place has its own fault."""
        if self.only_connects or self.machines_exist:
            return False
        if self.is_set_aside("region", "") or self.is_set_aside("cluster", "zones"):
            return False
        known = catalog.zone_table().regions.get(self.region, ())
        return bool(known) and {*known}.issuperset(zones)

    def _proposed_zones(self, machine: Machine | None) -> str:
        """Return the remedy: zones of the region, only those that list the machine if there is one with a row."""
        listed = catalog.listed_zones(machine) if machine else None
        zones = catalog.open_zones(self.region)
        having = zones if listed is None else catalog.zones_in(self.region, listed.proposed)
        if having:
            return f"write {'' if len(having) == 1 else 'one of '}{', '.join(having)}"
        if not zones:
            return "write one of its zones"
        return (
            f"Google lists no {machine.name if machine else ''} in {self.region}; write another machineType or region"
        )

    def _report_unknown_zone(self, path: FieldPath, zone: str, accepted: bool | None, proposed: str) -> None:
        message = f"'{zone}' is not in {catalog.fact_tables()['zones'].dated_name}"
        if accepted or self.spec.accept_region:
            key = "acceptZone" if accepted else "acceptRegion"
            unknown = catalog.fact_tables()["zones"].unknown(f"'{zone}'", "whether the zone exists is")
            self.problems.unknown("zone-unknown", path, f"{unknown}; accepted by {key}")
            return
        key = (
            "the top-level key acceptRegion: true, which also accepts zones,"
            if accepted is None
            else "acceptZone: true"
        )
        self.problems.fault("unknown-zone", path, f"{message}; {proposed}, or {key} if Google Cloud has this zone")

    def reject(self, section: str, name: str, code: str, path: FieldPath, message: str) -> None:
        """Report a fault and set the entry aside."""
        self.problems.fault(code, path, message)
        self.set_entry_aside(section, name)

    def set_entry_aside(self, section: str, name: str) -> None:
        """Set an entry aside; for a pool also its flavor, which may have no other pool."""
        self.set_aside.add((section, name))
        if section == "pools":
            spec = self.spec.pools[name]
            self.set_aside |= {("flavors", name), ("flavors", spec.flavor or spec.formerly or name)}


def _known_names(section: str, entries: Mapping[str, object]) -> str:
    listed = sorted(entries)[:_MAX_LISTED]
    more = f", … ({len(entries)} in all)" if len(entries) > _MAX_LISTED else ""
    if not listed:
        return "; write a pool with this flavor" if section == "flavors" else f"; write it under {section}"
    if len(listed) == 1:
        return f"; write {listed[0]}, the only {_SINGULAR[section]}"
    return f"; write one of {', '.join(listed)}{more}"


_MAX_LISTED = 12
"""Maximum number of names that a message lists."""

_SINGULAR = {
    "pools": "pool",
    "flavors": "flavor",
    "reservations": "reservation",
    "computeClasses": "compute class",
    "priorities": "priority",
    "cohorts": "cohort",
    "teams": "team",
    "queues": "queue",
}
