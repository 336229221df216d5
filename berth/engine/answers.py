"""Simulated providers: what they know before a resource exists, and outputs of the right shape afterwards.

Nothing here is real. Addresses are of TEST-NET-3 (RFC 5737), and every value is a pure function of the resource, so two
runs agree.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

from berth.engine.records import Marker

if TYPE_CHECKING:
    from berth.engine.records import RecordedResource

Answers = Callable[["RecordedResource"], tuple[str, Mapping[str, object]]]
"""Return the ID of a new resource, and its outputs besides its inputs."""

ENDPOINT: Final = "203.0.113.10"
NAT_ADDRESS: Final = "203.0.113.20"
CERTIFICATE: Final = base64.b64encode(
    b"-----BEGIN CERTIFICATE-----\nnot a certificate\n-----END CERTIFICATE-----\n"
).decode()
_TOKEN_DATA: Final = {"ca.crt": CERTIFICATE, "token": base64.b64encode(b"not a token").decode()}
_PROJECT: Final = "offline-project"
_PROJECT_NUMBER: Final = "123456789012"

_COLLECTIONS: Final = {
    "gcp:container/cluster:Cluster": "locations/{location}/clusters/{name}",
    "gcp:container/nodePool:NodePool": "locations/{location}/clusters/{cluster}/nodePools/{name}",
    "gcp:compute/network:Network": "global/networks/{name}",
    "gcp:compute/subnetwork:Subnetwork": "regions/{region}/subnetworks/{name}",
    "gcp:compute/router:Router": "regions/{region}/routers/{name}",
    "gcp:compute/routerNat:RouterNat": "{region}/{router}/{name}",
    "gcp:compute/address:Address": "regions/{region}/addresses/{name}",
    "gcp:compute/firewall:Firewall": "global/firewalls/{name}",
    "gcp:compute/reservation:Reservation": "zones/{zone}/reservations/{name}",
    "gcp:compute/resourcePolicy:ResourcePolicy": "regions/{region}/resourcePolicies/{name}",
    "gcp:serviceaccount/account:Account": "serviceAccounts/{email}",
}


def known_outputs(resource: RecordedResource, provider: RecordedResource | None) -> Mapping[str, object]:
    """Return the outputs besides the inputs that are known in a preview.

    Only what a service account's id makes of its address (`resourceServiceAccountCustomDiff` of the Google provider):
    others are built on it. The rest of what providers fill in, defaults, invented names, their own project, stays
    unknown here, although the real preview may show it.
    """
    if resource.type != "gcp:serviceaccount/account:Account":
        return {}
    account_id = resource.inputs.get("accountId")
    project = resource.inputs.get("project") or (provider.inputs.get("project") if provider else None)
    is_known = all(isinstance(value, str) and not isinstance(value, Marker) for value in (account_id, project))
    identity = account_outputs(str(account_id), str(project))
    return {"email": identity["email"], "member": identity["member"]} if is_known else {}


def plausible_outputs(resource: RecordedResource) -> tuple[str, Mapping[str, object]]:
    """Return an ID and outputs for any resource; see `Answers`."""
    if resource.type.startswith("pulumi:providers:"):
        return str(uuid.uuid5(uuid.NAMESPACE_URL, resource.urn)), {}
    if resource.type.startswith("kubernetes:"):
        return _kubernetes(resource)
    return _google(resource) if resource.type.startswith("gcp:") else (_invented_name(resource), {})


def _invented_name(resource: RecordedResource) -> str:
    """Return the name that a provider generates: the logical name and seven hex digits."""
    return f"{resource.name}-{uuid.uuid5(uuid.NAMESPACE_URL, resource.urn).hex[:7]}"


def _kubernetes(resource: RecordedResource) -> tuple[str, Mapping[str, object]]:
    """Return a Kubernetes object with its name, namespace and UID, and without status."""
    if resource.type == "kubernetes:helm.sh/v3:Release":
        release = {
            "name": str(resource.inputs.get("name") or _invented_name(resource)),
            "namespace": str(resource.inputs.get("namespace") or "default"),
        }
        status = {**release, "revision": 1, "status": "deployed"}
        return "{namespace}/{name}".format(**release), {**release, "status": status, "resourceNames": {}}
    metadata = _mapping(resource.inputs.get("metadata"))
    name = str(metadata.get("name") or _invented_name(resource))
    namespace = metadata.get("namespace")
    uid = str(uuid.uuid5(uuid.NAMESPACE_URL, resource.urn))
    live_metadata = {**metadata, "name": name, "uid": uid, "resourceVersion": "1", "generation": 1}
    token_data = {"data": _TOKEN_DATA} if resource.inputs.get("type") == "kubernetes.io/service-account-token" else {}
    return (f"{namespace}/{name}" if namespace else name), {"metadata": live_metadata, **token_data}


def _google(resource: RecordedResource) -> tuple[str, Mapping[str, object]]:
    """Return a Google resource: its full resource name as ID, its own address, and outputs of its kind."""
    inputs = resource.inputs
    common = {"project": _PROJECT, "name": _invented_name(resource), "location": "us-central1", "region": "us-central1"}
    values = {**common, **inputs}
    computed = {**_computed(resource.type, values)}
    pattern = _COLLECTIONS.get(resource.type, "{kind}/{name}")
    kind = resource.type.rsplit(":", 1)[-1]
    path = pattern.format_map(_BlankDefaults({"kind": kind[:1].lower() + kind[1:] + "s", **values, **computed}))
    identity = path if pattern.startswith("{region}") else f"projects/{values['project']}/{path}"
    link = f"https://www.googleapis.com/{resource.type.split(':')[1].split('/')[0]}/v1/{identity}"
    defaults = {key: value for key, value in common.items() if key not in inputs}
    return identity, {**defaults, "selfLink": link, **computed}


class _BlankDefaults(dict[str, object]):
    """Values for a pattern; unknown ones are blank."""

    def __missing__(self, key: str) -> str:
        return "-"


def _computed(kind: str, values: Mapping[str, object]) -> Mapping[str, object]:
    """Return the outputs that only some kinds have."""
    if kind == "gcp:container/cluster:Cluster":
        return _cluster(values)
    if kind == "gcp:serviceaccount/account:Account":
        return account_outputs(str(values.get("accountId")), str(values["project"]))
    if kind == "gcp:compute/address:Address":
        return {"address": NAT_ADDRESS}
    if kind == "gcp:organizations/project:Project":
        return {"number": _PROJECT_NUMBER}
    return {}


def _cluster(values: Mapping[str, object]) -> Mapping[str, object]:
    """Return how to reach a GKE cluster: address, CA certificate (base64), DNS endpoint."""
    dns = (
        f"gke-{uuid.uuid5(uuid.NAMESPACE_DNS, str(values['name'])).hex}-{_PROJECT_NUMBER}.{values['location']}.gke.goog"
    )
    endpoints = _mapping(values.get("controlPlaneEndpointsConfig"))
    dns_config = {**_mapping(endpoints.get("dnsEndpointConfig")), "endpoint": dns}
    return {
        "endpoint": ENDPOINT,
        "masterVersion": "1.36.3-gke.1000000",
        "masterAuth": {"clusterCaCertificate": CERTIFICATE, "clientCertificate": "", "clientKey": ""},
        "controlPlaneEndpointsConfig": {**endpoints, "dnsEndpointConfig": dns_config},
    }


def account_outputs(account_id: str, project: str) -> Mapping[str, object]:
    """Return what follows from a service account's ID: its address, and its name in IAM policies."""
    email = f"{account_id}@{project}.iam.gserviceaccount.com"
    name = f"projects/{project}/serviceAccounts/{email}"
    return {"email": email, "member": f"serviceAccount:{email}", "name": name, "uniqueId": "1" + _PROJECT_NUMBER}


def _mapping(value: object) -> Mapping[str, object]:
    """Return the value as a mapping; an empty one if it is not a mapping."""
    return cast(Mapping[str, object], value) if isinstance(value, Mapping) else {}
