"""What Berth makes nothing of: a cluster that is there."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct


class ExistingClusterPlan(Struct, frozen=True, kw_only=True):
    """A cluster that somebody else made, and how it is reached. Nothing of it is made, and nothing in Google Cloud.

    `kubeconfig` is the path of a file (None: the client's own way to find one), `secret` the key in the stack's config
    that holds one instead; `context` None is its current one. Another `name` is another cluster, with nothing in it.
    """

    name: str
    context: str | None
    kubeconfig: str | None = None
    secret: str | None = None
    mode: ClassVar[str] = "existing"
