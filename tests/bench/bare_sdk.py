"""Registers so many resources with the bare SDK on its own mocks: what a preview cannot do without."""

from __future__ import annotations

import sys
from typing import Any

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
from pulumi.runtime import mocks


class Echo(mocks.Mocks):
    """Answers every resource with its own inputs."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        return f"{args.name}-id", args.inputs

    def call(self, args: mocks.MockCallArgs) -> Any:
        return {}


if __name__ == "__main__":
    mocks.set_mocks(Echo(), preview=True)

    @pulumi.runtime.test
    def program() -> None:
        """As many resources as asked for, in turn of what every fleet has: network, pools, objects.

        Loading the provider's modules for the first two is most of the time that a small stack takes.
        """
        for number in range(int(sys.argv[1])):
            if number % 3 == 0:
                gcp.compute.Subnetwork(f"nodes-{number}", network="network", ip_cidr_range="10.0.0.0/20")
            elif number % 3 == 1:
                gcp.container.NodePool(
                    f"pool-{number}",
                    cluster="cluster",
                    node_config=gcp.container.NodePoolNodeConfigArgs(machine_type="g2-standard-24", labels={"a": "b"}),
                )
            else:
                kubernetes.core.v1.Namespace(f"namespace-{number}", metadata={"name": f"namespace-{number}"})

    program()
