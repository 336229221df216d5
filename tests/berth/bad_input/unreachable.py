"""Rules of GKE that no stack file can break, with the reason; each is tested where it is written."""

from __future__ import annotations

_ONE_WORD = "a pool's capacity is one word, so nobody can write two"
_NO_KEY = "no key of the stack file says it"
_DERIVED = "Berth derives it, and never so"
_EARLIER = "the schema or the planner refuses it first, in words of the stack file"

_REASONS: dict[str, str] = {
    _ONE_WORD: "dws-reservation max-run-unknown",
    _NO_KEY: "boot-disk dynamic-slicing",
    _DERIVED: "cluster-network reservation-zones shared-run-duration slice-size",
    _EARLIER: "driver sharing unsupported-machine",
}

CODES = {code: reason for reason, codes in _REASONS.items() for code in codes.split()}
"""Code → why no case leads to it."""
