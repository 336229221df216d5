"""Small plans of Kueue's objects for tests: two teams that share a cohort, on v5e slices and L4 GPUs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from msgspec.structs import replace

from berth.plan.admission_checks import (
    PROVISIONING_CONFIG,
    AdmissionCheckPlan,
    ParametersPlan,
    ProvisioningConfigPlan,
)
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, ServiceAccountPlan
from berth.plan.kueue import (
    ClusterQueuePlan,
    CohortPlan,
    FlavorPlan,
    FlavorQuotasPlan,
    LocalQueuePlan,
    PreemptionPlan,
    PriorityPlan,
    QueueCheckPlan,
    QuotaPlan,
    ResourceGroupPlan,
    TopologyPlan,
)
from berth.plan.node_settings import Bounds, Toleration
from berth.plan.teams import EgressPlan, IdentityPlan, IsolationPlan, NamespacePlan, SecretPlan, TeamPlan

GI = 2**30
TPU = "google.com/tpu"
COVERED = ("cpu", "memory", TPU)
PREEMPTION = PreemptionPlan(
    within_cluster_queue="LowerPriority",
    reclaim_within_cohort="Any",
    borrow_within_cohort="LowerPriority",
    max_priority_threshold=100,
)
NO_PREEMPTION = PreemptionPlan(
    within_cluster_queue="Never", reclaim_within_cohort="Never", borrow_within_cohort=None, max_priority_threshold=None
)
TOLERATIONS = (
    Toleration(key=TPU, operator="Equal", value="present", effect="NoSchedule"),
    Toleration(key="berth.dev/pool", operator="Exists", effect="NoSchedule"),
)
TOPOLOGY = TopologyPlan(name="gke", levels=("cloud.google.com/gce-topology-block", "kubernetes.io/hostname"))
DWS_CONFIG = ProvisioningConfigPlan(
    name="dws-config",
    managed_resources=(TPU,),
    parameters={"tpu-topology": "4x4"},
    max_run_seconds=86400,
    merge_policy="IdenticalWorkloadSchedulingRequirements",
)
DWS = AdmissionCheckPlan(name="dws-prov", parameters=ParametersPlan(kind=PROVISIONING_CONFIG, name="dws-config"))


def flavor(name: str = "v5e", *, labels: dict[str, str] | None = None, tolerated: bool = True) -> FlavorPlan:
    """A flavor of 24 v5e chips in slices of 8."""
    return FlavorPlan(
        name=name,
        resource=TPU,
        noun="chips",
        node_labels={"cloud.google.com/gke-tpu-topology": "2x4"} if labels is None else labels,
        tolerations=TOLERATIONS if tolerated else (),
        capacity=Bounds(min=24, max=24),
        unit=8,
        promised=16,
        oversubscription=1.0,
        oversubscription_reason=None,
        pools=(name,),
    )


def quotas(name: str, chips: int, *, borrow: int | None = 8, lend: int | None = None) -> FlavorQuotasPlan:
    """Chips with 1.5 cpu and 3 GiB each; cpu and memory are borrowed as freely as chips."""
    amounts = {"cpu": 1500, "memory": 3 * GI, TPU: 1}
    return FlavorQuotasPlan(
        flavor=name,
        quotas=tuple(
            QuotaPlan(
                resource=resource,
                nominal=chips * each,
                borrowing_limit=None if borrow is None else borrow * each,
                lending_limit=None if lend is None else lend * each,
            )
            for resource, each in amounts.items()
        ),
    )


def door(team: str, queue: str, *, namespace: str | None = None) -> LocalQueuePlan:
    """A team's local queue named `train`, in the namespace of its name."""
    return LocalQueuePlan(name="train", namespace=namespace or team, cluster_queue=queue, team=team)


def queue(
    name: str = "vision-train",
    *,
    teams: tuple[str, ...] = ("vision",),
    cohort: str | None = "research",
    namespaces: tuple[str, ...] | None = ("vision",),
    flavors: tuple[FlavorQuotasPlan, ...] | None = None,
    preemption: PreemptionPlan = PREEMPTION,
    when_can_borrow: str | None = None,
    when_can_preempt: str | None = None,
) -> ClusterQueuePlan:
    """A cluster queue with one local queue for each of its teams."""
    return ClusterQueuePlan(
        name=name,
        teams=teams,
        cohort=cohort,
        queueing_strategy="BestEffortFIFO",
        namespaces=namespaces,
        covered_resources=COVERED,
        flavors=flavors or (quotas("v5e", 8), quotas("v5e-spot", 0, borrow=16)),
        preemption=preemption,
        when_can_borrow=when_can_borrow,
        when_can_preempt=when_can_preempt,
        priority=None,
        local_queues=tuple(door(team, name) for team in teams),
    )


