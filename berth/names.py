"""What things may be called: the limits of Kubernetes, GKE and Google Cloud, and how a name is made to fit them.

Sources: Kubernetes `apimachinery/pkg/util/validation` (labels, DNS names), the GKE API (clusters and node pools: 40
characters), the Compute API (63, RFC 1035), the IAM API (service account ids: 6 to 30). Every limit counts characters;
all these names are ASCII. Also the labels by which Berth knows its own objects.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import Final

MAX_LABEL: Final = 63
"""A label's value, a label key's name, a DNS label: namespaces, services, Jobs that have pods."""
MAX_SUBDOMAIN: Final = 253
"""Most Kubernetes names, Kueue's flavors, cohorts and cluster queues among them; a label key's prefix."""
MAX_CLUSTER_NAME: Final = 40
"""A GKE cluster's name."""
MAX_NODE_POOL_NAME: Final = 40
"""A GKE node pool's name."""
MAX_COMPUTE_NAME: Final = 63
"""A Compute Engine resource's name (networks, reservations); a Google Cloud label's key or value."""
MAX_ACCOUNT_ID: Final = 30
"""A Google service account's id, the part before the @."""

MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
TEAM_LABEL: Final = "berth.dev/team"
RUN_LIMIT_ANNOTATION: Final = "berth.dev/max-run-duration-seconds"
"""On a ProvisioningRequestConfig: the longest run that its queues allow."""

SHARED_NAMESPACES: Final = ("argocd", "cert-manager", "default", "kubeflow", "kuberay-operator", "monitoring")
"""Namespaces by their usual names that hold controllers, or pods of everybody."""
_SHARED_PREFIXES: Final = ("cnrm-", "config-", "gke-", "istio-")
_SHARED_SUFFIXES: Final = ("-system", "-operator")

_HASH_DIGITS: Final = 6
_DNS_PART: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DNS_LABEL: Final = re.compile(_DNS_PART)
_SUBDOMAIN: Final = re.compile(rf"{_DNS_PART}(?:\.{_DNS_PART})*")
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_RFC_1035: Final = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_GOOGLE_LABEL: Final = re.compile(r"[a-z][-a-z0-9_]*")


def shorten(text: str, limit: int) -> str:
    """The text itself when it fits into `limit` characters, else its head, `-` and 6 hex digits of its SHA-256.

    Stable, and never cut so that it ends in `-`: equal texts give equal names, different ones differ in the digits.
    ValueError where the limit leaves no room for a head (below 8).
    """
    if limit < _HASH_DIGITS + 2:
        raise ValueError(f"a limit of {limit} leaves no room for a name and {_HASH_DIGITS} digits")
    if len(text) <= limit:
        return text
    head = text[: limit - _HASH_DIGITS - 1].rstrip("-._")
    return f"{head}-{sha256(text.encode()).hexdigest()[:_HASH_DIGITS]}"


def is_shared_namespace(name: str) -> bool:
    """Whether a namespace, by its name, holds controllers or pods of others: `cert-manager`, `istio-ingress`."""
    return name in SHARED_NAMESPACES or name.startswith(_SHARED_PREFIXES) or name.endswith(_SHARED_SUFFIXES)


def is_dns_label(text: str) -> bool:
    """An RFC 1123 label: namespaces, local queues, the parts of a subdomain."""
    return len(text) <= MAX_LABEL and _matches(_DNS_LABEL, text)


def is_dns_1035_label(text: str) -> bool:
    """An RFC 1035 label, which starts with a letter: services, replicated jobs of a JobSet."""
    return len(text) <= MAX_LABEL and _matches(_RFC_1035, text)


def is_subdomain(text: str) -> bool:
    """An RFC 1123 subdomain: flavors, cohorts, cluster queues, priority classes, service accounts in Kubernetes."""
    return len(text) <= MAX_SUBDOMAIN and _matches(_SUBDOMAIN, text)


def is_label_value(text: str) -> bool:
    """A Kubernetes label's value; it may be empty."""
    return not text or (len(text) <= MAX_LABEL and _matches(_QUALIFIED, text))


def is_label_key(text: str) -> bool:
    """A Kubernetes label's key: a name, or a subdomain, `/` and a name."""
    prefix, slash, name = text.rpartition("/")
    return bool(name) and is_label_value(name) and (is_subdomain(prefix) if slash else True)


def is_gke_name(text: str) -> bool:
    """A GKE cluster's or node pool's name."""
    return len(text) <= MAX_NODE_POOL_NAME and _matches(_RFC_1035, text)


def is_compute_name(text: str) -> bool:
    """A Compute Engine resource's name."""
    return len(text) <= MAX_COMPUTE_NAME and _matches(_RFC_1035, text)


def is_service_account_id(text: str) -> bool:
    """A Google service account's id, 6 to 30 characters."""
    return 6 <= len(text) <= MAX_ACCOUNT_ID and _matches(_RFC_1035, text)


def is_google_label(text: str) -> bool:
    """A Google Cloud label's key: lower case, digits, `_` and `-`, starting with a letter."""
    return len(text) <= MAX_COMPUTE_NAME and _matches(_GOOGLE_LABEL, text)


def berth_labels(team: str | None = None) -> dict[str, str]:
    """The labels of an object that Berth keeps, and of the team it belongs to; a new dict each time."""
    return {MANAGED_BY_LABEL: "berth"} if team is None else {MANAGED_BY_LABEL: "berth", TEAM_LABEL: team}


@lru_cache(maxsize=1 << 16)
def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.fullmatch(text) is not None
