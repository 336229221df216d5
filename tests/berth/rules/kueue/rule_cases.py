"""Fleets that each break one rule of Kueue, and what is said of it; a case's first words are the rule it claims."""

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
    SelectorUpdatePlan,
)
from berth.plan.configuration import ConfigurationPlan
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.kueue import (
    ChartPlan,
    CohortPlan,
    FlavorQuotasPlan,
    QueueCheckPlan,
    QuotaPlan,
    ResourceGroupPlan,
    TopologyPlan,
)
from berth.plan.nodes import Taint, Toleration
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


@dataclass(frozen=True)
class Case:
    """What the rule is, its code, a fleet that breaks it, and every line that is then said."""

    claim: str
    code: str
    fleet: FleetPlan
    lines: tuple[str, ...]


def of_flavor(**changes: Any) -> FleetPlan:
    first, *others = sound().flavors
    return replace(sound(), flavors=(replace(first, **changes), *others))


def of_topology(*levels: str, name: str = "gke") -> FleetPlan:
    flavors = tuple(replace(f, topology=name if f.topology else None) for f in sound().flavors)
    return replace(sound(), topologies=(TopologyPlan(name=name, levels=levels),), flavors=flavors)


def of_queue(**changes: Any) -> FleetPlan:
    return replace(sound(), cluster_queues=(replace(sound().cluster_queues[0], **changes),))


def of_preemption(**changes: Any) -> FleetPlan:
    return of_queue(preemption=replace(plans.PREEMPTION, **changes))


def of_quota(**changes: Any) -> FleetPlan:
    """A queue of one flavor whose chips have another quota."""
    entry = plans.quotas("v5e", 8)
    quotas = (*entry.quotas[:-1], replace(entry.quotas[-1], **changes))
    return of_queue(flavors=(replace(entry, quotas=quotas), plans.quotas("v5e-spot", 0)))


def of_door(**changes: Any) -> FleetPlan:
    return of_queue(local_queues=(replace(plans.door("vision", "vision-train"), **changes),))


def of_cohort(*groups: ResourceGroupPlan, parent: str | None = "research", **changes: Any) -> FleetPlan:
    cohort = CohortPlan(name="labs", parent=parent, resource_groups=groups, **changes)
    return replace(sound(), cohorts=(CohortPlan(name="research", parent=None), cohort))


def of_config(**changes: Any) -> FleetPlan:
    return replace(sound(), provisioning_configs=(replace(CONFIG, **changes),))


def of_check(parameters: ParametersPlan | None, **changes: Any) -> FleetPlan:
    return replace(sound(), admission_checks=(replace(CHECK, parameters=parameters, **changes), REMOTE))


def of_priority(**changes: Any) -> FleetPlan:
    return replace(sound(), priorities=(replace(plans.priority(), **changes),))


def group(covered: tuple[str, ...], *flavors: str, **quota: int) -> ResourceGroupPlan:
    """A resource group with the same quota everywhere."""
    given = {"nominal": 1, "borrowing_limit": None, "lending_limit": None} | quota
    quotas = tuple(QuotaPlan(resource=each, **given) for each in covered)
    return ResourceGroupPlan(
        covered_resources=covered, flavors=tuple(FlavorQuotasPlan(flavor=f, quotas=quotas) for f in flavors)
    )


def wide(resources: int, flavors: int) -> FleetPlan:
    """A queue of so many resources and flavors, all known."""
    covered = ("cpu", "memory", *(f"example.com/r{n}" for n in range(resources - 2)))
    made = group(covered, *(f"f{n}" for n in range(flavors)))
    known = tuple(plans.flavor(f"f{n}") for n in range(flavors))
    fleet = of_queue(covered_resources=covered, flavors=made.flavors, admission_checks=())
    return replace(fleet, flavors=known, topologies=())


def tolerating(**changes: Any) -> FleetPlan:
    return of_flavor(tolerations=(replace(plans.TOLERATIONS[0], **changes),))


def tainted(*taints: tuple[str, str, str]) -> FleetPlan:
    return of_flavor(node_taints=tuple(Taint(key=key, value=value, effect=effect) for key, value, effect in taints))


def updating(key: str = "a", detail: str = "ResizeRequestName", times: int = 1) -> FleetPlan:
    return of_config(selector_updates=(SelectorUpdatePlan(key=key, detail=detail),) * times)


def pool(flavor: str, capacity: str) -> PoolPlan:
    """A pool of one flavor and capacity; what else it is no rule of Kueue reads."""
    given: dict[str, Any] = dict.fromkeys(PoolPlan.__struct_fields__)
    given |= {"name": flavor, "flavor": flavor, "capacity": capacity}
    return PoolPlan(**given)


def case(claim: str, code: str, fleet: FleetPlan, *lines: str) -> Case:
    return Case(claim, code, fleet, lines)


QUEUE, FLAVOR, CONFIGURED, DOOR = (
    "cluster queue vision-train: ",
    "flavor v5e: ",
    "provisioning config dws: ",
    "local queue vision/train: ",
)
SUBDOMAIN = "lower-case letters, digits, '-' and '.', 253 at most"
KEY = "write a name such as a-b or example.com/a-b, 63 characters at most"
VALUE = "63 letters, digits, '-', '_' and '.' at most"

