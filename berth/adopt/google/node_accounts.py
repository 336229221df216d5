"""Which service account the nodes of an adopted pool run as: `serviceAccount` of the pool, or a line about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from berth.adopt.api_objects import ApiObject, NotAdopted, StackEntry, value_at
from berth.adopt.inventory import ClusterInventory
from berth.diagnostics import join_words
from berth.names import COMPUTE_ENGINE_ACCOUNT, NODE_ACCOUNT, node_account_email


class NodeAccounts:
    """The accounts that the nodes of a pool's node pools run as, in a cluster that a stack adopts."""

    def __init__(self, inventory: ClusterInventory, stack: str, node_pools: Sequence[ApiObject]) -> None:
        self._accounts = sorted({str(value_at(each, "config.serviceAccount") or "") for each in node_pools} - {""})
        owner = stack if inventory.keeps_cluster else str(inventory.cluster["name"])
        self._made_by_berth = node_account_email(owner, inventory.project)

    @property
    def must_be_kept(self) -> bool:
        """Whether only an adopted pool can have these accounts."""
        return self._accounts == [COMPUTE_ENGINE_ACCOUNT] or (
            bool(self._accounts) and not self._is_one_that_a_key_names()
        )

    def entry(self, *, adopted: bool) -> StackEntry:
        """Return `serviceAccount`: of an adopted pool always, of another one unless Berth makes the account for it."""
        if not self._is_one_that_a_key_names() or (not adopted and self._accounts == [self._made_by_berth]):
            return {}
        return {"serviceAccount": self._accounts[0]}

    def unnamed(self, pool: str) -> NotAdopted | None:
        """Return the line about accounts that `serviceAccount` cannot name."""
        if not self._accounts or self._is_one_that_a_key_names():
            return None
        names = join_words(self._accounts)
        why = (
            f"its node pools run as {names}, and serviceAccount names one account"
            if len(self._accounts) > 1
            else f"its nodes run as {names}, which serviceAccount cannot name"
        )
        return NotAdopted(f"pool {pool}", f"{why}; nodes keep their account, so do not delete it")

    def _is_one_that_a_key_names(self) -> bool:
        return len(self._accounts) == 1 and re.fullmatch(NODE_ACCOUNT, self._accounts[0]) is not None
