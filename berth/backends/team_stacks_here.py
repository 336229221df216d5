"""Teams' own stacks of the repository that run on a platform: what a change of the platform takes from them."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from typing import cast

from berth.backends.table import TEAM_KEY
from berth.diagnostics import format_path
from berth.diff.changes import DependentChange
from berth.evaluate import Evaluation
from berth.loader import locate, read_stack
from berth.loader.locate import stack_names


def team_stack_changes(old: Evaluation, new: Evaluation, root: pathlib.Path) -> Iterator[DependentChange]:
    """Yield what each team's stack loses by a change of its platform, both sides of which are without faults."""
    platform = locate(new.stack, root).stack
    for name in stack_names(root):
        stack, _ = read_stack(name, root, TEAM_KEY)
        if stack is None or not isinstance(stack.fleet, Mapping):
            continue
        values = cast("Mapping[str, object]", stack.fleet)
        reference = values.get("platform")
        if not isinstance(reference, str) or locate(reference, root).stack != platform:
            continue
        # Most repositories have no such stack, and these load the rules of all jobs.
        from berth.backends.team_stack import evaluate_team_values
        from berth.diff.workloads import moved_to_cluster
        from berth.plan.team_stack import TeamStackPlan

        before, after = (evaluate_team_values(name, values, each) for each in (old, new))
        if before.plan is None or before.faults:
            continue  # it could not be deployed before either
        losses = tuple(f"{format_path(each.path)}: {each.message}" for each in after.faults)
        is_other_cluster = (
            isinstance(before.plan, TeamStackPlan)
            and isinstance(after.plan, TeamStackPlan)
            and any(moved_to_cluster(before.plan, after.plan))
        )
        if losses or is_other_cluster:
            yield DependentChange(name, str(values.get("team")), losses, is_other_cluster)
