"""What a fleet costs: every figure is computed a second time from the plan's JSON and the price list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from typer.testing import CliRunner

from berth.cli import app
from berth.cli import prices as costs
from berth.cost import text as cost_text
from berth.cost.fleet import CostTotal, FleetCost, MachineCost, fleet_cost
from berth.cost.prices import Prices, read_prices
from berth.evaluate import evaluate_stack
from berth.plan.node_settings import Bounds
from tests.small_fleets import fleet_with
from tests.small_fleets import plan as small_plan
from tests.stack_files import GKE_STACKS, ROOT, every_stack, plan, plan_json

MODELS = ("on-demand", "spot", "reservation", "flex-start", "queued")


def machines(stack: str) -> set[str]:
    """Return every machine type of a stack, the system pool's too."""
    system = plan(stack).system_pool
    kinds = {p["machineType"] for p in plan_json(stack)["pools"]} | {system.machine_type if system else "e2-standard-4"}
    return kinds | {held["machineType"] for held in plan_json(stack)["reservations"]}


def list_of(stack: str) -> dict[tuple[str, str], str]:
    """Return a made-up price of every machine of a stack, each another one, in thousandths."""
    return {
        (machine, model): f"{7 * number + place}.{number}{place}7"
        for number, machine in enumerate(sorted(machines(stack)), 1)
        for place, model in enumerate(MODELS)
    }


def table(prices: dict[tuple[str, str], str]) -> Prices:
    """The same as a table of prices."""
    return Prices("prices.yaml", "EUR", {key: Fraction(price) for key, price in prices.items()})


def as_printed(stack: str, prices: dict[tuple[str, str], str]) -> dict[str, Any]:
    """`cost` as the plan's JSON has it."""
    return json.loads(json.dumps(costs.cost_as_json(fleet_cost(plan(stack), table(prices)))))


def almost(amount: Decimal) -> Any:
    """Return an amount as JSON prints it."""
    return pytest.approx(float(amount), abs=1e-6)


def ways(pool: dict[str, Any], read: dict[str, Any]) -> list[tuple[str, str]]:
    """How a pool's machines may be had, as the plan's JSON says: one way, or those of its compute class."""
    if pool["capacity"] != "compute-class":
        return [(pool["machineType"], pool["capacity"])]
    (ladder,) = (each for each in read["computeClasses"] if each["name"] == pool["computeClass"])
    had = [way["capacity"].split()[0].replace("any-reservation", "reservation") for way in ladder["priorities"]]
    return [(pool["machineType"], each) for each in had]


def dearest(pool: dict[str, Any], read: dict[str, Any], prices: dict[tuple[str, str], str]) -> Decimal:
    """Return the price of one machine of a pool."""
    return max(Decimal(prices[way]) for way in ways(pool, read))


# --- figures ----------------------------------------------------------------------------------------------------------


@every_stack
def test_pools_cost_their_nodes_and_the_fleet_is_the_sum_of_its_machines(stack: str) -> None:
    prices = list_of(stack)
    result = as_printed(stack, prices)
    by_name = {m["name"]: m for m in result["machines"] if m["kind"] == "pool"}
    read = plan_json(stack)
    ready = [each for team in read["teams"] for each in team["capacityBuffers"]]
    for pool in read["pools"]:
        price = dearest(pool, read, prices)
        kept = sum(each["nodes"] or 0 for each in ready if each["pool"] == pool["name"])
        least = max(pool["nodes"]["min"], kept)
        assert by_name.pop(pool["name"]) == {
            "kind": "pool",
            "name": pool["name"],
            "machineType": pool["machineType"],
            "capacity": pool["capacity"],
            "nodes": pool["nodes"] | {"min": least},
            "price": almost(price),
            "committed": almost(price * least),
            "ceiling": almost(price * pool["nodes"]["max"]),
        }
    assert by_name == {}
    for key in ("committed", "ceiling"):
        assert result["fleet"][key] == almost(sum((Decimal(str(m[key])) for m in result["machines"]), Decimal()))
    assert result["fleet"]["unpriced"] == []


