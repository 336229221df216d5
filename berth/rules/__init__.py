"""Rules of GKE and Kueue as pure functions over plain values; nothing here knows the stack file or the plan.

Capacity: `asked` has the words (`Asked`: one pool; `Violation`: code, key, message, severity). `capacity.violations`
runs every rule over one pool, `versions.lacking(versions.needs(asked), version, channel)` those of GKE's version.
Over several pools: `capacity.made_pools_are_repaired`; over reservations:
`reservations.mismatches`, `overused` and `future`.

What follows from a pool that passes: `settings.settings`, `capacity_labels` and `capacity_taints`,
`placement.placement`, `networks.network_needs`, `gpu.counts`, `gpu_labels` and `ssd_layout`, `capacity.notes`.
"""
