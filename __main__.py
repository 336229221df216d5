"""The Pulumi program: evaluate the stack, build it, and export its outputs."""

from pathlib import Path

import pulumi

from berth import evaluate
from stacks import build

config = pulumi.Config("berth")
fleet, team = config.get_object("fleet"), config.get_object("team")
evaluation = evaluate.evaluate_config(pulumi.get_stack(), fleet, Path(__file__).parent, team)
for key, value in build.build_stack(evaluation).items():
    pulumi.export(key, value)
