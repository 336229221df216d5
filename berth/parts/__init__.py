"""Plan one part of a fleet from its own arguments: a node pool, a reservation, a cluster, a team, its queues. Pure.

Arguments are plain values with the keys of a stack file. What they do not say, and what only another resource knows
(the name of a reservation), stays unknown: no rule is applied to it.
"""
