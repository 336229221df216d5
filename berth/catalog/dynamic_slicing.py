"""How jobs can form TPU slices themselves of one generation."""

from __future__ import annotations

from msgspec import Struct


class DynamicSlicing(Struct, frozen=True, kw_only=True):
    """How jobs can form slices themselves of one TPU generation.

    `modes` are the values of `dynamicSlicing`. A node pool is one `block`, None if any slice of several hosts can be
    divided. `parts` are the shapes of parts, the largest first, `label` (and `state`) the node labels of one, with {}
    for its shape. Blocks are joined within one value of `outer`. `controller` is the Kueue controller that forms
    slices, and nodes that wait for it have the label `mode_label`: without one, hosts keep the connections of their
    slice.
    """

    modes: tuple[str, ...]
    parts: tuple[str, ...]
    label: str
    block: str | None = None
    outer: str | None = None
    state: str | None = None
    controller: str | None = None
    mode_label: str | None = None
