"""The components of queueing register exactly their manifests, wait for what serves them, and go with the cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
import yaml
from msgspec.structs import replace

from berth.manifests import helm_values, kueue
from berth.manifests.tenancy import namespace
from berth.plan.admission_checks import AdmissionCheckPlan
from berth.plan.configuration import (
    SERVING_FRAMEWORKS,
    AdmissionFairSharingPlan,
    ConfigurationPlan,
    CustomLabelPlan,
    DeviceMappingPlan,
    ExpressionPlan,
    MetricsPlan,
    MultiKueueSettingsPlan,
    PodsReadyPlan,
    RequeuingPlan,
    SelectorPlan,
    TransformationPlan,
)
from berth.plan.kueue import ChartPlan, CohortPlan
from components.kubernetes import KubernetesObject, overlay, type_token
from components.kueue.admission_checks import AdmissionChecks
from components.kueue.cohorts import Cohorts
from components.kueue.controllers import Controllers
from components.kueue.flavors import Flavors
from components.kueue.priorities import Priorities
from components.kueue.team_queues import TeamQueues
from components.kueue.topologies import Topologies
from tests.components.kueue import plans
from tests.engine import RecordedResource, Run, both_modes, broken_rules, run, using

COHORTS = (CohortPlan(name="research", parent=None), CohortPlan(name="labs", parent="research"))
CHECKS = (plans.DWS, AdmissionCheckPlan(name="budget", controller="acme.com/budget"))
CHARTS = (
    ChartPlan(
        name="jobset",
        chart="oci://registry.k8s.io/jobset/charts/jobset",
        version="0.12.0",
        namespace="jobset-system",
        values={},
    ),
    ChartPlan(
        name="kueue",
        chart="oci://registry.k8s.io/kueue/charts/kueue",
        version="0.19.2",
        namespace="kueue-system",
        values=helm_values.chart_values(ConfigurationPlan(), cluster_queues=2),
    ),
)


class Room(pulumi.ComponentResource):
    """Stands for a team's part of the cluster: its namespace."""

    def __init__(self, provider: pulumi.ProviderResource) -> None:
        super().__init__("berth:tenancy:Team", "room")
        inside = pulumi.ResourceOptions(parent=self, provider=provider)
        self.namespace = KubernetesObject(
            "room-namespace", namespace(plans.team(), plans.team().namespaces[0]), opts=inside
        ).object_name
        self.register_outputs({})


class Nodes(pulumi.ComponentResource):
    """Stands for the pool that the controllers run on."""

    def __init__(self, provider: pulumi.ProviderResource) -> None:
        super().__init__("berth:gke:NodePool", "system")
        inside = pulumi.ResourceOptions(parent=self, provider=provider)
        KubernetesObject("system-pool", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, opts=inside)
        self.register_outputs({})


class Cluster(pulumi.ComponentResource):
    """Stands for the cluster."""

    def __init__(self) -> None:
        super().__init__("berth:gke:Cluster", "cluster")
        self.register_outputs({})


def queueing() -> None:
    """Everything of a small fleet, as the composition wires it."""
    provider = kubernetes.Provider("in-cluster", kubeconfig="{}")
    cluster = Cluster()
    controllers = Controllers("controllers", CHARTS, opts=using(provider), cluster=cluster, runs_on=[Nodes(provider)])
    served_by = [controllers.releases["kueue"]]
    placed = replace(plans.flavor("v5e-near"), topology="gke")
    Flavors("flavors", (plans.flavor(), placed), opts=using(provider), cluster=cluster, served_by=served_by)
    Topologies("topologies", (plans.TOPOLOGY,), opts=using(provider), cluster=cluster, served_by=served_by)
    AdmissionChecks("checks", CHECKS, (plans.DWS_CONFIG,), opts=using(provider), cluster=cluster, served_by=served_by)
    Cohorts("cohorts", COHORTS, opts=using(provider), cluster=cluster, served_by=served_by)
    Priorities("priorities", (plans.priority(),), opts=using(provider), cluster=cluster, served_by=served_by)
    TeamQueues(
        "queues",
        (plans.queue(),),
        opts=using(provider),
        cluster=cluster,
        served_by=served_by,
        namespaces={"vision": Room(provider).namespace},
    )


