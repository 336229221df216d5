"""A table of prices: what it says exactly, and every way in which it can be wrong, with its line."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.cost.prices import read_prices
from tests.problem_lines import line_without_code, without_codes
from tests.stack_files import GKE_STACKS

TABLE = """\
currency: USD
hourly:
  ct5lp-hightpu-4t: {on-demand: 4.80, reservation: 3.36}
  g2-standard-24:
    on-demand: 2
    spot: "0.80"
"""

_WORDS = "on-demand, spot, reservation, flex-start, queued"
_PRICE = "is not an hourly price; write the cost of one machine, from 0 to 999999, with at most six decimals"

BROKEN = {
    "no currency": (
        "currency: USD\n",
        "",
        ["1: 'currency' is missing; write it"],
    ),
    "a currency by its sign": (
        "USD",
        "$",
        ["1: currency: '$' is not a currency; write three capital letters, such as USD"],
    ),
    "a word that is no key": (
        "currency: USD",
        "currencies: USD",
        ["1: currencies: unknown key 'currencies'; write one of currency, hourly; did you mean 'currency'?"],
    ),
    "a capacity model that does not exist": (
        "spot:",
        "spott:",
        [f"6: hourly.g2-standard-24.spott: unknown key 'spott'; write one of {_WORDS}; did you mean 'spot'?"],
    ),
    "less than nothing": ("4.80", "-4.80", [f"3: hourly.ct5lp-hightpu-4t.on-demand: '-4.8' {_PRICE}"]),
    "words": ("3.36", "cheap", [f"3: hourly.ct5lp-hightpu-4t.reservation: 'cheap' {_PRICE}"]),
    "infinite": ("3.36", ".inf", [f"3: hourly.ct5lp-hightpu-4t.reservation: '.inf' {_PRICE}"]),
    "a yes": ("on-demand: 2", "on-demand: true", [f"5: hourly.g2-standard-24.on-demand: 'true' {_PRICE}"]),
    "nothing": ("on-demand: 2", "on-demand:", [f"5: hourly.g2-standard-24.on-demand: nothing {_PRICE}"]),
    "a currency with each price": (
        "4.80",
        "4.80 USD",
        [f"3: hourly.ct5lp-hightpu-4t.on-demand: '4.80 USD' {_PRICE}"],
    ),
    "one price for all": (
        "{on-demand: 4.80, reservation: 3.36}",
        "4.80",
        [f"3: hourly.ct5lp-hightpu-4t: '4.8' is not a mapping of {_WORDS} to prices"],
    ),
    "a machine that cannot be one": (
        "ct5lp-hightpu-4t",
        "V5E",
        ["3: hourly.V5E: 'V5E' is not a machine type; write one such as g2-standard-24"],
    ),
    "a machine twice": (
        "g2-standard-24",
        "ct5lp-hightpu-4t",
        ["4: hourly.ct5lp-hightpu-4t: key 'ct5lp-hightpu-4t' is defined twice, first on line 3; keep one"],
    ),
    "a list": (
        TABLE,
        "currency: USD\nhourly: [4.80]\n",
        ["2: hourly: a list is not a mapping of machine types to their prices"],
    ),
    "no machines": (
        TABLE,
        "currency: USD\nhourly: {}\n",
        ["2: hourly: no machine has a price; write one, or remove --prices"],
    ),
    "two at once": (
        TABLE,
        "currency: dollars\nhourly:\n  e2-standard-4: {on-demand: -1}\n",
        [
            "1: currency: 'dollars' is not a currency; write three capital letters, such as USD",
            f"3: hourly.e2-standard-4.on-demand: '-1' {_PRICE}",
        ],
    ),
    "no YAML": (
        "{on-demand: 4.80",
        "{on-demand: [4.80",
        ["3:57: a ',' or ']' is missing here; write one"],
    ),
    "a sentence": (TABLE, "about five dollars\n", [" 'about five dollars' is not a mapping"]),
    "an empty file": (TABLE, "", [" the price table is empty; write currency and hourly"]),
    "two documents": (
        TABLE,
        f"{TABLE}---\n{TABLE}",
        [" the price table has more than one YAML document; keep one"],
    ),
}


def written(folder: Path, text: str) -> Path:
    """Return a file with that text."""
    file = folder / "prices.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_prices_are_exact_by_machine_type_and_capacity_model(tmp_path: Path) -> None:
    result, problems = read_prices(written(tmp_path, TABLE))
    assert problems == ()
    assert result is not None
    assert result.currency == "USD"
    assert result.hourly == {
        ("ct5lp-hightpu-4t", "on-demand"): Fraction(24, 5),
        ("ct5lp-hightpu-4t", "reservation"): Fraction(84, 25),
        ("g2-standard-24", "on-demand"): Fraction(2),
        ("g2-standard-24", "spot"): Fraction(4, 5),
    }
    assert result.price_of("g2-standard-24", "reservation") is None


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_table_is_reported_with_its_line_and_not_used(case: str, tmp_path: Path) -> None:
    old, new, lines = BROKEN[case]
    assert TABLE.count(old) == 1
    file = written(tmp_path, TABLE.replace(old, new))
    result, problems = read_prices(file)
    output = [
        line_without_code(problem).removeprefix(f"{file}:") for problem in sorted(problems, key=lambda p: p.place)
    ]
    assert output == lines
    assert result is None


def test_a_missing_price_table_or_a_folder_is_one_fault(tmp_path: Path) -> None:
    _, (missing,) = read_prices(tmp_path / "none.yaml")
    assert line_without_code(missing) == f"no file '{tmp_path / 'none.yaml'}'"
    _, (folder,) = read_prices(tmp_path)
    assert line_without_code(folder) == f"{tmp_path}: is a directory, not a file; name a YAML file"


def test_the_command_rejects_a_broken_table_first(tmp_path: Path) -> None:
    file = written(tmp_path, TABLE.replace("4.80", "lots"))
    done = CliRunner().invoke(app, ["plan", str(GKE_STACKS["dev"]), "--prices", str(file)])
    assert (done.exit_code, done.stdout) == (1, "")
    assert without_codes(done.stderr) == f"{file}:3: hourly.ct5lp-hightpu-4t.on-demand: 'lots' {_PRICE}\n"