FLAVORS = (
    case(
        "a flavor selects by eight labels at most",
        "too-many-node-labels",
        of_flavor(node_labels={f"l{n}": "x" for n in range(9)}),
        FLAVOR + "nodeLabels: '9' node labels are more than the 8 that Kueue takes; select by fewer",
    ),
    case(
        "a flavor's labels are labels",
        "bad-node-label",
        of_flavor(node_labels={"a b": "x", "c": "é"}),
        f"{FLAVOR}nodeLabels.\"a b\": 'a b' is no label key: {KEY}",
        f"{FLAVOR}nodeLabels.c: 'é' is no label value: {VALUE}",
    ),
    case(
        "a flavor has eight tolerations at most",
        "too-many-tolerations",
        of_flavor(tolerations=tuple(Toleration(key=f"k{n}", operator="Exists", effect="") for n in range(9))),
        FLAVOR + "tolerations: '9' tolerations are more than the 8 that Kueue takes; "
        "give fewer nodes taints of their own",
    ),
    case(
        "a toleration compares or takes any value",
        "bad-toleration-operator",
        tolerating(operator="Exist", value=None),
        FLAVOR + "tolerations[0].operator: 'Exist' is no value of Kueue's; did you mean 'Exists'?",
    ),
    case(
        "a toleration is of one of three effects",
        "bad-toleration-effect",
        tolerating(effect="NO_SCHEDULE"),
        FLAVOR + "tolerations[0].effect: 'NO_SCHEDULE' is no value of Kueue's; did you mean 'NoSchedule'?",
    ),
    case(
        "a toleration of every taint says so with Exists",
        "bad-toleration-key",
        tolerating(key=""),
        FLAVOR
        + "tolerations[0].key: '' tolerates every taint: Kueue takes that with operator Exists alone, not 'Equal'",
    ),
    case(
        "a toleration's key is a label's",
        "bad-toleration-key",
        tolerating(key="a b"),
        f"{FLAVOR}tolerations[0].key: 'a b' is no taint key: {KEY}",
    ),
    case(
        "a toleration of any value names none",
        "toleration-value-with-exists",
        tolerating(operator="Exists"),
        FLAVOR + "tolerations[0].value: 'present' stands beside operator Exists, which takes no value; write Equal",
    ),
    case(
        "a flavor's nodes have eight taints at most",
        "too-many-node-taints",
        tainted(*((f"k{n}", "x", "NoSchedule") for n in range(9))),
        FLAVOR + "nodeTaints: '9' node taints are more than the 8 that Kueue takes; name fewer",
    ),
    case(
        "a node taint has a key, a value and an effect",
        "bad-node-taint",
        tainted(("", "a b", "")),
        f"{FLAVOR}nodeTaints[0].key: '' is no taint key: {KEY}",
        f"{FLAVOR}nodeTaints[0].value: 'a b' is no label value: {VALUE}",
        FLAVOR + "nodeTaints[0].effect: '' is no value of Kueue's; write NoSchedule, PreferNoSchedule or NoExecute",
    ),
    case(
        "a node has a taint of one key and effect once",
        "node-taint-twice",
        tainted(("a", "x", "NoSchedule"), ("a", "y", "NoSchedule"), ("a", "y", "NoExecute")),
        FLAVOR + "nodeTaints[1]: taint 'a:NoSchedule' is here twice; write it once",
    ),
    case(
        "a flavor with a topology selects its nodes by a label",
        "topology-without-labels",
        of_flavor(node_labels={}),
        FLAVOR + "topology: 'gke': a flavor with a topology selects its nodes; give it a label",
    ),
    case(
        "a flavor names a topology by a name that one can have",
        "bad-topology-reference",
        of_topology(HOST, name="GKE"),
        f"topology GKE: name: 'GKE' is no name for a topology: {SUBDOMAIN}",
        f"{FLAVOR}topology: 'GKE' is no name for a topology: {SUBDOMAIN}",
    ),
    case(
        "a flavor has a name",
        "bad-name",
        replace(sound(), flavors=(*sound().flavors, plans.flavor("V5e"))),
        f"flavor V5e: name: 'V5e' is no name for a flavor: {SUBDOMAIN}",
    ),
    case(
        "a topology has a level",
        "bad-level-count",
        of_topology(),
        "topology gke: levels: '[]' has no level; Kueue wants one at least",
    ),
    case(
        "a topology has sixteen levels at most",
        "bad-level-count",
        of_topology(*(f"l{n}" for n in range(17))),
        "topology gke: levels: '17' levels are more than the 16 that Kueue takes; name fewer",
    ),
    case(
        "a topology's level is a label",
        "bad-level",
        of_topology("a b", "a" * 317),
        f"topology gke: levels[0]: 'a b' is no node label: {KEY}",
        f"topology gke: levels[1]: '{'a' * 77}...' is longer than the 316 characters that Kueue takes",
    ),
    case(
        "a topology has each level once",
        "level-twice",
        of_topology("a", "b", "a"),
        "topology gke: levels[2]: level 'a' is here twice; write it once",
    ),
    case(
        "nothing is below a host",
        "hostname-not-lowest",
        of_topology(HOST, "a"),
        "topology gke: levels[0]: 'kubernetes.io/hostname' is one node; nothing is below it, so write it last",
    ),
)

