"""What a right gives, from administration of everything to reading a bucket: the order in which rights are listed."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Rank(IntEnum):
    """How much a right gives; the greatest first."""

    ADMINISTRATION = 0
    """Everything in the cluster or the project: what runs as an administrator, roles that grant roles."""
    PROJECT = 1
    """A role in the whole project."""
    NAMESPACES = 2
    """The use of a namespace that belongs to somebody else."""
    ISOLATION = 3
    """What keeps pods, nodes and the control plane from others."""
    DATA = 4
    """A bucket, a secret, an account, a namespace of one's own, a reservation."""
    WATCHING = 5
    """Alerts, and who gets them."""

    @property
    def title(self) -> str:
        """The rank in words, as JSON and comments have it."""
        return self.name.lower()


TAKEN_BACK: Final = "Rights: taken back"
RIGHTS_TITLES: Final = (*(f"Rights: {rank.title}" for rank in Rank), TAKEN_BACK)
"""The titles under which rights are listed, in order; scripts/compose_comment.py cuts the last of them first."""
