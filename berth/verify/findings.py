"""What a comparison with a cluster found: differences, and what was unknown and is now known."""

from __future__ import annotations

from msgspec import Struct


class LiveDifference(Struct, frozen=True, kw_only=True):
    """Something that is not as predicted. `meaning` says for which jobs or queues it matters, and how.

    `subject` is `pool l4` or `ResourceFlavor l4`, `what` the label, taint, resource or field; `predicted` and `live`
    are values as text. `objects` are the names of the nodes concerned, if it is about nodes.
    """

    subject: str
    what: str
    predicted: str
    live: str
    meaning: str
    objects: tuple[str, ...] = ()


class Learned(Struct, frozen=True, kw_only=True):
    """Something that no source told and the cluster does: its `values`, and a dated `row` for Berth's table."""

    subject: str
    what: str
    values: tuple[str, ...]
    row: str


class Verification(Struct, frozen=True, kw_only=True):
    """The result. `compared` are phrases such as `4 nodes of pool l4`.

    `not_compared` are reasons why a part could not be compared, `others` objects of the cluster that the stack does not
    have.
    """

    differences: tuple[LiveDifference, ...]
    learned: tuple[Learned, ...]
    compared: tuple[str, ...]
    not_compared: tuple[str, ...]
    others: tuple[str, ...]