def by_name(done: Run) -> dict[str, RecordedResource]:
    return {each.name: each for each in done.resources}


@pytest.fixture(scope="module")
def made() -> dict[str, RecordedResource]:
    return by_name(run(queueing))


@both_modes
def test_queueing_keeps_the_rules_of_all_components(preview: bool) -> None:
    assert broken_rules(run(queueing, preview=preview)) == []


def kubernetes_objects(made: dict[str, RecordedResource]) -> list[RecordedResource]:
    return [each for each in made.values() if each.type.startswith("kubernetes:")]


def names(urns: Sequence[str]) -> set[str]:
    return {urn.rpartition("::")[2] for urn in urns}


@pytest.mark.parametrize(
    ("name", "manifest"),
    [
        ("flavors-v5e", kueue.resource_flavor(plans.flavor())),
        ("topologies-gke", kueue.topology(plans.TOPOLOGY)),
        ("checks-config-dws-config", kueue.provisioning_request_config(plans.DWS_CONFIG)),
        ("checks-check-dws-prov", kueue.admission_check(plans.DWS)),
        ("checks-check-budget", kueue.admission_check(CHECKS[1])),
        ("cohorts-research", kueue.cohort(COHORTS[0])),
        ("cohorts-labs", kueue.cohort(COHORTS[1])),
        ("priorities-pod-high", kueue.priority_class(plans.priority())),
        ("priorities-workload-high", kueue.workload_priority_class(plans.priority())),
        ("queues-vision-train-cluster-queue", kueue.cluster_queue(plans.queue())),
        ("queues-vision-train-local-queue/vision/train", kueue.local_queue(plans.door("vision", "vision-train"))),
        ("room-namespace", namespace(plans.team(), plans.team().namespaces[0])),
    ],
)
def test_the_registered_object_is_the_manifest(
    made: dict[str, RecordedResource], name: str, manifest: dict[str, object]
) -> None:
    """So that `berth render` and a deployment cannot differ."""
    assert made[name].inputs == manifest


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("room-namespace", "kubernetes:core/v1:Namespace"),
        ("priorities-pod-high", "kubernetes:scheduling.k8s.io/v1:PriorityClass"),
        ("priorities-workload-high", "kubernetes:kueue.x-k8s.io/v1beta2:WorkloadPriorityClass"),
    ],
)
def test_the_token_is_the_api_version_and_the_kind(made: dict[str, RecordedResource], name: str, expected: str) -> None:
    assert made[name].type == expected


def test_the_engine_gets_the_version_of_the_plugin(made: dict[str, RecordedResource]) -> None:
    """The very one of the SDK, or the engine would look for another."""
    assert {each.version for each in kubernetes_objects(made)} == {made["in-cluster"].version}


def test_every_object_goes_with_the_cluster_and_to_its_provider(made: dict[str, RecordedResource]) -> None:
    for each in kubernetes_objects(made):
        assert each.provider is not None
        assert names([each.provider]) == {"in-cluster"}
        if each.parent not in {made["room"].urn, made["system"].urn}:
            assert each.deleted_with == made["cluster"].urn


def test_a_components_token_is_its_folder_and_class(made: dict[str, RecordedResource]) -> None:
    assert {each.type for each in made.values() if each.type.startswith("berth:kueue:")} == {
        f"berth:kueue:{kind.__name__}"
        for kind in (AdmissionChecks, Cohorts, Controllers, Flavors, Priorities, TeamQueues, Topologies)
    }


def test_webhooks_are_patched_after_kueue_and_not_owned() -> None:
    """Pulumi treats a kind with `Patch` in its token as a change of an existing object."""

    def program() -> None:
        provider = kubernetes.Provider("in-cluster", kubeconfig="{}")
        Controllers("controllers", CHARTS, opts=using(provider), cluster=Cluster(), serving=("chat",))

    made = by_name(run(program))
    for role in ("mutating", "validating"):
        (patch,) = (each for name, each in made.items() if name.startswith(f"controllers-{role}-serving-"))
        kind = f"{role.capitalize()}WebhookConfiguration"
        assert patch.type == f"kubernetes:admissionregistration.k8s.io/v1:{kind}Patch"
        assert patch.inputs["kind"] == kind
        assert patch.ignore_changes == ("webhooks",)
        assert names(patch.dependencies) == {"controllers-kueue"}
        assert patch.deleted_with == made["cluster"].urn


