"""The in-process engine registers what the real one would, tells every fault, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import base64
import gc
import threading
import warnings
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
from pulumi.runtime import settings
from pulumi.runtime.config import get_config, set_config

from berth.engine import SECRET, UNKNOWN, Marker, ProgramError, Recorder
from tests.berth.engine.programs import EXPLICIT, Cloud, Fleet, Options, Thing, named, preview


def faults(build: Callable[[], object], config: Mapping[str, str] | None = None) -> list[str]:
    with pytest.raises(ProgramError) as caught:
        preview(build, config)
    return str(caught.value).splitlines()


def test_a_urn_holds_the_whole_chain_of_parent_types_but_not_the_stacks() -> None:
    def build() -> None:
        outer = Fleet("outer")
        Fleet("inner", Options(parent=outer), kind="berth:gke:Inner")

    result = preview(build)
    chain = "berth:gke:Fleet$berth:gke:Inner$cloud:index:Thing"
    assert named(result, "inner-thing").urn == f"urn:pulumi:dev::berth::{chain}::inner-thing"
    assert named(result, "outer").urn == "urn:pulumi:dev::berth::berth:gke:Fleet::outer"
    assert named(result, "outer").parent == "urn:pulumi:dev::berth::pulumi:pulumi:Stack::berth-dev"


def test_a_duplicate_urn_is_refused_with_both_places() -> None:
    def build() -> None:
        Thing("cloud:index:Thing", "twin")
        Thing("cloud:index:Thing", "twin")

    (line,) = faults(build)
    assert "duplicate resource URN 'urn:pulumi:dev::berth::cloud:index:Thing::twin'" in line
    first, second = build.__code__.co_firstlineno + 1, build.__code__.co_firstlineno + 2
    assert line.startswith(f"tests/berth/engine/test_engine.py:{second}: ")
    assert f"first created at tests/berth/engine/test_engine.py:{first};" in line


@pytest.mark.parametrize("denied", ['["*"]', '["other", "cloud"]'])
def test_a_resource_without_explicit_provider_is_refused_where_the_stack_says_so(denied: str) -> None:
    (line,) = faults(lambda: Thing("cloud:index:Thing", "a"), {"pulumi:disable-default-providers": denied})
    assert "default provider for 'cloud' disabled; 'urn:pulumi:dev::berth::cloud:index:Thing::a' must use" in line


def test_all_faults_are_reported_together() -> None:
    def build() -> None:
        Thing("cloud:index:Thing", "a")
        Thing("cloud:index:Thing", "b")
        Thing("cloud:index:Thing", "b")

    assert len(faults(build, EXPLICIT)) == 4


def test_a_setting_that_is_not_a_list_is_a_fault() -> None:
    (line,) = faults(lambda: None, {"pulumi:disable-default-providers": "*"})
    assert line == "pulumi:disable-default-providers: '*' is not a list of packages"


def test_a_malformed_type_and_a_duration_in_days_are_faults() -> None:
    """Both stop the real engine before any provider is asked."""
    options = Options(custom_timeouts=pulumi.CustomTimeouts(create="1d", delete="1h30m"))
    first, second = faults(lambda: Thing("cloud:Thing", "a", opts=options))
    assert "'cloud:Thing' is not a resource type" in first
    assert "'1d' is not a timeout to create 'urn:pulumi:dev::berth::cloud:Thing::a'" in second


def test_the_engines_default_provider_is_shown_where_it_is_allowed() -> None:
    def build() -> None:
        Thing("cloud:index:Thing", "a", opts=Options(version="1.2.3-beta.1"))
        Thing("cloud:index:Thing", "b", opts=Options(version="1.2.3-beta.1"))

    result = preview(build, {"cloud:zone": "x"})
    provider = named(result, "default_1_2_3_beta_1")
    assert provider.parent is None
    assert provider.inputs == {"version": "1.2.3-beta.1", "zone": "x"}
    assert {named(result, name).provider for name in "ab"} == {provider.urn}


def test_children_inherit_the_provider_of_their_component() -> None:
    def build() -> None:
        outer = Fleet("outer", Options(providers=[Cloud("near")]))
        Fleet("inner", Options(parent=outer))
        Fleet("own", Options(parent=outer, providers=[Cloud("far")]))

    result = preview(build, EXPLICIT)
    assert named(result, "inner-thing").provider == "urn:pulumi:dev::berth::pulumi:providers:cloud::near"
    assert named(result, "own-thing").provider == "urn:pulumi:dev::berth::pulumi:providers:cloud::far"
    assert named(result, "outer").provider is None


def test_outputs_of_the_cloud_are_unknown_in_a_preview() -> None:
    def build() -> None:
        one = Thing("cloud:index:Thing", "one", {"size": 2})
        Thing("cloud:index:Thing", "two", {"id_": one.id, "made": one.made, "list": [1, one.made], "text": "[unknown]"})
        pulumi.export("made", one.made)

    result = preview(build)
    two = named(result, "two").inputs
    assert two == {"id_": UNKNOWN, "made": UNKNOWN, "list": [1, UNKNOWN], "text": "[unknown]"}
    assert isinstance(two["made"], Marker)
    assert not isinstance(two["text"], Marker)
    assert result.exports == {"made": UNKNOWN}


def test_stated_values_are_known_in_a_preview() -> None:
    def build() -> None:
        provider = kubernetes.Provider("inside", kubeconfig="{}")
        space = kubernetes.core.v1.Namespace("space", metadata={"name": "vision"}, opts=Options(provider=provider))
        pulumi.export("name", space.metadata.name)

    assert preview(build, EXPLICIT).exports == {"name": "vision"}


def test_a_service_accounts_address_is_known_before_it_exists() -> None:
    """The Google provider has this value in its plan, and node pools and members depend on it."""

    def build() -> None:
        google = pulumi.ProviderResource("gcp", "google", {"project": "fleet"})
        unknown = Thing("gcp:storage/bucket:Bucket", "b", opts=Options(provider=google)).made
        for name, props in {
            "own": {"accountId": "nodes", "project": "other"},
            "inherited": {"accountId": "nodes"},
            "later": {"accountId": unknown},
        }.items():
            kind, more = "gcp:serviceaccount/account:Account", {"email": None, "member": None}
            account = Thing(kind, name, {**props, **more}, Options(provider=google))
            pulumi.export(name, [cast(Any, account).email, cast(Any, account).member])

    assert preview(build, EXPLICIT).exports == {
        "own": ["nodes@other.iam.gserviceaccount.com", "serviceAccount:nodes@other.iam.gserviceaccount.com"],
        "inherited": ["nodes@fleet.iam.gserviceaccount.com", "serviceAccount:nodes@fleet.iam.gserviceaccount.com"],
        "later": [UNKNOWN, UNKNOWN],
    }


def test_resources_of_an_unconfigured_provider_are_unknown() -> None:
    """The engine does not ask such a provider: with a kubeconfig to come, even a stated name comes back unknown."""

    def build() -> None:
        cluster = Thing("cloud:index:Thing", "cluster")
        secret = pulumi.Output.secret(cluster.made)
        provider = kubernetes.Provider("inside", kubeconfig=secret.apply(lambda made: made))
        space = kubernetes.core.v1.Namespace("space", metadata={"name": "vision"}, opts=Options(provider=provider))
        pulumi.export("name", space.metadata.name)

    assert preview(build).exports == {"name": UNKNOWN}
    assert preview(build, update=True).exports == {"name": "vision"}


def test_an_update_has_known_values() -> None:
    def build() -> None:
        cluster = Thing("gcp:container/cluster:Cluster", "c", {"name": "dev", "endpoint": None, "masterAuth": None})
        account = Thing("gcp:serviceaccount/account:Account", "a", {"accountId": "sa", "project": "p", "email": None})
        outputs = cast(Any, {"e": getattr(cluster, "endpoint"), "a": getattr(cluster, "masterAuth")})  # noqa: B009
        pulumi.export("ca", outputs["a"].apply(lambda auth: auth["clusterCaCertificate"]))
        pulumi.export("url", outputs["e"].apply(lambda e: f"https://{e}"))
        pulumi.export("email", cast(Any, account).email)
        pulumi.export("id", cluster.id)

    exports = cast(Mapping[str, str], preview(build, update=True).exports)
    assert base64.b64decode(exports["ca"]).startswith(b"-----BEGIN CERTIFICATE-----")
    assert exports["url"] == "https://203.0.113.10"
    assert exports["email"] == "sa@p.iam.gserviceaccount.com"
    assert exports["id"] == "projects/offline-project/locations/us-central1/clusters/dev"


def test_answers_of_providers_can_be_given() -> None:
    def build() -> None:
        pulumi.export("made", Thing("cloud:index:Thing", "one").made)

    result = preview(build, update=True, answers=lambda one: (f"id-{one.name}", {"made": one.type}))
    assert result.exports == {"made": "cloud:index:Thing"}


@pytest.mark.parametrize("update", [False, True])
def test_a_secret_is_never_shown(update: bool) -> None:
    def build() -> None:
        token = pulumi.Config("berth").require_secret("token")
        Thing("cloud:index:Thing", "one", {"token": token, "deep": {"list": [pulumi.Output.secret("hidden")]}})
        pulumi.export("out", pulumi.Output.secret({"a": "hidden"}))

    result = preview(build, {"berth:token": "hidden"}, update=update, secrets=["berth:token"])
    assert named(result, "one").inputs["token"] is SECRET
    assert result.exports["out"] is SECRET
    assert "hidden" not in repr(result)


def test_a_resource_that_is_read_is_recorded_as_read() -> None:
    one = named(preview(lambda: Thing("cloud:index:Thing", "there", opts=Options(id="its-id"))), "there")
    assert (one.read, one.import_id) == (True, "its-id")


def test_a_provider_function_needs_a_mock() -> None:
    def build() -> None:
        pulumi.export("zone", pulumi.runtime.invoke_output("cloud:index:getZone", {"n": 1}).apply(lambda r: r["name"]))

    (line,) = faults(build)
    assert "'cloud:index:getZone' needs the provider" in line
    assert preview(build, invoke=lambda token, args: {"name": f"{token} {args['n']}"}).exports == {
        "zone": "cloud:index:getZone 1"
    }


def test_prints_logs_and_warnings_become_messages(capfd: pytest.CaptureFixture[str]) -> None:
    def build() -> None:
        print("hello")
        pulumi.log.warn("careful")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("old", DeprecationWarning, stacklevel=1)

    messages = preview(build).messages
    assert [(m.severity, m.text.rsplit(": ", 1)[-1]) for m in messages] == [
        ("warning", "careful"),
        ("warning", "old"),
        ("info", "hello"),
    ]
    assert capfd.readouterr() == ("", "")


def test_a_run_leaves_no_state() -> None:
    def build() -> None:
        fleet = Fleet("one")
        pulumi.export("x", fleet.thing.made.apply(lambda _: None))

    threads = threading.active_count()
    of_other_tests = {id(one) for one in gc.get_objects() if isinstance(one, Recorder)}
    before = settings.get_stack(), settings.get_project(), settings.get_root_resource(), get_config("berth:x")
    first = preview(build, {"berth:x": "1"})
    assert preview(build) == first
    assert before == (settings.get_stack(), settings.get_project(), settings.get_root_resource(), get_config("berth:x"))
    assert copy_context().run(settings.get_monitor) is None
    assert threading.active_count() == threads
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, Recorder | Thing)]
    assert [one for one in kept if id(one) not in of_other_tests] == []


def test_settings_of_the_caller_are_kept() -> None:
    def outside() -> None:
        settings.reset_options(project="mine", stack="own")
        set_config("berth:x", "kept")
        preview(lambda: Fleet("one"), {"berth:x": "1"})
        assert (settings.get_project(), settings.get_stack(), get_config("berth:x")) == ("mine", "own", "kept")

    copy_context().run(outside)


def test_another_event_loop_is_unaffected() -> None:
    async def later() -> int:
        return 7

    loop = asyncio.new_event_loop()
    try:
        preview(lambda: Fleet("one"))
        assert loop.run_until_complete(later()) == 7
    finally:
        loop.close()
