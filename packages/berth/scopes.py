"""Where a component of the package registers its resources."""

from __future__ import annotations

import pulumi

from berth.names import MAX_CLUSTER_NAME, shorten
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


def own_cluster_provider(scope: Scope, name: str) -> pulumi.ProviderResource:
    """Return the provider of the cluster of a component: a change of the identifier would replace everything in it."""
    return scope.existing_cluster_provider(shorten(name, MAX_CLUSTER_NAME))
