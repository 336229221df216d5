"""What shuts a team in, and what its people may do: read back from the manifests, and held to the SDK's own types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Any, cast

import pulumi_kubernetes as kubernetes
import pytest
import yaml
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from berth.manifests import isolation, roles, tenancy
from berth.plan.teams import AccessPlan, EgressPlan, NamespacePlan
from tests.components.kueue import plans

TEAM = plans.team()
HOME = TEAM.namespaces[0]
ACCESS = AccessPlan(
    owners=("platform@acme.example",),
    teams=("vision@acme.example", "speech@acme.example"),
    job_kinds={"batch": ("jobs",), "jobset.x-k8s.io": ("jobsets",)},
)
Manifest = dict[str, Any]


def everything() -> list[Manifest]:
    """One of each kind, for a team of one namespace and of two."""
    two = replace(TEAM, namespaces=(HOME, NamespacePlan(name="vision-dev", owned=True)))
    made = [tenancy.namespace(TEAM, HOME), *(m for _, m in roles.cluster_access(ACCESS))]
    made += [
        m for team in (TEAM, two) for place in team.namespaces for _, m in tenancy.namespace_manifests(team, place)
    ]
    return cast("list[Manifest]", made)


def inside(kind: str) -> Manifest:
    (each,) = (m for _, m in tenancy.namespace_manifests(TEAM, HOME) if m["kind"] == kind)
    return cast("Manifest", each)


# --- shape ------------------------------------------------------------------------------------------------------------

TYPES: dict[str, Any] = {
    "Namespace": kubernetes.core.v1.NamespaceInitArgs,
    "ServiceAccount": kubernetes.core.v1.ServiceAccountInitArgs,
    "ResourceQuota": kubernetes.core.v1.ResourceQuotaInitArgs,
    "LimitRange": kubernetes.core.v1.LimitRangeInitArgs,
    "NetworkPolicy": kubernetes.networking.v1.NetworkPolicyInitArgs,
    "RoleBinding": kubernetes.rbac.v1.RoleBindingInitArgs,
    "ClusterRole": kubernetes.rbac.v1.ClusterRoleInitArgs,
    "ClusterRoleBinding": kubernetes.rbac.v1.ClusterRoleBindingInitArgs,
}
"""The SDK's types, which are made from Kubernetes' published OpenAPI schema."""


def unknown(value: Any, args: Any, path: str) -> Iterator[str]:
    """Paths of a manifest that the type does not know, through every type below it."""
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from unknown(item, args, path)
    elif isinstance(value, Mapping):
        hints = {camel(key): str(hint) for key, hint in args.__init__.__annotations__.items()}
        for key, item in cast("Mapping[str, Any]", value).items():
            below = re.findall(r"\b(\w+Args)\b(?!Dict)", hints.get(key, ""))
            if key not in hints:
                yield f"{path}.{key}"
            elif below:
                yield from unknown(item, type_called(below[0]), f"{path}.{key}")


def type_called(name: str) -> Any:
    groups: list[Any] = [kubernetes.core.v1, kubernetes.meta.v1, kubernetes.networking.v1, kubernetes.rbac.v1]
    return next(getattr(group, name) for group in groups if hasattr(group, name))


def camel(name: str) -> str:
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part.capitalize() if part != "ip" else "IP" for part in rest)


def test_every_field_is_one_that_kubernetes_has() -> None:
    typed = [m for m in everything() if m["kind"] in TYPES]
    assert {m["kind"] for m in typed} == TYPES.keys()
    assert [fault for m in typed for fault in unknown(m, TYPES[m["kind"]], m["kind"])] == []


def test_a_field_that_kubernetes_does_not_have_is_caught() -> None:
    policy = inside("NetworkPolicy")
    policy["spec"]["egress"][0]["too"] = []
    policy["spec"]["policyType"] = []
    assert list(unknown(policy, TYPES["NetworkPolicy"], "")) == [".spec.egress.too", ".spec.policyType"]


SECRET_PROVIDER_CLASS = {
    "type": "object",
    "required": ["provider", "parameters"],
    "properties": {
        "provider": {"const": "gke"},
        "parameters": {"type": "object", "required": ["secrets"], "additionalProperties": {"type": "string"}},
    },
    "additionalProperties": False,
}
"""Of `secrets-store.csi.x-k8s.io/v1`: parameters are texts; GKE's add-on cannot make Kubernetes Secrets of them."""


def test_secrets_are_references_that_the_add_on_can_read() -> None:
    """Its `secrets` is a text of YAML: a list of a version's full name and a file."""
    spec = inside("SecretProviderClass")["spec"]
    Draft202012Validator(SECRET_PROVIDER_CLASS).validate(spec)
    assert yaml.safe_load(spec["parameters"]["secrets"]) == [
        {"resourceName": "projects/acme-ml-dev/secrets/hf/versions/latest", "path": "token"}
    ]


