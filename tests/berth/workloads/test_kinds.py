"""The kinds of workloads have one source, `berth/workloads/kinds.yaml`."""

from __future__ import annotations

from typing import get_args

from berth.spec.team_stack import WorkloadSpec
from berth.workloads.options import KINDS, workload_kinds


def test_the_schema_of_team_stacks_lists_the_kinds_of_the_table_in_its_order() -> None:
    literal, none = get_args(WorkloadSpec.model_fields["kind"].annotation)
    assert get_args(literal) == tuple(workload_kinds()) == KINDS
    assert none is type(None)
