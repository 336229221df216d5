"""Pulumi's wire format as plain Python values, with secrets and unknowns kept as markers.

Source of the signatures: `sdk/go/common/resource` of pulumi/pulumi (properties.go, asset.go) and `pulumi.runtime.rpc`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from google.protobuf import struct_pb2

from berth.engine.records import SECRET, UNKNOWN

UNKNOWN_ON_WIRE: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""The SDK's value for something that is not known before the update."""

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
"""The key that marks a mapping on the wire as something else; its value tells what."""

SECRET_SIGNATURE: Final = "1b47061264138c4ac30d75fd1eb44270"
OUTPUT_SIGNATURE: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_ASSET = "c44067f5952c0a294b673a41bacd8c17"
_ARCHIVE = "0def7320c3a5731c473e5ecbe6d01bc7"
_RESOURCE = "5cf8f73096256a8f31e491e813e4eb8e"


def struct_to_dict(struct: struct_pb2.Struct) -> dict[str, object]:
    """Return a struct of the wire as a dict with sorted keys (the wire has no order)."""
    return {key: value_to_python(struct.fields[key]) for key in sorted(struct.fields)}


def value_to_python(value: struct_pb2.Value) -> object:
    """Return one value of the wire: whole numbers as ints, secrets as `SECRET`, unknowns as `UNKNOWN`."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value == UNKNOWN_ON_WIRE else value.string_value
    if kind == "struct_value":
        return _struct_to_python(value.struct_value)
    if kind == "list_value":
        return [value_to_python(item) for item in value.list_value.values]
    if kind == "number_value":
        # JSON and the wire know only floats.
        return int(value.number_value) if value.number_value.is_integer() else value.number_value
    return value.bool_value if kind == "bool_value" else None


def has_unknown(struct: struct_pb2.Struct) -> bool:
    """Return whether anything in a struct of the wire is unknown, also inside secrets."""
    return any(_is_unknown(value) for value in struct.fields.values())


def _is_unknown(value: struct_pb2.Value) -> bool:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return has_unknown(value.struct_value)
    if kind == "list_value":
        return any(_is_unknown(item) for item in value.list_value.values)
    return kind == "string_value" and value.string_value == UNKNOWN_ON_WIRE


def fill(struct: struct_pb2.Struct, extra: Mapping[str, Any]) -> None:
    """Add values to a struct of the wire, at any depth; existing values stay, including markers."""
    for key, value in extra.items():
        current = struct.fields.get(key)
        if current is None:
            struct.update({key: value})
        elif isinstance(value, Mapping) and current.HasField("struct_value") and not _signature(current.struct_value):
            fill(current.struct_value, cast(Mapping[str, Any], value))


def _signature(struct: struct_pb2.Struct) -> str:
    """Return the signature of a mapping; empty for a plain one. (Reading an absent key would add it to the map.)"""
    return struct.fields[SIGNATURE].string_value if SIGNATURE in struct.fields else ""


def _struct_to_python(struct: struct_pb2.Struct) -> object:
    """Return a mapping, or the value that its signature stands for."""
    signature = _signature(struct)
    if not signature:
        return struct_to_dict(struct)
    if signature == SECRET_SIGNATURE:
        return SECRET
    payload = {key: value for key, value in struct_to_dict(struct).items() if key != SIGNATURE}
    if signature == OUTPUT_SIGNATURE:
        return SECRET if payload.get("secret") else payload.get("value", UNKNOWN)
    if signature == _RESOURCE:
        return {"resource": payload.get("urn")}
    return {{_ASSET: "asset", _ARCHIVE: "archive"}.get(signature, "signed"): payload}
