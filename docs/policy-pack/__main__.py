"""The rules of docs/policies as a Pulumi policy pack, held against every resource that the engine is about to make.

Use it where other programs than Berth make clusters too: `pulumi up --policy-pack docs/policy-pack`. One rule is
missing: which priority a queue's work has is a word of the stack file, and no resource says it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationArgs, ResourceValidationPolicy

CLUSTER = "gcp:container/cluster:Cluster"
NAMESPACE = "kubernetes:core/v1:Namespace"
TEAM, OWNER = "berth.dev/team", "owner"

Report = Callable[[str], None]


def private_nodes(args: ResourceValidationArgs, report: Report) -> None:
    """Nodes have no public addresses."""
    if args.resource_type == CLUSTER and not _inside(args.props, "privateClusterConfig").get("enablePrivateNodes"):
        report("nodes have public addresses")


def no_public_endpoint(args: ResourceValidationArgs, report: Report) -> None:
    """A production cluster's control plane has no public address."""
    production = args.resource_type == CLUSTER and str(args.props.get("name", "")).startswith("prod")
    if production and not _inside(args.props, "privateClusterConfig").get("enablePrivateEndpoint"):
        report("a production cluster has a public endpoint")


def deletion_protection(args: ResourceValidationArgs, report: Report) -> None:
    """A cluster is deleted neither by the engine nor by hand."""
    if args.resource_type == CLUSTER and not args.props.get("deletionProtection", True):
        report("GKE lets the cluster be deleted")
    if args.resource_type == CLUSTER and not args.opts.protect:
        report("the engine may delete the cluster")


def owner_label(args: ResourceValidationArgs, report: Report) -> None:
    """A team's namespace says who pays for it."""
    labels = _inside(_inside(args.props, "metadata"), "labels")
    if args.resource_type == NAMESPACE and TEAM in labels and OWNER not in labels:
        report(f"no label '{OWNER}'")


def _inside(props: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return props.get(key) or {}


RULES = (private_nodes, no_public_endpoint, deletion_protection, owner_label)

PolicyPack(
    name="berth",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=[
        ResourceValidationPolicy(name=rule.__name__.replace("_", "-"), description=f"{rule.__doc__}", validate=rule)
        for rule in RULES
    ],
)
