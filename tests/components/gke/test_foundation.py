"""What stands under a cluster: APIs, network, the nodes' identity, reservations."""

from __future__ import annotations

from typing import Any, cast

import pulumi
import pytest
from msgspec.structs import replace

from berth.plan.gke import NetworkPlan, ReservationPlan, WebhookFirewallPlan
from components.gke.network import Network
from components.gke.node_service_account import NodeServiceAccount
from components.gke.reservation import Reservation
from components.gke.services import Services
from components.gke.webhook_firewall import WebhookFirewall
from tests.components.gke.plans import NETWORK, NODES, RESERVATION, google
from tests.engine import PROJECT, Run, both_modes, broken_rules, run, using

APIS = ("container.googleapis.com", "compute.googleapis.com")


def services(preview: bool = False) -> Run:
    return run(lambda: Services("apis", APIS, project=PROJECT, opts=using(google())), preview)


def network(plan: NetworkPlan = NETWORK, preview: bool = False) -> Run:
    return run(lambda: Network("dev", plan, opts=using(google())), preview)


def account(preview: bool = False) -> Run:
    return run(lambda: NodeServiceAccount("nodes", NODES, project=PROJECT, opts=using(google())), preview)


def reservation(plan: ReservationPlan = RESERVATION, preview: bool = False) -> Run:
    return run(lambda: Reservation("l4", plan, opts=using(google())), preview)


@both_modes
def test_all_keep_the_rules_of_every_component(preview: bool) -> None:
    runs = [services(preview), network(preview=preview), account(preview), reservation(preview=preview)]
    assert [broken_rules(done) for done in runs] == [[], [], [], []]


def test_an_api_is_never_switched_off() -> None:
    """Others in the project may use it, and switching off deletes what was made with it."""
    assert [one.inputs["disableOnDestroy"] for one in services().resources_of("projects/service:Service")] == [
        False,
        False,
    ]


def test_apis_have_their_service_names() -> None:
    values = {one.name: one.inputs["service"] for one in services().resources_of("projects/service:Service")}
    assert values == {"apis-compute": "compute.googleapis.com", "apis-container": "container.googleapis.com"}


@both_modes
def test_a_resource_depends_only_on_its_own_api(preview: bool) -> None:
    def build() -> None:
        opts = using(google())
        apis = Services("apis", APIS, project=PROJECT, opts=opts)
        needed = [apis.enabled["compute.googleapis.com"]]
        Network("dev", NETWORK, depends_on=needed, opts=opts)

    done = run(build, preview)
    compute = done.only_resource("projects/service:Service", "apis-compute")
    assert done.only_resource("compute/network:Network").dependencies == (compute.urn,)


def test_the_network_is_custom_mode_with_global_routing() -> None:
    request = network().only_resource("compute/network:Network").inputs
    assert (request["autoCreateSubnetworks"], request["routingMode"]) == (False, "GLOBAL")


def test_the_mtu_matches_the_plan() -> None:
    """GPUDirect over TCP wants them large on the first interface too; else Google's default stands."""
    assert "mtu" not in network().only_resource("compute/network:Network").inputs
    assert network(replace(NETWORK, mtu=8244)).only_resource("compute/network:Network").inputs["mtu"] == 8244


def test_nodes_reach_google_without_public_addresses_and_pods_have_their_ranges() -> None:
    request = network().only_resource("compute/subnetwork:Subnetwork").inputs
    assert request["privateIpGoogleAccess"] is True
    assert request["ipCidrRange"] == "10.40.0.0/22"
    assert request["secondaryIpRanges"] == [
        {"rangeName": "pods", "ipCidrRange": "10.64.0.0/13"},
        {"rangeName": "services", "ipCidrRange": "10.44.0.0/20"},
    ]


def test_private_nodes_reach_the_internet_through_nat_which_logs_errors() -> None:
    request = network().only_resource("compute/routerNat:RouterNat").inputs
    assert request["natIpAllocateOption"] == "AUTO_ONLY"
    assert request["sourceSubnetworkIpRangesToNat"] == "ALL_SUBNETWORKS_ALL_IP_RANGES"
    assert request["logConfig"] == {"enable": True, "filter": "ERRORS_ONLY"}


@both_modes
def test_a_reserved_address_is_the_only_one_of_nat(preview: bool) -> None:
    """Workers authorize it, so NAT may not allocate another one."""
    done = network(replace(NETWORK, nat_address="dev-nat"), preview)
    address, nat = done.only_resource("compute/address:Address"), done.only_resource("compute/routerNat:RouterNat")
    assert {key: address.inputs[key] for key in ("name", "region", "addressType")} == {
        "name": "dev-nat",
        "region": NETWORK.region,
        "addressType": "EXTERNAL",
    }
    assert nat.inputs["natIpAllocateOption"] == "MANUAL_ONLY"
    assert address.urn in nat.property_dependencies["natIps"]
    assert broken_rules(done) == []


