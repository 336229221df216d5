"""Recognize what the given files are, by their content, and read them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from berth.adopt.sources.blueprint import read_blueprint
from berth.adopt.sources.source_fleet import SourceFleet, UnusableSource
from berth.adopt.sources.terraform import read_terraform
from berth.adopt.sources.xpk import read_xpk

_READERS: Final[tuple[Callable[[Mapping[str, str], Mapping[str, str]], SourceFleet | None], ...]] = (
    read_blueprint,
    read_terraform,
    read_xpk,
)
"""Read all files if they are of one kind, else return None."""


def read_source(files: Mapping[str, str], values: Mapping[str, str]) -> SourceFleet:
    """Return the fleet that the files describe, by name and text. Raises UnusableSource.

    `values` are those of variables of a blueprint, of Terraform or of a shell script.
    """
    for reader in _READERS:
        fleet = reader(files, values)
        if fleet is not None:
            return fleet
    raise UnusableSource(
        f"{next(iter(files))}: error: is no blueprint of the Cluster Toolkit, no Terraform of a GKE cluster, and has "
        "no `xpk cluster create` command; name one of these files"
    )
