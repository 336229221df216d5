"""Read the text of one stack file: its fleet, the position of the fleet, and faults around it."""

from __future__ import annotations

import json
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from berth.diagnostics import Problem, Severity, did_you_mean, format_value
from berth.loader.document import YamlDocument, parse
from berth.loader.positions import NO_MARKS, Mark

MOVE_TEAMS = "move teams to their own files and list these under 'teamFiles'"
WRITE_TEAM = "write the team's platform, the team and its workloads below it"
WRITE_FLEET = "write 'config:', below it 'berth:fleet:', and below that the fleet's project, region, pools and teams"

_FLEET = "berth:fleet"
_TEAM = "berth:team"
_BELOW_FLEET = f"; indent it below '{_FLEET}:' if it belongs to the fleet, or remove it"
CONFIG_KEYS = (_FLEET, _TEAM)
_BERTH_PATHS = tuple((kind,) for kind in CONFIG_KEYS)
_TOP_KEYS = ("config", "encryptedkey", "encryptionsalt", "environment", "secretsprovider")
_NO_MARK = Mark(0, NO_MARKS)
# Pulumi passes all config in one environment variable, whose size Linux limits.
_KERNEL_LIMIT = 131_072
_MAX_CONFIG = 120_000


class StackText(Struct):
    """The fleet (None if there is none to continue with), the mark of its key, and the file's faults.

    In a team's own stack, whose `config_key` is `berth:team`, `fleet` is the value of that key. `config` has all config
    keys of the file as written: Pulumi's, the providers' and Berth's. `around` has the keys beside `config`.
    """

    display_path: str = ""
    fleet: dict[str, object] | None = None
    config_key: str = _FLEET
    config: dict[str, object] = field(default_factory=dict[str, object])
    around: dict[str, object] = field(default_factory=dict[str, object])
    key_mark: Mark = _NO_MARK
    faults: list[Problem] = field(default_factory=list[Problem])

    @classmethod
    def read(cls, text: str, display_path: str) -> StackText:
        """Read a stack file's text. Faults: those of `parse`, and `empty-file`, `unknown-key`, `no-fleet` and
        `config-too-large`.

        Keys of Pulumi itself, config of other namespaces, and secrets in Berth's namespace (the fleet names them) are
        ignored.
        """
        document, faults = parse(text, display_path)
        stack_text = cls(
            display_path, faults=faults if document is None else [fault for fault in faults if _is_berth_fault(fault)]
        )
        if document is not None:
            stack_text._read_top(document)
        for index, fault in enumerate(stack_text.faults):
            in_fleet = fault.path[:1] == ("config",) and fault.path[1:2] in _BERTH_PATHS
            stack_text.faults[index] = replace(fault, path=fault.path[2:] if in_fleet else ())
        return stack_text

    def _read_top(self, document: YamlDocument) -> None:
        if document.value is None:
            self._fault("empty-file", 0, f"the file is empty; {WRITE_FLEET}")
            return
        top = _mapping(document.value)
        self.around = {key: value for key, value in top.items() if key != "config"}
        if "apiVersion" in top and "kind" in top:
            remedy = (
                "; a job's manifest is for berth lint and berth admit, and for an existing cluster there is berth adopt"
            )
            message = f"a manifest of Kubernetes ({format_value(top['kind'])}), not a stack file{remedy}"
            self._fault("no-fleet", document.marks["kind"].line, message)
            return
        unknown_keys = sorted(top.keys() - set(_TOP_KEYS))
        for key in unknown_keys:
            # Config keys have a namespace and a colon.
            hint = "; write it below 'config:'" if ":" in key else did_you_mean(key, _TOP_KEYS) or _BELOW_FLEET
            message = f"unknown key '{key}' in a stack file{hint}"
            self._fault("unknown-key", document.marks[key].line, message)
        if "config" in top or not any(key in CONFIG_KEYS or did_you_mean(key, ["config"]) for key in unknown_keys):
            self._read_config(_mapping(top.get("config")), document.marks.get("config", _NO_MARK))

    def _read_config(self, config: dict[str, object], mark: Mark) -> None:
        self.config = config
        own = [key for key in sorted(config) if key.startswith("berth:") or ":" not in key]
        unknown_keys = [key for key in own if key not in CONFIG_KEYS and not _is_secret(config[key])]
        for key in unknown_keys:
            hint = _did_you_mean_fleet(key) or _secret_hint(key, config[key])
            message = f"unknown config key '{key}'{hint}"
            self._fault("unknown-key", mark.inner_marks[key].line, message)
        if all(kind in config for kind in CONFIG_KEYS):
            message = f"'{_TEAM}' and '{_FLEET}' are in one file; move one to its own stack file"
            self._fault("two-kinds", mark.inner_marks[_TEAM].line, message)
        elif _FLEET in config or _TEAM in config:
            self.config_key = _FLEET if _FLEET in config else _TEAM
            self.key_mark = mark.inner_marks[self.config_key]
            self._read_fleet(config[self.config_key], WRITE_FLEET if self.config_key == _FLEET else WRITE_TEAM)
            self._check_size(config)
        elif not any(map(_did_you_mean_fleet, unknown_keys)):
            self._fault("no-fleet", mark.line, f"'berth:fleet' is missing; {WRITE_FLEET}")

    def _read_fleet(self, fleet: object, remedy: str) -> None:
        if isinstance(fleet, dict):
            self.fleet = None if _is_secret(cast("object", fleet)) else cast("dict[str, object]", fleet)
        elif fleet is None:
            self._fault("no-fleet", self.key_mark.line, f"'{self.config_key}' is empty; {remedy}")
        else:
            shape = "a list" if isinstance(fleet, list) else f"'{fleet}'"
            self._fault("no-fleet", self.key_mark.line, f"'{self.config_key}' is {shape}, not a mapping; {remedy}")

    def _check_size(self, config: dict[str, object]) -> None:
        # Pulumi writes the config as a JSON object whose values are JSON texts.
        texts = {key: value if isinstance(value, str) else _json(value) for key, value in config.items()}
        size = len(_json(texts).encode(errors="replace"))
        if size > _MAX_CONFIG:
            limits = f"more than {_MAX_CONFIG:,} (an environment variable holds {_KERNEL_LIMIT:,})"
            message = f"the config is {size:,} bytes as Pulumi passes it to the program, {limits}; {MOVE_TEAMS}"
            self._fault("config-too-large", self.key_mark.line, message)

    def _fault(self, code: str, line: int, message: str) -> None:
        place = f"{self.display_path}:{line}" if line else self.display_path
        self.faults.append(Problem(Severity.FAULT, code, (), message, place))


def _is_berth_fault(fault: Problem) -> bool:
    """Return whether a fault is in the fleet or in the keys around it; config of other programs is not checked."""
    mapping = fault.path[:-1] if fault.code == "duplicate-key" else fault.path
    return (fault.path[:1] == ("config",) and fault.path[1:2] in _BERTH_PATHS) or mapping in {(), ("config",)}


def _is_secret(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"secure"}


def _did_you_mean_fleet(key: str) -> str:
    return (
        did_you_mean(key.removeprefix("berth:"), ["fleet", "team"])
        .replace("'fleet'", f"'{_FLEET}'")
        .replace("'team'", f"'{_TEAM}'")
    )


def _secret_hint(key: str, value: object) -> str:
    """Return what to do with a key of the fleet that is indented too little, or a text that the fleet may name."""
    if ":" not in key:
        return _BELOW_FLEET
    remedy = f"; remove {key}"
    return (
        f"{remedy}, or if it is a kubeconfig, run pulumi config set --secret {key}"
        if isinstance(value, str)
        else remedy
    )


def _mapping(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
