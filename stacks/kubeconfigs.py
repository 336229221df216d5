"""Kubeconfigs from elsewhere: the one that another stack exports, and the API server that one leads to."""

from __future__ import annotations

import pulumi
import yaml

from berth.outputs import KUBECONFIG_OUTPUT
from berth.yaml_loader import load_yaml


def exported_kubeconfig(platform: pulumi.StackReference, stack: str) -> pulumi.Output[str]:
    """The kubeconfig among another stack's outputs: a secret here, even where that stack makes none of it.

    Raises RunError where it has none, with the name of the stack; the SDK's `require_output` ends in a KeyError.
    """

    def require_text(value: object) -> str:
        if not isinstance(value, str):
            raise pulumi.RunError(f"stack '{stack}' has no output '{KUBECONFIG_OUTPUT}': update it first")
        return value

    return pulumi.Output.secret(platform.get_output(KUBECONFIG_OUTPUT).apply(require_text))


def kubeconfig_server(worker: str, kubeconfig: str) -> str:
    """The control plane's URL that a kubeconfig's current context names. Raises RunError where it names none."""
    try:
        config = load_yaml(kubeconfig)
        context = next(each["context"] for each in config["contexts"] if each["name"] == config["current-context"])
        return str(next(each["cluster"]["server"] for each in config["clusters"] if each["name"] == context["cluster"]))
    except (yaml.YAMLError, KeyError, TypeError, StopIteration):
        message = f"the kubeconfig of worker '{worker}' has no current context that names a cluster's server"
        raise pulumi.RunError(message) from None
