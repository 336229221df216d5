"""Kubeconfigs of other stacks, and the API server in a kubeconfig."""

from __future__ import annotations

import pulumi

from berth.kubeconfig import KubeconfigError, cluster_of
from berth.outputs import KUBECONFIG_OUTPUT


def exported_kubeconfig(platform: pulumi.StackReference, stack: str) -> pulumi.Output[str]:
    """Return the kubeconfig that another stack exports, always as a secret.

    Raises RunError with the stack's name if there is none; the SDK's `require_output` would raise a KeyError.
    """

    def require_text(value: object) -> str:
        if not isinstance(value, str):
            raise pulumi.RunError(f"stack '{stack}' has no output '{KUBECONFIG_OUTPUT}'; run pulumi up on it first")
        return value

    return of_a_cluster(f"stack '{stack}'", platform.get_output(KUBECONFIG_OUTPUT).apply(require_text))


def of_a_cluster(owner: str, kubeconfig: pulumi.Output[str], context: str | None = None) -> pulumi.Output[str]:
    """Return a kubeconfig as a secret, once it names a cluster: with an empty one a provider uses the client's own.

    Raises RunError as `kubeconfig_server` does.
    """

    def require_server(text: str) -> str:
        kubeconfig_server(owner, text, context)
        return text

    return pulumi.Output.secret(kubeconfig.apply(require_server))


def kubeconfig_server(owner: str, kubeconfig: str, context: str | None = None) -> str:
    """Return the server URL of a kubeconfig's context, by default of its current one.

    Raises RunError if there is none.
    """
    try:
        return str(cluster_of(kubeconfig, context)["server"])
    except KubeconfigError as error:
        message = f"the kubeconfig of {owner} {error.reason}; store one with which kubectl get nodes works"
        raise pulumi.RunError(message) from None