@both_modes
def test_webhooks_are_reachable_only_from_the_control_plane(preview: bool) -> None:
    plan = WebhookFirewallPlan(name="dev-webhooks", source_range="172.16.0.32/28", ports=(9443, 8082))
    done = run(
        lambda: WebhookFirewall(
            "webhooks",
            plan,
            network="projects/p/global/networks/dev",
            node_service_account="dev-nodes@p.iam.gserviceaccount.com",
            opts=using(google()),
        ),
        preview,
    )
    rule = done.only_resource("compute/firewall:Firewall").inputs
    assert rule["direction"] == "INGRESS"
    assert rule["sourceRanges"] == ["172.16.0.32/28"]
    assert rule["targetServiceAccounts"] == ["dev-nodes@p.iam.gserviceaccount.com"]
    assert rule["allows"] == [{"protocol": "tcp", "ports": ["8082", "9443"]}]
    assert broken_rules(done) == []


def test_ssds_that_machines_always_bring_are_ignored_on_a_reservation() -> None:
    """Google reports them, and the provider would replace the reservation to remove what nobody wrote."""
    ssds = "specificReservation.instanceProperties.localSsds"
    for plan, ignored in ((RESERVATION, []), (replace(RESERVATION, attached_ssds=True), [ssds])):
        assert [*reservation(plan).only_resource("compute/reservation:Reservation").ignore_changes] == ignored


def test_no_nat_needs_no_router() -> None:
    done = network(replace(NETWORK, nat=False))
    assert done.resources_of("compute/router:Router") + done.resources_of("compute/routerNat:RouterNat") == []


def test_the_subnet_and_the_router_come_after_the_network() -> None:
    done = network()
    vpc = done.only_resource("compute/network:Network").urn
    assert vpc in done.only_resource("compute/subnetwork:Subnetwork").property_dependencies["network"]
    assert vpc in done.only_resource("compute/router:Router").property_dependencies["network"]


@both_modes
def test_nodes_get_the_roles_of_their_plan_and_no_others(preview: bool) -> None:
    done = account(preview)
    roles = done.resources_of("projects/iAMMember:IAMMember")
    assert {one.name: one.inputs["role"] for one in roles} == {
        "nodes-logging.logWriter": "roles/logging.logWriter",
        "nodes-monitoring.metricWriter": "roles/monitoring.metricWriter",
    }
    assert {one.inputs["member"] for one in roles} == {f"serviceAccount:{NODES.email}"}


def test_the_address_of_the_nodes_account_is_what_the_plan_said() -> None:
    assert account().only_resource("berth:gke:NodeServiceAccount").outputs == {"email": NODES.email}


def test_a_reservation_is_used_only_by_pools_that_name_it() -> None:
    """Otherwise any matching machine of the project would use it up."""
    assert reservation().only_resource("compute/reservation:Reservation").inputs["specificReservationRequired"] is True


def test_a_reservation_holds_the_machines_of_its_plan() -> None:
    request = reservation().only_resource("compute/reservation:Reservation").inputs
    gpus = [{"acceleratorType": "nvidia-l4", "acceleratorCount": 2}]
    properties = {"machineType": "g2-standard-24", "guestAccelerators": gpus}
    assert request["specificReservation"] == {"count": 4, "instanceProperties": properties}
    assert request["zone"] == "us-central1-a"


def test_machines_without_gpus_are_reserved_without_gpus() -> None:
    done = reservation(replace(RESERVATION, gpu_type=None, gpu_count=0))
    request = cast(Any, done.only_resource("compute/reservation:Reservation").inputs)
    assert request["specificReservation"]["instanceProperties"] == {"machineType": "g2-standard-24"}


@pytest.mark.parametrize("protect", [True, False])
def test_a_reservation_is_protected_as_planned(protect: bool) -> None:
    one = reservation(replace(RESERVATION, protect=protect)).only_resource("compute/reservation:Reservation")
    assert one.protect is protect
    assert one.delete_before_replace is True


@both_modes
def test_a_component_does_not_hand_its_own_options_to_its_children(preview: bool) -> None:
    """An alias or an ignored change of the component would mean something else on each child."""

    def build() -> None:
        options = pulumi.ResourceOptions(providers=[google()], ignore_changes=["x"], aliases=[pulumi.Alias(name="old")])
        Network("dev", NETWORK, opts=options)

    vpc = run(build, preview).only_resource("compute/network:Network")
    assert vpc.ignore_changes == ()
