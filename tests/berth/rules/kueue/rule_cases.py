"""Fleets that each break one rule of Kueue, and the expected messages; a case's first words name the rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from berth.plan.admission_checks import (
    MULTIKUEUE,
    MULTIKUEUE_CONFIG,
    PROVISIONING_CONFIG,
    AdmissionCheckPlan,
    ParametersPlan,
    ProvisioningConfigPlan,
    RetryPlan,
)
from berth.plan.configuration import AdmissionFairSharingPlan, ConfigurationPlan
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import (
    ChartPlan,
    CohortPlan,
    QueueCheckPlan,
    TopologyPlan,
)
from tests.components.kueue import plans

HOST = "kubernetes.io/hostname"
TOPOLOGY = TopologyPlan(name="gke", levels=("cloud.google.com/gce-topology-block", HOST))
CONFIG = ProvisioningConfigPlan(name="dws", managed_resources=(plans.TPU,))
CHECK = AdmissionCheckPlan(name="dws", parameters=ParametersPlan(kind=PROVISIONING_CONFIG, name="dws"))
REMOTE = AdmissionCheckPlan(
    name="remote", controller=MULTIKUEUE, parameters=ParametersPlan(kind=MULTIKUEUE_CONFIG, name="remote")
)
CHART = ChartPlan(name="kueue", chart="oci://kueue", version="0.19.2", namespace="kueue-system", values={})
ON_SPOT = QueueCheckPlan(name="dws", on_flavors=("v5e-spot",))


def sound() -> FleetPlan:
    """A fleet with everything that has rules, and none broken: two flavors, a queue with a check, a cohort."""
    queue = replace(plans.queue(), admission_checks=(ON_SPOT,), stop_policy="Hold")
    return replace(
        plans.fleet(()),
        cluster_queues=(queue,),
        topologies=(TOPOLOGY,),
        flavors=(replace(plans.flavor(), topology="gke"), plans.flavor("v5e-spot")),
        provisioning_configs=(CONFIG,),
        admission_checks=(CHECK, REMOTE),
        kueue=ConfigurationPlan(),
        charts=(CHART,),
    )


WEIGHED = replace(plans.door("vision", "vision-train"), fair_share_weight=2.0)


def by_usage(**sharing: Any) -> FleetPlan:
    """A fleet whose local queues take turns by past use."""
    kueue = ConfigurationPlan(admission_fair_sharing=AdmissionFairSharingPlan(**sharing))
    return replace(of_queue(admission_mode="UsageBasedAdmissionFairSharing"), kueue=kueue)


@dataclass(frozen=True)
class Case:
    """What the rule is, its code, a fleet that breaks it, and every line that is then said."""

    claim: str
    code: str
    fleet: FleetPlan
    lines: tuple[str, ...]


def of_queue(**changes: Any) -> FleetPlan:
    return replace(sound(), cluster_queues=(replace(sound().cluster_queues[0], **changes),))


def of_cohort(parent: str | None = "research", **changes: Any) -> FleetPlan:
    cohort = CohortPlan(name="labs", parent=parent, **changes)
    return replace(sound(), cohorts=(CohortPlan(name="research", parent=None), cohort))


def of_config(**changes: Any) -> FleetPlan:
    return replace(sound(), provisioning_configs=(replace(CONFIG, **changes),))


def of_check(parameters: ParametersPlan | None, **changes: Any) -> FleetPlan:
    return replace(sound(), admission_checks=(replace(CHECK, parameters=parameters, **changes), REMOTE))


def case(claim: str, code: str, fleet: FleetPlan, *lines: str) -> Case:
    return Case(claim, code, fleet, lines)


QUEUE, CONFIGURED = "cluster queue vision-train: ", "provisioning config dws: "
SUBDOMAIN = "lower-case letters, digits, '-' and '.', at most 253 characters"
KEY = "write a name of at most 63 characters, such as a-b or example.com/a-b"

QUEUES = (
    case(
        "a preference wants all flavors to be tried",
        "preference-of-few",
        of_queue(preference="BorrowingOverPreemption"),
        QUEUE + "flavorFungibility.preference: 'BorrowingOverPreemption' chooses among all flavors; write "
        "TryNextFlavor for both whenCanBorrow (now MayStopSearch) and whenCanPreempt (now "
        "TryNextFlavor)",
    ),
    case(
        "a weight is zero or well above it",
        "bad-weight",
        replace(of_queue(fair_share_weight=1e-9), kueue=None),
        QUEUE + "fairShareWeight: '1e-09' is not a weight; write 0 (always last) or a number above 0.000000001",
    ),
    case(
        "a weight has nine decimals at most",
        "bad-weight",
        replace(of_queue(fair_share_weight=0.1234567891), kueue=None),
        QUEUE + "fairShareWeight: '0.1234567891' has more decimals than Kubernetes keeps; write at most 9 decimals",
    ),
    case(
        "a cohort's weight is zero or well above it",
        "bad-weight",
        replace(of_cohort(fair_share_weight=1e-9), kueue=None),
        "cohort labs: fairShareWeight: '1e-09' is not a weight; write 0 (always last) or a number above 0.000000001",
    ),
    case(
        "a root shares with nobody",
        "weight-of-root",
        of_cohort(parent=None, fair_share_weight=2.0),
        "warning: cohort labs: fairShareWeight: '2' has no effect on a root cohort, which shares with no "
        "other cohort; remove fairShareWeight",
    ),
)

CHECKS = (
    case(
        "an admission check has a name",
        "bad-name",
        replace(sound(), admission_checks=(CHECK, replace(REMOTE, name="Remote"))),
        f"admission check Remote: name: 'Remote' is not a valid name of an admission check: {SUBDOMAIN}",
    ),
    case(
        "a check names its config in 63 characters",
        "bad-parameters-name",
        replace(
            of_check(ParametersPlan(kind=PROVISIONING_CONFIG, name="x" * 64)),
            provisioning_configs=(replace(CONFIG, name="x" * 64),),
        ),
        f"admission check dws: parameters.name: '{'x' * 64}' is not a name that an admission check can refer to: "
        "at most 63 lower-case letters, digits and '-'; write such a name",
    ),
    case(
        "a provisioning config has a name",
        "bad-name",
        replace(sound(), provisioning_configs=(CONFIG, replace(CONFIG, name="A"))),
        f"provisioning config A: name: 'A' is not a valid name of a provisioning config: {SUBDOMAIN}",
    ),
    case(
        "a hundred resources are managed at most, each once",
        "bad-managed-resources",
        of_config(managed_resources=(plans.TPU, *(f"r{n}" for n in range(99)), "a b", "r0")),
        CONFIGURED + "managedResources: '102' managed resources are more than Kueue's maximum of 100; name fewer",
        CONFIGURED + "managedResources[101]: managed resource 'r0' is listed twice; write it once",
        f"{CONFIGURED}managedResources[100]: 'a b' is not a resource name; {KEY}",
    ),
    case(
        "retries and pauses are not below zero",
        "bad-retry",
        of_config(retry=RetryPlan(limit_count=-1, base_seconds=-60, max_seconds=2**31)),
        CONFIGURED + "retryStrategy.backoffLimitCount: '-1' is out of range; write 0 to 2147483647",
        CONFIGURED + "retryStrategy.backoffBaseSeconds: '-60' is out of range; write 0 to 2147483647",
        CONFIGURED + "retryStrategy.backoffMaxSeconds: '2147483648' is out of range; write 0 to 2147483647",
    ),
    case(
        "the longest pause is no shorter than the first",
        "bad-retry",
        of_config(retry=RetryPlan(max_seconds=30)),
        CONFIGURED + "retryStrategy.backoffMaxSeconds: '30' is below backoffBaseSeconds, 60; write at least 60",
    ),
)

BETWEEN = (
    case(
        "fair sharing leaves no room for preempting to borrow",
        "borrow-with-fair-sharing",
        replace(sound(), kueue=ConfigurationPlan(fair_sharing=("LessThanInitialShare",))),
        QUEUE + "preemption.borrowWithinCohort: 'LowerPriority' cannot be combined with fair sharing, where "
        "shares decide what is preempted; remove borrowWithinCohort",
    ),
    case(
        "weights count with fair sharing alone",
        "weight-without-fair-sharing",
        replace(of_cohort(fair_share_weight=0.5), cluster_queues=of_queue(fair_share_weight=2.0).cluster_queues),
        "warning: "
        + QUEUE
        + "fairShareWeight: '2' has no effect without kueue.fairSharing; write kueue.fairSharing, or "
        "remove fairShareWeight",
        "warning: cohort labs: fairShareWeight: '0.5' has no effect without kueue.fairSharing; write "
        "kueue.fairSharing, or remove fairShareWeight",
    ),
    case(
        "use counts with admission fair sharing alone",
        "mode-without-admission-fair-sharing",
        of_queue(admission_mode="UsageBasedAdmissionFairSharing"),
        "warning: " + QUEUE + "admissionScope.admissionMode: 'UsageBasedAdmissionFairSharing' has no effect "
        "without kueue.admissionFairSharing; write kueue.admissionFairSharing, or remove admissionScope",
    ),
    case(
        "use that is forgotten at once decides nothing",
        "mode-without-admission-fair-sharing",
        by_usage(half_life_seconds=0, resource_weights={"memory": 0}),
        "warning: " + QUEUE + "admissionScope.admissionMode: 'UsageBasedAdmissionFairSharing' has no effect with "
        "usageHalfLifeTime: 0s, which keeps no past use; write a time such as usageHalfLifeTime: 12h, or remove "
        "admissionScope",
    ),
    case(
        "bytes of memory outweigh everything else",
        "memory-decides",
        by_usage(half_life_seconds=3600),
        "warning: "
        + QUEUE
        + "admissionScope.admissionMode: 'UsageBasedAdmissionFairSharing' counts a byte of memory as "
        "much as one google.com/tpu, so memory alone decides; write "
        "kueue.admissionFairSharing.resourceWeights: {memory: 0}",
    ),
    case(
        "weights of local queues count where they take turns",
        "weight-without-fair-sharing",
        of_queue(local_queues=(WEIGHED,)),
        "warning: " + QUEUE + "localQueueWeights: '2' has no effect where local queues do not take turns by past use; "
        "write admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}, or remove localQueueWeights",
    ),
)

ALL = (*QUEUES, *CHECKS, *BETWEEN)
