"""Limits of names in Kubernetes, GKE and Google Cloud, and how to shorten a name to fit them.

Sources: Kubernetes `apimachinery/pkg/util/validation` (labels, DNS names), the GKE API (clusters and node pools: 40
characters), the Compute API (63, RFC 1035), the IAM API (service account IDs: 6 to 30). Limits are in characters; all
these names are ASCII. Also defines the labels of Berth's own objects, and the spelling of keys.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

MAX_LABEL: Final = 63
"""Maximum of label values, names in label keys, and DNS labels: namespaces, services, Jobs with pods."""
MAX_SUBDOMAIN: Final = 253
"""Maximum of most Kubernetes names, including Kueue's flavors, cohorts and cluster queues, and label key prefixes."""
MAX_CLUSTER_NAME: Final = 40
"""Maximum of a GKE cluster's name."""
MAX_NODE_POOL_NAME: Final = 40
"""Maximum of a GKE node pool's name."""
MAX_COMPUTE_NAME: Final = 63
"""Maximum of Compute Engine names (networks, reservations), and of Google Cloud label keys and values."""
MAX_ACCOUNT_ID: Final = 30
"""Maximum of a Google service account's ID, the part before the @."""

MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
CAPACITY_MARK: Final = "berth.dev/capacity"
"""Taint of nodes with a special capacity; of nodes without accelerators a taint and a label, with their capacity."""
TEAM_LABEL: Final = "berth.dev/team"
RUN_LIMIT_ANNOTATION: Final = "berth.dev/max-run-duration-seconds"
"""Annotation of a ProvisioningRequestConfig with the longest run that its queues allow."""

SHARED_NAMESPACES: Final = ("argocd", "cert-manager", "default", "kubeflow", "kuberay-operator", "monitoring")
"""Usual names of namespaces with controllers, or with pods of several teams."""
_SHARED_PREFIXES: Final = ("cnrm-", "config-", "gke-", "istio-")
_SHARED_SUFFIXES: Final = ("-system", "-operator")

_HASH_DIGITS: Final = 6
_DNS_PART: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DNS_LABEL: Final = re.compile(_DNS_PART)
_SUBDOMAIN: Final = re.compile(rf"{_DNS_PART}(?:\.{_DNS_PART})*")
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_RFC_1035: Final = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")


def shorten(text: str, limit: int) -> str:
    """Return `text` if it has at most `limit` characters, else its head, `-` and 6 hex digits of its SHA-256.

    Equal texts give equal names, different texts differ in the digits; the head never ends in `-`. Raises ValueError
    for a limit below 8, which leaves no room for a head.
    """
    if limit < _HASH_DIGITS + 2:
        raise ValueError(f"a limit of {limit} leaves no room for a name and {_HASH_DIGITS} digits")
    if len(text) <= limit:
        return text
    from hashlib import sha256  # loads OpenSSL, and most fleets have no name that is too long

    head = text[: limit - _HASH_DIGITS - 1].rstrip("-._")
    return f"{head}-{sha256(text.encode()).hexdigest()[:_HASH_DIGITS]}"


def is_shared_namespace(name: str) -> bool:
    """Return whether a namespace's name is usual for controllers or shared pods: `cert-manager`, `istio-ingress`."""
    return name in SHARED_NAMESPACES or name.startswith(_SHARED_PREFIXES) or name.endswith(_SHARED_SUFFIXES)


def is_dns_label(text: str) -> bool:
    """Return whether a text is an RFC 1123 label: namespaces, local queues, parts of a subdomain."""
    return len(text) <= MAX_LABEL and _matches(_DNS_LABEL, text)


def is_dns_1035_label(text: str) -> bool:
    """Return whether a text is an RFC 1035 label, which starts with a letter: services, replicated jobs of a JobSet."""
    return len(text) <= MAX_LABEL and _matches(_RFC_1035, text)


def is_subdomain(text: str) -> bool:
    """Return whether a text is an RFC 1123 subdomain: flavors, cohorts, cluster queues, Kubernetes service accounts."""
    return len(text) <= MAX_SUBDOMAIN and _matches(_SUBDOMAIN, text)


def is_label_value(text: str) -> bool:
    """Return whether a text is a Kubernetes label value; it may be empty."""
    return not text or (len(text) <= MAX_LABEL and _matches(_QUALIFIED, text))


def is_label_key(text: str) -> bool:
    """Return whether a text is a Kubernetes label key: a name, or a subdomain, `/` and a name."""
    prefix, slash, name = text.rpartition("/")
    return bool(name) and is_label_value(name) and (is_subdomain(prefix) if slash else True)


def is_gke_name(text: str) -> bool:
    """Return whether a text is a valid name of a GKE cluster or node pool."""
    return len(text) <= MAX_NODE_POOL_NAME and _matches(_RFC_1035, text)


def is_compute_name(text: str) -> bool:
    """Return whether a text is a valid name of a Compute Engine resource."""
    return len(text) <= MAX_COMPUTE_NAME and _matches(_RFC_1035, text)


def is_service_account_id(text: str) -> bool:
    """Return whether a text is a valid ID of a Google service account: 6 to 30 characters."""
    return 6 <= len(text) <= MAX_ACCOUNT_ID and _matches(_RFC_1035, text)


COMPUTE_ENGINE_ACCOUNT: Final = "default"
"""What GKE calls Compute Engine's own account of nodes, which only adopted pools have."""
NODE_ACCOUNT: Final = COMPUTE_ENGINE_ACCOUNT + r"|[a-z][-a-z0-9]{4,28}[a-z0-9]@[a-z0-9.:-]+\.iam\.gserviceaccount\.com"
"""Pattern of the accounts that a pool can name."""


def node_account_email(owner: str, project: str) -> str:
    """Return the address of the account that Berth creates for nodes; `owner` is a cluster's name or a stack's."""
    return f"{shorten(f'{owner}-nodes', MAX_ACCOUNT_ID)}@{project}.iam.gserviceaccount.com"


def berth_labels(team: str | None = None) -> dict[str, str]:
    """Return the labels of an object that Berth manages, and of its team; a new dict each time."""
    return {MANAGED_BY_LABEL: "berth"} if team is None else {MANAGED_BY_LABEL: "berth", TEAM_LABEL: team}


@lru_cache(maxsize=1 << 16)
def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.fullmatch(text) is not None


@lru_cache(maxsize=1 << 14)
def to_camel(name: str) -> str:
    """Return a name as keys of the stack file and inputs of providers are spelt: `machine_type` → `machineType`."""
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def to_snake(key: str) -> str:
    """Return a key as Python writes it: `machineType` → `machine_type`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: f"_{match[1].lower()}", key)


def workload_policy_name(stack: str, key: str) -> str:
    """Return the name in Compute Engine of a workload policy that Berth creates, by its key."""
    return shorten(f"{stack}-{key}", MAX_COMPUTE_NAME)
