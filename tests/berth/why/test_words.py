"""Kueue's words: each real message is read as what it means, and each row of the table is the meaning of one."""

from __future__ import annotations

import pathlib

import pytest

from berth.why.words import Reading, all_words, read_check, read_message

LINES = (pathlib.Path(__file__).parent / "messages.txt").read_text(encoding="utf-8").splitlines()
MESSAGES = [tuple(part.strip() for part in line.split(" | ", 2)) for line in LINES if not line.startswith("#")]


@pytest.mark.parametrize(("condition", "codes", "message"), MESSAGES)
def test_a_message_of_kueue_is_read(condition: str, codes: str, message: str) -> None:
    found = list(read_message(condition, message))
    assert [each.words.code for each in found] == codes.split()
    for each in found:
        assert "{" not in each.fill(each.words.means).replace("{instance", "")
        assert "{" not in each.fill(each.words.helps).replace('\'{"spec":{"active":true}}\'', "")


def test_every_row_is_the_meaning_of_a_message() -> None:
    met = {each.words for condition, _, message in MESSAGES for each in read_message(condition, message)}
    met |= {each.words for state in ("Pending", "Retry", "Rejected") if (each := read_check(state, ""))}
    assert met == set(all_words())


def test_names_of_a_message_are_whole() -> None:
    text = (
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor on-demand, 1 more needed"
        "; couldn't assign flavors to pod set b: insufficient quota for example.com/gpu in flavor v5e, previously "
        "considered podsets requests (0) + current podset request (100) > maximum capacity (50)"
    )
    first, second = read_message("QuotaReserved", text)
    assert first.names == {"resource": "cpu", "flavor": "on-demand", "more": "1"}
    assert second.fill(second.words.means) == "it asks more than the queue can ever use of v5e: 50 example.com/gpu"


def test_a_ready_check_and_other_words_are_no_obstacle() -> None:
    assert read_check("Ready", "") is None
    assert list(read_message("QuotaReserved", "Quota reserved in ClusterQueue team-a")) == []
    assert isinstance(read_check("Pending", "p"), Reading)
