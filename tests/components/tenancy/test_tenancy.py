"""What a team gets: a namespace, an identity, and what that identity may do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
import pytest
from msgspec.structs import replace

from berth.manifests import roles, tenancy
from berth.manifests.tenancy import namespace
from berth.names import berth_labels
from berth.plan.gke import ServiceAccountPlan
from berth.plan.teams import AccessPlan, IdentityPlan, NamespacePlan, SecretPlan, TeamPlan
from berth.spec.tenancy import TeamSettings
from components.tenancy.access import Access
from components.tenancy.team import Team
from tests.components.gke.plans import google
from tests.components.kueue.plans import ISOLATION
from tests.engine import PROJECT, RecordedResource, Run, both_modes, broken_rules, run, using

PRINCIPAL = (
    "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/"
    f"{PROJECT}.svc.id.goog/subject/ns/vision/sa/vision"
)
DIRECT = IdentityPlan(
    service_account="vision",
    members=(PRINCIPAL,),
    impersonates=None,
    roles=("roles/artifactregistry.reader", "roles/logging.logWriter"),
    buckets={"acme-data": "roles/storage.objectUser"},
    secrets=(
        SecretPlan(file="token", project=PROJECT, secret="hf", version="latest"),
        SecretPlan(file="old", project=PROJECT, secret="hf", version="3"),
        SecretPlan(file="key", project="acme-shared", secret="hf", version="latest"),
    ),
)
ACCOUNT = ServiceAccountPlan(
    account_id="wi-vision", display_name="Vision", email=f"wi-vision@{PROJECT}.iam.gserviceaccount.com", roles=()
)
IMPERSONATING = replace(DIRECT, members=(f"serviceAccount:{PROJECT}.svc.id.goog[vision/vision]",), impersonates=ACCOUNT)
HOME = NamespacePlan(name="vision", owned=True)
VISION = TeamPlan(
    name="vision",
    namespaces=(HOME,),
    isolation=ISOLATION,
    identity=DIRECT,
    groups=("vision@acme.example",),
    local_queues=(),
    guaranteed={},
    ceiling={},
    labels={"team": "vision", "fleet": "dev"},
)
FOREIGN = replace(VISION, namespaces=(NamespacePlan(name="default", owned=False),))
TWO = replace(
    VISION,
    namespaces=(HOME, NamespacePlan(name="vision-dev", owned=True)),
    identity=replace(DIRECT, members=(PRINCIPAL, PRINCIPAL.replace("/ns/vision/", "/ns/vision-dev/"))),
)
KINDS = {
    "kubernetes:core/v1:LimitRange",
    "kubernetes:core/v1:Namespace",
    "kubernetes:core/v1:ResourceQuota",
    "kubernetes:core/v1:ServiceAccount",
    "kubernetes:networking.k8s.io/v1:NetworkPolicy",
    "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
    "kubernetes:secrets-store.csi.x-k8s.io/v1:SecretProviderClass",
}
ALL_PLANS = [
    VISION,
    replace(VISION, identity=IMPERSONATING),
    replace(VISION, identity=None),
    FOREIGN,
    replace(VISION, identity=replace(DIRECT, members=(), roles=(), buckets={}, secrets=())),
    TWO,
    replace(VISION, isolation=replace(ISOLATION, egress=None), groups=()),
]


_RUNS: dict[tuple[str, bool], Run] = {}


def built(plan: TeamPlan, preview: bool = False) -> Run:
    """The program of one team; each plan is run once for all tests that read it."""
    key = (repr(plan), preview)
    if key not in _RUNS:
        _RUNS[key] = _build(plan, preview)
    return _RUNS[key]


def _build(plan: TeamPlan, preview: bool) -> Run:
    def build() -> None:
        provider = google()
        Team(
            "vision",
            plan,
            project=PROJECT,
            cluster=Home(provider).cluster,
            opts=using(provider, kubernetes.Provider("cluster", kubeconfig="{}")),
        )

    return run(build, preview)


class Home(pulumi.ComponentResource):
    """A cluster to live in."""

    def __init__(self, provider: gcp.Provider) -> None:
        super().__init__("test:gke:Home", "home")
        self.cluster = gcp.container.Cluster(
            "home-cluster",
            name="dev",
            location="us-central1",
            opts=pulumi.ResourceOptions(parent=self, provider=provider),
        )
        self.register_outputs({})


def metadata_of(one: RecordedResource) -> dict[str, Any]:
    return cast("dict[str, Any]", one.inputs["metadata"])


def texts(manifests: Iterable[object]) -> list[str]:
    """Manifests in an order and a spelling that do not matter."""
    return sorted(json.dumps(each, sort_keys=True) for each in manifests)


def object_of(done: Run, kind: str) -> tuple[RecordedResource, dict[str, Any]]:
    one = done.only_resource(f"core/v1:{kind}")
    return one, metadata_of(one)


@both_modes
@pytest.mark.parametrize(
    "plan",
    ALL_PLANS,
    ids=["direct", "impersonating", "no identity", "foreign", "no roles", "two namespaces", "open and nobody's"],
)
def test_a_team_keeps_the_rules_of_every_component(plan: TeamPlan, preview: bool) -> None:
    done = built(plan, preview)
    assert broken_rules(done) == []
    assert done.only_resource("berth:tenancy:Team").outputs == {
        "namespaces": {place.name: place.name for place in plan.namespaces if place.owned}
    }


def test_a_namespace_has_only_the_teams_labels() -> None:
    """The API server sets `kubernetes.io/metadata.name` itself; setting it too would make two owners of one field."""
    _, metadata = object_of(built(VISION), "Namespace")
    assert metadata["name"] == "vision"
    levels = {"enforce": "baseline", "warn": "restricted"}
    security = {f"pod-security.kubernetes.io/{mode}": level for mode, level in levels.items()}
    security["berth.dev/pod-security"] = "baseline"
    assert metadata["labels"] == {"fleet": "dev", "team": "vision", **berth_labels("vision"), **security}


def test_an_existing_namespace_is_used_and_not_created() -> None:
    done = built(FOREIGN)
    _, metadata = object_of(done, "ServiceAccount")
    kinds = {one.type for one in done.resources if one.type.startswith("kubernetes:")}
    assert kinds == {kind for kind in KINDS if kind.endswith(("ServiceAccount", "RoleBinding", "SecretProviderClass"))}
    assert metadata["namespace"] == "default"


@both_modes
def test_objects_of_a_namespace_depend_on_it(preview: bool) -> None:
    done = built(TWO, preview)
    homes = {metadata_of(one)["name"]: one.urn for one in done.resources_of("core/v1:Namespace")}
    inside = [one for one in done.resources if one.type in KINDS - {"kubernetes:core/v1:Namespace"}]
    assert len(inside) == 2 * 6
    for one in inside:
        assert homes[metadata_of(one)["namespace"]] in one.property_dependencies["metadata"]


def test_a_second_namespace_renames_nothing() -> None:
    """Or adding one would replace the first with all that runs in it."""
    before, after = ({one.urn for one in built(plan).resources} for plan in (VISION, TWO))
    assert before <= after
    assert all(urn.endswith("/vision-dev") for urn in after - before)


def test_the_annotation_names_the_whole_address_of_the_google_account() -> None:
    """Without the project the identity is broken, and only the first denied request shows it."""
    _, metadata = object_of(built(replace(VISION, identity=IMPERSONATING)), "ServiceAccount")
    assert metadata["annotations"] == {"iam.gke.io/gcp-service-account": ACCOUNT.email}


def test_pods_with_directly_granted_roles_impersonate_no_account() -> None:
    done = built(VISION)
    _, metadata = object_of(done, "ServiceAccount")
    assert "annotations" not in metadata
    assert done.resources_of("serviceaccount/account:Account") == []


@both_modes
def test_roles_go_to_the_pods_themselves(preview: bool) -> None:
    grants = built(VISION, preview).resources_of("projects/iAMMember:IAMMember")
    assert {(one.name, one.inputs["role"], one.inputs["member"]) for one in grants} == {
        ("vision-artifactregistry.reader", "roles/artifactregistry.reader", PRINCIPAL),
        ("vision-logging.logWriter", "roles/logging.logWriter", PRINCIPAL),
    }


@both_modes
def test_roles_go_to_the_google_account_where_there_is_one(preview: bool) -> None:
    done = built(replace(VISION, identity=IMPERSONATING), preview)
    account = done.only_resource("serviceaccount/account:Account")
    grants = done.resources_of("projects/iAMMember:IAMMember")
    grants += done.resources_of("storage/bucketIAMMember:BucketIAMMember") + done.resources_of("SecretIamMember")
    assert len(grants) == 2 + 1 + 2
    assert {one.inputs["member"] for one in grants} == {f"serviceAccount:{ACCOUNT.email}"}
    assert all(account.urn in one.property_dependencies["member"] for one in grants)


def test_buckets_and_secrets_are_granted_one_by_one_and_never_project_wide() -> None:
    """A secret that is mounted twice is granted once; one of another project is granted there."""
    done = built(VISION)
    (bucket,) = done.resources_of("storage/bucketIAMMember:BucketIAMMember")
    assert bucket.inputs == {"bucket": "acme-data", "role": "roles/storage.objectUser", "member": PRINCIPAL}
    granted = [(one.inputs["project"], one.inputs["secretId"]) for one in done.resources_of("SecretIamMember")]
    assert sorted(granted) == [(PROJECT, "hf"), ("acme-shared", "hf")]
    assert {one.inputs["role"] for one in done.resources_of("SecretIamMember")} == {
        "roles/secretmanager.secretAccessor"
    }
    assert {one.inputs["member"] for one in done.resources_of("SecretIamMember")} == {PRINCIPAL}


def test_each_namespaces_account_is_granted_what_the_team_may() -> None:
    """To IAM they are two: the subject names the namespace."""
    done = built(TWO)
    for kind in ("projects/iAMMember:IAMMember", "storage/bucketIAMMember:BucketIAMMember", "SecretIamMember"):
        members = [one.inputs["member"] for one in done.resources_of(kind)]
        assert set(members) == set(TWO.identity.members if TWO.identity else ())
        assert len(members) % 2 == 0


def test_only_the_teams_own_pods_may_act_as_its_google_account() -> None:
    grant = built(replace(VISION, identity=IMPERSONATING)).only_resource("serviceaccount/iAMMember:IAMMember")
    assert grant.inputs["role"] == "roles/iam.workloadIdentityUser"
    assert grant.inputs["member"] == f"serviceAccount:{PROJECT}.svc.id.goog[vision/vision]"


@pytest.mark.parametrize("identity", [DIRECT, IMPERSONATING], ids=["direct", "impersonating"])
def test_members_of_the_workload_pool_are_named_only_once_the_pool_exists(identity: IdentityPlan) -> None:
    """The project's first cluster makes it; until then Google refuses the binding."""
    done = built(replace(VISION, identity=identity))
    cluster = done.only_resource("container/cluster:Cluster").urn
    bindings = done.resources_of("projects/iAMMember:IAMMember") + done.resources_of(
        "serviceaccount/iAMMember:IAMMember"
    )
    assert all(cluster in one.dependencies for one in bindings)