# --- labels -----------------------------------------------------------------------------------------------------------


def test_everything_of_a_team_carries_its_labels() -> None:
    labels = {"app.kubernetes.io/managed-by": "berth", "berth.dev/team": "vision", "cost-centre": "a1"}
    made = [tenancy.namespace(TEAM, HOME), *(m for _, m in tenancy.namespace_manifests(TEAM, HOME))]
    assert [m["kind"] for m in made if not labels.items() <= cast("Manifest", m["metadata"])["labels"].items()] == []


# --- identity ---------------------------------------------------------------------------------------------------------


def test_a_service_account_names_the_google_account_with_its_project() -> None:
    """The source system's annotation lacked the project, and all four identities were broken by it."""
    assert inside("ServiceAccount")["metadata"]["annotations"] == {
        "iam.gke.io/gcp-service-account": "wi-vision@acme-ml-dev.iam.gserviceaccount.com"
    }


def test_a_service_account_without_a_google_account_has_no_annotation() -> None:
    direct = plans.team(impersonates=False)
    (account,) = (m for role, m in tenancy.namespace_manifests(direct, HOME) if role == "service-account")
    assert "annotations" not in cast("Manifest", account["metadata"])


def test_pods_get_no_token_for_the_kubernetes_api() -> None:
    assert inside("ServiceAccount")["automountServiceAccountToken"] is False


# --- network ----------------------------------------------------------------------------------------------------------


def reaches(policy: Manifest, address: str, port: int, protocol: str = "TCP") -> bool:
    """Whether a pod under the policy may open a connection to an address outside the cluster's pods."""
    return any(
        any(_in(peer.get("ipBlock"), address) for peer in rule["to"])
        and any(each == {"protocol": protocol, "port": port} for each in rule.get("ports", []))
        for rule in policy["spec"]["egress"]
    )


def _in(block: Any, address: str) -> bool:
    where = IPv4Address(address)
    outside = [IPv4Network(each) for each in block.get("except", ())] if block else []
    return bool(block) and where in IPv4Network(block["cidr"]) and not any(where in each for each in outside)


@pytest.mark.parametrize(
    ("address", "port", "protocol", "open"),
    [
        ("169.254.169.254", 80, "TCP", True),
        ("169.254.169.254", 53, "UDP", True),
        ("169.254.169.252", 987, "TCP", True),
        ("169.254.169.252", 988, "TCP", True),
        ("169.254.169.252", 80, "TCP", False),
        ("169.254.20.10", 53, "UDP", True),
        ("10.44.0.10", 53, "UDP", True),
        ("142.250.1.95", 443, "TCP", True),
        ("142.250.1.95", 22, "TCP", False),
        ("10.1.2.3", 443, "TCP", False),
        ("10.44.0.1", 443, "TCP", False),
        ("169.254.169.254", 22, "TCP", False),
    ],
)
def test_a_pod_reaches_only_what_training_needs(address: str, port: int, protocol: str, open: bool) -> None:
    assert reaches(inside("NetworkPolicy"), address, port, protocol) is open


def test_a_requested_range_is_reachable_on_its_ports() -> None:
    plan = replace(plans.ISOLATION, egress=(EgressPlan(cidr="10.9.0.0/24", ports=(5432, 6379)),))
    policy = cast("Manifest", isolation.network_policy(plan, "vision", ["vision"], {}))
    assert reaches(policy, "10.9.0.7", 6379)
    assert not reaches(policy, "10.9.1.7", 6379)
    assert not reaches(policy, "142.250.1.95", 443)


def test_one_policy_shuts_every_pod_in_on_both_sides() -> None:
    spec = inside("NetworkPolicy")["spec"]
    assert (spec["podSelector"], spec["policyTypes"]) == ({}, ["Ingress", "Egress"])
    assert spec["ingress"][0] == {"from": [{"podSelector": {}}]}
    assert all(rule["from"] for rule in spec["ingress"])
    assert all(rule["to"] for rule in spec["egress"])


def test_namespaces_of_one_team_reach_each_other() -> None:
    policy = cast("Manifest", isolation.network_policy(plans.ISOLATION, "a", ["b", "a"], {}))
    own = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}]}
    assert policy["spec"]["ingress"][0] == {"from": [{"namespaceSelector": own}]}
    assert policy["spec"]["egress"][0] == {"to": [{"namespaceSelector": own}]}


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_resource_quota_bounds_every_accelerator_and_is_0_without_a_queue() -> None:
    assert inside("ResourceQuota")["spec"] == {
        "hard": {"requests.google.com/tpu": "16", "requests.nvidia.com/gpu": "0"}
    }


