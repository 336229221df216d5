"""What a cluster may be asked for beyond the ordinary, as Standard and as Autopilot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import pulumi
import pytest
from msgspec.structs import replace

from berth.google.cluster import maintenance_policy
from berth.plan.gke import ClusterPlan, MaintenanceExclusion, ResourceLimit
from berth.spec.cluster import ClusterSettings
from components.gke.cluster import Cluster
from components.gke.kubeconfig import kubeconfig
from tests.components.gke.plans import AUTO_PROVISIONING, CONTROL_PLANE, MAINTENANCE, STANDARD, google
from tests.engine import UNKNOWN, Run, both_modes, broken_rules, run, using

FULL = replace(
    STANDARD,
    control_plane=replace(CONTROL_PLANE, dns_endpoint=True),
    storage_drivers=("gcs-fuse", "lustre"),
    multi_networking=True,
    settings=ClusterSettings.model_construct(fleet_project="acme-fleet", shielded_nodes=False, gateway_api=True),
    confidential_nodes="SEV",
    first_machine_type="n2d-standard-2",
    cost_management=True,
    auto_provisioning=replace(
        AUTO_PROVISIONING,
        limits=(*AUTO_PROVISIONING.limits, ResourceLimit(resource="tpu-v6e-slice", minimum=0, maximum=64)),
        disk_size_gb=200,
        auto_repair=False,
        secure_boot=False,
    ),
)
PLANS: dict[str, ClusterPlan] = {
    "plain": STANDARD,
    "full": FULL,
    "autopilot": replace(FULL, mode="autopilot", auto_provisioning=None, zones=(), first_machine_type=None),
    "plain-autopilot": replace(STANDARD, mode="autopilot", auto_provisioning=None, zones=()),
    "dns-alone": replace(STANDARD, control_plane=replace(CONTROL_PLANE, dns_endpoint=True, ip_endpoint=False)),
    "dns-closed": replace(STANDARD, control_plane=replace(CONTROL_PLANE, dns_endpoint=False)),
    "by-hand": replace(STANDARD, auto_provisioning=None),
}


@cache
def built(preview: bool = False) -> Run:
    """A program with a cluster of each plan."""

    def build() -> None:
        provider = google()
        for key, plan in PLANS.items():
            cluster = Cluster(
                key,
                replace(plan, name=key),
                network="projects/p/global/networks/dev",
                subnetwork="projects/p/regions/us-central1/subnetworks/dev",
                node_service_account="n@x.example",
                opts=using(provider),
            )
            pulumi.export(key, cluster.kubeconfig)

    return run(build, preview)


def inputs_of(key: str) -> Mapping[str, Any]:
    return built().only_resource("container/cluster:Cluster", f"{key}-cluster").inputs


@both_modes
def test_every_kind_of_cluster_keeps_the_rules_of_every_component(preview: bool) -> None:
    assert broken_rules(built(preview)) == []


NEW = [
    *("controlPlaneEndpointsConfig", "fleet", "enableMultiNetworking", "confidentialNodes", "costManagementConfig"),
    *("nodePoolAutoConfig", "enableK8sBetaApis", "enableShieldedNodes"),
]


@pytest.mark.parametrize("field", NEW)
def test_a_cluster_has_only_arguments_of_its_plan(field: str) -> None:
    assert field not in inputs_of("plain")


# --- how it is reached ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["full", "autopilot", "dns-alone"])
def test_a_kubeconfig_with_a_dns_name_uses_the_systems_certificates(key: str) -> None:
    """The certificate of the DNS name is a public one; the cluster's own authority did not sign it."""
    known = json.loads(str(built().exports[key]))
    (cluster,) = known["clusters"]
    assert set(cluster["cluster"]) == {"server"}
    assert cluster["cluster"]["server"].endswith(".gke.goog")


@pytest.mark.parametrize("key", ["plain", "dns-closed"])
def test_a_kubeconfig_by_address_trusts_the_clusters_authority(key: str) -> None:
    (cluster,) = json.loads(str(built().exports[key]))["clusters"]
    assert set(cluster["cluster"]) == {"server", "certificate-authority-data"}


def test_a_preview_keeps_unknown_names_unknown() -> None:
    """The block that the name lies in is an input, and comes back without it: `https://None` must never be written."""
    assert {key: built(preview=True).exports[key] for key in PLANS} == dict.fromkeys(PLANS, UNKNOWN)


def test_the_dns_endpoint_is_set_only_if_stated() -> None:
    """The address is set too: the provider keeps a block that is left out, and it could not be switched on again."""
    with_address = {"ipEndpointsConfig": {"enabled": True}}
    opened, closed = ({"dnsEndpointConfig": {"allowExternalTraffic": each}, **with_address} for each in (True, False))
    assert inputs_of("full")["controlPlaneEndpointsConfig"] == opened
    assert inputs_of("dns-closed")["controlPlaneEndpointsConfig"] == closed


def test_without_ip_endpoints_no_authorized_networks_are_sent() -> None:
    """The provider does not send them then, and would show them as a change for ever (seen)."""
    assert inputs_of("dns-alone")["controlPlaneEndpointsConfig"]["ipEndpointsConfig"] == {"enabled": False}
    assert "masterAuthorizedNetworksConfig" not in inputs_of("dns-alone")
    assert "masterAuthorizedNetworksConfig" in inputs_of("dns-closed")


