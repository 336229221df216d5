"""The engine's side of the wire: registers what a program asks for, as the real engine does, and remembers all of it.

Rules taken from `pkg/resource/deploy` of pulumi/pulumi (source_eval.go, step_generator.go, default_providers.go).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf import empty_pb2, struct_pb2
from msgspec.structs import replace
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks
from pulumi.runtime.proto import alias_pb2, resource_pb2

from berth.engine import source_locations, values
from berth.engine.answers import Answers, planned, plausible
from berth.engine.records import PROVIDER_TYPE, REFERENCE_TYPE, STACK_TYPE, Message, ProgramError, Recorded, References

Invoke = Callable[[str, Mapping[str, object]], Mapping[str, object]]
"""Answers a provider's function: token and arguments to results."""


class _Unasked(Mocks):
    """Mocks that the base class wants and that a `Recorder` never asks."""

    def call(self, args: MockCallArgs) -> tuple[dict[str, object], list[tuple[str, str]] | None]:
        """Nothing."""
        return {}, None

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, object]]:
        """Nothing."""
        return None, {}


class Recorder(MockMonitor):
    """A resource monitor that records whole requests, by URN and in the order of registration.

    With `preview`, ids and computed outputs of custom resources stay unknown, as on a first deployment; otherwise
    `answers` supplies them. Broken rules of the engine are collected in `faults`, one line each; the program goes on.
    """

    def __init__(
        self,
        *,
        project: str,
        stack: str,
        config: Mapping[str, str] | None = None,
        preview: bool = True,
        answers: Answers = plausible,
        invoke: Invoke | None = None,
        references: References | None = None,
        base: str = "",
    ) -> None:
        """`base` is the folder that places are shown relative to."""
        super().__init__(_Unasked())
        self.recorded: dict[str, Recorded] = {}
        self.faults: list[str] = []
        self.messages: list[Message] = []
        self._project, self._stack, self._prefix = project, stack, f"urn:pulumi:{stack}::{project}::"
        self._config = dict(config or {})
        self._denied = frozenset(_denied(self._config.get("pulumi:disable-default-providers", "")))
        self._preview, self._answers, self._invoke, self._base = preview, answers, invoke, base
        self._references = references or {}
        self._unconfigured: set[str | None] = set()
        self._states: dict[str, tuple[str, struct_pb2.Struct]] = {}

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """A URN with the whole chain of parent types in it; the root stack's type is left out."""
        above = parent.split("::")[2] if parent else ""
        chain = f"{above}${type_}" if above and above != STACK_TYPE else type_
        return f"{self._prefix}{chain}::{name}"

    def RegisterResource(self, request: resource_pb2.RegisterResourceRequest) -> resource_pb2.RegisterResourceResponse:
        """Record a resource and answer as the engine would."""
        one = self._add(self._registered(request))
        identity, state = self._answer(one, request.object)
        return resource_pb2.RegisterResourceResponse(urn=one.urn, id=identity, object=state)

    def ReadResource(self, request: resource_pb2.ReadResourceRequest) -> resource_pb2.ReadResourceResponse:
        """Record a resource that exists already; what the cloud knows of it stays unknown in a preview."""
        one = self._add(self._read(request))
        if one.type == REFERENCE_TYPE:
            state = self._referred(one)
        else:
            _, state = self._answer(one, request.properties)
        return resource_pb2.ReadResourceResponse(urn=one.urn, properties=state)

    def RegisterResourceOutputs(self, request: resource_pb2.RegisterResourceOutputsRequest) -> empty_pb2.Empty:
        """Remember a component's outputs, or the stack's exports."""
        if request.urn in self.recorded:
            one = self.recorded[request.urn]
            self.recorded[request.urn] = replace(one, outputs=values.mapping(request.outputs))
        return empty_pb2.Empty()

    def Invoke(self, request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:
        """Answer a function of the engine's own; a provider's is refused unless the caller brought answers."""
        arguments = values.mapping(request.args)
        results = struct_pb2.Struct()
        if request.tok == "pulumi:pulumi:getResource":
            identity, state = self._states[str(arguments["urn"])]
            values.fill(results, {"urn": arguments["urn"], "id": identity})
            results.fields["state"].struct_value.CopyFrom(state)
        elif self._invoke is None:
            raise RuntimeError(
                f"'{request.tok}' asks the provider, and nobody answers offline; put the value in the plan"
            )
        else:
            values.fill(results, self._invoke(request.tok, arguments))
        response = resource_pb2.ResourceInvokeResponse()
        getattr(response, "return").CopyFrom(results)  # its name is a Python keyword
        return response

    def _referred(self, one: Recorded) -> struct_pb2.Struct:
        """What another stack exports, which the engine knows in a preview too (`readStackReference`)."""
        state = struct_pb2.Struct()
        found = self._references.get(one.import_id or "")
        if found is None:
            self._fault(one, f"unknown stack '{one.import_id}'")
        outputs, secret = found or ({}, ())
        values.fill(state, {"name": one.import_id, "outputs": dict(outputs), "secretOutputNames": sorted(secret)})
        for name in secret:
            wrapped: Any = {values.SIGNATURE: values.SECRET_SIGNATURE, "value": outputs[name]}
            state.fields["outputs"].struct_value.update({name: wrapped})
        return state

    def _add(self, one: Recorded) -> Recorded:
        """Keep the resource under its URN; a second one of the same URN is a fault."""
        if one.urn in self.recorded:
            first = self.recorded[one.urn].place or "elsewhere"
            self._fault(one, f"duplicate resource URN '{one.urn}', first made at {first}; give it a unique name")
        if one.custom and one.type.count(":") != 2:
            self._fault(
                one, f"'{one.type}' is not a type of a provider's resource; it must have the form package:module:Type"
            )
        for action, time in one.custom_timeouts.items():
            if not _DURATION.fullmatch(time):
                self._fault(
                    one, f"'{time}' is no time to {action} '{one.urn}' in; write hours, minutes or seconds (90m)"
                )
        return self.recorded.setdefault(one.urn, one)

    def _fault(self, one: Recorded, text: str) -> None:
        self.faults.append(f"{one.place}: {text}" if one.place else text)

    def _registered(self, request: Any) -> Recorded:
        """The request, with what the engine lets it inherit (`inheritFromParent` in source_eval.go)."""
        above = self.recorded.get(request.parent, _NOTHING)
        if request.transforms:
            self.messages.append(Message("warning", f"transforms of '{request.name}' are not run offline"))
        one = Recorded(
            urn=self.make_urn(request.parent, request.type, request.name),
            type=request.type,
            name=request.name,
            parent=request.parent or None,
            custom=request.custom,
            inputs=values.mapping(request.object),
            protect=request.protect if request.HasField("protect") else above.protect,
            provider=_without_id(request.provider) or None,
            providers={package: _without_id(one) for package, one in sorted(request.providers.items())},
            dependencies=tuple(sorted(request.dependencies)),
            property_dependencies={k: tuple(sorted(v.urns)) for k, v in sorted(request.propertyDependencies.items())},
            aliases=tuple(self._alias(alias, request) for alias in request.aliases),
            delete_before_replace=request.deleteBeforeReplace if request.deleteBeforeReplaceDefined else None,
            replace_on_changes=tuple(request.replaceOnChanges),
            ignore_changes=tuple(request.ignoreChanges),
            additional_secret_outputs=tuple(request.additionalSecretOutputs),
            hide_diffs=tuple(request.hideDiffs),
            retain_on_delete=request.retainOnDelete if request.HasField("retainOnDelete") else above.retain_on_delete,
            deleted_with=request.deletedWith or above.deleted_with,
            replace_with=tuple(sorted(request.replace_with)),
            replacement_trigger=values.plain(request.replacement_trigger),
            custom_timeouts=_timeouts(request.customTimeouts),
            import_id=request.importId or None,
            version=request.version or None,
            plugin_download_url=request.pluginDownloadURL or None,
            place=source_locations.of_trace(request.stackTrace, self._base),
        )
        return self._provided(one)

    def _read(self, request: Any) -> Recorded:
        """The request to read as a record; a read resource inherits nothing."""
        one = Recorded(
            urn=self.make_urn(request.parent, request.type, request.name),
            type=request.type,
            name=request.name,
            parent=request.parent or None,
            custom=True,
            inputs=values.mapping(request.properties),
            provider=_without_id(request.provider) or None,
            dependencies=tuple(sorted(request.dependencies)),
            additional_secret_outputs=tuple(request.additionalSecretOutputs),
            import_id=request.id,
            version=request.version or None,
            read=True,
            place=source_locations.of_trace(request.stackTrace, self._base),
        )
        return self._provided(one)

    def _provided(self, one: Recorded) -> Recorded:
        """The resource with its provider; the SDK has looked for it above, so only the default one is left to try."""
        package = one.type.split(":", 1)[0]
        if one.type == REFERENCE_TYPE:  # the engine's own provider, which no preview lists and no stack can deny
            return replace(one, provider=self.make_urn("", f"{PROVIDER_TYPE}{package}", "default"))
        if one.provider or not one.custom or package == "pulumi":
            return one
        return replace(one, provider=self._default_provider(one, package))

    def _default_provider(self, one: Recorded, package: str) -> str | None:
        """The URN of the package's default provider, made when first needed; a fault where the stack forbids it."""
        if self._denied & {"*", package}:
            self._fault(one, f"default provider for '{package}' disabled; '{one.urn}' must use an explicit provider")
            return None
        name = "_".join(["default", *filter(None, re.split(r"[.+-]", one.version or ""))])
        config = {k.split(":", 1)[1]: v for k, v in sorted(self._config.items()) if k.startswith(f"{package}:")}
        inputs = {**config, **({"version": one.version} if one.version else {})}
        kind = f"{PROVIDER_TYPE}{package}"
        made = Recorded(
            urn=self.make_urn("", kind, name), type=kind, name=name, parent=None, custom=True, inputs=inputs
        )
        return self.recorded.setdefault(made.urn, made).urn

    def _answer(self, one: Recorded, inputs: struct_pb2.Struct) -> tuple[str, struct_pb2.Struct]:
        """The resource's id (empty while unknown) and its outputs: its inputs, and what it computes once it exists.

        A provider whose own inputs are unknown is not asked at all, and then nothing of its resources is known, not
        even what they state (`Create` in provider_plugin.go).
        """
        if one.type.startswith(PROVIDER_TYPE) and values.has_unknown(inputs):
            self._unconfigured.add(one.urn)
        identity, state = one.import_id or "", struct_pb2.Struct()
        if one.provider not in self._unconfigured:
            state.CopyFrom(inputs)
            _extend(state, planned(one, self.recorded.get(one.provider or "")), one)
        if one.custom and not self._preview:
            made, outputs = self._answers(one)
            identity = identity or made
            _extend(state, outputs, one)
        self._states[one.urn] = identity, state
        return identity, state

    def _alias(self, alias: alias_pb2.Alias, request: Any) -> str:
        """An alias as the one URN that it stands for: what it leaves out is as it is now."""
        if alias.urn:
            return alias.urn
        spec = alias.spec
        parent = "" if spec.noParent else spec.parentUrn or request.parent
        urn = self.make_urn(parent, spec.type or request.type, spec.name or request.name)
        stack, project = spec.stack or self._stack, spec.project or self._project
        return f"urn:pulumi:{stack}::{project}::{urn.removeprefix(self._prefix)}"


_DURATION = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|ms|[hms])(([0-9]+(\.[0-9]*)?)(ns|us|ms|[hms]))*|0")
"""What Go's `time.ParseDuration` takes, which knows no days."""

