"""Kubeconfigs of other stacks, and the API server in a kubeconfig."""

from __future__ import annotations

import pulumi
import yaml

from berth.outputs import KUBECONFIG_OUTPUT
from berth.yaml_loader import load_yaml


def exported_kubeconfig(platform: pulumi.StackReference, stack: str) -> pulumi.Output[str]:
    """Return the kubeconfig that another stack exports, always as a secret.

    Raises RunError with the stack's name if there is none; the SDK's `require_output` would raise a KeyError.
    """

    def require_text(value: object) -> str:
        if not isinstance(value, str):
            raise pulumi.RunError(f"stack '{stack}' has no output '{KUBECONFIG_OUTPUT}'; run pulumi up on it first")
        return value

    return of_a_cluster(f"stack '{stack}'", platform.get_output(KUBECONFIG_OUTPUT).apply(require_text))


def of_a_cluster(owner: str, kubeconfig: pulumi.Output[str]) -> pulumi.Output[str]:
    """Return a kubeconfig as a secret, once it names a cluster: with an empty one a provider uses the client's own.

    Raises RunError as `kubeconfig_server` does.
    """

    def require_server(text: str) -> str:
        kubeconfig_server(owner, text)
        return text

    return pulumi.Output.secret(kubeconfig.apply(require_server))


def kubeconfig_server(owner: str, kubeconfig: str) -> str:
    """Return the server URL of a kubeconfig's current context. Raises RunError if there is none."""
    try:
        config = load_yaml(kubeconfig)
        context = next(each["context"] for each in config["contexts"] if each["name"] == config["current-context"])
        return str(next(each["cluster"]["server"] for each in config["clusters"] if each["name"] == context["cluster"]))
    except (yaml.YAMLError, KeyError, TypeError, StopIteration):
        message = f"the kubeconfig of {owner} has no current context that names a cluster's server"
        raise pulumi.RunError(message) from None