def test_kueues_objects_depend_only_on_kueue(made: dict[str, RecordedResource]) -> None:
    """Neither for JobSet nor for any pool: one pool out of stock must not hold back the queues."""
    for name in (
        "flavors-v5e",
        "topologies-gke",
        "checks-config-dws-config",
        "checks-check-budget",
        "cohorts-labs",
        "priorities-workload-high",
        "queues-vision-train-cluster-queue",
    ):
        assert names(made[name].dependencies) == {"controllers-kueue"}


def test_an_admission_check_is_created_after_its_config_and_deleted_first(made: dict[str, RecordedResource]) -> None:
    """Without it the check is inactive, and with it every queue that names the check."""
    assert names(made["checks-check-dws-prov"].dependencies) == {"checks-config-dws-config"}


def test_a_priority_class_has_no_dependency(made: dict[str, RecordedResource]) -> None:
    assert made["priorities-pod-high"].dependencies == ()


@both_modes
def test_a_local_queue_depends_on_its_namespace_and_cluster_queue(preview: bool) -> None:
    door = run(queueing, preview).only_resource("LocalQueue")
    assert names(door.dependencies) == {"room-namespace", "queues-vision-train-cluster-queue"}
    assert names(door.property_dependencies["metadata"]) == {"room-namespace"}


def test_a_local_queue_in_another_teams_namespace_names_that_namespace() -> None:
    def build() -> None:
        TeamQueues("queues", (plans.queue(),), opts=using(kubernetes.Provider("in-cluster", kubeconfig="{}")))

    assert cast("dict[str, Any]", run(build).only_resource("LocalQueue").inputs["metadata"])["namespace"] == "vision"


@pytest.mark.parametrize("protect", [True, False])
def test_a_cluster_queue_is_protected_as_planned_and_its_local_queues_never(protect: bool) -> None:
    def build() -> None:
        plan = replace(plans.queue(), protect=protect)
        TeamQueues("queues", (plan,), opts=using(kubernetes.Provider("in-cluster", kubeconfig="{}")))

    made = run(build)
    assert made.only_resource("ClusterQueue").protect is protect
    assert not made.only_resource("LocalQueue").protect


def test_local_queues_of_equal_names_in_several_namespaces_differ() -> None:
    """`a-b` with `c`, `a` with `b-c`: joined by a hyphen both would be the same resource."""
    doors = tuple(
        replace(plans.door(room, "vision-train"), name=name) for room, name in (("a-b", "c"), ("a", "b-c"), ("a", "c"))
    )

    def build() -> None:
        plan = replace(plans.queue(), local_queues=doors)
        TeamQueues("queues", (plan,), opts=using(kubernetes.Provider("in-cluster", kubeconfig="{}")))

    assert {f"queues-vision-train-local-queue/{door}" for door in ("a-b/c", "a/b-c", "a/c")} <= set(by_name(run(build)))


def test_queues_of_two_components_do_not_collide_and_a_prefix_names_them_otherwise() -> None:
    """The same queue for two clusters of one program; the platform's stack keeps the names of deployed queues."""

    def build() -> None:
        opts = using(kubernetes.Provider("in-cluster", kubeconfig="{}"))
        for name, prefix in (("east", None), ("west", None), ("queues", ""), ("lab/queues", "lab/")):
            TeamQueues(name, (plans.queue(),), prefix=prefix, opts=opts)

    queue_names = [each.name for each in run(build).resources_of("ClusterQueue")]
    assert queue_names == [f"{prefix}vision-train-cluster-queue" for prefix in ("east-", "west-", "", "lab/")]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("queues-vision-train-local-queue/vision/train", ("spec.clusterQueue",)),
        ("priorities-pod-high", ("value", "preemptionPolicy")),
        ("checks-check-dws-prov", ("spec.controllerName",)),
        ("topologies-gke", ("spec.levels",)),
        ("flavors-v5e-near", ("spec.nodeLabels", "spec.tolerations")),
    ],
)
def test_an_immutable_field_replaces_and_deletes_first(
    made: dict[str, RecordedResource], name: str, fields: tuple[str, ...]
) -> None:
    """The API server refuses the change, and only at `up`; two objects of one name cannot be, so the old one goes."""
    assert made[name].replace_on_changes == fields
    assert made[name].delete_before_replace is True


