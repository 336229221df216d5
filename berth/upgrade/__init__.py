"""What a change of versions does to a stack and its jobs: required actions, what turns, what breaks, in which order.

Pure: two plans of one stack, of which the second has the new versions, and the objects of manifests. The facts are rows
of `berth/versions`. `findings.upgrade_of` compares two plans, `document` shows the answer, and `holes` has the known
holes that `berth check` warns of.
"""