@every_stack
def test_teams_cost_what_their_accelerators_cost_one_by_one(stack: str) -> None:
    """By hand: a machine's price, shared among its accelerators, as often as a team has one."""
    prices, read = list_of(stack), plan_json(stack)
    of_flavor: dict[str, Decimal] = {}
    for pool in read["pools"]:
        accelerators = pool["accelerators"]["max"] // pool["nodes"]["max"]
        one = dearest(pool, read, prices) / accelerators
        of_flavor[pool["flavor"]] = max(of_flavor.get(pool["flavor"], one), one)
    values = {team["name"]: team for team in as_printed(stack, prices)["teams"]}
    for team in read["teams"]:
        for key, printed in (("guaranteed", "committed"), ("ceiling", "ceiling")):
            by_hand = sum((of_flavor[flavor] * count for flavor, count in team[key].items()), Decimal())
            assert values[team["name"]][printed] == almost(by_hand)
    assert list(values) == [team["name"] for team in read["teams"]]


def test_a_reservation_is_paid_for_whether_pools_use_it_or_not() -> None:
    """Each reservation of the fleet's own project, with its pools, costs its count: standing or not."""
    prices = list_of("reservations")
    document, read = as_printed("reservations", prices), plan_json("reservations")
    by_name = {(m["kind"], m["name"]): m for m in document["machines"]}
    paid = 0
    for held in read["reservations"]:
        rest = by_name.get(("reservation", held["name"]))
        if held["project"] is not None or held["start"] is not None:
            assert rest is None
            continue
        nodes = sum(p["nodes"]["min"] for p in read["pools"] if p["name"] in held["pools"])
        assert nodes + (rest["nodes"]["min"] if rest else 0) == held["count"]
        paid += 1
    assert paid


def test_the_unused_part_of_a_reservation_has_its_own_row(tmp_path: Path) -> None:
    text = GKE_STACKS["dev"].read_text(encoding="utf-8")
    file = tmp_path / "Pulumi.dev.yaml"
    assert "count: 4" in text
    file.write_text(text.replace("count: 4", "count: 6"), encoding="utf-8")
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    evaluation = evaluate_stack(str(file), tmp_path).fleet_plan
    assert evaluation is not None
    (rest,) = (m for m in fleet_cost(evaluation, table(list_of("dev"))).machines if m.kind == "reservation")
    assert (rest.nodes, rest.capacity) == (Bounds(min=2, max=2), "reservation")
    assert rest.label == f"rest of reservation {rest.name}"


def test_the_system_pool_costs_its_nodes_in_all_zones() -> None:
    system = plan("dev").system_pool
    assert system is not None
    (row,) = (m for m in as_printed("dev", list_of("dev"))["machines"] if m["kind"] == "system pool")
    nodes = system.total_nodes or Bounds(
        min=(system.nodes_per_zone or 0) * len(system.zones), max=(system.nodes_per_zone or 0) * len(system.zones)
    )
    assert row["nodes"] == {"min": nodes.min, "max": nodes.max}
    assert nodes.max > 0


# --- without a price --------------------------------------------------------------------------------------------------


@every_stack
def test_every_machine_without_a_price_is_named(stack: str) -> None:
    """Each machine in turn: it is in `unpriced`, so are the flavors of its pools for those who use them."""
    prices, read = list_of(stack), plan_json(stack)
    for pool in read["pools"]:
        key = ways(pool, read)[-1]
        result = as_printed(stack, {k: price for k, price in prices.items() if k != key})
        hit = {each["name"] for each in read["pools"] if key in ways(each, read)}
        gone = [m for m in result["machines"] if m["kind"] == "pool" and m["name"] in hit]
        assert {m["name"] for m in gone} == hit <= set(result["fleet"]["unpriced"])
        assert {m[key] for m in gone for key in ("price", "committed", "ceiling")} == {None}
        for team in result["teams"]:
            (own,) = (t for t in read["teams"] if t["name"] == team["name"])
            assert (pool["flavor"] in team["unpriced"]) == bool(own["ceiling"].get(pool["flavor"]))


def test_a_price_of_0_is_valid() -> None:
    prices = dict.fromkeys(list_of("dev"), "0")
    result = as_printed("dev", prices)
    assert result["fleet"] == {"committed": 0, "ceiling": 0, "unpriced": []}