def test_a_kubeconfig_without_an_authority_has_no_empty_one() -> None:
    assert "certificate-authority-data" not in kubeconfig(name="dev", endpoint="gke-1.us-central1.gke.goog")


# --- what it is -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["full", "autopilot"])
def test_both_modes_join_a_fleet_and_take_further_networks(key: str) -> None:
    assert inputs_of(key)["fleet"] == {"project": "acme-fleet"}
    assert inputs_of(key)["enableMultiNetworking"] is True
    assert inputs_of(key)["costManagementConfig"] == {"enabled": True}
    assert inputs_of(key)["confidentialNodes"] == {"enabled": True, "confidentialInstanceType": "SEV"}


def test_the_default_pool_meets_the_demands_of_the_cluster() -> None:
    """GKE makes it before it is removed, and its usual machine cannot be confidential."""
    assert inputs_of("full")["nodeConfig"]["machineType"] == "n2d-standard-2"
    assert "machineType" not in inputs_of("plain")["nodeConfig"]


def test_shielded_nodes_are_set_only_to_disable_them_and_never_on_autopilot() -> None:
    assert inputs_of("full")["enableShieldedNodes"] is False
    assert "enableShieldedNodes" not in inputs_of("autopilot")


@pytest.mark.parametrize("key", ["autopilot", "plain-autopilot"])
def test_an_autopilot_cluster_has_no_argument_that_autopilot_rejects(key: str) -> None:
    forbidden = {"nodeConfig", "initialNodeCount", "removeDefaultNodePool", "datapathProvider", "nodePoolDefaults"}
    assert forbidden.isdisjoint(inputs_of(key))
    assert {"enabled", "resourceLimits", "autoscalingProfile"}.isdisjoint(inputs_of(key)["clusterAutoscaling"])


def test_storage_drivers_that_autopilot_lacks_are_enabled() -> None:
    assert inputs_of("autopilot")["addonsConfig"] == {"lustreCsiDriverConfig": {"enabled": True}}
    assert "addonsConfig" not in inputs_of("plain-autopilot")


def test_lustre_is_disabled_only_if_the_stack_file_names_it() -> None:
    """Clusters from before Berth knew of it are not touched for its sake."""
    assert inputs_of("full")["addonsConfig"]["lustreCsiDriverConfig"] == {"enabled": True}
    assert "lustreCsiDriverConfig" not in inputs_of("plain")["addonsConfig"]


# --- nodes that GKE makes ---------------------------------------------------------------------------------------------


def test_auto_provisioned_pools_match_the_plan() -> None:
    """Not repaired, where they are made for queued jobs; TPUs are limited like GPUs, by the label's value."""
    autoscaling = inputs_of("full")["clusterAutoscaling"]
    defaults = autoscaling["autoProvisioningDefaults"]
    assert defaults["management"] == {"autoRepair": False, "autoUpgrade": True}
    assert (defaults["diskSize"], defaults["shieldedInstanceConfig"]["enableSecureBoot"]) == (200, False)
    assert defaults["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
    assert autoscaling["resourceLimits"][-1] == {"resourceType": "tpu-v6e-slice", "minimum": 0, "maximum": 64}


# --- maintenance ------------------------------------------------------------------------------------------------------

ANY_TIME = replace(MAINTENANCE, start=None, end=None, recurrence=None)


def test_exclusions_without_a_window_get_one_that_never_closes() -> None:
    """The provider rejects exclusions without a window before it sends anything."""
    made = cast(Any, maintenance_policy(ANY_TIME))
    assert made["recurring_window"] == {
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-02T00:00:00Z",
        "recurrence": "FREQ=DAILY",
    }
    assert "daily_maintenance_window" not in made


def test_a_daily_window_has_only_a_start() -> None:
    made = cast(Any, maintenance_policy(replace(ANY_TIME, daily_start="03:00")))
    assert made["daily_maintenance_window"] == {"start_time": "03:00"}
    assert "recurring_window" not in made


def test_neither_window_nor_exclusion_is_no_policy() -> None:
    """An empty one the provider refuses."""
    assert maintenance_policy(replace(ANY_TIME, exclusions=())) is None
    assert maintenance_policy(None) is None


def test_an_exclusion_without_an_end_lasts_as_long_as_the_version() -> None:
    endless = MaintenanceExclusion(name="long", start="2026-02-01T00:00:00Z", end=None, scope="NO_MINOR_UPGRADES")
    (one,) = cast(Any, maintenance_policy(replace(ANY_TIME, exclusions=(endless,))))["maintenance_exclusions"]
    assert (one["end_time"], one["exclusion_options"]["end_time_behavior"]) == (None, "UNTIL_END_OF_SUPPORT")


def test_the_public_endpoint_is_ignored_while_ip_endpoints_are_off() -> None:
    """The provider then does not send it; a cluster that reports another value would change in every preview."""
    ignored = {
        key: "privateClusterConfig.enablePrivateEndpoint"
        in built().only_resource("container/cluster:Cluster", f"{key}-cluster").ignore_changes
        for key in PLANS
    }
    assert {key for key, is_ignored in ignored.items() if is_ignored} == {"dns-alone"}
