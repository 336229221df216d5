"""Values that the stack file spells otherwise than the provider arrive as the provider spells them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from berth.google.cluster import cluster
from berth.google.node_pool import node_pool
from berth.spec.cluster import ClusterSettings
from berth.spec.machines.pools import NodeSettings
from tests.components.gke.plans import L4, STANDARD

LOGS = ["APISERVER", "SCHEDULER", "CONTROLLER_MANAGER", "WORKLOADS"]


def node_config(settings: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a pool's nodes with these keys of the stack file."""
    plan = replace(L4, settings=NodeSettings.model_validate(settings))
    return node_pool(plan, cluster="c", location="us-central1", service_account="n").arguments["node_config"]


@pytest.mark.parametrize(("written", "sent"), [(True, "TRUE"), (False, "FALSE")])
def test_the_kubelet_port_is_sent_as_text(written: bool, sent: str) -> None:
    """The provider refuses a boolean there."""
    kubelet = {"insecureKubeletReadonlyPortEnabled": written}
    arguments = node_config({"nodeSystemConfig": {"kubelet": kubelet}})
    assert arguments["kubelet_config"] == {"insecure_kubelet_readonly_port_enabled": sent}


def test_logs_are_sent_in_the_order_in_which_gke_returns_them() -> None:
    """In another order every preview after a refresh would show a change."""
    plan = replace(STANDARD, settings=ClusterSettings.model_validate({"loggingComponents": LOGS}))
    made = cluster(plan, network="n", subnetwork="s", node_service_account="a")
    in_order = ["SYSTEM_COMPONENTS", "WORKLOADS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER"]
    assert made.arguments["logging_config"] == {"enable_components": in_order}