def test_a_missing_price_has_a_suggestion() -> None:
    result = fleet_cost(plan("dev"), table({("g2-standart-24", "spot"): "1"}))
    assert list(cost_text.missing_price_lines(result)) == [
        "prices.yaml has no price for g2-standard-24 on-demand; not counted: l4-on-demand; did you mean "
        "'g2-standart-24'?",
        "prices.yaml has no price for g2-standard-24 reservation; not counted: l4-reserved; did you mean "
        "'g2-standart-24'?",
        "prices.yaml has no price for g2-standard-24 spot; not counted: l4-spot; did you mean 'g2-standart-24'?",
        "prices.yaml has no price for ct5lp-hightpu-4t on-demand; not counted: v5e",
        "prices.yaml has no price for e2-standard-4 on-demand; not counted: system",
    ]


# --- what is printed --------------------------------------------------------------------------------------------------

EXAMPLE = """\
currency: USD
hourly:
  ct5lp-hightpu-4t: {on-demand: 4.80}
  g2-standard-24: {on-demand: 2.00, spot: 0.80, reservation: 1.60}
"""

SHOWN = """\
Machines, USD an hour   machine            from          each   committed   ceiling
  l4-on-demand          g2-standard-24     on-demand     2.00        0.00     24.00
  l4-reserved           g2-standard-24     reservation   1.60        6.40      6.40
  l4-spot               g2-standard-24     spot          0.80        0.00     19.20
  v5e                   ct5lp-hightpu-4t   on-demand     4.80       28.80     28.80
  system                e2-standard-4      on-demand        –           –         –   no price
  all                                                               35.20     78.40   without system

Teams, USD an hour   guaranteed   ceiling
  language                28.80     38.40
  speech                  28.80     36.80
  vision                  20.80     48.00

Prices from FILE, for machines only: without disks, networks, licences and fees.
FILE has no price for e2-standard-4 on-demand; not counted: system
"""


def test_the_plan_shows_costs_only_with_prices(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(EXAMPLE, encoding="utf-8")
    done = CliRunner().invoke(app, ["plan", str(GKE_STACKS["dev"]), "--prices", str(file)])
    assert done.exit_code == 0
    assert SHOWN.replace("FILE", str(file)) in done.stdout


@every_stack
def test_without_prices_a_plan_has_no_costs(stack: str) -> None:
    done = CliRunner().invoke(app, ["plan", str(GKE_STACKS[stack])])
    assert " an hour" not in done.stdout
    assert "cost" not in plan_json(stack)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "–"),
        (Fraction(0), "0.00"),
        (Fraction(1, 3), "0.33"),
        (Fraction(2469, 2), "1,234.50"),
        (Fraction("999999.999"), "1,000,000.00"),
    ],
)
def test_money_is_rounded_when_it_is_printed(amount: Fraction | None, text: str) -> None:
    assert cost_text.format_money(amount) == text


def test_a_sum_lists_missing_prices() -> None:
    machine = MachineCost("pool", "a", "m-1", "spot", Bounds(min=1, max=2), None, (("m-1", "spot"),))
    other = MachineCost("pool", "b", "m-1", "spot", Bounds(min=1, max=2), Fraction(3, 2))
    result = FleetCost(Prices("f", "USD", {}), (machine, other), {})
    assert result.fleet == CostTotal(Fraction(3, 2), Fraction(3), ("a",))
    assert cost_text.describe_unpriced(result.fleet) == "without a"
    assert result.unpriced == (machine,)


# --- the page ---------------------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "cost.md").read_text(encoding="utf-8")


def keys(section: str) -> set[str]:
    """Return the keys of a section's table."""
    (part,) = (p for p in re.split(r"^#+ ", PAGE, flags=re.MULTILINE) if p.startswith(f"{section}\n"))
    return set(re.findall(r"^\| `(\w+)` \|", part, flags=re.MULTILINE))


def sums(result: dict[str, Any]) -> Iterator[set[str]]:
    """Yield the keys of every sum that is printed."""
    yield set(result["fleet"])
    yield from (set(team) - {"name"} for team in result["teams"])


def test_the_page_has_every_key_and_its_example_is_a_table_of_prices(tmp_path: Path) -> None:
    result = as_printed("dev", list_of("dev"))
    assert set(result) == keys("As JSON")
    assert [each for each in sums(result) if each != keys("sums")] == []
    assert [m for m in result["machines"] if set(m) != keys("machines[]")] == []
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    file = tmp_path / "prices.yaml"
    file.write_text(example, encoding="utf-8")
    prices, problems = read_prices(file)
    assert problems == ()
    assert prices is not None
    assert fleet_cost(plan("dev"), prices).unpriced == ()


