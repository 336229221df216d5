"""A violation of each rule that component tests rely on is detected."""

from __future__ import annotations

from collections.abc import Callable

import pulumi
import pulumi_gcp as gcp
import pytest

from berth.engine import ProgramError
from tests.components.gke.plans import google
from tests.engine import broken_rules, run

Child = Callable[[pulumi.ComponentResource, gcp.Provider], object]


class Careless(pulumi.ComponentResource):
    """A component with a child of the test's choice."""

    def __init__(self, child: Child, registers: bool = True) -> None:
        super().__init__("test:gke:Careless", "careless")
        child(self, google())
        if registers:
            self.register_outputs({})


def address(name: str, parent: pulumi.Resource | None, provider: gcp.Provider | None) -> gcp.compute.GlobalAddress:
    return gcp.compute.GlobalAddress(name, opts=pulumi.ResourceOptions(parent=parent, provider=provider))


def breaches(child: Child, registers: bool = True) -> list[str]:
    def build() -> None:
        Careless(child, registers)

    return [line.rpartition(": ")[2] for line in broken_rules(run(build))]


def test_a_correct_component_breaks_no_rule() -> None:
    assert breaches(lambda parent, provider: address("careless-address", parent, provider)) == []


def test_a_component_that_never_registers_its_outputs_is_found() -> None:
    result = breaches(lambda parent, provider: address("careless-address", parent, provider), registers=False)
    assert result == ["never registered its outputs"]


def test_a_child_without_a_parent_is_reported() -> None:
    result = breaches(lambda _, provider: address("careless-address", None, provider))
    assert "has a parent that is no component" in result


@pytest.mark.parametrize("name", ["address", "careless-0"])
def test_a_child_with_a_foreign_name_or_an_index_is_found(name: str) -> None:
    result = breaches(lambda parent, provider: address(name, parent, provider))
    assert result == ["its name is not 'careless' with a role or a stable key"]


def test_a_child_without_an_explicit_provider_ends_the_run() -> None:
    with pytest.raises(ProgramError, match="must use an explicit provider"):
        breaches(lambda parent, _: address("careless-address", parent, None))


def test_two_children_of_one_name_end_the_run() -> None:
    def twins(parent: pulumi.Resource, provider: gcp.Provider) -> None:
        address("careless-address", parent, provider)
        address("careless-address", parent, provider)

    with pytest.raises(ProgramError, match="duplicate resource URN"):
        breaches(twins)