ISOLATION = IsolationPlan(
    pod_security="baseline",
    pod_security_warning="restricted",
    egress=(EgressPlan(cidr="0.0.0.0/0", ports=(443,), besides=("10.0.0.0/8",)),),
    service_range="10.44.0.0/20",
    accelerators={"google.com/tpu": 16, "nvidia.com/gpu": 0},
    requests_cpu=100,
    requests_memory=128 * 2**20,
)


def team(name: str = "vision", *, owns_namespace: bool = True, impersonates: bool = True) -> TeamPlan:
    """A team whose pods have an identity."""
    email = f"wi-{name}@acme-ml-dev.iam.gserviceaccount.com"
    account = ServiceAccountPlan(account_id=f"wi-{name}", display_name=name, email=email, roles=())
    return TeamPlan(
        name=name,
        namespaces=(NamespacePlan(name=name, owned=owns_namespace),),
        isolation=ISOLATION,
        identity=IdentityPlan(
            service_account=f"{name}-pods",
            members=(f"serviceAccount:{email}",),
            impersonates=account if impersonates else None,
            roles=("roles/artifactregistry.reader",),
            buckets={"acme-data": "roles/storage.objectUser"},
            secrets=(SecretPlan(file="token", project="acme-ml-dev", secret="hf", version="latest"),),
        ),
        groups=(f"{name}@acme.example",),
        local_queues=(door(name, f"{name}-train"),),
        guaranteed={"v5e": 8},
        ceiling={"v5e": 16},
        labels={"cost-centre": "a1"},
    )


def priority(name: str = "high", value: int = 20, *, default: bool = False, preempts: bool = True) -> PriorityPlan:
    """A priority; without a description when it is the default."""
    return PriorityPlan(
        name=name, value=value, default=default, preempts=preempts, description="" if default else "urgent work"
    )


def fleet(names: Iterable[str] = ("vision", "speech")) -> FleetPlan:
    """A fleet of such teams, with all that has a manifest; it has no cluster, which no manifest reads."""
    known = tuple(names)
    return FleetPlan(
        stack="dev",
        project="acme-ml-dev",
        region="us-central1",
        services=(),
        cluster=cast("ClusterPlan", None),
        system_pool=None,
        reservations=(),
        pools=(),
        charts=(),
        flavors=(flavor(), flavor("v5e-spot")),
        priorities=(priority("low", 10, default=True, preempts=False), priority()),
        cohorts=(CohortPlan(name="research", parent=None), CohortPlan(name="labs", parent="research")),
        cluster_queues=tuple(queue(f"{name}-train", teams=(name,), namespaces=(name,)) for name in known),
        teams=tuple(team(name) for name in known),
        labels={},
    )


def full_queue() -> ClusterQueuePlan:
    """A cluster queue that says everything a cluster queue can say."""
    return replace(
        queue(when_can_borrow="TryNextFlavor", when_can_preempt="TryNextFlavor"),
        preference="PreemptionOverBorrowing",
        admission_checks=(
            QueueCheckPlan(name="dws-prov", on_flavors=("v5e-spot", "v5e")),
            QueueCheckPlan(name="budget"),
        ),
        admission_mode="UsageBasedAdmissionFairSharing",
        stop_policy="HoldAndDrain",
        fair_share_weight=0.5,
        local_queues=(replace(door("vision", "vision-train"), stop_policy="Hold"),),
    )


def full_cohort() -> CohortPlan:
    """A cohort with quotas of its own below another."""
    group = ResourceGroupPlan(covered_resources=COVERED, flavors=(quotas("v5e", 8, borrow=16, lend=24),))
    return CohortPlan(name="labs", parent="research", fair_share_weight=2.0, resource_groups=(group,))


def full_fleet() -> FleetPlan:
    """The fleet with all that may be left out."""
    return replace(
        fleet(()),
        topologies=(TOPOLOGY,),
        flavors=(replace(flavor(), topology="gke"), flavor("v5e-spot")),
        provisioning_configs=(DWS_CONFIG,),
        admission_checks=(DWS, AdmissionCheckPlan(name="budget", controller="acme.com/budget")),
        cohorts=(CohortPlan(name="research", parent=None), full_cohort()),
        cluster_queues=(full_queue(),),
    )
