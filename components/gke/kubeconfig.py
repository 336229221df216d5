"""Kubeconfigs for GKE clusters. Pure."""

from __future__ import annotations

import json

PLUGIN = "gke-gcloud-auth-plugin"
"""Google's exec plugin, which creates short-lived tokens on the caller's machine, so that no token is stored."""


def kubeconfig(*, name: str, endpoint: str, ca_certificate: str | None = None) -> str:
    """Return a kubeconfig as JSON text (which is YAML), stable for a cluster, without credentials.

    `endpoint` is a host or address without scheme, `ca_certificate` the cluster's certificate in base64, as GKE returns
    it; None uses the system's trusted certificates, as the DNS endpoint requires.
    """
    server = {"server": f"https://{endpoint}"}
    authority = {} if ca_certificate is None else {"certificate-authority-data": ca_certificate}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": server | authority},
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
        "users": [{"name": name, "user": {"exec": _exec()}}],
    }
    return json.dumps(config, sort_keys=True)


def _exec() -> dict[str, str | bool]:
    return {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": PLUGIN,
        "installHint": f"Install {PLUGIN}: gcloud components install {PLUGIN}",
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