def test_an_updatable_field_never_replaces(made: dict[str, RecordedResource]) -> None:
    for name in ("queues-vision-train-cluster-queue", "flavors-v5e", "cohorts-labs", "priorities-workload-high"):
        assert made[name].replace_on_changes == ()
        assert made[name].delete_before_replace is None


def test_labels_of_a_flavor_with_a_topology_can_change_from_kueue_0_20_on() -> None:
    def build() -> None:
        provider = kubernetes.Provider("in-cluster", kubeconfig="{}")
        for number, release in enumerate((None, "0.19.14", "0.20.0", "0.21.0")):
            placed = replace(plans.flavor(f"v5e-{number}"), topology="gke")
            Flavors(f"flavors-{number}", (placed,), opts=using(provider), kueue=release)

    flavors = run(build).resources_of("ResourceFlavor")
    assert [bool(each.replace_on_changes) for each in flavors] == [True, True, False, False]


def test_charts_are_installed_one_after_the_other_in_the_order_of_the_plan(made: dict[str, RecordedResource]) -> None:
    """Kueue's webhooks, closed while its manager starts, would refuse the next chart's Deployment."""
    assert names(made["controllers-jobset"].dependencies) == {"system-pool"}
    assert names(made["controllers-kueue"].dependencies) == {"controllers-jobset"}


def test_a_helm_release_is_pinned_awaited_and_rolled_back_on_failure(made: dict[str, RecordedResource]) -> None:
    inputs = dict(made["controllers-kueue"].inputs)
    assert inputs.pop("values") == CHARTS[1].values
    assert inputs == {
        "name": "kueue",
        "chart": "oci://registry.k8s.io/kueue/charts/kueue",
        "version": "0.19.2",
        "namespace": "kueue-system",
        "createNamespace": True,
        "atomic": True,
        "skipAwait": False,
        "timeout": 900,
        "compat": "true",
    }


def test_no_controller_is_ever_uninstalled(made: dict[str, RecordedResource]) -> None:
    """Kueue's CRDs are part of its release: with it would go every queue and workload of the cluster."""
    assert sorted(each.name for each in made.values() if each.retain_on_delete) == [
        "controllers-jobset",
        "controllers-kueue",
    ]


def test_live_values_override_the_manifest_without_changing_it() -> None:
    manifest = {"kind": "A", "metadata": {"name": "a", "namespace": "b"}}
    assert overlay(manifest, {"metadata": {"namespace": "live"}, "spec": {"c": 1}}) == {
        "kind": "A",
        "metadata": {"name": "a", "namespace": "live"},
        "spec": {"c": 1},
    }
    assert manifest == {"kind": "A", "metadata": {"name": "a", "namespace": "b"}}


def test_a_type_token_has_the_api_group_except_core() -> None:
    assert type_token({"apiVersion": "batch/v1", "kind": "Job"}) == "kubernetes:batch/v1:Job"
    assert type_token({"apiVersion": "v1", "kind": "ServiceAccount"}) == "kubernetes:core/v1:ServiceAccount"


def values(*, cluster_queues: int = 4) -> dict[str, Any]:
    return cast("dict[str, Any]", helm_values.chart_values(ConfigurationPlan(), cluster_queues=cluster_queues))


def text(**changes: Any) -> str:
    made = helm_values.chart_values(ConfigurationPlan(**changes), cluster_queues=4)
    return cast("dict[str, Any]", made)["managerConfig"]["controllerManagerConfigYaml"]


