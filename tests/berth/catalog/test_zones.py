"""Compare the zone table with the facts in tests/vendored/facts, and keep the zones of pools that name none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth import catalog
from berth.catalog.zones import ListedZones, build_zone_table
from tests.stack_files import ROOT

FACTS = ROOT / "tests" / "vendored" / "facts" / "zones.yaml"
DEFAULTS = Path(__file__).with_name("default_zones.yaml")
TABLE = ROOT / "berth" / "catalog" / "zones.yaml"
Facts = dict[str, Any]


@pytest.fixture(scope="module")
def facts() -> Facts:
    """The compiled facts."""
    return yaml.load(FACTS.read_text(encoding="utf-8"), yaml.CSafeLoader)


def test_listed_zones_are_those_of_the_facts(facts: Facts) -> None:
    """Every machine and every attached GPU, with the undocumented zones apart."""
    listed = catalog.zone_table().listed
    rows: Facts = {**facts["zones"], **facts["attached"]}
    assert set(listed) == set(rows)
    for name, zones in rows.items():
        assert list(listed[name].all) == sorted(zones), name
        assert sorted(listed[name].undocumented) == sorted(facts["undocumented"].get(name, [])), name


def test_flex_start_zones_are_those_of_the_facts(facts: Facts) -> None:
    """By family of TPU machines."""
    assert {name: list(row.documented) for name, row in catalog.zone_table().flex_start.items()} == facts["flex_start"]


def test_every_listed_zone_exists() -> None:
    """A zone that no region has would be proposed by one rule and refused by another."""
    table = catalog.zone_table()
    zones = {zone for region in table.regions.values() for zone in region}
    rows = (*table.listed.values(), *table.flex_start.values())
    assert {zone for row in rows for zone in row.all} <= zones
    assert len(zones) == 131 + len({"us-central1-ai1a", "us-south1-ai1b"})


def test_every_row_is_of_a_machine_that_the_catalog_has() -> None:
    """Every machine that Berth offers has a row, except those without a sourced zone."""
    table = catalog.zone_table()
    known = {*catalog.machines(), *catalog.attachable_gpus().gpus}
    assert set(table.listed) <= known
    offered = {name for name, m in catalog.machines().items() if m.status == "current"}
    without = {name for name in offered if catalog.listed_zones(catalog.machines()[name]) is None}
    assert without == _WITHOUT_A_SOURCED_ZONE


_WITHOUT_A_SOURCED_ZONE = {
    "g4-standard-6", "g4-standard-12", "g4-standard-24", "tpu7x-ultranet-4t",
}  # fmt: skip


def test_an_n1_machine_is_listed_by_its_gpu() -> None:
    """N1 machines are everywhere; their GPUs are not."""
    machine = catalog.attach_gpus("n1-standard-4", "nvidia-tesla-p100", 1)
    assert catalog.listed_zones(machine) is catalog.zone_table().listed["nvidia-tesla-p100"]


def test_flex_start_of_gpus_has_the_zones_of_their_machine() -> None:
    """Google documents zones of flex-start only for TPUs."""
    l4, v6e = catalog.machines()["g2-standard-24"], catalog.machines()["ct6e-standard-4t"]
    assert catalog.listed_zones(l4, dws=True) is catalog.listed_zones(l4)
    assert catalog.listed_zones(v6e, dws=True) == ListedZones(documented=("asia-northeast1-b", "us-east5-a"))


# --- stability --------------------------------------------------------------------------------------------------------


def test_zones_of_pools_that_name_none_never_change() -> None:
    """A pool in a fleet would be moved. New machines and regions are added (BERTH_GOLDEN=write); a line never changes.

    A zone that Google adds to a region that a row already has goes below `later` in `zones.yaml`.
    """
    table = catalog.zone_table()
    rows = {**table.listed, **{f"flex-start {family}": row for family, row in table.flex_start.items()}}
    derived = {
        name: {region: list(zones) for region in table.regions if (zones := row.defaults(region))}
        for name, row in sorted(rows.items())
    }
    known: dict[str, dict[str, list[str]]] = (
        yaml.load(DEFAULTS.read_text(encoding="utf-8"), yaml.CSafeLoader) if DEFAULTS.is_file() else {}
    )
    changed = {
        (name, region): (zones, derived.get(name, {}).get(region))
        for name, by_region in known.items()
        for region, zones in by_region.items()
        if derived.get(name, {}).get(region) != zones
    }
    assert not changed, "write the new zones below `later` in berth/catalog/zones.yaml"
    if os.environ.get("BERTH_GOLDEN") == "write":
        DEFAULTS.write_text(yaml.safe_dump(derived, width=118, default_flow_style=None), encoding="utf-8")
    assert derived == yaml.load(DEFAULTS.read_text(encoding="utf-8"), yaml.CSafeLoader)


def test_a_table_that_grows_keeps_the_zones_of_pools() -> None:
    """A zone below `later` is listed and proposed, and given to no pool that names none."""
    data = yaml.load(TABLE.read_text(encoding="utf-8"), yaml.CSafeLoader)
    before = build_zone_table(data).listed["a3-ultragpu-8g"]
    row = next(row for row in data["machines"] if row["of"] == ["a3-ultragpu-8g"])
    row["later"] = {"us-central1": ["c"], "europe-west3": ["a"]}
    after = build_zone_table(data).listed["a3-ultragpu-8g"]
    assert set(after.all) - set(before.all) == {"us-central1-c", "europe-west3-a"}
    assert "us-central1-c" in after.proposed
    assert all(after.defaults(region) == before.defaults(region) for region in data["regions"])


# --- machines without accelerators ------------------------------------------------------------------------------------


def test_both_sources_of_machines_without_accelerators_have_the_same_regions_but_for_these() -> None:
    """Google's page by zone, its API by region: read by different people, so a slip of one would be a row here."""
    differing: dict[str, tuple[set[str], set[str]]] = {}
    for series, zones in catalog.cpu_series_zones().items():
        names = [name for name in catalog.cpu_machine_types() if name.partition("-")[0] == series]
        if not names:
            continue  # N1, which the API's listing has with its GPUs
        listed = {region for name in names for region in catalog.cpu_regions(name) or ()}
        on_page = {catalog.region_of_zone(zone) for zone in zones}
        if listed != on_page:
            differing[series] = (listed - on_page, on_page - listed)
    assert differing == {
        "c2d": ({"australia-southeast1", "me-central2"}, set()),
        "c3": ({"northamerica-northeast2"}, set()),
        "c4a": ({"us-west3"}, set()),
        "c4d": ({"asia-east1", "australia-southeast2", "europe-southwest1"}, set()),
        "n4a": ({"us-west3"}, set()),
        "z3": (set(), {"southamerica-west1", "us-west2"}),
    }


def test_every_series_that_gke_offers_has_its_zones() -> None:
    """But for Z4D, which neither source lists. Every zone exists; H4D and C4N are in eight zones each."""
    zones = catalog.cpu_series_zones()
    assert {name.partition("-")[0] for name in catalog.cpu_machine_types()} | {"n1"} == {*zones, "z4d"}
    every = {zone for all_zones in catalog.zone_table().regions.values() for zone in all_zones}
    assert set().union(*zones.values()) <= every
    assert zones["h4d"] == {
        "asia-south1-c", "asia-southeast1-a", "europe-west4-b", "europe-west4-c",
        "us-central1-a", "us-central1-b", "us-east1-b", "us-west4-a",
    }  # fmt: skip
    assert len(zones["c4n"]) == 8


def test_a_machine_without_accelerators_is_never_given_zones() -> None:
    """Its pools had none before the table, and keep their plan."""
    for name in ("h4d-standard-192", "n2-custom-5-8192", "c3-highcpu-22"):
        machine = catalog.cpu_machine(name)
        assert machine is not None
        listed = catalog.listed_zones(machine)
        assert listed is not None
        assert {listed.defaults(region) for region in catalog.zone_table().regions} == {()}