def test_a_limit_range_has_no_accelerators_and_no_maximum() -> None:
    """The API server makes a maximum the default: every container that names none would ask for that many GPUs."""
    assert inside("LimitRange")["spec"]["limits"] == [
        {"type": "Container", "defaultRequest": {"cpu": "100m", "memory": "128Mi"}}
    ]


# --- people -----------------------------------------------------------------------------------------------------------


def may(role: str, verb: str, group: str, resource: str) -> bool:
    """Whether a role gives a right, as Kubernetes reads its rules."""
    (each,) = (m for _, m in roles.cluster_access(ACCESS) if m["kind"] == "ClusterRole" and _name(m) == role)
    return any(
        verb in rule["verbs"] and group in rule["apiGroups"] and {resource, "*"} & set(rule["resources"])
        for rule in cast("list[Manifest]", each["rules"])
    )


def _name(manifest: Mapping[str, object]) -> str:
    return cast("Manifest", manifest["metadata"])["name"]


@pytest.mark.parametrize(
    ("verb", "group", "resource"),
    [
        ("create", "batch", "jobs"),
        ("watch", "jobset.x-k8s.io", "jobsets"),
        ("list", "kueue.x-k8s.io", "workloads"),
        ("get", "kueue.x-k8s.io", "localqueues"),
        ("get", "", "pods/log"),
        ("get", "visibility.kueue.x-k8s.io", "localqueues/pendingworkloads"),
    ],
)
def test_people_of_a_team_can_submit_jobs_and_read_why_they_are_pending(verb: str, group: str, resource: str) -> None:
    assert may(roles.SUBMITTER, verb, group, resource)


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete", "deletecollection"])
@pytest.mark.parametrize("role", [roles.SUBMITTER, roles.VIEWER])
def test_people_of_a_team_cannot_change_queues_or_limits(role: str, verb: str) -> None:
    kinds = ["clusterqueues", "localqueues", "cohorts", "resourceflavors", "workloadpriorityclasses"]
    assert not any(may(role, verb, "kueue.x-k8s.io", kind) for kind in kinds)
    # The policy berth-workloads refuses the deletion of those that are not finished.
    assert may(role, verb, "kueue.x-k8s.io", "workloads") == ((role, verb) == (roles.SUBMITTER, "delete"))
    kept = ["resourcequotas", "limitranges", "namespaces", "serviceaccounts", "nodes"]
    assert not any(may(role, verb, "", kind) for kind in kept)
    assert not may(role, verb, "networking.k8s.io", "networkpolicies")
    assert not any(may(role, verb, roles.RBAC_GROUP, kind) for kind in ("roles", "rolebindings", "clusterrolebindings"))
    assert not may(role, verb, "scheduling.k8s.io", "priorityclasses")


def test_people_of_a_team_create_jobs_and_no_bare_pods() -> None:
    """What makes pods without a job is beyond Kueue."""
    assert not any(may(roles.SUBMITTER, "create", "", kind) for kind in ("pods", "replicationcontrollers"))
    assert not any(may(roles.SUBMITTER, "create", "apps", kind) for kind in ("deployments", "statefulsets"))


@pytest.mark.parametrize("role", [roles.SUBMITTER, roles.VIEWER, roles.OWNER])
def test_no_role_reads_secrets_or_grants_permissions(role: str) -> None:
    verbs = ("get", "list", "watch", "create", "update", "patch", "delete", "bind", "escalate", "impersonate", "*")
    assert not any(may(role, verb, "", "secrets") for verb in verbs)
    assert not any(may(role, verb, roles.RBAC_GROUP, "clusterroles") for verb in verbs[3:])


def test_owners_hold_a_queue_and_change_a_limit() -> None:
    assert may(roles.OWNER, "patch", "kueue.x-k8s.io", "clusterqueues")
    assert may(roles.OWNER, "update", "", "resourcequotas")
    assert may(roles.OWNER, "delete", "batch", "jobs")


def test_rights_are_given_to_groups_in_the_teams_own_namespace() -> None:
    binding = inside("RoleBinding")
    assert binding["metadata"]["namespace"] == "vision"
    assert binding["roleRef"] == {"apiGroup": roles.RBAC_GROUP, "kind": "ClusterRole", "name": roles.SUBMITTER}
    assert binding["subjects"] == [{"apiGroup": roles.RBAC_GROUP, "kind": "Group", "name": "vision@acme.example"}]


def test_cluster_wide_teams_only_view() -> None:
    bound = {_name(m): m["subjects"] for _, m in roles.cluster_access(ACCESS) if m["kind"] == "ClusterRoleBinding"}
    assert bound.keys() == {roles.VIEWER, roles.OWNER}
    assert [s["name"] for s in cast("list[Manifest]", bound[roles.OWNER])] == ["platform@acme.example"]
    assert len(cast("list[Manifest]", bound[roles.VIEWER])) == 3
