"""Rules of GKE and Kueue as pure functions over plain values.

Input: `gke.pool_request.PoolRequest`, one pool as its owner requests it. Output: `GkeViolation` (code, key, message,
severity). `capacity.pool_violations` runs every rule on one pool; `versions.missing_features` checks a GKE version
against `versions.feature_needs`; `reservations.reservation_mismatches`, `overuse_violation` and `window_violations`
check reservations; `capacity.can_auto_repair` reads all pools of a cluster.

For a pool without violations, these derive what GKE is configured with: `settings.node_pool_settings`,
`capacity_labels` and `gke_capacity_taints`, `placement.placement`, `networks.network_needs`, `gpu.gpu_counts`,
`gpu_labels`, and `capacity.capacity_notes`. `kueue` has the rules of Kueue, over plans.
"""