def test_kueues_configuration_is_the_charts_default_and_what_berth_adds() -> None:
    assert yaml.safe_load(text(frameworks=("jobset.x-k8s.io/jobset", "batch/job"))) == {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {
            "groupKindConcurrency": {
                "Job.batch": 5,
                "Pod": 5,
                "Workload.kueue.x-k8s.io": 10,
                "LocalQueue.kueue.x-k8s.io": 5,
                "ClusterQueue.kueue.x-k8s.io": 5,
                "ResourceFlavor.kueue.x-k8s.io": 1,
            }
        },
        "clientConnection": {"qps": 300, "burst": 500},
        "waitForPodsReady": {"timeout": "3600s"},
        "manageJobsWithoutQueueName": False,
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]},
        "resources": {"excludeResourcePrefixes": ["ephemeral-storage"]},
    }


def test_the_configuration_text_does_not_depend_on_the_order_of_its_parts() -> None:
    """A changed text restarts the manager."""
    assert text(frameworks=("pod", "batch/job")) == text(frameworks=("batch/job", "pod"))
    assert text(excluded_prefixes=("b", "a")) == text(excluded_prefixes=("a", "b"))


def test_single_pods_are_not_queued_by_default() -> None:
    """Their webhook fails closed for every pod of the cluster."""
    assert not set(SERVING_FRAMEWORKS) & set(json.loads(text())["integrations"]["frameworks"])


@pytest.mark.parametrize(("queues", "size"), [(0, "512Mi"), (1, "1Gi"), (256, "1Gi"), (257, "2Gi"), (3000, "8Gi")])
def test_kueues_size_grows_in_few_steps_with_the_fleet(queues: int, size: str) -> None:
    """Its size is part of its pod, so a change restarts it."""
    resources = values(cluster_queues=queues)["controllerManager"]["manager"]["resources"]
    assert resources["requests"]["memory"] == resources["limits"]["memory"] == size


def rendered(plan: ConfigurationPlan) -> dict[str, Any]:
    """What a plan adds to the configuration, or changes of it."""
    made, plain = helm_values.configuration(plan), helm_values.configuration(ConfigurationPlan())
    return {key: value for key, value in made.items() if plain.get(key) != value}


def test_the_default_configuration_waits_an_hour_for_pods() -> None:
    """Kueue's own half hour is over before a large slice has pulled its images."""
    assert json.loads(text())["waitForPodsReady"] == {"timeout": "3600s"}


def test_wait_for_pods_ready_has_a_timeout_and_a_requeuing_strategy() -> None:
    again = RequeuingPlan(timestamp="Creation", limit_count=0, base_seconds=30, max_seconds=600)
    plan = PodsReadyPlan(timeout_seconds=60, recovery_seconds=0, block_admission=True, requeuing=again)
    assert rendered(ConfigurationPlan(pods_ready=plan)) == {
        "waitForPodsReady": {
            "timeout": "60s",
            "recoveryTimeout": "0s",
            "blockAdmission": True,
            "requeuingStrategy": {
                "timestamp": "Creation",
                "backoffLimitCount": 0,
                "backoffBaseSeconds": 30,
                "backoffMaxSeconds": 600,
            },
        }
    }


