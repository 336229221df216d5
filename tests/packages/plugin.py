"""The package's plugin as the engine runs it: a process that is asked over gRPC, with a monitor to register with."""

from __future__ import annotations

import atexit
import subprocess
import sys
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from msgspec import Struct
from pulumi.runtime.proto import (
    engine_pb2,
    engine_pb2_grpc,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
)

from berth.engine import RecordedResource, Recorder
from berth.engine.recorder import ProviderFunctions
from berth.engine.values import OUTPUT_SIGNATURE as _OUTPUT
from berth.engine.values import SECRET_SIGNATURE as _SECRET
from berth.engine.values import SIGNATURE as _SIGNATURE
from berth.engine.values import struct_to_dict
from tests.stack_files import ROOT

_FEATURES = {"secrets", "resourceReferences", "outputValues", "deletedWith", "aliasSpecs"}


def output_value(value: Any, *dependencies: str) -> dict[str, Any]:
    """An output on the wire, with the resources that it comes from."""
    return {_SIGNATURE: _OUTPUT, "value": value, "dependencies": list(dependencies), "secret": False}


def secret_value(value: Any) -> dict[str, Any]:
    """A secret on the wire."""
    return {_SIGNATURE: _SECRET, "value": value}


def is_secret(value: Any) -> bool:
    """Whether a value on the wire is a secret."""
    return isinstance(value, Mapping) and (
        value.get(_SIGNATURE) == _SECRET or (value.get(_SIGNATURE) == _OUTPUT and value.get("secret") is True)
    )


class _Engine(resource_pb2_grpc.ResourceMonitorServicer, engine_pb2_grpc.EngineServicer):
    """The engine's two services. One recorder at a time holds what a component registers."""

    def __init__(self) -> None:
        self.recorder = Recorder(project="mine", stack="dev")
        self.logged: list[str] = []

    def SupportsFeature(self, request: Any, context: Any) -> Any:
        return resource_pb2.SupportsFeatureResponse(hasSupport=request.id in _FEATURES)

    def RegisterResource(self, request: Any, context: Any) -> Any:
        return self.recorder.RegisterResource(request)

    def RegisterResourceOutputs(self, request: Any, context: Any) -> Any:
        return self.recorder.RegisterResourceOutputs(request)

    def ReadResource(self, request: Any, context: Any) -> Any:
        return self.recorder.ReadResource(request)

    def GetDeploymentInfo(self, request: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "older engines have SupportsFeature alone")

    def Invoke(self, request: Any, context: Any) -> Any:
        """Answer for a provider that the caller created: it exists, and has an id."""
        if request.tok != "pulumi:pulumi:getResource":
            return self.recorder.Invoke(request)
        answer = resource_pb2.ResourceInvokeResponse()
        result = {"urn": request.args["urn"], "id": "created-by-the-caller", "state": {}}
        getattr(answer, "return").update(result)
        return answer

    def Log(self, request: Any, context: Any) -> Any:
        if request.severity != engine_pb2.DEBUG:
            self.logged.append(f"{engine_pb2.LogSeverity.Name(request.severity)} {request.message}")
        return empty_pb2.Empty()


class Constructed(Struct):
    """What Construct answers, and what the component registered on the way."""

    urn: str
    state: dict[str, Any]
    exports: Mapping[str, object]
    """The state as the in-process engine shows it, with markers for secrets and what is unknown."""
    dependencies: Mapping[str, list[str]]
    resources: tuple[RecordedResource, ...]
    logged: list[str]


class Plugin:
    """A running plugin."""

    def __init__(self, provider: Any, engine: _Engine, address: str) -> None:
        self._provider, self._engine, self._address = provider, engine, address

    def schema(self) -> str:
        """The answer to GetSchema."""
        return self._provider.GetSchema(provider_pb2.GetSchemaRequest(version=0)).schema

    def version(self) -> str:
        """The answer to GetPluginInfo."""
        return self._provider.GetPluginInfo(empty_pb2.Empty()).version

    def construct(
        self,
        component: str,
        inputs: Mapping[str, Any],
        *,
        preview: bool,
        dependencies: Mapping[str, list[str]] | None = None,
        providers: Mapping[str, str] | None = None,
        name: str = "lab",
        invoke: ProviderFunctions | None = None,
        beside: bool = False,
        place: tuple[str, str] = ("mine", "dev"),
        **options: Any,
    ) -> Constructed:
        """The answer to Construct. Raises grpc.RpcError, as the engine sees a fault.

        `place` are project and stack. With `beside` the component is one more in the program of the last one.
        """
        if not beside:
            self._engine.recorder = Recorder(project=place[0], stack=place[1], preview=preview, invoke=invoke)
        self._engine.logged = []
        request = provider_pb2.ConstructRequest(
            project=place[0],
            stack=place[1],
            dryRun=preview,
            parallel=1,
            monitorEndpoint=self._address,
            type=f"berth:index:{component}",
            name=name,
            inputs=json_format.ParseDict(dict(inputs), struct_pb2.Struct()),
            inputDependencies={
                key: provider_pb2.ConstructRequest.PropertyDependencies(urns=urns)
                for key, urns in (dependencies or {}).items()
            },
            providers=providers or {},
            accepts_output_values=True,
            **options,
        )
        answer = self._provider.Construct(request)
        return Constructed(
            answer.urn,
            json_format.MessageToDict(answer.state),
            struct_to_dict(answer.state),
            {key: list(each.urns) for key, each in answer.stateDependencies.items()},
            tuple(self._engine.recorder.recorded.values()),
            self._engine.logged,
        )


_OPEN = ExitStack()


@cache
def shared_plugin() -> Plugin:
    """A plugin that serves until the tests end."""
    atexit.register(_OPEN.close)
    return _OPEN.enter_context(running_plugin())


@contextmanager
def running_plugin() -> Generator[Plugin]:
    """Start the plugin as the language host does, with the engine's address, and end it afterwards."""
    engine = _Engine()
    server = grpc.server(ThreadPoolExecutor(max_workers=1))  # the recorder is for one thread
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(engine, server)
    engine_pb2_grpc.add_EngineServicer_to_server(engine, server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    command = [sys.executable, str(ROOT / "packages" / "berth"), address]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT / "tests")
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Plugin(provider_pb2_grpc.ResourceProviderStub(channel), engine, address)
    finally:
        process.terminate()
        process.wait(timeout=30)
        if process.stdout is not None:
            process.stdout.close()
        server.stop(grace=None).wait()
