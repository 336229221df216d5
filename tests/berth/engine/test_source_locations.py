"""The place of a resource is the one that the SDK's own stack trace has."""

from __future__ import annotations

from pathlib import Path

import pytest
from pulumi.runtime import resource as sdk_resource
from pulumi.runtime.proto import source_pb2

from berth.engine import run_program, source_locations
from tests.stack_files import ROOT, fleet_values

BASE = str(ROOT)


def test_the_short_trace_has_the_location_of_the_sdks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, short = sdk_resource._get_stack_trace, source_locations.innermost_trace
    places: list[tuple[str, str]] = []

    def both() -> source_pb2.StackTrace:
        traces = whole(), short()
        places.append(
            (source_locations.location_of_trace(traces[0], BASE), source_locations.location_of_trace(traces[1], BASE))
        )
        return traces[1]

    monkeypatch.setattr(source_locations, "innermost_trace", both)
    resources = run_program(ROOT, "batch-platform", fleet_values("batch-platform")).resources
    assert len(places) == len(resources)
    assert [pair for pair in places if pair[0] != pair[1]] == []
    files = {place.partition(":")[0] for place, _ in places if place}
    assert {Path(file).parts[0] for file in files} >= {"components", "stacks"}
    assert sdk_resource._get_stack_trace is whole


def test_a_call_outside_a_resource_has_no_place() -> None:
    assert source_locations.location_of_trace(source_locations.innermost_trace(), BASE) == ""
