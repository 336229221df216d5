"""Arguments of Network. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from berth.spec.cluster import NetworkSpec
from berth.spec.fleet import FleetSpec
from berth.spec.model import Model

from .base import ComponentArguments


class NetworkArgs(ComponentArguments):
    """A VPC with one subnet for nodes, pods and services, and NAT."""

    models: ClassVar[Sequence[type[Model]]] = (NetworkSpec, FleetSpec)

    region: str
    """Region of the cluster, such as `us-central1`. Required as `project` is."""
    accept_region: bool | None = None
    """Accept a region, or zones of the cluster, that are newer than Berth's table. Default: `false`."""
    additional_pod_range_names: Sequence[str] | None = None
    """Names of further secondary ranges for pods, from which GKE takes addresses when the first range is used up."""
    mtu: int | None = None
    """MTU of the VPC in bytes. Google's blueprints of A3 raise it to 8244. A change replaces the VPC. By default
    Google's 1460."""
    name: str | None = None
    """Name of the VPC and the start of the names in it. By default the component's name."""
    nat: bool | None = None
    """Create a NAT gateway, so that private nodes reach the internet. Default: `true`."""
    node_cidr_block: str | None = None
    """Address range of nodes. Default: `10.40.0.0/22`."""
    pod_cidr_block: str | None = None
    """Address range of pods. Default: `10.64.0.0/13`."""
    service_cidr_block: str | None = None
    """Address range of services. Default: `10.44.0.0/20`."""
