"""The rules of docs/policies as a Pulumi policy pack, which checks every resource before Pulumi creates it.

Use it if other Pulumi programs also create clusters: `pulumi up --policy-pack docs/policy-pack`. The rule
spot_for_low_priority is missing, because no resource has the priority of a queue's jobs.
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
    """No cluster of a stack named prod… has a public endpoint."""
    if _is_public(args) and _stack(args).startswith("prod"):
        report("a production cluster has a public endpoint")


def no_open_endpoint(args: ResourceValidationArgs, report: Report) -> None:
    """In other stacks, an endpoint that is open to all addresses is a warning."""
    is_open = _is_public(args) and args.props.get("masterAuthorizedNetworksConfig") is None
    if is_open and not _stack(args).startswith("prod"):
        report("the control plane is open to all addresses")


def deletion_protection(args: ResourceValidationArgs, report: Report) -> None:
    """Neither Pulumi nor a user can delete the cluster."""
    if args.resource_type == CLUSTER and not args.props.get("deletionProtection", True):
        report("the cluster has no deletion protection")
    if args.resource_type == CLUSTER and not args.opts.protect:
        report("Pulumi can delete the cluster")


def owner_label(args: ResourceValidationArgs, report: Report) -> None:
    """A team's namespace has a label with its owner."""
    labels = _inside(_inside(args.props, "metadata"), "labels")
    if args.resource_type == NAMESPACE and TEAM in labels and OWNER not in labels:
        report(f"no label '{OWNER}'")


def _is_public(args: ResourceValidationArgs) -> bool:
    is_cluster = args.resource_type == CLUSTER
    return is_cluster and not _inside(args.props, "privateClusterConfig").get("enablePrivateEndpoint")


def _stack(args: ResourceValidationArgs) -> str:
    """Return the name of the stack, which a resource's URN has: urn:pulumi:STACK::PROJECT::TYPE::NAME."""
    return args.urn.split(":")[2]


def _inside(props: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return props.get(key) or {}


RULES = (private_nodes, no_public_endpoint, no_open_endpoint, deletion_protection, owner_label)

PolicyPack(
    name="berth",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=[
        ResourceValidationPolicy(
            name=rule.__name__.replace("_", "-"),
            description=f"{rule.__doc__}",
            validate=rule,
            enforcement_level=EnforcementLevel.ADVISORY if rule is no_open_endpoint else None,
        )
        for rule in RULES
    ],
)