_NOTHING = Recorded(urn="", type="", name="", parent=None, custom=False, inputs={})
"""The parent of what has none: there is nothing to inherit."""


def _extend(state: struct_pb2.Struct, outputs: Mapping[str, object], one: Recorded) -> None:
    """Add outputs to a resource's state, marked as secrets where the program wants them kept as such."""
    for key, value in outputs.items():
        secret = {values.SIGNATURE: values.SECRET_SIGNATURE, "value": value}
        values.fill(state, {key: secret if key in one.additional_secret_outputs else value})


def _without_id(reference: str) -> str:
    """The URN in a provider reference (`URN::ID`)."""
    return reference.rpartition("::")[0]


def _timeouts(timeouts: resource_pb2.RegisterResourceRequest.CustomTimeouts) -> dict[str, str]:
    """Custom timeouts that are set, as the program wrote them (`30m`)."""
    actions = ("create", "update", "delete", "read")
    return {action: time for action in actions if (time := getattr(timeouts, action))}


def _denied(setting: str) -> list[str]:
    """Packages in `pulumi:disable-default-providers`, a JSON list in a string; `*` is all of them."""
    try:
        return [str(name).strip() for name in json.loads(setting)] if setting else []
    except ValueError:
        raise ProgramError(f"pulumi:disable-default-providers: '{setting}' is not a list of packages") from None
