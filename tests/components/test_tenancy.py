"""What a team gets: a namespace, an identity, and what that identity may do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
import pytest

from components.names import berth_labels
from components.plan.gke import ServiceAccountPlan
from components.plan.teams import IdentityPlan, TeamPlan
from components.tenancy import manifests
from components.tenancy.team import Team
from tests.components.gke_plans import google
from tests.engine import PROJECT, Recorded, Run, both_modes, broken_rules, run

PRINCIPAL = (
    "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/"
    f"{PROJECT}.svc.id.goog/subject/ns/vision/sa/vision"
)
DIRECT = IdentityPlan(
    service_account="vision",
    member=PRINCIPAL,
    impersonates=None,
    roles=("roles/storage.objectViewer", "roles/logging.logWriter"),
)
ACCOUNT = ServiceAccountPlan(
    account_id="wi-vision", display_name="Vision", email=f"wi-vision@{PROJECT}.iam.gserviceaccount.com", roles=()
)
IMPERSONATING = replace(DIRECT, member=f"serviceAccount:{PROJECT}.svc.id.goog[vision/vision]", impersonates=ACCOUNT)
VISION = TeamPlan(
    name="vision",
    namespace="vision",
    owns_namespace=True,
    identity=DIRECT,
    local_queues=(),
    guaranteed={},
    ceiling={},
    labels={"team": "vision", "fleet": "dev"},
)
ALL_PLANS = [
    VISION,
    replace(VISION, identity=IMPERSONATING),
    replace(VISION, identity=None),
    replace(VISION, owns_namespace=False, namespace="default"),
    replace(VISION, identity=replace(DIRECT, member=None, roles=())),
]


def built(plan: TeamPlan, preview: bool = False) -> Run:
    def build() -> None:
        provider = google()
        Team(
            "vision",
            plan,
            project=PROJECT,
            cluster=Home(provider).cluster,
            gcp_provider=provider,
            kubernetes_provider=kubernetes.Provider("cluster", kubeconfig="{}"),
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


def object_of(done: Run, kind: str) -> tuple[Recorded, dict[str, Any]]:
    one = done.one(f"core/v1:{kind}")
    return one, cast(dict[str, Any], one.inputs["metadata"])


@both_modes
@pytest.mark.parametrize(
    "plan", ALL_PLANS, ids=["direct", "impersonating", "without identity", "foreign namespace", "no roles"]
)
def test_a_team_keeps_the_rules_of_every_component(plan: TeamPlan, preview: bool) -> None:
    done = built(plan, preview)
    assert broken_rules(done) == []
    assert done.one("berth:tenancy:Team").outputs == {"namespace": plan.namespace}


def test_a_namespace_carries_the_teams_labels_and_none_of_the_servers() -> None:
    """The API server sets `kubernetes.io/metadata.name` itself; setting it too would make two owners of one field."""
    _, metadata = object_of(built(VISION), "Namespace")
    assert metadata["name"] == "vision"
    assert metadata["labels"] == {"fleet": "dev", "team": "vision", **berth_labels("vision")}


def test_a_namespace_of_others_is_used_and_not_made() -> None:
    done = built(replace(VISION, owns_namespace=False, namespace="default"))
    _, metadata = object_of(done, "ServiceAccount")
    assert done.all("core/v1:Namespace") == []
    assert metadata["namespace"] == "default"


@both_modes
def test_the_account_comes_after_its_namespace(preview: bool) -> None:
    done = built(VISION, preview)
    namespace, _ = object_of(done, "Namespace")
    account, metadata = object_of(done, "ServiceAccount")
    assert namespace.urn in account.property_dependencies["metadata"]
    assert metadata["namespace"] == "vision"


def test_the_annotation_names_the_whole_address_of_the_google_account() -> None:
    """Without the project in it the identity is broken, and nothing says so before the first denied request."""
    _, metadata = object_of(built(replace(VISION, identity=IMPERSONATING)), "ServiceAccount")
    assert metadata["annotations"] == {"iam.gke.io/gcp-service-account": ACCOUNT.email}


def test_pods_that_are_granted_roles_directly_impersonate_nobody() -> None:
    done = built(VISION)
    _, metadata = object_of(done, "ServiceAccount")
    assert "annotations" not in metadata
    assert done.all("serviceaccount/account:Account") == []


@both_modes
def test_roles_go_to_the_pods_themselves(preview: bool) -> None:
    grants = built(VISION, preview).all("projects/iAMMember:IAMMember")
    assert {(one.name, one.inputs["role"], one.inputs["member"]) for one in grants} == {
        ("vision-storage.objectViewer", "roles/storage.objectViewer", PRINCIPAL),
        ("vision-logging.logWriter", "roles/logging.logWriter", PRINCIPAL),
    }


@both_modes
def test_roles_go_to_the_google_account_where_there_is_one(preview: bool) -> None:
    done = built(replace(VISION, identity=IMPERSONATING), preview)
    account = done.one("serviceaccount/account:Account")
    grants = done.all("projects/iAMMember:IAMMember")
    assert {one.inputs["member"] for one in grants} == {f"serviceAccount:{ACCOUNT.email}"}
    assert all(account.urn in one.property_dependencies["member"] for one in grants)


def test_only_the_teams_own_pods_may_act_as_its_google_account() -> None:
    grant = built(replace(VISION, identity=IMPERSONATING)).one("serviceaccount/iAMMember:IAMMember")
    assert grant.inputs["role"] == "roles/iam.workloadIdentityUser"
    assert grant.inputs["member"] == f"serviceAccount:{PROJECT}.svc.id.goog[vision/vision]"


@pytest.mark.parametrize("identity", [DIRECT, IMPERSONATING], ids=["direct", "impersonating"])
def test_members_of_the_workload_pool_are_named_only_once_the_pool_exists(identity: IdentityPlan) -> None:
    """The project's first cluster makes it; until then Google refuses the binding."""
    done = built(replace(VISION, identity=identity))
    cluster = done.one("container/cluster:Cluster").urn
    bindings = done.all("projects/iAMMember:IAMMember") + done.all("serviceaccount/iAMMember:IAMMember")
    assert all(cluster in one.dependencies for one in bindings)


def test_what_lives_in_the_cluster_goes_with_it() -> None:
    """Nobody waits for a namespace to empty in a cluster that is being deleted; Google's side has to be deleted."""
    done = built(replace(VISION, identity=IMPERSONATING))
    cluster = done.one("container/cluster:Cluster").urn
    inside = {one.type for one in done.resources if one.deleted_with == cluster}
    assert inside == {"kubernetes:core/v1:Namespace", "kubernetes:core/v1:ServiceAccount"}


@both_modes
def test_what_is_made_is_what_is_rendered(preview: bool) -> None:
    """`berth render` and the engine must not differ: people compare the one with what they see of the other."""
    plan = replace(VISION, identity=IMPERSONATING)
    done = built(plan, preview)
    assert done.one("core/v1:Namespace").inputs == manifests.namespace(plan)
    assert done.one("core/v1:ServiceAccount").inputs == manifests.service_account(plan, IMPERSONATING)


def test_a_team_without_identity_is_a_namespace() -> None:
    done = built(replace(VISION, identity=None))
    inside = [one.type for one in done.resources if "berth:tenancy:Team$" in one.urn]
    assert inside == ["kubernetes:core/v1:Namespace"]