def test_objects_in_the_cluster_are_deleted_with_it() -> None:
    """Nobody waits for a namespace to empty in a cluster that is being deleted; Google's side has to be deleted."""
    done = built(replace(VISION, identity=IMPERSONATING))
    cluster = done.only_resource("container/cluster:Cluster").urn
    inside = {one.type for one in done.resources if one.deleted_with == cluster}
    assert inside == KINDS


@both_modes
def test_registered_manifests_equal_rendered_ones(preview: bool) -> None:
    """`berth render` and the engine must not differ: people compare the one with what they see of the other."""
    plan = replace(TWO, identity=replace(IMPERSONATING, members=IMPERSONATING.members * 2))
    done = built(plan, preview)
    made = [one.inputs for one in done.resources if one.type in KINDS]
    rendered = [tenancy.namespace(plan, place) for place in plan.namespaces]
    rendered += [manifest for place in plan.namespaces for _, manifest in tenancy.namespace_manifests(plan, place)]
    assert texts(made) == texts(rendered)


def test_a_team_without_identity_and_people_has_a_namespace_and_its_policies() -> None:
    done = built(replace(VISION, identity=None, groups=()))
    inside = [one.type.rpartition(":")[2] for one in done.resources if "berth:tenancy:Team$" in one.urn]
    assert sorted(inside) == ["LimitRange", "Namespace", "NetworkPolicy", "ResourceQuota"]


