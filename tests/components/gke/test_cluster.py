"""What a cluster asks of Google Cloud, and how it is reached."""

from __future__ import annotations

import json
from typing import Any, cast

import pulumi
import pytest
from msgspec.structs import replace

from berth.engine.answers import CERTIFICATE, ENDPOINT
from berth.plan.gke import ClusterPlan
from berth.spec.cluster import ClusterSettings
from components.gke.cluster import Cluster
from components.gke.kubeconfig import kubeconfig
from tests.components.gke.plans import CONTROL_PLANE, STANDARD, google
from tests.engine import UNKNOWN, RecordedResource, Run, both_modes, broken_rules, run, using

AUTOPILOT = replace(STANDARD, mode="autopilot", auto_provisioning=None, storage_drivers=(), zones=())
PRIVATE = replace(STANDARD, control_plane=replace(CONTROL_PLANE, public_endpoint=False))
ALL_PLANS = [STANDARD, AUTOPILOT, PRIVATE]


def built(plan: ClusterPlan, preview: bool = False) -> Run:
    def build() -> None:
        cluster = Cluster(
            "dev",
            plan,
            network="projects/p/global/networks/dev",
            subnetwork="projects/p/regions/us-central1/subnetworks/dev",
            node_service_account="n@x.example",
            opts=using(google()),
        )
        pulumi.export("kubeconfig", cluster.kubeconfig)

    return run(build, preview)


def resource(plan: ClusterPlan) -> RecordedResource:
    return built(plan).only_resource("container/cluster:Cluster")


def inputs(plan: ClusterPlan) -> dict[str, Any]:
    return dict(resource(plan).inputs)


@both_modes
@pytest.mark.parametrize("plan", ALL_PLANS, ids=["standard", "autopilot", "private"])
def test_a_cluster_keeps_the_rules_of_every_component(plan: ClusterPlan, preview: bool) -> None:
    done = built(plan, preview)
    assert broken_rules(done) == []
    assert [one.type for one in done.resources if one.type.startswith("berth:")] == ["berth:gke:Cluster"]


@pytest.mark.parametrize("plan", ALL_PLANS, ids=["standard", "autopilot", "private"])
def test_a_preview_accepts_an_unknown_endpoint(plan: ClusterPlan) -> None:
    done = built(plan, preview=True)
    assert done.exports["kubeconfig"] == UNKNOWN
    assert done.only_resource("berth:gke:Cluster").outputs == {"clusterName": "dev", "endpoint": UNKNOWN}


def test_the_kubeconfig_names_the_cluster_and_trusts_its_authority() -> None:
    known = json.loads(str(built(STANDARD).exports["kubeconfig"]))
    assert known["clusters"] == [
        {
            "name": "dev",
            "cluster": {"server": f"https://{ENDPOINT}", "certificate-authority-data": CERTIFICATE},
        }
    ]
    assert known["current-context"] == "dev"


def test_no_token_reaches_the_kubeconfig() -> None:
    """It is in the state, where a token would outlive its update; the plugin requests one when it runs."""
    text = kubeconfig(name="dev", endpoint="192.0.2.1", ca_certificate="Q0E=")
    (user,) = json.loads(text)["users"]
    assert set(user["user"]) == {"exec"}
    assert user["user"]["exec"]["command"] == "gke-gcloud-auth-plugin"
    assert not {"args", "env"} & set(user["user"]["exec"])


def test_the_kubeconfig_of_a_cluster_never_varies() -> None:
    """It configures the Kubernetes provider: another spelling of the same would show as a change of the provider."""
    assert len({kubeconfig(name="dev", endpoint="192.0.2.1", ca_certificate="Q0E=") for _ in range(3)}) == 1
    assert built(STANDARD).exports == built(STANDARD).exports


def test_a_cluster_is_protected_in_the_program_and_at_google() -> None:
    one = resource(STANDARD)
    assert one.protect is True
    assert one.inputs["deletionProtection"] is True


