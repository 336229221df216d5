"""Where a component of the package registers its resources."""

from __future__ import annotations

import pulumi

from packages.berth.arguments import Arguments
from stacks.scope import Scope


def scope_below(component: pulumi.ComponentResource, name: str, arguments: Arguments) -> Scope:
    """Return the scope below a registered component: its name starts their names, and its providers serve them."""
    return Scope(
        parent=component,
        prefix=f"{name}-",
        google=component.get_provider("gcp:index:Provider"),
        kubernetes=component.get_provider("kubernetes:index:Provider"),
        kubeconfig=arguments.live.get("kubeconfig"),
    )