QUOTAS = (
    case(
        "a group covers 64 resources at most",
        "group-too-large",
        wide(65, 1),
        QUEUE + "coveredResources: '65' resources of one group are more than the 64 that Kueue takes; cover fewer",
    ),
    case(
        "a group has 64 flavors at most",
        "group-too-large",
        wide(2, 65),
        QUEUE + "flavors: '65' flavors of one group are more than the 64 that Kueue takes; name fewer",
    ),
    case(
        "a group covers something and has a flavor",
        "group-empty",
        of_cohort(ResourceGroupPlan(covered_resources=(), flavors=())),
        "cohort labs: resourceGroups[0].coveredResources: '[]' covers nothing; Kueue wants a resource in each group",
        "cohort labs: resourceGroups[0].flavors: '[]' has no quota; Kueue wants a flavor in each group",
    ),
    case(
        "a cohort has sixteen groups at most",
        "too-many-groups",
        replace(
            of_cohort(*(group((f"r{n}",), f"f{n}") for n in range(17))),
            flavors=(*sound().flavors, *(plans.flavor(f"f{n}") for n in range(17))),
        ),
        "cohort labs: resourceGroups: '17' resource groups are more than the 16 that Kueue takes; join some",
    ),
    case(
        "a group of a queue has 512 quotas at most",
        "too-many-pairs",
        wide(9, 57),
        QUEUE + "flavors: '513' quotas in one group are more than the 512 that Kueue takes; "
        "name fewer flavors, or make several cluster queues",
    ),
    case(
        "a resource has a qualified name",
        "bad-resource-name",
        of_cohort(group(("a b",), "v5e")),
        f"cohort labs: resourceGroups[0].coveredResources: 'a b' is no resource name: {KEY}",
    ),
    case(
        "a resource is in one group, once",
        "resource-twice",
        of_cohort(group(("cpu",), "v5e"), group(("cpu",), "v5e-spot")),
        "cohort labs: resourceGroups[1].coveredResources: resource 'cpu' is covered twice; "
        "a resource is in one group, once",
    ),
    case(
        "a flavor in a quota is named as one can be",
        "bad-flavor-name",
        replace(of_cohort(group(("cpu",), "V5e")), flavors=(*sound().flavors, plans.flavor("V5e"))),
        f"flavor V5e: name: 'V5e' is no name for a flavor: {SUBDOMAIN}",
        f"cohort labs: resourceGroups[0].flavors[0]: 'V5e' is no name for a flavor: {SUBDOMAIN}",
    ),
    case(
        "a flavor is in one group, once",
        "flavor-twice",
        of_cohort(group(("cpu",), "v5e"), group(("memory",), "v5e")),
        "cohort labs: resourceGroups[1].flavors[0]: flavor 'v5e' is here twice; a flavor is in one group, once",
    ),
    case(
        "quotas stand in the order of the covered resources",
        "quota-order",
        of_queue(
            covered_resources=("memory", "cpu", plans.TPU), flavors=(plans.quotas("v5e", 8),), admission_checks=()
        ),
        QUEUE + "flavors[0]: 'cpu, memory, google.com/tpu' are not the covered resources in their order; "
        "Kueue wants memory, cpu, google.com/tpu",
    ),
    case(
        "every covered resource has a quota",
        "quota-order",
        of_queue(
            flavors=(replace(plans.quotas("v5e", 8), quotas=plans.quotas("v5e", 8).quotas[:2]),), admission_checks=()
        ),
        QUEUE + "flavors[0]: 'cpu, memory' are not the covered resources in their order; "
        "Kueue wants cpu, memory, google.com/tpu",
    ),
    case(
        "a quota is not below zero",
        "bad-quota",
        of_quota(nominal=-8),
        QUEUE + "flavors[0].guaranteed: '-8' google.com/tpu is no quota; write 0 to 9223372036854775807",
    ),
    case(
        "a quota is what Kubernetes can count",
        "bad-quota",
        of_quota(borrowing_limit=2**63),
        QUEUE + "flavors[0].borrow: '9223372036854775808' google.com/tpu is no quota; write 0 to 9223372036854775807",
    ),
    case(
        "nothing is borrowed or lent without a cohort",
        "limit-without-cohort",
        of_queue(
            cohort=None,
            flavors=(plans.quotas("v5e", 0, borrow=8),),
            covered_resources=plans.COVERED,
            admission_checks=(),
        ),
        QUEUE + "flavors[0].borrow: '12000' cpu: there is nobody to borrow with; name a cohort",
        QUEUE + f"flavors[0].borrow: '{24 * plans.GI}' memory: there is nobody to borrow with; name a cohort",
        QUEUE + "flavors[0].borrow: '8' google.com/tpu: there is nobody to borrow with; name a cohort",
    ),
    case(
        "a cohort without a parent neither borrows nor lends",
        "limit-without-cohort",
        of_cohort(group(("cpu",), "v5e", lending_limit=1), parent=None),
        "cohort labs: resourceGroups[0].flavors[0].lend: '1' cpu: there is nobody to lend with; name a parent",
    ),
    case(
        "a queue lends no more than it is guaranteed",
        "lend-above-nominal",
        of_quota(lending_limit=9),
        QUEUE + "flavors[0].lend: '9' google.com/tpu is more than the 8 there are to lend",
    ),
)