def test_an_unprotected_cluster_is_explicit_in_pulumi_and_google_cloud() -> None:
    one = resource(
        replace(STANDARD, protect=False, settings=ClusterSettings.model_construct(deletion_protection=False))
    )
    assert one.protect is False
    assert one.inputs["deletionProtection"] is False


def test_the_default_pool_is_removed_and_ignored() -> None:
    """GKE reports its count and nodes differently once it is gone; for the provider both are reasons to replace.

    So are the settings of an adopted cluster that only its creation can have made.
    """
    one = resource(STANDARD)
    of_creation = ("description", "enableKubernetesAlpha", "enableTpu", "ipAllocationPolicy.stackType")
    assert (one.inputs["removeDefaultNodePool"], one.inputs["initialNodeCount"]) == (True, 1)
    assert one.ignore_changes == ("initialNodeCount", "nodeConfig", *of_creation)


def test_not_even_the_first_pool_runs_as_the_projects_default_account() -> None:
    assert inputs(STANDARD)["nodeConfig"]["serviceAccount"] == "n@x.example"


def test_a_standard_cluster_has_dataplane_v2_and_workload_identity() -> None:
    request = inputs(STANDARD)
    assert request["datapathProvider"] == "ADVANCED_DATAPATH"
    assert request["workloadIdentityConfig"] == {"workloadPool": "acme-ml-dev.svc.id.goog"}


