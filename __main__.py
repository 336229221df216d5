"""The Pulumi program: read, plan, build, export. It decides nothing."""

from pathlib import Path

import pulumi

from stacks import program, verdict

config = pulumi.Config("berth")
fleet, team = config.get_object("fleet"), config.get_object("team")
found = verdict.of_config(pulumi.get_stack(), fleet, Path(__file__).parent, team)
for key, value in program.build(found).items():
    pulumi.export(key, value)
