"""The package's plugin as the engine runs it: a process that is asked over gRPC, with a monitor to register with."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
from tests.stack_files import ROOT

UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""How a value that is not known yet is written on the wire."""
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_OUTPUT, _SECRET = "d0e6a833031e9bbcd3f4e8bde6ca49a4", "1b47061264138c4ac30d75fd1eb44270"
_FEATURES = {"secrets", "resourceReferences", "outputValues", "deletedWith", "aliasSpecs"}


def output_value(value: Any, *dependencies: str) -> dict[str, Any]:
    """An output on the wire, with the resources that it comes from."""
    return {_SIGNATURE: _OUTPUT, "value": value, "dependencies": list(dependencies), "secret": False}


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
    ) -> Constructed:
        """The answer to Construct. Raises grpc.RpcError, as the engine sees a fault."""
        self._engine.recorder = Recorder(project="mine", stack="dev", preview=preview)
        self._engine.logged = []
        request = provider_pb2.ConstructRequest(
            project="mine",
            stack="dev",
            dryRun=preview,
            parallel=1,
            monitorEndpoint=self._address,
            type=f"berth:index:{component}",
            name="lab",
            inputs=json_format.ParseDict(dict(inputs), struct_pb2.Struct()),
            inputDependencies={
                key: provider_pb2.ConstructRequest.PropertyDependencies(urns=urns)
                for key, urns in (dependencies or {}).items()
            },
            providers=providers or {},
            accepts_output_values=True,
        )
        answer = self._provider.Construct(request)
        return Constructed(
            answer.urn,
            json_format.MessageToDict(answer.state),
            {key: list(each.urns) for key, each in answer.stateDependencies.items()},
            tuple(self._engine.recorder.recorded.values()),
            self._engine.logged,
        )


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
