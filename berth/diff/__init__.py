"""Comparison of two plans: what changes for teams, machines and objects, and which changes are blocked.

Needs no Pulumi: update_effects.yaml lists the fields whose change forces a replacement. `guard` applies the same rules
to the output of `pulumi preview`.
"""
