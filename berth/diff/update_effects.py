"""The effect of a changed plan field on its resource: the table update_effects.yaml, one row for each field."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from ipaddress import ip_network
from typing import Any, cast

from msgspec import Struct, convert
from msgspec.structs import replace

from berth.diff.fields import FieldChange
from berth.plan.gke import ClusterPlan, NodePoolPlan
from berth.yaml_loader import load_table


class UpdateEffect(StrEnum):
    """What a change of one input does to its resource."""

    KEPT = "kept"
    """Nothing: the provider keeps the value of an input that is no longer set."""
    IGNORED = "ignored"
    """Nothing: the provider does not pass the change on."""
    STATED = "stated"
    """Nothing: the stack file states what an adopted node pool keeps."""
    UPDATE = "update"
    """An update in place."""
    NEW_NODES_ONLY = "later"
    """An update in place, for new nodes only."""
    REFUSED = "refused"
    """An update in place, which the cloud refuses."""
    RECREATE = "recreate"
    """An update in place that recreates every node, one by one."""
    REPLACE = "replace"
    """The resource is deleted and created again."""

    @property
    def severity(self) -> int:
        """How disruptive the effect is; 0 for no effect."""
        return _SEVERITY[self]


_SEVERITY = {
    UpdateEffect.KEPT: 0,
    UpdateEffect.IGNORED: 0,
    UpdateEffect.STATED: 0,
    UpdateEffect.UPDATE: 1,
    UpdateEffect.NEW_NODES_ONLY: 2,
    UpdateEffect.REFUSED: 3,
    UpdateEffect.RECREATE: 4,
    UpdateEffect.REPLACE: 5,
}

_TABLE = pathlib.Path(__file__).with_name("update_effects.yaml")


class UpdateRule(Struct, frozen=True):
    """A row of the table: the resource's input as the provider spells it, and what a change `does`.

    Other columns apply instead of `does`: `slice` to a slice of several hosts, `wider` if the new range contains the
    old one, `begun` if the field was not set before, `ended` if it is not set after, `dropped` likewise, but not for an
    empty list, `moved` if two lists are disjoint.
    """

    input: str
    does: UpdateEffect
    slice: UpdateEffect | None = None
    wider: UpdateEffect | None = None
    begun: UpdateEffect | None = None
    ended: UpdateEffect | None = None
    moved: UpdateEffect | None = None
    dropped: UpdateEffect | None = None


@cache
def load_update_rules() -> Mapping[str, Mapping[str, UpdateRule]]:
    """Return plan class name → path of a field → its row."""
    table = load_table(_TABLE)
    return {
        kind: {path: convert(row, UpdateRule) for path, row in resource_row["fields"].items()}
        for kind, resource_row in table.items()
    }


def find_update_rule(kind: str, change: FieldChange, *, in_slice: bool = False) -> UpdateRule:
    """Return the row of a field of the plan class `kind`, or of the field that contains it.

    `does` is already chosen for this change. A field without a row is assumed to replace the resource, which is the
    safe side; a test checks that no row is missing.
    """
    rows, path = load_update_rules()[kind], change.path
    while path and path not in rows:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    rule = rows.get(path) or UpdateRule(change.path, UpdateEffect.REPLACE)
    if in_slice and rule.slice:
        return UpdateRule(rule.input, rule.slice)
    if rule.moved and _is_disjoint(change):
        return UpdateRule(rule.input, rule.moved)
    if rule.begun and _is_unset(change.before) and change.after:
        return UpdateRule(rule.input, rule.begun)
    if path == change.path and _is_unset(change.after) and (ended := rule.ended or _dropped(rule, change)):
        return UpdateRule(rule.input, ended)
    if rule.wider and _is_widened(change):
        return UpdateRule(rule.input, rule.wider)
    return rule


def _dropped(rule: UpdateRule, change: FieldChange) -> UpdateEffect | None:
    return rule.dropped if change.after is None else None


def _is_unset(value: object) -> bool:
    return not value and value is not False


def _is_disjoint(change: FieldChange) -> bool:
    before, after = (set(cast("list[str]", each or ())) for each in (change.before, change.after))
    return bool(before and after) and before.isdisjoint(after)


def _is_widened(change: FieldChange) -> bool:
    before, after = ip_network(cast("str", change.before)), ip_network(cast("str", change.after))
    return before.version == after.version and before.subnet_of(cast("Any", after))


def sent_plan(before: object, after: object) -> object:
    """Return `after` with the settings that do not reach the provider as they are in `before`.

    `components/gke/cluster.py` ignores the public endpoint where the IP endpoints are off.
    `components/gke/control_plane.py` sends no authorized networks, and with them no `gcpPublicCidrsAccess`, where none
    are set or the endpoint has no address; and no endpoints where there is no DNS endpoint and the address is on.
    `berth/google/node_pool.py` ignores the account of an adopted pool's nodes.
    """
    if isinstance(before, NodePoolPlan) and isinstance(after, NodePoolPlan) and after.adopted:
        return replace(after, service_account=before.service_account)
    if not isinstance(before, ClusterPlan) or not isinstance(after, ClusterPlan):
        return after
    old, new = before.control_plane, after.control_plane
    if new.authorized_networks is None or not new.ip_endpoint:
        new = replace(new, google_ranges=old.google_ranges)
    if not new.ip_endpoint:
        new = replace(new, public_endpoint=old.public_endpoint)
    if new.dns_endpoint is None and new.ip_endpoint:
        new = replace(new, ip_endpoint=old.ip_endpoint)
    return replace(after, control_plane=new)
