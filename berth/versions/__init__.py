"""Facts about each release of what a fleet runs: Kueue, JobSet and their companions.

The data is YAML, each row with its source; `scripts/release_facts.py` writes what tags of the projects say. A release
ran here, is known by its changelog, refused, or unknown; an absent row is never an answer.
"""

from berth.versions.numbers import InvalidReleaseError, Version, dotted, has_change, minor_of, parse_release

__all__ = [
    "InvalidReleaseError",
    "Version",
    "dotted",
    "has_change",
    "minor_of",
    "parse_release",
]
