"""The options of a registration as Pulumi's."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.registration import Registration


def resource_options(
    made: Registration, parent: pulumi.Resource, depends_on: Sequence[pulumi.Resource] = ()
) -> pulumi.ResourceOptions:
    """Return the options of a resource below its component; what a registration does not set is left out."""
    create, timeout = made.create_timeout or made.timeout, made.timeout
    return pulumi.ResourceOptions(
        parent=parent,
        protect=made.protect or None,
        delete_before_replace=made.delete_before_replace or None,
        retain_on_delete=made.retain_on_delete or None,
        replace_on_changes=[*made.replace_on_changes] or None,
        ignore_changes=[*made.ignore_changes] or None,
        custom_timeouts=pulumi.CustomTimeouts(create=create, update=timeout, delete=timeout) if create else None,
        depends_on=[*depends_on] or None,
    )