QUEUES = (
    case(
        "a cluster queue has a name",
        "bad-name",
        of_queue(name="Train", local_queues=()),
        f"cluster queue Train: name: 'Train' is no name for a cluster queue: {SUBDOMAIN}",
    ),
    case(
        "a queue's cohort has a name",
        "bad-cohort-reference",
        of_queue(cohort="Research"),
        f"{QUEUE}cohort: 'Research' is no name for a cohort: {SUBDOMAIN}",
    ),
    case(
        "a queue admits from namespaces",
        "bad-namespace",
        of_queue(namespaces=("a.b",)),
        QUEUE + "namespaces: 'a.b' is no namespace: 63 lower-case letters, digits and '-' at most",
    ),
    case(
        "a queue is strict or makes the best of it",
        "bad-strategy",
        of_queue(queueing_strategy="FIFO"),
        QUEUE + "queueingStrategy: 'FIFO' is no value of Kueue's; write BestEffortFIFO or StrictFIFO",
    ),
    case(
        "a queue is held or drained",
        "bad-stop-policy",
        of_queue(stop_policy="Drain"),
        QUEUE + "stopPolicy: 'Drain' is no value of Kueue's; write None, Hold or HoldAndDrain",
    ),
    case(
        "preemption is one of Kueue's",
        "bad-preemption",
        of_preemption(within_cluster_queue="Any", reclaim_within_cohort="Always", borrow_within_cohort="Any"),
        QUEUE + "preemption.withinClusterQueue: 'Any' is no value of Kueue's; "
        "write Never, LowerPriority or LowerOrNewerEqualPriority",
        QUEUE + "preemption.reclaimWithinCohort: 'Always' is no value of Kueue's; write Never, LowerPriority or Any",
        QUEUE + "preemption.borrowWithinCohort: 'Any' is no value of Kueue's; write Never or LowerPriority",
    ),
    case(
        "a threshold is a priority",
        "bad-threshold",
        of_preemption(max_priority_threshold=2**31),
        QUEUE + "preemption.borrowWithinCohort.maxPriorityThreshold: '2147483648' is no priority; "
        "write -2147483648 to 2147483647",
    ),
    case(
        "who preempts to borrow also takes back",
        "borrow-without-reclaim",
        of_preemption(reclaim_within_cohort="Never"),
        QUEUE + "preemption.borrowWithinCohort: 'LowerPriority' needs reclaimWithinCohort other than Never: "
        "LowerPriority or Any",
    ),
    case(
        "flavors are tried in one of two ways",
        "bad-fungibility",
        of_queue(when_can_borrow="Borrow", when_can_preempt="Preempt", preference=None),
        QUEUE
        + "flavorFungibility.whenCanBorrow: 'Borrow' is no value of Kueue's; write MayStopSearch or TryNextFlavor",
        QUEUE + "flavorFungibility.whenCanPreempt: 'Preempt' is no value of Kueue's; "
        "write MayStopSearch or TryNextFlavor",
    ),
    case(
        "a preference is one of two",
        "bad-fungibility",
        of_queue(when_can_borrow="TryNextFlavor", preference="Neither"),
        QUEUE + "flavorFungibility.preference: 'Neither' is no value of Kueue's; "
        "write BorrowingOverPreemption or PreemptionOverBorrowing",
    ),
    case(
        "a preference wants all flavors to be tried",
        "preference-of-few",
        of_queue(preference="BorrowingOverPreemption"),
        QUEUE + "flavorFungibility.preference: 'BorrowingOverPreemption' chooses among all flavors, so whenCanBorrow "
        "(MayStopSearch) and whenCanPreempt (TryNextFlavor) must both be TryNextFlavor",
    ),
    case(
        "a weight is not below zero",
        "bad-weight",
        replace(of_queue(fair_share_weight=-1.0), kueue=None),
        QUEUE + "fairShareWeight: '-1' is no weight; write 0 (never ahead of anybody) or a number above 0.000000001",
    ),
    case(
        "a weight is zero or well above it",
        "bad-weight",
        replace(of_queue(fair_share_weight=1e-9), kueue=None),
        QUEUE + "fairShareWeight: '1e-09' is no weight; write 0 (never ahead of anybody) or a number above 0.000000001",
    ),
    case(
        "a weight has nine decimals at most",
        "bad-weight",
        replace(of_queue(fair_share_weight=0.1234567891), kueue=None),
        QUEUE + "fairShareWeight: '0.1234567891' has more decimals than Kubernetes keeps; write nine at most",
    ),
    case(
        "an admission mode is one of two",
        "bad-admission-mode",
        of_queue(admission_mode="Fair"),
        QUEUE + "admissionScope.admissionMode: 'Fair' is no value of Kueue's; "
        "write UsageBasedAdmissionFairSharing or NoAdmissionFairSharing",
    ),
    case(
        "a queue has 64 checks at most",
        "too-many-checks",
        replace(
            of_queue(admission_checks=tuple(replace(ON_SPOT, name=f"c{n}") for n in range(65))),
            admission_checks=tuple(replace(CHECK, name=f"c{n}") for n in range(65)),
        ),
        QUEUE + "admissionChecks: '65' admission checks are more than the 64 that Kueue takes; name fewer",
    ),
    case(
        "a check is named",
        "bad-check-reference",
        replace(of_queue(admission_checks=(QueueCheckPlan(name=""),)), admission_checks=(replace(CHECK, name=""),)),
        f"admission check : name: '' is no name for an admission check: {SUBDOMAIN}",
        QUEUE + "admissionChecks[0]: '' is no check's name; it has 1 to 316 characters",
        "warning: "
        + QUEUE
        + "admissionChecks[0]: '' asks for new nodes on every flavor (v5e, v5e-spot); write onFlavors",
    ),
    case(
        "a queue has a check once",
        "check-twice",
        of_queue(admission_checks=(ON_SPOT, ON_SPOT)),
        QUEUE + "admissionChecks[1]: admission check 'dws' is here twice; write it once",
    ),
    case(
        "a check names a flavor once",
        "bad-check-flavors",
        of_queue(admission_checks=(replace(ON_SPOT, on_flavors=("v5e", "v5e")),)),
        QUEUE + "admissionChecks[0].onFlavors[1]: flavor 'v5e' is here twice; write it once",
    ),
    case(
        "a check names 64 flavors at most",
        "bad-check-flavors",
        of_queue(admission_checks=(replace(ON_SPOT, on_flavors=tuple(f"f{n}" for n in range(65))),)),
        QUEUE + "admissionChecks[0].onFlavors: '65' flavors of one check are more than the 64 that Kueue takes; "
        "name none, which means all",
        *(
            f"{QUEUE}admissionChecks[0].onFlavors[{n}]: flavor 'f{n}' is none of this queue's; it has v5e, v5e-spot"
            for n in range(65)
        ),
    ),
    case(
        "a check is on flavors of its queue",
        "check-on-foreign-flavor",
        of_queue(admission_checks=(replace(ON_SPOT, on_flavors=("v5e-spott",)),)),
        QUEUE + "admissionChecks[0].onFlavors[0]: flavor 'v5e-spott' is none of this queue's; did you mean 'v5e-spot'?",
    ),
    case(
        "a local queue's name fits into a label",
        "bad-name",
        of_door(name="x" * 64),
        f"local queue vision/{'x' * 64}: name: '{'x' * 64}' is no name for a local queue: "
        "jobs carry it as a label, 63 characters",
    ),
    case(
        "a local queue leads to a cluster queue",
        "bad-queue-reference",
        of_door(cluster_queue="Train"),
        f"{DOOR}clusterQueue: 'Train' is no name for a cluster queue: {SUBDOMAIN}",
        DOOR + "clusterQueue: no cluster queue 'Train', so Kueue keeps what names it inactive",
    ),
    case(
        "a local queue is in a namespace",
        "bad-namespace",
        of_door(namespace="a.b"),
        "local queue a.b/train: namespace: 'a.b' is no namespace: 63 lower-case letters, digits and '-' at most",
    ),
    case(
        "a local queue is held or drained",
        "bad-stop-policy",
        of_door(stop_policy="hold"),
        DOOR + "stopPolicy: 'hold' is no value of Kueue's; did you mean 'Hold'?",
    ),
    case(
        "a local queue's weight is not below zero",
        "bad-weight",
        replace(of_door(fair_share_weight=-2.0), kueue=None),
        DOOR + "fairShareWeight: '-2' is no weight; write 0 (never ahead of anybody) or a number above 0.000000001",
    ),
    case(
        "a cohort has a name",
        "bad-name",
        replace(sound(), cohorts=(CohortPlan(name="Labs", parent=None),)),
        f"cohort Labs: name: 'Labs' is no name for a cohort: {SUBDOMAIN}",
    ),
    case(
        "a cohort's parent has a name",
        "bad-parent-reference",
        of_cohort(parent="Research"),
        f"cohort labs: parent: 'Research' is no name for a cohort: {SUBDOMAIN}",
    ),
    case(
        "a cohort's weight is not below zero",
        "bad-weight",
        replace(of_cohort(fair_share_weight=-2.0), kueue=None),
        "cohort labs: fairShareWeight: '-2' is no weight; write 0 (never ahead of anybody) or a number above "
        "0.000000001",
    ),
    case(
        "a root shares with nobody",
        "weight-of-root",
        of_cohort(parent=None, fair_share_weight=2.0),
        "warning: cohort labs: fairShareWeight: '2' has no effect: there is nobody beside a root to share with; "
        "leave it out",
    ),
    case(
        "a priority's name fits into a label",
        "bad-name",
        of_priority(name="x" * 64),
        f"priority {'x' * 64}: name: '{'x' * 64}' is no name for a priority: jobs carry it as a label, 63 characters",
    ),
    case(
        "a priority is none of Kubernetes' own",
        "bad-name",
        of_priority(name="system-critical"),
        "priority system-critical: name: 'system-critical': Kubernetes keeps names that start with system- for itself",
    ),
    case(
        "a priority is a priority",
        "bad-priority",
        of_priority(value=10**9 + 1),
        "priority high: value: '1000000001' is no priority; write -2147483648 to 1000000000",
    ),
    case(
        "a priority is described in few words",
        "description-too-long",
        of_priority(description="x" * 2049),
        "priority high: description: '2049' characters are more than the 2048 that Kueue takes; write less",
    ),
)

