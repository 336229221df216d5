"""The cluster that a kubeconfig's text names, and why it names none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import yaml

from berth.yaml_loader import load_yaml


class KubeconfigError(Exception):
    """A text that names no cluster; `reason` says why, and repeats nothing of the text, which may have keys."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def cluster_of(text: str, context: str | None = None) -> Mapping[str, Any]:
    """Return the `cluster` of the context of this name, by default of the current one, which has a server.

    It says all that identifies a cluster: its address, certificate authority, and the way there.
    Raises KubeconfigError.
    """
    if not text.strip():
        raise KubeconfigError("is empty")
    try:
        config = _mapping(load_yaml(text))
    except (yaml.YAMLError, RecursionError, ValueError):
        raise KubeconfigError("is not YAML") from None
    if config is None or "clusters" not in config:
        raise KubeconfigError("has no clusters")
    name = context or config.get("current-context")
    if not name:
        raise KubeconfigError("has no current-context")
    its_context = _entry(config, "contexts", "context", name)
    if its_context is None:
        raise KubeconfigError(f"has no context {'of the given name' if context else 'that is its current-context'}")
    cluster = _entry(config, "clusters", "cluster", its_context.get("cluster"))
    if cluster is None:
        raise KubeconfigError("has no cluster that its context names")
    server = cluster.get("server")
    if not isinstance(server, str) or not server.strip():
        raise KubeconfigError("has a cluster without a server")
    return cluster


def _entry(config: Mapping[str, Any], section: str, kind: str, name: object) -> Mapping[str, Any] | None:
    """Return the entry of a name in one of the sections, which are lists; clients refuse two of one name."""
    entries: object = config.get(section)
    known = map(_mapping, cast("list[object]", entries)) if isinstance(entries, list) else ()
    found = [each for each in known if each is not None and each.get("name") == name]
    if len(found) > 1:
        raise KubeconfigError(f"has two {section} of one name")
    return _mapping(found[0].get(kind)) if found else None


def _mapping(value: object) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None
