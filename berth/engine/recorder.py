"""The engine's side of the protocol: register what a program requests, as the real engine does, and record it.

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
from berth.engine.answers import Answers, known_outputs, plausible_outputs
from berth.engine.records import (
    PROVIDER_TYPE,
    REFERENCE_TYPE,
    STACK_TYPE,
    Message,
    ProgramError,
    RecordedResource,
    References,
)

ProviderFunctions = Callable[[str, Mapping[str, object]], Mapping[str, object]]
"""Answers a provider's function: token and arguments to results."""


class _UnusedMocks(Mocks):
    """Mocks that the base class requires and that a `Recorder` never calls."""

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
        answers: Answers = plausible_outputs,
        invoke: ProviderFunctions | None = None,
        references: References | None = None,
        base: str = "",
    ) -> None:
        """`base` is the directory that places are shown relative to."""
        super().__init__(_UnusedMocks())
        self.recorded: dict[str, RecordedResource] = {}
        self.faults: list[str] = []
        self.messages: list[Message] = []
        self._project, self._stack, self._prefix = project, stack, f"urn:pulumi:{stack}::{project}::"
        self._config = dict(config or {})
        self._denied_packages = frozenset(_denied_packages(self._config.get("pulumi:disable-default-providers", "")))
        self._preview, self._answers, self._invoke, self._base = preview, answers, invoke, base
        self._references = references or {}
        self._unconfigured_urns: set[str | None] = set()
        self._states: dict[str, tuple[str, struct_pb2.Struct]] = {}

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """Return a URN with the whole chain of parent types; the root stack's type is left out."""
        parent_types = parent.split("::")[2] if parent else ""
        chain = f"{parent_types}${type_}" if parent_types and parent_types != STACK_TYPE else type_
        return f"{self._prefix}{chain}::{name}"

    def RegisterResource(self, request: resource_pb2.RegisterResourceRequest) -> resource_pb2.RegisterResourceResponse:
        """Record a resource and answer as the engine would."""
        resource = self._record(self._from_register(request))
        resource_id, state = self._answer(resource, request.object)
        return resource_pb2.RegisterResourceResponse(urn=resource.urn, id=resource_id, object=state)

    def ReadResource(self, request: resource_pb2.ReadResourceRequest) -> resource_pb2.ReadResourceResponse:
        """Record a resource that exists already; its outputs stay unknown in a preview."""
        resource = self._record(self._from_read(request))
        if resource.type == REFERENCE_TYPE:
            state = self._reference_state(resource)
        else:
            _, state = self._answer(resource, request.properties)
        return resource_pb2.ReadResourceResponse(urn=resource.urn, properties=state)

    def RegisterResourceOutputs(self, request: resource_pb2.RegisterResourceOutputsRequest) -> empty_pb2.Empty:
        """Record a component's outputs, or the stack's exports."""
        if request.urn in self.recorded:
            resource = self.recorded[request.urn]
            self.recorded[request.urn] = replace(resource, outputs=values.struct_to_dict(request.outputs))
        return empty_pb2.Empty()

    def Invoke(self, request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:
        """Answer a function of the engine itself; refuse a provider's function unless the caller supplied answers."""
        arguments = values.struct_to_dict(request.args)
        results = struct_pb2.Struct()
        if request.tok == "pulumi:pulumi:getResource":
            resource_id, state = self._states[str(arguments["urn"])]
            values.fill(results, {"urn": arguments["urn"], "id": resource_id})
            results.fields["state"].struct_value.CopyFrom(state)
        elif self._invoke is None:
            raise RuntimeError(
                f"'{request.tok}' needs the provider, which is not available offline; put the value in the plan"
            )
        else:
            values.fill(results, self._invoke(request.tok, arguments))
        response = resource_pb2.ResourceInvokeResponse()
        getattr(response, "return").CopyFrom(results)  # its name is a Python keyword
        return response

    def _reference_state(self, resource: RecordedResource) -> struct_pb2.Struct:
        """Return another stack's exports, which the engine also knows in a preview (`readStackReference`)."""
        state = struct_pb2.Struct()
        reference = self._references.get(resource.import_id or "")
        if reference is None:
            self._fault(resource, f"unknown stack '{resource.import_id}'")
        outputs, secret = reference or ({}, ())
        values.fill(state, {"name": resource.import_id, "outputs": dict(outputs), "secretOutputNames": sorted(secret)})
        for name in secret:
            wrapped: Any = {values.SIGNATURE: values.SECRET_SIGNATURE, "value": outputs[name]}
            state.fields["outputs"].struct_value.update({name: wrapped})
        return state

    def _record(self, resource: RecordedResource) -> RecordedResource:
        """Store the resource under its URN; a second one with the same URN is a fault."""
        if resource.urn in self.recorded:
            first = self.recorded[resource.urn].place or "elsewhere"
            self._fault(
                resource, f"duplicate resource URN '{resource.urn}', first created at {first}; give it a unique name"
            )
        if resource.custom and resource.type.count(":") != 2:
            self._fault(
                resource,
                f"'{resource.type}' is not a resource type; write package:module:Type",
            )
        for action, time in resource.custom_timeouts.items():
            if not _DURATION.fullmatch(time):
                self._fault(
                    resource,
                    f"'{time}' is not a timeout to {action} '{resource.urn}'; write one such as 90m",
                )
        return self.recorded.setdefault(resource.urn, resource)

    def _fault(self, resource: RecordedResource, text: str) -> None:
        self.faults.append(f"{resource.place}: {text}" if resource.place else text)

    def _from_register(self, request: Any) -> RecordedResource:
        """Return the request with its inherited options (`inheritFromParent` in source_eval.go)."""
        parent = self.recorded.get(request.parent, _NO_PARENT)
        if request.transforms:
            self.messages.append(Message("warning", f"transforms of '{request.name}' are not run offline"))
        actions = ("create", "update", "delete", "read")
        resource = RecordedResource(
            urn=self.make_urn(request.parent, request.type, request.name),
            type=request.type,
            name=request.name,
            parent=request.parent or None,
            custom=request.custom,
            inputs=values.struct_to_dict(request.object),
            protect=request.protect if request.HasField("protect") else parent.protect,
            provider=_provider_urn(request.provider) or None,
            providers={package: _provider_urn(reference) for package, reference in sorted(request.providers.items())},
            dependencies=tuple(sorted(request.dependencies)),
            property_dependencies={k: tuple(sorted(v.urns)) for k, v in sorted(request.propertyDependencies.items())},
            aliases=tuple(self._alias(alias, request) for alias in request.aliases),
            delete_before_replace=request.deleteBeforeReplace if request.deleteBeforeReplaceDefined else None,
            replace_on_changes=tuple(request.replaceOnChanges),
            ignore_changes=tuple(request.ignoreChanges),
            additional_secret_outputs=tuple(request.additionalSecretOutputs),
            hide_diffs=tuple(request.hideDiffs),
            retain_on_delete=request.retainOnDelete if request.HasField("retainOnDelete") else parent.retain_on_delete,
            deleted_with=request.deletedWith or parent.deleted_with,
            replace_with=tuple(sorted(request.replace_with)),
            replacement_trigger=values.value_to_python(request.replacement_trigger),
            custom_timeouts={action: time for action in actions if (time := getattr(request.customTimeouts, action))},
            import_id=request.importId or None,
            version=request.version or None,
            plugin_download_url=request.pluginDownloadURL or None,
            place=source_locations.location_of_trace(request.stackTrace, self._base),
        )
        return self._with_provider(resource)

    def _from_read(self, request: Any) -> RecordedResource:
        """Return the request to read as a record; a read resource inherits nothing."""
        resource = RecordedResource(
            urn=self.make_urn(request.parent, request.type, request.name),
            type=request.type,
            name=request.name,
            parent=request.parent or None,
            custom=True,
            inputs=values.struct_to_dict(request.properties),
            provider=_provider_urn(request.provider) or None,
            dependencies=tuple(sorted(request.dependencies)),
            additional_secret_outputs=tuple(request.additionalSecretOutputs),
            import_id=request.id,
            version=request.version or None,
            read=True,
            place=source_locations.location_of_trace(request.stackTrace, self._base),
        )
        return self._with_provider(resource)

    def _with_provider(self, resource: RecordedResource) -> RecordedResource:
        """Return the resource with its provider: the SDK has searched the parents, so only the default one is left."""
        package = resource.type.split(":", 1)[0]
        if resource.type == REFERENCE_TYPE:  # the engine's own provider, which no preview lists and no stack can deny
            return replace(resource, provider=self.make_urn("", f"{PROVIDER_TYPE}{package}", "default"))
        if resource.provider or not resource.custom or package == "pulumi":
            return resource
        return replace(resource, provider=self._default_provider(resource, package))

    def _default_provider(self, resource: RecordedResource, package: str) -> str | None:
        """Return the URN of the package's default provider, created at first use; a fault if the stack forbids it."""
        if self._denied_packages & {"*", package}:
            self._fault(
                resource, f"default provider for '{package}' disabled; '{resource.urn}' must use an explicit provider"
            )
            return None
        name = "_".join(["default", *filter(None, re.split(r"[.+-]", resource.version or ""))])
        config = {k.split(":", 1)[1]: v for k, v in sorted(self._config.items()) if k.startswith(f"{package}:")}
        inputs = {**config, **({"version": resource.version} if resource.version else {})}
        kind = f"{PROVIDER_TYPE}{package}"
        provider = RecordedResource(
            urn=self.make_urn("", kind, name), type=kind, name=name, parent=None, custom=True, inputs=inputs
        )
        return self.recorded.setdefault(provider.urn, provider).urn

    def _answer(self, resource: RecordedResource, inputs: struct_pb2.Struct) -> tuple[str, struct_pb2.Struct]:
        """Return the resource's ID (empty while unknown) and its outputs: inputs, and computed values once it exists.

        A provider whose own inputs are unknown is not called, and then all outputs of its resources are unknown, even
        their inputs (`Create` in provider_plugin.go).
        """
        if resource.type.startswith(PROVIDER_TYPE) and values.has_unknown(inputs):
            self._unconfigured_urns.add(resource.urn)
        resource_id, state = resource.import_id or "", struct_pb2.Struct()
        if resource.provider not in self._unconfigured_urns:
            state.CopyFrom(inputs)
            _add_outputs(state, known_outputs(resource, self.recorded.get(resource.provider or "")), resource)
        if resource.custom and not self._preview:
            new_id, outputs = self._answers(resource)
            resource_id = resource_id or new_id
            _add_outputs(state, outputs, resource)
        self._states[resource.urn] = resource_id, state
        return resource_id, state

    def _alias(self, alias: alias_pb2.Alias, request: Any) -> str:
        """Return an alias as one URN: parts that it leaves out are those of the resource."""
        if alias.urn:
            return alias.urn
        spec = alias.spec
        parent = "" if spec.noParent else spec.parentUrn or request.parent
        urn = self.make_urn(parent, spec.type or request.type, spec.name or request.name)
        stack, project = spec.stack or self._stack, spec.project or self._project
        return f"urn:pulumi:{stack}::{project}::{urn.removeprefix(self._prefix)}"


_DURATION = re.compile(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|ms|[hms])(([0-9]+(\.[0-9]*)?)(ns|us|ms|[hms]))*|0")
"""Format of Go's `time.ParseDuration`, which has no days."""

_NO_PARENT = RecordedResource(urn="", type="", name="", parent=None, custom=False, inputs={})
"""The parent of a resource without one; it has no options to inherit."""


def _add_outputs(state: struct_pb2.Struct, outputs: Mapping[str, object], resource: RecordedResource) -> None:
    """Add outputs to a resource's state, marked as secrets if the program wants that."""
    for key, value in outputs.items():
        secret = {values.SIGNATURE: values.SECRET_SIGNATURE, "value": value}
        values.fill(state, {key: secret if key in resource.additional_secret_outputs else value})


def _provider_urn(reference: str) -> str:
    """Return the URN in a provider reference (`URN::ID`)."""
    return reference.rpartition("::")[0]


def _denied_packages(setting: str) -> list[str]:
    """Return the packages in `pulumi:disable-default-providers`, a JSON list in a string; `*` is all of them."""
    try:
        return [str(name).strip() for name in json.loads(setting)] if setting else []
    except ValueError:
        raise ProgramError(f"pulumi:disable-default-providers: '{setting}' is not a list of packages") from None
