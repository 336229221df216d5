"""Kubeconfigs of other stacks, and the API server in a kubeconfig."""

from __future__ import annotations

import pulumi
import yaml

from berth.outputs import KUBECONFIG_OUTPUT
from berth.yaml_loader import load_yaml


def exported_kubeconfig(platform: pulumi.StackReference, stack: str) -> pulumi.Output[str]:
    """Return the kubeconfig that another stack exports, always as a secret.

    Raises RunError with the stack's name if there is none, or none of a cluster: a provider with an empty one would use
    the client's own. The SDK's `require_output` would raise a KeyError.
    """

    def require_cluster(value: object) -> str:
        if not isinstance(value, str):
            raise pulumi.RunError(f"stack '{stack}' has no output '{KUBECONFIG_OUTPUT}'; run pulumi up on it first")
        kubeconfig_server(f"stack '{stack}'", value)
        return value

    return pulumi.Output.secret(platform.get_output(KUBECONFIG_OUTPUT).apply(require_cluster))


def kubeconfig_server(owner: str, kubeconfig: str) -> str:
    """Return the server URL of a kubeconfig's current context. Raises RunError if there is none."""
    try:
        config = load_yaml(kubeconfig)
        context = next(each["context"] for each in config["contexts"] if each["name"] == config["current-context"])
        return str(next(each["cluster"]["server"] for each in config["clusters"] if each["name"] == context["cluster"]))
    except (yaml.YAMLError, KeyError, TypeError, StopIteration):
        message = f"the kubeconfig of {owner} has no current context that names a cluster's server"
        raise pulumi.RunError(message) from None