@every_stack
def test_amounts_are_numbers_in_json(stack: str) -> None:
    amount = {"type": "number"}
    shape = {"properties": {"machines": {"items": {"properties": dict.fromkeys(("price", "committed"), amount)}}}}
    assert list(Draft202012Validator(shape).iter_errors(as_printed(stack, list_of(stack)))) == []


def test_a_compute_class_costs_its_most_expensive_rule_and_needs_every_price() -> None:
    of_class = {("a3-highgpu-8g", "reservation"): "40", ("a3-highgpu-8g", "spot"): "30"}
    lacking = fleet_cost(plan("dws-autoprovisioned"), table(of_class))
    (row,) = (m for m in lacking.machines if m.name == "h100" and m.kind == "pool")
    assert (row.price, row.missing) == (None, (("a3-highgpu-8g", "flex-start"),))
    whole = fleet_cost(plan("dws-autoprovisioned"), table({**of_class, ("a3-highgpu-8g", "flex-start"): "50"}))
    (row,) = (m for m in whole.machines if m.name == "h100" and m.kind == "pool")
    assert (row.price, row.missing) == (Fraction(50), ())


# --- workers ----------------------------------------------------------------------------------------------------------

EVERYWHERE = ROOT / "tests" / "stacks" / "workers" / "elsewhere.yaml"


def test_workers_cost_their_pools_and_system_pools() -> None:
    """Every machine of every cluster, counted from the clusters' own plans."""
    prices = list_of("multikueue")
    fleet_plan = plan("multikueue")
    owed = Decimal()
    for cluster in (replace(fleet_plan, pools=fleet_plan.own_pools), *(worker.plan for worker in fleet_plan.workers)):
        owed += sum((Decimal(prices[p.machine_type, p.capacity]) * p.nodes.min for p in cluster.pools), Decimal())
        system = cluster.system_pool
        assert system is not None and system.total_nodes is not None
        owed += Decimal(prices[system.machine_type, "on-demand"]) * system.total_nodes.min
    printed = as_printed("multikueue", prices)
    assert printed["fleet"]["committed"] == almost(owed)
    assert {m["name"] for m in printed["machines"] if m["kind"] == "system pool"} == {
        "system",
        "central/system",
        "east/system",
    }


def test_machines_of_a_worker_are_costs_of_its_own_stack() -> None:
    """Of three workers one is made here: its two machines are the fleet's, and what the team is promised is of all."""
    evaluation = evaluate_stack(str(EVERYWHERE), ROOT).fleet_plan
    assert evaluation is not None
    priced = fleet_cost(evaluation, table({("a3-highgpu-8g", "on-demand"): "80", ("e2-standard-4", "on-demand"): "1"}))
    assert [m.name for m in priced.machines] == ["here/h100", "system", "here/system"]
    assert priced.fleet.committed == 2 * 80 + 1 + 1
    assert priced.teams["vision"].committed == 64 * 10
    assert priced.fleet.unpriced == priced.teams["vision"].unpriced == ()


def test_gpus_attached_to_n1_machines_behind_a_compute_class_have_a_price() -> None:
    """No row of the catalog has such a machine with its GPUs: 2 machines with 1 GPU each stand in for one with 2."""
    t4 = "nvidia-tesla-t4"
    small_machine = {"machineType": "n1-standard-4", "accelerator": {"type": t4, "count": 1}}
    machine = {"machineType": "n1-standard-8", "accelerator": {"type": t4, "count": 2}}
    fleet = small_plan(
        fleet_with(
            {
                "computeClasses": {"c": {"priorities": [small_machine]}},
                "pools.x": {**machine, "nodes": {"max": 3}, "computeClass": "c"},
                "teams.vision.queues.x": {"flavors": [{"pool": "x", "guaranteed": 6}]},
            }
        )
    )
    (cost,) = (
        each for each in fleet_cost(fleet, table({("n1-standard-4", "on-demand"): "0.5"})).machines if each.name == "x"
    )
    assert (cost.price, cost.missing) == (Fraction(1), ())
