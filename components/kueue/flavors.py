"""Kueue's resource flavors. Does not own the nodes they select."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from berth.manifests.kueue import resource_flavor
from berth.parts.queues import plan_queues
from berth.plan.kueue import FlavorPlan

from ..arguments.flavors import FlavorsArgs
from ..kubernetes import KubernetesObject, cluster_options
from .admission_checks import AdmissionChecks
from .topologies import Topologies


class Flavors(pulumi.ComponentResource):
    """Every ResourceFlavor of the pools, by name in `objects`. They do not depend on pools, which may be out of stock.

    With arguments, also the topologies and admission checks that the flavors need; `checks` are the latter by name. A
    fleet passes the plans of its flavors instead, and `topologies` by name. A flavor depends on Kueue and on its
    topology, which Kueue deletes only after it. `kueue` is the release of Kueue, if it is known: from 0.20 on, labels
    and tolerations of a flavor with a topology can change.
    """

    objects: dict[str, KubernetesObject]

    def __init__(
        self,
        name: str,
        args: FlavorsArgs | Sequence[FlavorPlan],
        *,
        topologies: Mapping[str, pulumi.Resource] | None = None,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        kueue: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:Flavors", name, None, opts)
        args = FlavorsArgs.of(args, name)
        self.objects = {}
        self.checks: Mapping[str, KubernetesObject] = {}
        below = pulumi.ResourceOptions(parent=self)
        if isinstance(args, FlavorsArgs):
            _, part = args.planned(self, name, plan_queues)
            plans = part.flavors
            if part.topologies:
                topologies = Topologies(
                    f"{name}-topologies", part.topologies, served_by=served_by, cluster=cluster, kueue=kueue, opts=below
                ).objects
            if part.admission_checks:
                self.checks = AdmissionChecks(
                    f"{name}-admission-checks",
                    part.admission_checks,
                    part.provisioning_configs,
                    served_by=served_by,
                    cluster=cluster,
                    opts=below,
                ).objects
        else:
            plans = args
        for flavor in plans:
            own_topology = [topology for key, topology in (topologies or {}).items() if key == flavor.topology]
            options = cluster_options(self, cluster=cluster, served_by=[*served_by, *own_topology])
            self.objects[flavor.name] = KubernetesObject(
                f"{name}-{flavor.name}", resource_flavor(flavor), kueue=kueue, opts=options
            )
        self.register_outputs({"flavors": [flavor.name for flavor in plans]})