CHECKS = (
    case(
        "an admission check has a name",
        "bad-name",
        replace(sound(), admission_checks=(CHECK, replace(REMOTE, name="Remote"))),
        f"admission check Remote: name: 'Remote' is no name for an admission check: {SUBDOMAIN}",
    ),
    case(
        "a check has a controller",
        "bad-controller",
        replace(sound(), admission_checks=(CHECK, replace(REMOTE, controller=""))),
        "admission check remote: controllerName: '' is no controller's name; it has 1 to 253 characters",
    ),
    case(
        "a check names its config in 63 characters",
        "bad-parameters-name",
        replace(
            of_check(ParametersPlan(kind=PROVISIONING_CONFIG, name="x" * 64)),
            provisioning_configs=(replace(CONFIG, name="x" * 64),),
        ),
        f"admission check dws: parameters.name: '{'x' * 64}' cannot be named by a check: 63 lower-case letters, "
        "digits and '-' at most; name the config otherwise",
    ),
    case(
        "a check's config is of a kind and a group",
        "bad-parameters-kind",
        replace(
            sound(),
            admission_checks=(
                CHECK,
                AdmissionCheckPlan(
                    name="own",
                    controller="acme.com/own",
                    parameters=ParametersPlan(kind="a b", name="x", api_group="A"),
                ),
            ),
        ),
        "admission check own: parameters.kind: 'a b' is no kind: 63 letters at most",
        "admission check own: parameters.apiGroup: 'A' is no API group; write one such as kueue.x-k8s.io",
    ),
    case(
        "a provisioning check has a config",
        "wrong-config-kind",
        of_check(None),
        "admission check dws: parameters: 'kueue.x-k8s.io/provisioning-request' stays inactive without parameters; "
        "name a ProvisioningRequestConfig",
    ),
    case(
        "a provisioning check's config is a provisioning config",
        "wrong-config-kind",
        of_check(ParametersPlan(kind=MULTIKUEUE_CONFIG, name="dws")),
        "admission check dws: parameters.kind: 'MultiKueueConfig' of kueue.x-k8s.io is no ProvisioningRequestConfig, "
        "which 'kueue.x-k8s.io/provisioning-request' takes",
    ),
    case(
        "a provisioning config has a name",
        "bad-name",
        replace(sound(), provisioning_configs=(CONFIG, replace(CONFIG, name="A"))),
        f"provisioning config A: name: 'A' is no name for a provisioning config: {SUBDOMAIN}",
    ),
    case(
        "a provisioning class has a name",
        "bad-provisioning-class",
        of_config(class_name=""),
        f"{CONFIGURED}provisioningClassName: '' is no provisioning class: {SUBDOMAIN}",
    ),
    case(
        "a class takes a hundred parameters at most",
        "bad-class-parameters",
        of_config(class_name="a.b", parameters={f"p{n}": "" for n in range(101)}),
        CONFIGURED + "parameters: '101' parameters are more than the 100 that Kueue takes; leave some out",
    ),
    case(
        "a parameter has 255 characters at most",
        "bad-class-parameters",
        of_config(class_name="a.b", parameters={"p": "x" * 256}),
        CONFIGURED + "parameters.p: '256' characters are more than the 255 that Kueue takes; write a shorter value",
    ),
    case(
        "queued provisioning knows three parameters",
        "unknown-class-parameter",
        of_config(parameters={"maxRunDuration": "600", "zone": "a"}),
        f"warning: {CONFIGURED}parameters.maxRunDuration: 'maxRunDuration' is no parameter of "
        "queued-provisioning.gke.io; did you mean 'maxRunDurationSeconds'?",
        f"warning: {CONFIGURED}parameters.zone: 'zone' is no parameter of queued-provisioning.gke.io; "
        "it knows maxRunDurationSeconds, capacitySearchStrategy, tpu-topology",
    ),
    case(
        "queued nodes stay seven days at most",
        "bad-run-duration",
        of_config(parameters={"maxRunDurationSeconds": "604801"}),
        CONFIGURED + "parameters.maxRunDurationSeconds: '604801' is no time in seconds for GKE's queued nodes; "
        "write 600 to 604800",
    ),
    case(
        "a run duration is a number of seconds",
        "bad-run-duration",
        of_config(parameters={"maxRunDurationSeconds": "7d"}),
        CONFIGURED + "parameters.maxRunDurationSeconds: '7d' is no number of seconds; "
        "write one without a unit, such as 86400",
    ),
    case(
        "a hundred resources are managed at most, each once",
        "bad-managed-resources",
        of_config(managed_resources=(plans.TPU, *(f"r{n}" for n in range(99)), "a b", "r0")),
        CONFIGURED + "managedResources: '102' managed resources are more than the 100 that Kueue takes; name fewer",
        CONFIGURED + "managedResources[101]: managed resource 'r0' is here twice; write it once",
        f"{CONFIGURED}managedResources[100]: 'a b' is no resource name: {KEY}",
    ),
    case(
        "pod sets are merged in one of two ways",
        "bad-merge-policy",
        of_config(merge_policy="Identical"),
        CONFIGURED + "podSetMergePolicy: 'Identical' is no value of Kueue's; did you mean 'IdenticalPodTemplates'?",
    ),
    case(
        "retries and pauses are not below zero",
        "bad-retry",
        of_config(retry=RetryPlan(limit_count=-1, base_seconds=-60, max_seconds=2**31)),
        CONFIGURED + "retryStrategy.backoffLimitCount: '-1' is no number of retries; write 0 to 2147483647",
        CONFIGURED + "retryStrategy.backoffBaseSeconds: '-60' is no pause in seconds; write 0 to 2147483647",
        CONFIGURED + "retryStrategy.backoffMaxSeconds: '2147483648' is no pause in seconds; write 0 to 2147483647",
    ),
    case(
        "the longest pause is no shorter than the first",
        "bad-retry",
        of_config(retry=RetryPlan(max_seconds=30)),
        CONFIGURED + "retryStrategy.backoffMaxSeconds: '30' is below backoffBaseSeconds, 60; write as much",
    ),
    case(
        "pods select by eight new labels at most, each once",
        "bad-selector-updates",
        updating(times=9),
        CONFIGURED
        + "podSetUpdates.nodeSelector: '9' labels to select by are more than the 8 that Kueue takes; name fewer",
        *(f"{CONFIGURED}podSetUpdates.nodeSelector[{n}]: label 'a' is here twice; write it once" for n in range(1, 9)),
    ),
    case(
        "a new label has a key and a detail to take its value from",
        "bad-selector-update",
        updating(key="a b", detail=""),
        f"{CONFIGURED}podSetUpdates.nodeSelector[0].key: 'a b' is no node label: {KEY}",
        CONFIGURED + "podSetUpdates.nodeSelector[0].valueFromProvisioningClassDetail: '' is no detail of a class: "
        "1 to 32768 characters",
    ),
    case(
        "a new label's key has 317 characters at most",
        "bad-selector-update",
        updating(key="a" * 318),
        f"{CONFIGURED}podSetUpdates.nodeSelector[0].key: '{'a' * 77}...' is longer than 317 characters",
    ),
)

