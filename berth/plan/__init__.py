"""Plan: the description of every resource, produced by `berth.planner` and used by `components`.

Every value is plain, final and within the limits of GKE and Kueue; components create what a plan says and choose
nothing. Plans contain no live values (IDs, providers).

Units: accelerators in whole chips or GPUs, cpu in milli-CPU, memory in bytes, disks in GB. In a quota, `None` is
unlimited. Enum values are spelled as in the API that they are for: Kubernetes (`NoSchedule`), Google (`COMPACT`).
"""