def test_an_autopilot_cluster_has_no_argument_that_autopilot_sets() -> None:
    """The provider refuses some of these beside Autopilot even when they are false; the others are implied."""
    refused = {"removeDefaultNodePool", "initialNodeCount", "enableShieldedNodes", "enableIntranodeVisibility"}
    implied = {"datapathProvider", "workloadIdentityConfig", "addonsConfig", "nodePoolDefaults", "nodeConfig"}
    request = inputs(AUTOPILOT)
    assert (refused | implied).isdisjoint(request)
    assert request["enableAutopilot"] is True
    assert request["clusterAutoscaling"] == {
        "autoProvisioningDefaults": {
            "serviceAccount": "n@x.example",
            "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        }
    }


def test_a_standard_cluster_has_no_autopilot_argument() -> None:
    """Even `false` conflicts with everything that Autopilot excludes."""
    assert "enableAutopilot" not in inputs(STANDARD)


def test_auto_provisioned_nodes_have_the_settings_of_node_pools() -> None:
    request = inputs(STANDARD)["clusterAutoscaling"]
    defaults = request["autoProvisioningDefaults"]
    assert (request["enabled"], request["autoscalingProfile"]) == (True, "OPTIMIZE_UTILIZATION")
    assert request["autoProvisioningLocations"] == ["us-central1-a", "us-central1-b"]
    assert defaults["serviceAccount"] == "n@x.example"
    assert defaults["management"] == {"autoRepair": True, "autoUpgrade": True}
    assert defaults["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
    assert defaults["shieldedInstanceConfig"] == {"enableSecureBoot": True, "enableIntegrityMonitoring": True}
    assert (defaults["imageType"], defaults["diskType"]) == ("COS_CONTAINERD", "pd-balanced")


def test_auto_provisioning_has_exactly_the_limits_of_its_plan() -> None:
    limits = cast(list[dict[str, object]], inputs(STANDARD)["clusterAutoscaling"]["resourceLimits"])
    assert [(one["resourceType"], one["minimum"], one["maximum"]) for one in limits] == [
        ("cpu", 4, 1024),
        ("memory", 16, 4096),
        ("nvidia-l4", 0, 72),
    ]
    assert "clusterAutoscaling" not in inputs(replace(STANDARD, auto_provisioning=None))


def test_pods_and_services_use_the_ranges_of_the_fleets_own_subnet() -> None:
    request = inputs(STANDARD)
    assert request["networkingMode"] == "VPC_NATIVE"
    assert request["ipAllocationPolicy"] == {
        "clusterSecondaryRangeName": "pods",
        "servicesSecondaryRangeName": "services",
    }


def test_the_control_plane_is_private_as_planned() -> None:
    assert inputs(PRIVATE)["privateClusterConfig"] == {
        "enablePrivateNodes": True,
        "enablePrivateEndpoint": True,
        "masterIpv4CidrBlock": "172.16.0.32/28",
    }
    assert inputs(STANDARD)["privateClusterConfig"]["enablePrivateEndpoint"] is False


@pytest.mark.parametrize("mode", [STANDARD, AUTOPILOT])
def test_a_public_cluster_is_explicit(mode: ClusterPlan) -> None:
    """The provider keeps the values of a removed block, and a known range cannot be removed."""
    public = replace(CONTROL_PLANE, private_nodes=False, ip_range=None)
    request = inputs(replace(mode, control_plane=public))["privateClusterConfig"]
    assert request == {"enablePrivateNodes": False, "enablePrivateEndpoint": False}


def test_no_authorized_networks_is_open_and_an_empty_list_is_closed() -> None:
    opened = replace(STANDARD, control_plane=replace(CONTROL_PLANE, authorized_networks=None))
    closed = replace(STANDARD, control_plane=replace(CONTROL_PLANE, authorized_networks=(), google_ranges=False))
    assert "masterAuthorizedNetworksConfig" not in inputs(opened)
    assert inputs(closed)["masterAuthorizedNetworksConfig"] == {
        "cidrBlocks": [],
        "gcpPublicCidrsAccessEnabled": False,
    }


def test_monitoring_components_are_in_the_order_in_which_google_reports_them() -> None:
    """The provider takes the list for ordered, so another order is a change in every preview after a refresh."""
    request = inputs(STANDARD)["monitoringConfig"]
    assert request["enableComponents"] == ["SYSTEM_COMPONENTS", "STORAGE", "POD", "DCGM", "JOBSET"]
    assert request["managedPrometheus"] == {"enabled": True}


def test_a_removed_driver_is_disabled() -> None:
    """A block that merely goes away leaves the driver on."""
    assert inputs(STANDARD)["addonsConfig"] == {
        "gcsFuseCsiDriverConfig": {"enabled": True},
        "gcpFilestoreCsiDriverConfig": {"enabled": False},
        "parallelstoreCsiDriverConfig": {"enabled": False},
    }


def test_images_are_streamed_by_default_where_the_plan_says_so() -> None:
    streaming = inputs(STANDARD)["nodePoolDefaults"]
    assert streaming == {"nodeConfigDefaults": {"gcfsConfig": {"enabled": True}}}


def test_upgrades_run_in_the_window_and_not_in_exclusions() -> None:
    request = inputs(STANDARD)["maintenancePolicy"]
    assert request["recurringWindow"]["recurrence"] == "FREQ=WEEKLY;BYDAY=SA"
    (exclusion,) = request["maintenanceExclusions"]
    assert exclusion["exclusionOptions"] == {"scope": "NO_MINOR_OR_NODE_UPGRADES"}


def test_no_maintenance_is_no_policy() -> None:
    assert "maintenancePolicy" not in inputs(replace(STANDARD, maintenance=None))


def test_the_cluster_matches_its_plan() -> None:
    request = inputs(STANDARD)
    assert (request["name"], request["location"], request["project"]) == ("dev", "us-central1", "acme-ml-dev")
    assert request["nodeLocations"] == ["us-central1-a", "us-central1-c"]
    assert request["releaseChannel"] == {"channel": "RAPID"}
    assert request["minMasterVersion"] == "1.36"
    assert request["gatewayApiConfig"] == {"channel": "CHANNEL_STANDARD"}
    assert request["securityPostureConfig"] == {"mode": "BASIC"}
    assert request["resourceLabels"] == {"fleet": "dev", "team": "platform"}
    assert request["loggingConfig"] == {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]}
