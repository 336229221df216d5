"""Inputs and options are recorded as the engine would hold them."""

from __future__ import annotations

import json

import pulumi

from berth.engine import UNKNOWN
from tests.berth.engine.programs import Fleet, Options, Thing, named, preview


def test_whole_numbers_stay_whole() -> None:
    result = preview(lambda: Thing("cloud:index:Thing", "one", {"n": 3, "f": 0.5, "deep": [{"n": 10**9}], "b": True}))
    assert json.dumps(dict(named(result, "one").inputs)) == '{"b": true, "deep": [{"n": 1000000000}], "f": 0.5, "n": 3}'


def test_assets_and_resources_as_inputs_are_recorded_with_their_type() -> None:
    def build() -> None:
        one = Thing("cloud:index:Thing", "one")
        Thing("cloud:index:Thing", "two", {"file": pulumi.StringAsset("text"), "one": one})

    inputs = named(preview(build), "two").inputs
    assert inputs["file"] == {"asset": {"text": "text"}}
    assert inputs["one"] == {"resource": "urn:pulumi:dev::berth::cloud:index:Thing::one"}


def test_children_inherit_options_as_in_the_engine() -> None:
    def build() -> None:
        cluster = Thing("cloud:index:Thing", "cluster")
        Fleet("kept", Options(protect=True, retain_on_delete=True, deleted_with=cluster))

    child = named(preview(build), "kept-thing")
    assert (child.protect, child.retain_on_delete) == (True, True)
    assert child.deleted_with == "urn:pulumi:dev::berth::cloud:index:Thing::cluster"


def test_an_alias_is_one_urn() -> None:
    def build() -> None:
        old = Fleet("old")
        aliases: list[pulumi.Input[str | pulumi.Alias]] = [
            pulumi.Alias(name="former"),
            pulumi.Alias(type_="cloud:index:Elder"),
            pulumi.Alias(parent=old),
            pulumi.Alias(parent=pulumi.ROOT_STACK_RESOURCE, stack="prod", project="quay"),
            "urn:pulumi:dev::berth::a:b:C::d",
        ]
        Thing("cloud:index:Thing", "now", opts=Options(parent=Fleet("new", kind="berth:x:New"), aliases=aliases))

    assert named(preview(build), "now").aliases == (
        "urn:pulumi:dev::berth::berth:x:New$cloud:index:Thing::former",
        "urn:pulumi:dev::berth::berth:x:New$cloud:index:Elder::now",
        "urn:pulumi:dev::berth::berth:gke:Fleet$cloud:index:Thing::now",
        "urn:pulumi:prod::quay::cloud:index:Thing::now",
        "urn:pulumi:dev::berth::a:b:C::d",
    )


def test_every_option_of_a_resource_is_recorded() -> None:
    options = Options(
        protect=True,
        delete_before_replace=True,
        replace_on_changes=["size"],
        ignore_changes=["tags"],
        additional_secret_outputs=["made"],
        retain_on_delete=True,
        custom_timeouts=pulumi.CustomTimeouts(create="30m"),
        import_="the-id",
        version="1.0.0",
    )
    one = named(preview(lambda: Thing("cloud:index:Thing", "one", {"size": 1, "tags": {}}, options)), "one")
    assert (one.protect, one.delete_before_replace, one.retain_on_delete) == (True, True, True)
    assert (one.replace_on_changes, one.ignore_changes) == (("size",), ("tags",))
    assert (one.additional_secret_outputs, one.custom_timeouts) == (("made",), {"create": "30m"})
    assert (one.import_id, one.version) == ("the-id", "1.0.0")


def test_depending_on_a_component_waits_for_all_its_children() -> None:
    def build() -> None:
        fleet = Fleet("fleet")
        Thing("cloud:index:Thing", "late", {"made": fleet.thing.made}, Options(depends_on=[fleet]))

    late = named(preview(build), "late")
    inside = "urn:pulumi:dev::berth::berth:gke:Fleet$cloud:index:Thing::fleet-thing"
    assert inside in late.dependencies
    assert late.property_dependencies["made"] == (inside,)


def test_a_component_without_registered_outputs_is_detected() -> None:
    def build() -> None:
        Fleet("good")
        pulumi.ComponentResource("berth:gke:Fleet", "forgetful")

    result = preview(build)
    assert named(result, "good").outputs == {"made": UNKNOWN}
    assert not named(result, "forgetful").outputs_registered
