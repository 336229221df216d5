"""What a change of a stack file means for teams, machines and objects; and what of it must not happen by accident.

Judged from two plans, without Pulumi: the fields that force a replacement are data (update_effects.yaml). The guard
judges the real engine's preview in the same words.
"""