BETWEEN = (
    case(
        "a queue's flavors exist",
        "flavor-not-found",
        of_queue(flavors=(plans.quotas("v5f", 8),), admission_checks=()),
        QUEUE + "flavors[0]: no flavor 'v5f', so Kueue keeps what names it inactive; did you mean 'v5e'?",
    ),
    case(
        "a cohort's flavors exist",
        "cohort-flavor-not-found",
        of_cohort(group(("cpu",), "h200")),
        "cohort labs: resourceGroups[0].flavors[0]: no flavor 'h200', so nobody can use this",
    ),
    case(
        "a flavor's topology exists",
        "topology-not-found",
        replace(sound(), topologies=()),
        FLAVOR + "topology: no topology 'gke', so Kueue keeps what names it inactive",
    ),
    case(
        "a queue's checks exist",
        "check-not-found",
        of_queue(admission_checks=(replace(ON_SPOT, name="dw"),)),
        QUEUE
        + "admissionChecks[0]: no admission check 'dw', so Kueue keeps what names it inactive; did you mean 'dws'?",
    ),
    case(
        "a check's config exists",
        "config-not-found",
        replace(sound(), provisioning_configs=()),
        "admission check dws: parameters.name: no provisioning config 'dws', so Kueue keeps what names it inactive",
    ),
    case(
        "a local queue's cluster queue exists",
        "queue-not-found",
        of_door(cluster_queue="vision-trains"),
        DOOR + "clusterQueue: no cluster queue 'vision-trains', so Kueue keeps what names it inactive; "
        "did you mean 'vision-train'?",
    ),
    case(
        "no cohort is above itself",
        "cohort-cycle",
        replace(
            sound(),
            cohorts=tuple(CohortPlan(name=n, parent=p) for n, p in (("a", "b"), ("b", "a"), ("c", "a"), ("d", "d"))),
        ),
        "cohort a: parent: 'b' leads back here (a → b → a), and no queue below would admit anything; break the circle",
        "cohort b: parent: 'a' leads back here (b → a → b), and no queue below would admit anything; break the circle",
        "cohort d: parent: 'd' leads back here (d → d), and no queue below would admit anything; break the circle",
    ),
    case(
        "a queue has one MultiKueue check",
        "two-multikueue-checks",
        replace(
            of_queue(admission_checks=(QueueCheckPlan(name="remote"), QueueCheckPlan(name="far"))),
            admission_checks=(REMOTE, replace(REMOTE, name="far")),
        ),
        QUEUE + "admissionChecks[1]: 'far' is a second MultiKueue check; a queue has one, which names all clusters",
    ),
    case(
        "a MultiKueue check is on all flavors",
        "multikueue-on-flavors",
        of_queue(admission_checks=(QueueCheckPlan(name="remote", on_flavors=("v5e",)),)),
        QUEUE
        + "admissionChecks[0].onFlavors: 'remote' is MultiKueue's, which sends whole jobs away; leave onFlavors out",
    ),
    case(
        "MultiKueue goes with no provisioning",
        "multikueue-and-provisioning",
        of_queue(admission_checks=(ON_SPOT, QueueCheckPlan(name="remote"))),
        QUEUE
        + "admissionChecks[1]: 'remote' is MultiKueue's, and Kueue takes no provisioning check beside it; drop one",
    ),
    case(
        "a reservation needs no new nodes",
        "check-on-every-flavor",
        of_queue(admission_checks=(QueueCheckPlan(name="dws"),)),
        "warning: " + QUEUE + "admissionChecks[0]: 'dws' asks for new nodes on every flavor (v5e, v5e-spot); "
        "write onFlavors",
    ),
    case(
        "a check manages its flavors' accelerators",
        "unmanaged-resource",
        of_config(managed_resources=("nvidia.com/gpu",)),
        QUEUE
        + "admissionChecks[0]: 'dws' does not manage google.com/tpu, so jobs on v5e-spot pass it and get no nodes",
    ),
    case(
        "queued nodes are asked for",
        "queued-without-check",
        replace(of_queue(admission_checks=()), pools=(pool("v5e", "on-demand"), pool("v5e-spot", "queued"))),
        QUEUE + "flavors[1]: 'v5e-spot' has queued capacity, and no admission check of this queue asks for its nodes",
    ),
    case(
        "only queued nodes are asked for",
        "check-without-queued",
        replace(sound(), pools=(pool("v5e", "on-demand"), pool("v5e-spot", "spot"))),
        QUEUE + "admissionChecks[0].onFlavors[0]: 'v5e-spot' has no queued capacity, "
        "so 'dws' would wait for its nodes in vain",
    ),
    case(
        "fair sharing leaves no room for preempting to borrow",
        "borrow-with-fair-sharing",
        replace(sound(), kueue=ConfigurationPlan(fair_sharing=("LessThanInitialShare",))),
        QUEUE + "preemption.borrowWithinCohort: 'LowerPriority' has no place in fair sharing, "
        "where shares decide who is pushed out; leave it out",
    ),
    case(
        "weights count with fair sharing alone",
        "weight-without-fair-sharing",
        replace(of_cohort(fair_share_weight=0.5), cluster_queues=of_queue(fair_share_weight=2.0).cluster_queues),
        "warning: " + QUEUE + "fairShareWeight: '2' has no effect: kueue.fairSharing is off",
        "warning: cohort labs: fairShareWeight: '0.5' has no effect: kueue.fairSharing is off",
    ),
    case(
        "use counts with admission fair sharing alone",
        "mode-without-admission-fair-sharing",
        replace(
            of_queue(
                admission_mode="UsageBasedAdmissionFairSharing",
                local_queues=(replace(plans.door("vision", "vision-train"), fair_share_weight=2.0),),
            )
        ),
        "warning: " + QUEUE + "admissionScope.admissionMode: 'UsageBasedAdmissionFairSharing' has no effect: "
        "kueue.admissionFairSharing is not set up",
        "warning: " + DOOR + "fairShareWeight: '2' has no effect: kueue.admissionFairSharing is not set up",
    ),
    case(
        "a queue covers what every pod asks for",
        "undeclared-resource",
        of_queue(
            covered_resources=(plans.TPU,),
            flavors=tuple(replace(q, quotas=q.quotas[-1:]) for q in sound().cluster_queues[0].flavors),
        ),
        "warning: " + QUEUE + "flavors: 'cpu, memory' is not covered, and a job that asks for it is never admitted; "
        "cover it, or write quotaCheckStrategy: IgnoreUndeclared",
    ),
    case(
        "feature gates stand in one place",
        "gates-in-two-places",
        replace(
            sound(),
            kueue=ConfigurationPlan(feature_gates={"PriorityBoost": True}),
            charts=(replace(CHART, values={"controllerManager": {"featureGates": []}}),),
        ),
        "configuration kueue: featureGates: 'featureGates' stand in the chart's values and in the configuration; "
        "Kueue takes one place only",
    ),
)

ALL = (*FLAVORS, *QUOTAS, *QUEUES, *CHECKS, *BETWEEN)
