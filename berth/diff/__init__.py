"""Comparison of two plans: what changes for teams, machines and objects, and which changes are blocked.

Needs no Pulumi: it compares what both plans register (`berth.google`, `berth.alibaba`); `provider_inputs` has what a
changed input does. `guard` applies the same rules to the output of `pulumi preview`.
"""
