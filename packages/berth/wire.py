"""Arguments as the engine sends them: what the SDK's server drops or wraps before a component sees it.

The server drops every null, and wraps outputs whose value is known already. Both are read here from the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Final, cast

import grpc
from google.protobuf import json_format
from pulumi.provider import Provider
from pulumi.provider.server import ProviderServicer
from pulumi.runtime.proto import provider_pb2_grpc

from berth.diagnostics import FieldPath
from berth.engine.values import OUTPUT_SIGNATURE, SECRET_SIGNATURE, SIGNATURE, UNKNOWN_ON_WIRE

UNKNOWN: Final = object()
"""A value that only an update knows."""

_WRAPPED: Final = (OUTPUT_SIGNATURE, SECRET_SIGNATURE)
_SENT: ContextVar[Mapping[str, Any]] = ContextVar("sent")


def sent_arguments() -> Mapping[str, Any]:
    """Return the arguments of the component that is being constructed, in the engine's encoding."""
    return _SENT.get()


def null_paths(value: object, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the path of every null, also of an output or secret that is null."""
    if value is None:
        yield path
    elif isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        if fields.get(SIGNATURE) in _WRAPPED:
            yield from null_paths(fields.get("value", UNKNOWN), path)
        else:
            for key, each in fields.items():
                yield from null_paths(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(cast("list[object]", value)):
            yield from null_paths(each, (*path, index))


def known_value(value: Any) -> Any:
    """Return the value of an argument without its wrapping as output or secret; UNKNOWN if a part of it is unknown."""
    if value == UNKNOWN_ON_WIRE:
        return UNKNOWN
    if isinstance(value, list):
        entries = [known_value(each) for each in cast("list[Any]", value)]
        return UNKNOWN if UNKNOWN in entries else entries
    if not isinstance(value, Mapping):
        return value
    fields = cast("Mapping[str, Any]", value)
    if fields.get(SIGNATURE) in _WRAPPED:
        return known_value(fields.get("value", UNKNOWN_ON_WIRE))
    inner = {key: known_value(each) for key, each in fields.items()}
    return UNKNOWN if UNKNOWN in inner.values() else inner


def has_secret(value: object) -> bool:
    """Return whether an argument, or a part of it, is a secret."""
    if isinstance(value, list):
        return any(map(has_secret, cast("list[object]", value)))
    if not isinstance(value, Mapping):
        return False
    fields = cast("Mapping[str, object]", value)
    is_wrapped = fields.get(SIGNATURE) == SECRET_SIGNATURE or (
        fields.get(SIGNATURE) == OUTPUT_SIGNATURE and fields.get("secret") is True
    )
    return is_wrapped or any(map(has_secret, fields.values()))


class _Servicer(ProviderServicer):
    """Pulumi's server of components, which keeps the arguments of each request as they were sent."""

    async def Construct(self, request: Any, context: Any) -> Any:
        _SENT.set(json_format.MessageToDict(request.inputs))
        return await super().Construct(request, context)


def serve_provider(provider: Provider, engine_address: str) -> None:
    """Serve the provider until the engine ends it, and print the port, as `pulumi.provider.main` does."""

    async def serve() -> None:
        server = grpc.aio.server(options=[("grpc.max_receive_message_length", 400 * 2**20)])
        servicer = _Servicer(provider, [], engine_address=engine_address)
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        await server.wait_for_termination()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve())
