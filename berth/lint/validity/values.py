"""Forms of single values in `fields.yaml`: what the API server takes, and how to write it.

Sources: Kubernetes 1.36 `pkg/apis/core/validation`, `apimachinery/pkg/util/validation`.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
import zoneinfo
from collections.abc import Callable, Mapping
from math import inf

from berth.jobs.quantities import parse_quantity
from berth.jobs.values import describe_value, is_whole
from berth.names import is_dns_label, is_label_key, is_label_value, is_subdomain

_MAX_INT = 2**31 - 1
_HOST_NAME = 64
_PORTS = 65535
_PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9](?:[a-z0-9-]{0,13}[a-z0-9])?")
_VARIABLE = re.compile(r"[ -<>-~]+")
"""Printable ASCII without `=`."""

_OCTAL = re.compile(r"0[0-7]+")
_SYSCTL = re.compile(r"(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?")
_FIELD_PATH = re.compile(
    r"metadata\.(?:name|namespace|uid|(?:labels|annotations)\['(?P<key>.+)'\])"
    r"|spec\.(?:nodeName|serviceAccountName)|status\.(?:hostIPs?|podIPs?)"
)
_WHOLE_FIELDS = ("metadata.labels", "metadata.annotations")
"""Fields that a volume can hold, and a variable cannot."""
_HEADER = re.compile(r"[-A-Za-z0-9]+")
_CONFIG_KEY = re.compile(r"(?!\.\.?$)(?!\.\.)[-._a-zA-Z0-9]{1,253}")
_SEARCH = re.compile(r"(?:[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?\.)*[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?\.?|\.")

_OWN_RESOURCE = re.compile(r"(?:limits|requests)\.(?:cpu|memory|ephemeral-storage|hugepages-.+)")
_SCHEDULES = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS, _DAYS = "jan feb mar apr may jun jul aug sep oct nov dec", "sun mon tue wed thu fri sat"
_CRON = ((0, 59, ""), (0, 23, ""), (1, 31, ""), (1, 12, _MONTHS), (0, 6, _DAYS))
"""The least, the greatest and the names of each field of a schedule."""

Form = Callable[[object], str | None]
"""Returns what is wrong with a value and what to write; None if nothing is."""


def _text(value: object) -> str | None:
    if isinstance(value, str | datetime.date):
        return None
    if isinstance(value, bool | int | float):
        written = str(value).lower() if isinstance(value, bool) else str(value)
        return f'{describe_value(value)} is not text; write "{written}"'
    return f"{describe_value(value)} is not text; write text"


def _bool(value: object) -> str | None:
    if isinstance(value, bool):
        return None
    is_quoted = isinstance(value, str) and value in ("true", "false")
    return f"{describe_value(value)} is not true or false; {'remove the quotes' if is_quoted else 'write one of them'}"


def _whole(least: int | None, most: int | None = None) -> Form:
    def check(value: object) -> str | None:
        if isinstance(value, str) and _OCTAL.fullmatch(value):
            value = int(value, 8)  # kubectl reads YAML 1.1
        is_large = is_whole(value) and most is not None and value > most
        if is_whole(value) and (least is None or value >= least) and not is_large:
            return None
        shows_most = most is not None and (is_large or most != _MAX_INT)
        bounds = "" if least is None else f" from {least} to {most}" if shows_most else f" from {least}"
        is_quoted = isinstance(value, str) and value.removeprefix("-").isdigit()
        remedy = "remove the quotes" if is_quoted else "write one"
        return f"{describe_value(value)} is not a whole number{bounds}; {remedy}"

    return check


def _named(is_valid: Callable[[str], bool], what: str, *, may_be_empty: bool = False) -> Form:
    def check(value: object) -> str | None:
        if (fault := _text(value)) is not None:
            return fault
        if (value == "" and may_be_empty) or is_valid(str(value)):
            return None
        return f"{describe_value(value)} is not {what}"

    return check


_IMAGE = _named(lambda text: bool(text) and text == text.strip(), "the name of an image; write it without spaces")
_LABEL_KEY = "a label key: letters, digits, '-', '_' and '.', also behind a domain and '/'"
_LABEL_VALUE = (
    "a label's value: at most 63 letters, digits, '-', '_' and '.', which a letter or a digit begins and ends"
)
_NAME = "a name of lower-case letters, digits and '-'"


def _amount(value: object) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        return f"{describe_value(value)} is below 0; write a quantity such as 4, 500m or 16Gi"
    is_valid = parse_quantity("", value) is not None
    return None if is_valid else f"{describe_value(value)} is not a quantity; write one such as 4, 500m or 16Gi"


def _count_or_percent(most: float) -> Form:
    def check(value: object) -> str | None:
        is_percent = isinstance(value, str) and value.removesuffix("%").isdigit() and value.endswith("%")
        is_number = is_whole(value) and value >= 0
        if is_number or (is_percent and int(str(value).removesuffix("%")) <= most):
            return None
        return f"{describe_value(value)} is not a number or a percentage; write one, such as 1 or 25%"

    return check


def _is_field_path(text: str) -> bool:
    match = _FIELD_PATH.fullmatch(text)
    return match is not None and (match["key"] is None or is_label_key(match["key"].lower()))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_schedule(text: str) -> bool:
    """Whether it is a schedule of `robfig/cron`: five fields, or a word such as @daily."""
    if text.startswith("@"):
        return text in _SCHEDULES or text.startswith("@every ")
    fields = text.removeprefix("TZ=").split()
    return len(fields) == len(_CRON) and all(
        _is_cron_part(part, *bounds) for field, bounds in zip(fields, _CRON, strict=True) for part in field.split(",")
    )


def _is_cron_part(part: str, least: int, most: int, names: str) -> bool:
    span, _, step = part.partition("/")
    ends = [str(least), str(most)] if span in ("*", "?") else span.lower().split("-")
    known = names.split()
    numbers = [least + known.index(each) if each in known else int(each) if each.isdigit() else -1 for each in ends]
    if "/" in part and not (step.isdigit() and int(step)):
        return False
    return len(numbers) < 3 and all(least <= each <= most for each in numbers) and numbers == sorted(numbers)


FORMS: Mapping[str, Form] = {
    "absolute": _named(lambda text: text.startswith("/"), "an absolute path; begin it with '/'"),
    "amount": _amount,
    "annotation": _named(lambda text: is_label_key(text.lower()), _LABEL_KEY),
    "bool": _bool,
    "config-key": _named(
        lambda text: _CONFIG_KEY.fullmatch(text) is not None,
        "a key of a ConfigMap or a Secret: letters, digits, '-', '_' and '.'",
    ),
    "count": _whole(0, _MAX_INT),
    "count-or-any-percent": _count_or_percent(inf),
    "count-or-percent": _count_or_percent(100),
    "field-path": _named(
        _is_field_path,
        "a field that pods can read of themselves; write one such as metadata.name",
    ),
    "filled-name": _named(is_subdomain, f"{_NAME}, in parts that '.' joins"),
    "filled": _named(bool, "filled in; write a value"),
    "finalizer": _named(
        lambda text: text in ("kubernetes", "orphan", "foregroundDeletion") or (is_label_key(text) and "/" in text),
        "a name behind a domain and '/'; write one such as example.com/name",
    ),
    "header": _named(
        lambda text: _HEADER.fullmatch(text) is not None, "the name of a header; write letters, digits and '-'"
    ),
    "host-name": _named(
        lambda text: len(text) <= _HOST_NAME and is_subdomain(text),
        f"{_NAME}, in parts that '.' joins, at most {_HOST_NAME} of them",
    ),
    "id": _whole(0, _MAX_INT),
    "image": _IMAGE,
    "int": _whole(None),
    "int-or-text": lambda value: None if is_whole(value) else _text(value),
    "ip": _named(_is_address, "an IP address; write one"),
    "key": _named(is_label_key, _LABEL_KEY),
    "key-or-none": _named(is_label_key, _LABEL_KEY, may_be_empty=True),
    "label": _named(is_dns_label, f"{_NAME}, at most 63 of them", may_be_empty=True),
    "label-value": _named(is_label_value, _LABEL_VALUE),
    "metadata-field": _named(
        lambda text: text in _WHOLE_FIELDS or (text.startswith("metadata.") and _is_field_path(text)),
        "a field that volumes can hold; write one such as metadata.labels",
    ),
    "long-count": _whole(0),
    "mode": _whole(0, 0o777),
    "none": lambda value: "is not part of a template; remove it" if value else None,
    "number": lambda value: None if isinstance(value, int | float) else _text(value),
    "partition": _whole(0, 255),
    "port": _whole(1, _PORTS),
    "own-resource": _named(
        lambda text: _OWN_RESOURCE.fullmatch(text) is not None,
        "a request or a limit of the container; write one such as limits.memory",
    ),
    "plain-path": _named(lambda text: bool(text) and ".." not in text.split("/"), "a path without '..'; write one"),
    "port-name": _named(
        lambda text: _PORT_NAME.fullmatch(text) is not None,
        "the name of a port: at most 15 lower-case letters, digits and '-'",
        may_be_empty=True,
    ),
    "port-or-0": _whole(0, _PORTS),
    "port-or-name": lambda value: (
        FORMS["port"](value)
        if is_whole(value) or (isinstance(value, str) and value.isdigit())
        else FORMS["port-name"](value)
    ),
    "positive": _whole(1, _MAX_INT),
    "relative": _named(
        lambda text: bool(text) and not text.startswith("/") and ".." not in text.split("/"),
        "a path inside the volume; write one without '/' before it and without '..'",
    ),
    "resource": _named(
        lambda text: is_label_key(text) and not text.startswith("requests."),
        "the name of a resource; write one such as cpu or nvidia.com/gpu",
    ),
    "search": _named(lambda text: _SEARCH.fullmatch(text) is not None, "a DNS domain; write one such as svc.local"),
    "schedule": _named(_is_schedule, "a cron schedule of five fields; write one such as 0 3 * * *"),
    "subdomain": _named(is_subdomain, f"{_NAME}, in parts that '.' joins", may_be_empty=True),
    "sysctl": _named(lambda text: _SYSCTL.fullmatch(text) is not None, "the name of a sysctl; write one"),
    "text": _text,
    "time-zone": _named(
        # Any but the cluster's own where this machine lacks the database.
        lambda text: text in (zoneinfo.available_timezones() or {text}) and text.lower() not in ("", "local"),
        "a time zone of the IANA's database; write one such as Etc/UTC",
    ),
    "token-seconds": _whole(600, 1 << 32),
    "variable": _named(lambda text: _VARIABLE.fullmatch(text) is not None, "a name without '='; write one"),
    "variable-or-none": _named(
        lambda text: _VARIABLE.fullmatch(text) is not None, "a name without '='; write one", may_be_empty=True
    ),
    "weight": _whole(1, 100),
}
"""The forms by name."""
