"""The Pulumi program: read, plan, build, export. It decides nothing."""

from pathlib import Path

import pulumi

from stacks import program, verdict

found = verdict.of_config(pulumi.get_stack(), pulumi.Config("berth").get_object("fleet"), Path(__file__).parent)
for key, value in program.build(found).items():
    pulumi.export(key, value)