# --- people -----------------------------------------------------------------------------------------------------------

ACCESS = AccessPlan(owners=("platform@acme.example",), teams=("vision@acme.example",), job_kinds={"batch": ("jobs",)})


def granted(plan: AccessPlan, preview: bool = False) -> Run:
    def build() -> None:
        provider = google()
        Access(
            "access",
            plan,
            project=PROJECT,
            cluster=Home(provider).cluster,
            opts=using(provider, kubernetes.Provider("cluster", kubeconfig="{}")),
        )

    return run(build, preview)


@both_modes
@pytest.mark.parametrize("plan", [ACCESS, replace(ACCESS, owners=()), replace(ACCESS, teams=())])
def test_access_keeps_the_rules_of_every_component_and_is_what_is_rendered(plan: AccessPlan, preview: bool) -> None:
    done = granted(plan, preview)
    assert broken_rules(done) == []
    made = [one.inputs for one in done.resources if one.type.startswith("kubernetes:")]
    assert texts(made) == texts(manifest for _, manifest in roles.cluster_access(plan))
    cluster = done.only_resource("container/cluster:Cluster").urn
    assert all(one.deleted_with == cluster for one in done.resources if one.type.startswith("kubernetes:"))


def test_everybody_gets_cluster_viewer_once_and_no_other_role() -> None:
    done = granted(replace(ACCESS, owners=("vision@acme.example", "platform@acme.example")))
    grants = done.resources_of("projects/iAMMember:IAMMember")
    assert [(one.inputs["role"], one.inputs["member"]) for one in grants] == [
        ("roles/container.clusterViewer", "group:platform@acme.example"),
        ("roles/container.clusterViewer", "group:vision@acme.example"),
    ]


def test_annotations_of_a_team_are_on_the_namespaces_that_berth_creates() -> None:
    annotated = replace(
        VISION, settings=TeamSettings.model_construct(annotations={"example.com/owner": "a@acme.example"})
    )
    plain, other = (namespace(each, HOME)["metadata"] for each in (VISION, annotated))
    before, after = (cast("dict[str, dict[str, str]]", each).get("annotations", {}) for each in (plain, other))
    assert after == {"example.com/owner": "a@acme.example", **before}
