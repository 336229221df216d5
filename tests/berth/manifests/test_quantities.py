"""Quantities are spelt as Go prints them, or every preview shows a change that is none."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.manifests.quantities import MAXIMUM, count, cpu, memory, quantity, weight

DECIMAL = {suffix: 1000**power for power, suffix in enumerate(("", "k", "M", "G", "T", "P", "E"))}
BINARY = {suffix: 1024**power for power, suffix in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}

ROUND = st.integers(0, 6).flatmap(
    lambda power: st.builds(lambda n, base: n * base**power, st.integers(0, 10**6), st.sampled_from([10, 1000, 1024]))
)
NUMBERS = (st.integers(0, MAXIMUM) | ROUND).filter(lambda number: number <= MAXIMUM)


def milli(text: str) -> int:
    """The value in thousandths, as Kubernetes reads it."""
    match = re.fullmatch(r"([0-9]+)(m|[kMGTPE]|[KMGTPE]i)?", text)
    assert match is not None, text
    number, suffix = int(match[1]), match[2] or ""
    return number if suffix == "m" else number * (DECIMAL | BINARY)[suffix] * 1000


# As printed by Go's resource.Quantity, apimachinery 0.36.2.
COUNTS = {0: "0", 8: "8", 96: "96", 999: "999", 1000: "1k", 1024: "1024", 1500: "1500", 10_000: "10k", 10**5: "100k"}
GREAT_COUNTS = {10**6: "1M", 1_010_000: "1010k", 10**18: "1E", MAXIMUM: "9223372036854775807"}
CPUS = {0: "0", 1: "1m", 100: "100m", 1500: "1500m", 2000: "2", 864_000: "864", 10**6: "1k", 12 * 10**6: "12k"}
BYTES = {0: "0", 1: "1", 1000: "1k", 1023: "1023", 1500: "1500", 1538: "1538", 10**9: "1G", 15 * 10**8: "1500M"}
BINARIES = {1024: "1Ki", 1_024_000: "1000Ki", 512 * 2**20: "512Mi", 96 * 2**30: "96Gi", 2**40: "1Ti", 7 * 2**60: "7Ei"}


def test_a_count_is_printed_as_go_prints_it() -> None:
    assert {number: count(number) for number in COUNTS | GREAT_COUNTS} == COUNTS | GREAT_COUNTS


def test_cpu_is_printed_as_go_prints_it() -> None:
    assert {number: cpu(number) for number in CPUS} == CPUS


def test_memory_is_printed_as_go_prints_it() -> None:
    """Bytes that 1024 does not divide have no binary suffix to be known by: Go reads them as decimal, prints `1G`."""
    assert {number: memory(number) for number in BYTES | BINARIES} == BYTES | BINARIES


@pytest.mark.parametrize(("printed", "unit"), [(count, 1000), (cpu, 1), (memory, 1000)])
@given(number=NUMBERS)
def test_printed_quantities_round_trip(printed: Callable[[int], str], unit: int, number: int) -> None:
    assert milli(printed(number)) == number * unit


@pytest.mark.parametrize("printed", [count, cpu, memory])
@given(number=NUMBERS)
def test_no_factor_of_the_base_stays_in_the_digits(printed: Callable[[int], str], number: int) -> None:
    """Which makes the spelling unique: two spellings of one number differ by factors moved into the suffix."""
    text = printed(number)
    digits = int(text.rstrip("kKMGTPEim"))
    base = 1024 if text.endswith("i") else 1000
    assert digits == 0 or digits % base or text.endswith(("E", "Ei"))


@given(number=NUMBERS)
def test_printing_again_what_was_read_changes_nothing(number: int) -> None:
    """The API server's round trip, on which the absence of drift rests."""
    for printed, unit in ((count, 1000), (memory, 1000), (cpu, 1)):
        text = printed(number)
        again = memory if text.endswith("i") else count
        value = milli(text)
        assert (cpu(value) if unit == 1 else again(value // 1000)) == text


@given(number=st.integers(0, 1023))
def test_less_than_1024_bytes_never_gets_a_binary_suffix(number: int) -> None:
    assert not memory(number).endswith("i")


@pytest.mark.parametrize("printed", [count, cpu, memory])
@pytest.mark.parametrize("number", [-1, -1024, MAXIMUM + 1])
def test_values_beyond_the_range_of_go_are_rejected(printed: Callable[[int], str], number: int) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        printed(number)


def test_a_resource_is_printed_in_the_unit_of_the_plan() -> None:
    assert quantity("cpu", 1500) == "1500m"
    assert quantity("memory", 2**30) == quantity("ephemeral-storage", 2**30) == "1Gi"
    assert quantity("google.com/tpu", 1024) == quantity("nvidia.com/gpu", 1024) == "1024"


SHARES = {0: "0", 1: "1", 2.0: "2", 0.5: "500m", 1.5: "1500m", 0.25: "250m", 1e-6: "1u", 2e-9: "2n", 1000: "1k"}


def test_a_share_is_printed_as_go_prints_it() -> None:
    assert {share: weight(share) for share in SHARES} == SHARES


@pytest.mark.parametrize("share", [-1, -0.5, 1e-10, 0.1234567891])
def test_a_share_below_zero_or_finer_than_a_billionth_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        weight(share)