def test_fair_sharing_is_in_the_configuration() -> None:
    plan = ConfigurationPlan(
        fair_sharing=("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
        admission_fair_sharing=AdmissionFairSharingPlan(
            half_life_seconds=0, resource_weights={"memory": 0, "cpu": 0.5}
        ),
    )
    assert rendered(plan) == {
        "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]},
        "admissionFairSharing": {
            "usageHalfLifeTime": "0s",
            "usageSamplingInterval": "300s",
            "resourceWeights": {"cpu": 0.5, "memory": 0},
        },
    }


def test_resources_can_be_excluded_transformed_or_both() -> None:
    plan = ConfigurationPlan(
        excluded_prefixes=(),
        quota_check="IgnoreUndeclared",
        transformations=(
            TransformationPlan(
                input="nvidia.com/mig-1g.5gb",
                outputs={"memory": 5 * 2**30, "acme.com/slices": 1},
                strategy="Replace",
                multiply_by="acme.com/hosts",
            ),
            TransformationPlan(input="acme.com/ignored", outputs={}, strategy="Replace"),
        ),
        device_mappings=(DeviceMappingPlan(name="acme.com/gpu", device_classes=("b", "a")),),
    )
    assert rendered(plan)["resources"] == {
        "quotaCheckStrategy": "IgnoreUndeclared",
        "transformations": [
            {
                "input": "nvidia.com/mig-1g.5gb",
                "strategy": "Replace",
                "multiplyBy": "acme.com/hosts",
                "outputs": {"acme.com/slices": "1", "memory": "5Gi"},
            },
            {"input": "acme.com/ignored", "strategy": "Replace"},
        ],
        "deviceClassMappings": [{"name": "acme.com/gpu", "deviceClassNames": ["a", "b"]}],
    }


def test_kueue_manages_jobs_by_kind_and_namespace() -> None:
    outside = ExpressionPlan(key="kubernetes.io/metadata.name", operator="NotIn", values=("kube-system", "ci"))
    plan = ConfigurationPlan(
        frameworks=("batch/job",),
        external_frameworks=("Foo.v1.acme.com",),
        label_keys_to_copy=("team", "cost-centre"),
        manage_jobs_without_queue_name=True,
        managed_namespaces=SelectorPlan(labels={"a": "b"}, expressions=(outside,)),
    )
    assert rendered(plan) == {
        "manageJobsWithoutQueueName": True,
        "managedJobsNamespaceSelector": {
            "matchLabels": {"a": "b"},
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["ci", "kube-system"]}
            ],
        },
        "integrations": {
            "frameworks": ["batch/job"],
            "externalFrameworks": ["Foo.v1.acme.com"],
            "labelKeysToCopy": ["cost-centre", "team"],
        },
    }


def test_an_empty_selector_differs_from_none() -> None:
    assert rendered(ConfigurationPlan(managed_namespaces=SelectorPlan())) == {"managedJobsNamespaceSelector": {}}


def test_kept_and_shown_values() -> None:
    """Whether local queues are measured is always said beside their selector: absent, Kueue reads it as no."""
    label = CustomLabelPlan(name="team", source_kind="LocalQueue", label_key="berth.dev/team", tracked=("b", "a"))
    plan = ConfigurationPlan(
        retain_finished_seconds=0,
        metrics=MetricsPlan(
            queue_resources=False, local_queue_selector=SelectorPlan(labels={"a": "b"}), custom_labels=(label,)
        ),
        multikueue=MultiKueueSettingsPlan(gc_interval_seconds=0, worker_lost_seconds=900, step_size=5),
    )
    assert rendered(plan) == {
        "objectRetentionPolicies": {"workloads": {"afterFinished": "0s"}},
        "metrics": {
            "bindAddress": ":8443",
            "localQueueMetrics": {"enable": True, "localQueueSelector": {"matchLabels": {"a": "b"}}},
            "customLabels": [
                {
                    "name": "team",
                    "sourceKind": "LocalQueue",
                    "sourceLabelKey": "berth.dev/team",
                    "trackedValues": ["b", "a"],
                }
            ],
        },
        "multiKueue": {
            "gcInterval": "0s",
            "workerLostTimeout": "900s",
            "incrementalDispatcherConfig": {"stepSize": 5},
        },
    }


def test_feature_gates_are_only_in_the_configuration() -> None:
    """In the chart's own list they would become an argument, and the manager refuses to have both."""
    gates = {"PriorityBoost": True, "MultiKueue": False}
    made = cast("dict[str, Any]", helm_values.chart_values(ConfigurationPlan(feature_gates=gates), cluster_queues=1))
    assert json.loads(made["managerConfig"]["controllerManagerConfigYaml"])["featureGates"] == gates
    assert "featureGates" not in made["controllerManager"]


@pytest.mark.parametrize(("nodes", "size"), [(0, "1Gi"), (400, "1Gi"), (1000, "2Gi"), (10_000, "16Gi")])
def test_kueues_size_grows_with_the_nodes(nodes: int, size: str) -> None:
    made = cast("dict[str, Any]", helm_values.chart_values(ConfigurationPlan(), cluster_queues=4, nodes=nodes))
    assert made["controllerManager"]["manager"]["resources"]["limits"]["memory"] == size
