"""The contract between the head (`stacks/`) and the hands (`components/`): everything that may exist.

A plan is simply true. Every value is plain, final and already within the limits of GKE and Kueue; a component that
receives one has no choice left to make. Live values (ids, providers) never appear here.

Units, everywhere: accelerators in whole chips or GPUs, cpu in milli-CPU, memory in bytes, disks in GB. In a quota,
`None` is unlimited. Kubernetes words are spelt as Kubernetes spells them (`NoSchedule`), Google's as the Google API
does (`COMPACT`).
"""
