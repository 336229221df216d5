"""Components on Alibaba Cloud: created and existing resources, and their exact inputs."""

from __future__ import annotations

import warnings

import pulumi_kubernetes as kubernetes
from msgspec.structs import replace

from berth.plan.ack import AckFleetPlan, AckNodePoolPlan, AckOnePlan, MemberPlan, PropagationPlan, QuotaNodePlan
from berth.plan.kueue import PriorityPlan
from berth.plan.node_settings import Bounds, Taint
from tests.engine import Run, both_modes, broken_rules, run, using

with warnings.catch_warnings():
    # The SDK warns of names of its own that nobody here uses.
    warnings.simplefilter("ignore", DeprecationWarning)
    import pulumi_alicloud as alicloud

    from components.ack.fleet_instance import FleetInstance
    from components.ack.fleet_objects import FleetObjects
    from components.ack.member import Member

POOL = AckNodePoolPlan(
    key="pool-east-a100",
    name="a100",
    instance_type="ecs.gn7e-c16g1.32xlarge",
    gpu="A100",
    gpus=8,
    nodes=Bounds(min=2, max=2),
    spot=False,
    flavor="a100",
    vswitches=("vsw-1",),
    labels={},
    taints=(),
    disk_size_gb=120,
    protect=True,
)
MEMBER = MemberPlan(
    key="member-east",
    name="east",
    existing=None,
    cluster_spec="ack.pro.small",
    version="1.34",
    vswitches=("vsw-1",),
    pod_vswitches=(),
    pod_range="10.64.0.0/16",
    service_range="172.21.0.0/20",
    reservation=True,
    node_pools=(POOL,),
    protect=True,
)
FLEET = AckOnePlan(name="fleet", existing=None, vpc="vpc-1", vswitches=("vsw-1",), kubeconfig=None, protect=True)
TAGS = {"managed-by": "berth"}


def built(member: MemberPlan, fleet: AckOnePlan = FLEET, preview: bool = False) -> Run:
    """One member and its fleet, made."""

    def program() -> None:
        cloud = alicloud.Provider("alibaba-cloud", region="cn-hangzhou")
        made = Member(member.key, member, tags=TAGS, opts=using(cloud))
        FleetInstance("fleet", fleet, members={member.name: made.cluster_id}, opts=using(cloud))

    return run(program, preview)


@both_modes
def test_a_member_is_a_pro_cluster_with_its_node_pools(preview: bool) -> None:
    done = built(MEMBER, preview=preview)
    assert broken_rules(done) == []
    cluster, pool = done.only_resource("ManagedKubernetes"), done.only_resource("NodePool")
    assert cluster.inputs == {
        "name": "east",
        "clusterSpec": "ack.pro.small",
        "version": "1.34",
        "vswitchIds": ["vsw-1"],
        "podCidr": "10.64.0.0/16",
        "serviceCidr": "172.21.0.0/20",
        "addons": [
            *({"name": each} for each in ("flannel", "csi-plugin", "csi-provisioner")),
            {"name": "kube-scheduler", "config": '{"enableReservation": true}'},
        ],
        "deletionProtection": True,
        "slbInternetEnabled": False,
        "tags": TAGS,
    }
    assert (pool.inputs["desiredSize"], "scalingConfig" in pool.inputs) == ("2", False)
    assert pool.protect and cluster.protect
    assert cluster.urn in pool.dependencies


def test_an_autoscaled_pool_has_its_bounds_and_unit() -> None:
    marked = replace(POOL, labels={"team": "a"}, taints=(Taint(key="gpu", value="yes", effect="NoSchedule"),))
    sizes = {"nodes": Bounds(min=0, max=4)}
    for spot, kind in ((False, "gpu"), (True, "spot")):
        pool = replace(marked, spot=spot, protect=False, **sizes)
        inputs = built(replace(MEMBER, node_pools=(pool,))).only_resource("NodePool").inputs
        assert inputs["scalingConfig"] == {"enable": True, "minSize": 0, "maxSize": 4, "type": kind}
        assert inputs.get("spotStrategy") == ("SpotAsPriceGo" if spot else None)
        assert "desiredSize" not in inputs
        assert inputs["labels"] == [{"key": "team", "value": "a"}]
        assert inputs["taints"] == [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]


@both_modes
def test_existing_ack_clusters_are_joined_and_not_created(preview: bool) -> None:
    there = replace(MEMBER, existing="c0123456789ab")
    done = built(there, replace(FLEET, existing="c0123456789cd"), preview)
    assert [r.type for r in done.resources if r.custom and r.type.startswith("alicloud:")] == [
        "alicloud:ackone/membershipAttachment:MembershipAttachment"
    ]
    assert done.only_resource("MembershipAttachment").inputs == {
        "clusterId": "c0123456789cd",
        "subClusterId": "c0123456789ab",
    }


def test_pods_of_terway_get_vswitches_and_no_range() -> None:
    member = replace(MEMBER, pod_range=None, pod_vswitches=("vsw-2",), reservation=False)
    inputs = built(member).only_resource("ManagedKubernetes").inputs
    assert (inputs["podVswitchIds"], "podCidr" in inputs) == (["vsw-2"], False)
    addons = ("terway-eniip", "csi-plugin", "csi-provisioner")
    assert inputs["addons"] == [{"name": each} for each in addons], "without reservation, no scheduler is configured"


def test_objects_wait_for_members_and_for_their_namespaces() -> None:
    """A policy that is there before any member has joined would fail the first jobs."""
    policy = PropagationPlan(
        name="training",
        namespace="vision",
        gang=False,
        suspension=False,
        propagate_deps=True,
        preserve_resources_on_deletion=False,
        toleration_seconds=30,
        purge_mode="Never",
    )
    plan = AckFleetPlan(
        stack="test",
        region="cn-hangzhou",
        fleet=FLEET,
        members=(),
        flavors=(),
        priorities=(PriorityPlan(name="low", value=1, default=False, preempts=False, description=""),),
        cohorts=(),
        cluster_queues=(),
        teams=(),
        quotas=QuotaNodePlan(name="root", minimum={}, maximum={}),
        propagations=(policy,),
    )

    def program() -> None:
        cloud = alicloud.Provider("alibaba-cloud", region="cn-hangzhou")
        fleet = FleetInstance("fleet", FLEET, members={"east": "c0123456789ab"}, opts=using(cloud))
        inside = kubernetes.Provider("inside", kubeconfig="file")
        FleetObjects("objects", plan, opts=using(inside), members=fleet.memberships)

    done = run(program)
    joined = done.only_resource("MembershipAttachment").urn
    objects = [r for r in done.resources if r.type.startswith("kubernetes:")]
    assert {r.name for r in objects} == {
        "objects-priorityclass-low",
        "objects-shared-propagation",
        "objects-quota-tree",
        "objects-propagation-vision",
    }
    assert all(joined in r.dependencies for r in objects)
    spec = done.only_resource("PropagationPolicy").inputs["spec"]
    assert isinstance(spec, dict)
    assert spec["placement"] == {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
    assert "suspension" not in spec
