"""Report the display names of service accounts that the first update sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from berth.adopt.api_objects import Fate, NotAdopted
from berth.adopt.google.monitoring import MonitoringResource
from berth.adopt.inventory import ClusterInventory

_ACCOUNT = "gcp:serviceaccount/account:Account"


def display_name_changes(inventory: ClusterInventory, registered: Sequence[MonitoringResource]) -> Iterator[NotAdopted]:
    """Yield the accounts whose display name is another one than Berth's; of accounts in the answers only."""
    names = {str(each["email"]): str(each.get("displayName", "")) for each in inventory.service_accounts}
    for resource in registered:
        if resource.type != _ACCOUNT:
            continue
        email = f"{resource.inputs.get('accountId')}@{inventory.project}.iam.gserviceaccount.com"
        before, after = names.get(email), str(resource.inputs.get("displayName", ""))
        if before is not None and before != after:
            yield NotAdopted(f"service account {email}", f"its display name becomes '{after}'", Fate.CHANGED)
