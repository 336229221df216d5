"""What one planning run carries from module to module: the spec, what was set aside, problems and origins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct, field

from berth import catalog
from berth.diagnostics import FieldPath, Problems, did_you_mean, format_value
from berth.spec.fleet import FleetSpec

T = TypeVar("T")


class PlanningContext(Struct):
    """A fleet being planned.

    `set_aside` holds the parts that were faulty, as in `Parsed`: what refers to them is left out without a further
    fault. `incomplete` says that a queue, or a part of one, was left out. `origins` tells for `(kind, name)` of a
    planned thing which path of the stack file it came from. `elsewhere` is a worker whose machines somebody else made.
    """

    stack: str
    spec: FleetSpec
    set_aside: set[tuple[str, str]]
    problems: Problems = field(default_factory=Problems)
    origins: dict[tuple[str, str], FieldPath] = field(default_factory=dict[tuple[str, str], FieldPath])
    incomplete: bool = False
    machines_exist: bool = False

    def resolve(self, section: str, name: str, entries: Mapping[str, T], path: FieldPath) -> T | None:
        """The entry that `path` refers to by `name`; None, and a fault unless it was set aside, where there is none."""
        if name in entries:
            return entries[name]
        if not self.is_set_aside(section, name):
            hint = did_you_mean(name, entries) or _known_names(section, entries)
            self.problems.fault("unknown-reference", path, f"no {_SINGULAR[section]} '{format_value(name)}'{hint}")
        return None

    def is_set_aside(self, section: str, name: str) -> bool:
        """Whether an entry (of `cluster`: a key) may be missing only because it was set aside."""
        return any((section, part) in self.set_aside for part in (name, "", "*"))

    @property
    def cluster_exists(self) -> bool:
        """Whether somebody else made the cluster."""
        return self.spec.cluster.existing is not None or ("cluster", "existing") in self.set_aside

    @property
    def project(self) -> str:
        """The project that things are made in; empty where nothing is."""
        return self.spec.project or ""

    @property
    def region(self) -> str:
        """The region that things are made in; empty where nothing is."""
        return self.spec.region or ""

    def check_region(self) -> None:
        """Report a region that does not exist, and set it aside: no zone is held to it then."""
        regions = catalog.zone_table().regions
        if not self.region or self.region in regions or self.is_set_aside("region", ""):
            return
        message = f"there is no region '{self.region}' in the table of {catalog.zone_table().as_of}"
        if self.spec.accept_region:
            self.problems.warning("unknown-region", ("region",), f"{message}; accepted")
        else:
            hint = did_you_mean(self.region, regions) or "; write a region of Google Cloud such as us-central1."
            message = f"{message}{hint} If Google opened it since, write acceptRegion: true"
            self.reject("region", "", "unknown-region", ("region",), message)

    def check_zone(self, path: FieldPath, zone: str, *, accepted: bool | None = None) -> None:
        """Report a zone outside the fleet's region, or one that does not exist.

        `accepted` is the acceptZone of the entry that names the zone; None where it has no such key.
        """
        if not self.region or self.is_set_aside("region", ""):
            return
        if not zone.startswith(f"{self.region}-"):
            message = f"'{zone}' is outside the region {self.region}; write one of its zones"
            self.problems.fault("bad-zone", path, message)
        elif zone not in (known_zones := catalog.zone_table().regions.get(self.region, (zone,))):
            self._report_unknown_zone(path, zone, known_zones, accepted)

    def _report_unknown_zone(
        self, path: FieldPath, zone: str, known_zones: tuple[str, ...], accepted: bool | None
    ) -> None:
        message = f"there is no zone '{zone}' in the table of {catalog.zone_table().as_of}"
        if accepted or self.spec.accept_region:
            self.problems.warning("unknown-zone", path, f"{message}; accepted")
            return
        key = "acceptRegion" if accepted is None else "acceptZone"
        remedy = f"write one of {', '.join(known_zones)}, or {key}: true if Google opened it since"
        self.problems.fault("unknown-zone", path, f"{message}; {remedy}")

    def reject(self, section: str, name: str, code: str, path: FieldPath, message: str) -> None:
        """Report a fault and set the entry aside."""
        self.problems.fault(code, path, message)
        self.set_entry_aside(section, name)

    def set_entry_aside(self, section: str, name: str) -> None:
        """Set an entry aside, and with a pool the flavor that it may have been the only one of."""
        self.set_aside.add((section, name))
        if section == "pools":
            spec = self.spec.pools[name]
            self.set_aside |= {("flavors", name), ("flavors", spec.flavor or spec.formerly or name)}


def _known_names(section: str, entries: Mapping[str, object]) -> str:
    listed = sorted(entries)[:_MAX_LISTED]
    more = f", … ({len(entries)} in all)" if len(entries) > _MAX_LISTED else ""
    return f"; known: {', '.join(listed)}{more}" if listed else f"; no {_SINGULAR[section]} is declared"


_MAX_LISTED = 12
"""Names that a message lists."""

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
