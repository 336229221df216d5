"""The nodes of a fleet: what GKE makes of its pools, or what the stack file describes, and what the cluster offers.

Pure: the plan, the catalog and tables. Everything that speaks of nodes asks here: `render --nodes`, lint, admit, check,
verify.
"""

from berth.nodes.groups import fleet_nodes, pool_nodes
from berth.nodes.model import ABSENT, FleetNodes, Label, Maker, NodeGroup

__all__ = ["ABSENT", "FleetNodes", "Label", "Maker", "NodeGroup", "fleet_nodes", "pool_nodes"]
