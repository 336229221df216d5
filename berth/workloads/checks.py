"""Checks of a workload's options against each other and the machines of its queue."""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.diagnostics import Problems, did_you_mean, join_quoted
from berth.manifests.quantities import quantity
from berth.names import is_dns_1035_label, shorten
from berth.workloads.options import WorkloadOptions, workload_kinds
from berth.workloads.run_duration import run_limit
from berth.workloads.target import WorkloadTarget


def check_options(target: WorkloadTarget, options: WorkloadOptions, kind: str, problems: Problems) -> None:
    """Report every option that the kind, the queue's machines or the fleet does not support."""
    _OptionChecks(target, options, kind, problems).check()


def check_workload_name(name: str, longest: int, problems: Problems) -> None:
    """Report a name that Kubernetes rejects, or one so long that the names derived from it do not fit."""
    if not is_dns_1035_label(name):
        message = f"'{name}' is not a workload name: write lower-case letters, digits and '-', starting with a letter"
        problems.fault("bad-name", ("--name",), message)
    elif len(name) > longest:
        message = (
            f"'{name}' has {len(name)} characters, more than {longest}; names derived from it must fit into 63; "
            f"write '{shorten(name, longest)}'"
        )
        problems.fault("long-name", ("--name",), message)


class _OptionChecks(Struct, frozen=True):
    target: WorkloadTarget
    options: WorkloadOptions
    kind: str
    problems: Problems

    @property
    def title(self) -> str:
        """The kind with its article: `a job`, `an mpijob`."""
        return f"{'an' if self.kind.startswith('m') else 'a'} {self.kind}"

    def check(self) -> None:
        """Report every fault."""
        shape, options = self.target.shape, self.options
        self._check_kind()
        if shape.is_tpu:
            self._check_tpu_options()
        elif shape.is_cpu:
            self._check_cpu_options()
        else:
            self._check_gpu_options()
        if self.kind != "jobset" and options.restart_strategy is not None:
            self._fault("wrong-kind", "--restart-strategy", f"{self.title} has none; remove it, or write --kind jobset")
        if self.kind != "trainjob" and options.runtime is not None:
            self._fault("wrong-kind", "--runtime", f"{self.title} has none; remove it, or write --kind trainjob")
        if options.priority is not None:
            self._check_priority(options.priority)
        is_queued = shape.pool.capacity == "queued"
        if self.kind == "provisioning-request" and not is_queued:
            message = (
                f"flavor '{shape.flavor.name}' is {shape.pool.capacity}; a ProvisioningRequest needs queued machines"
            )
            self._fault("wrong-kind", "--kind", message)
        self._check_run_duration(any(each.pool.capacity == "queued" for each in self.target.shapes))
        if options.placement_group is not None and shape.pool.made_by == "berth":
            message = f"pool '{shape.pool.name}' has fixed nodes; only nodes that GKE creates can be placed for a job"
            self._fault("wrong-kind", "--placement-group", message)

    def _check_kind(self) -> None:
        row = workload_kinds()[self.kind]
        has_template = self.options.template is not None
        for field in row.needs:
            if not getattr(self.options, field) and not (field == "image" and has_template):
                self._fault("missing-option", _flag(field), f"{self.title} needs {_EXAMPLES[field]}")
        for field in row.without:
            if getattr(self.options, field):
                message = f"{self.title} has no {field.replace('_', ' ')}; remove it, or write another --kind"
                self._fault("wrong-kind", _flag(field), message)

    def _check_tpu_options(self) -> None:
        shape, options = self.target.shape, self.options
        machines = workload_kinds()[self.kind].machines
        for option, value in (("--pods", options.pods), ("--gpus", options.gpus)):
            if value is not None:
                message = f"'{value}': the machines of {self.target.name} are {shape.description}; write --slices"
                self._fault("wrong-shape", option, message)
        if shape.flavor.slicing is not None:
            self._check_formed_slices()
        if "tpu" not in machines:
            message = f"{self.title} is for GPUs, and {self.target.name} has {shape.flavor.noun}; write jobset"
            self._fault("wrong-kind", "--kind", message)
        elif shape.is_multi_host and "tpu-slice" not in machines:
            message = f"the {shape.hosts} pods of {self.title} could be placed on two slices; write --kind jobset"
            self._fault("wrong-kind", "--kind", message)
        elif self.kind == "provisioning-request" and (options.slices or 1) > 1:
            self._fault(
                "wrong-shape", "--slices", f"'{options.slices}': a request has one slice; write a request for each"
            )

    def _check_formed_slices(self) -> None:
        """Report kinds that cannot form slices, and several slices of a kind that is one slice."""
        if self.kind not in _FORMING_KINDS:
            message = f"{self.title} cannot form slices of {self.target.name}; write {' or '.join(_FORMING_KINDS)}"
            self._fault("wrong-kind", "--kind", message)
        elif self.kind == "job" and (self.options.slices or 1) > 1:
            message = f"'{self.options.slices}': a job is one slice; write --kind jobset, or a larger --topology"
            self._fault("wrong-shape", "--slices", message)

    def _check_cpu_options(self) -> None:
        """Report options of accelerators, and pods that are larger than the smallest of the nodes."""
        shape, options = self.target.shape, self.options
        for option, value in (("--slices", options.slices), ("--gpus", options.gpus)):
            if value is not None:
                message = (
                    f"'{value}': the machines of {self.target.name} are {shape.description}; write --pods and --cpu"
                )
                self._fault("wrong-shape", option, message)
        if shape.allocatable is None:
            return
        for option, value, limit in (
            ("cpu", options.cpu, shape.per_node * shape.flavor.scale),
            ("memory", options.memory, shape.allocatable.memory),
        ):
            if value is not None and value > limit:
                most = quantity(option, limit) if option == "cpu" else f"{limit // 2**30}Gi"
                message = f"'{quantity(option, value)}': a pod of {self.target.name} can have at most {most} {option}"
                remedy = "write more --pods instead"
                if larger := self._larger_flavor(option, value):
                    remedy = f"{remedy}, or --flavor {larger}"
                self._fault("wrong-shape", f"--{option}", f"{message} on {shape.pool.machine_type}; {remedy}")

    def _larger_flavor(self, option: str, value: int) -> str | None:
        """Return a flavor of the queue on whose nodes a pod with this much cpu or memory fits; None without one."""
        for shape in self.target.shapes:
            memory = shape.allocatable.memory if shape.allocatable else 0
            if value <= (shape.per_node * shape.flavor.scale if option == "cpu" else memory):
                return shape.flavor.name
        return None

    def _check_gpu_options(self) -> None:
        shape, options = self.target.shape, self.options
        if options.slices is not None:
            message = f"'{options.slices}': the machines of {self.target.name} are {shape.description}; write --pods"
            self._fault("wrong-shape", "--slices", message)
        if (options.gpus or 0) > shape.per_pod:
            message = (
                f"'{options.gpus}': a pod of {self.target.name} can have at most {shape.per_pod} {shape.flavor.noun}"
            )
            self._fault("wrong-shape", "--gpus", f"{message}; write more --pods instead")
        pods, most = options.pods or 1, shape.domain_nodes
        if shape.flavor.channels is not None and pods > most and self.kind != "deployment":
            message = f"'{pods}' nodes are more than the {most} of an NVLink domain of {shape.pool.machine_type}"
            self._fault("wrong-shape", "--pods", f"{message}; write --pods {most}, and a job for each domain")

    def _check_priority(self, name: str) -> None:
        known = [each.name for each in self.target.plan.priorities]
        required = self.target.queue.priority
        if name not in known:
            suggestion = did_you_mean(name, known) or (
                f"; write one of {join_quoted(known)}" if known else "; the fleet has none"
            )
            self._fault("no-priority", "--priority", f"no priority '{name}'{suggestion}")
        elif required is not None and name != required:
            message = f"'{name}': {self.target.name} requires '{required}'; write {required}, or remove --priority"
            self._fault("wrong-priority", "--priority", message)
        elif name not in (self.target.team.pod_priorities(self.target.local_queue.namespace) or known):
            message = (
                f"'{name}' is not allowed for pods of {self.target.team.name}; remove --priority, or add {name} to "
                "podPriorities of the team"
            )
            self._fault("wrong-priority", "--priority", message)

    def _check_run_duration(self, is_queued: bool) -> None:
        seconds = self.options.max_run_seconds
        if seconds is None:
            return
        minimum, maximum = catalog.limits().min_run_seconds, catalog.limits().max_run_seconds
        limit = run_limit(self.target.plan, self.target.queue) or maximum
        if not is_queued:
            message = f"'{seconds}s': the machines of {self.target.name} are not queued, so jobs run without a limit"
            message += "; remove --max-run-duration"
            self._fault("wrong-shape", "--max-run-duration", message)
        elif not minimum <= seconds <= maximum:
            message = f"'{seconds}s' is not between {minimum}s (10 minutes) and {maximum}s (7 days)"
            self._fault("bad-value", "--max-run-duration", message)
        elif seconds > limit:
            message = f"'{seconds}s' is more than the maximum of {self.target.name}, {limit}s; write {limit}s or less"
            self._fault("above-run-limit", "--max-run-duration", message)

    def _fault(self, code: str, option: str, message: str) -> None:
        self.problems.fault(code, (option,), message)


_FORMING_KINDS = ("jobset", "job", "leaderworkerset")
"""Kinds that the webhooks of the slice controller read (xpk, `slice/internal/webhooks`)."""
_EXAMPLES = {"image": "an image; name one", "command": "a command, such as python train.py"}


def _flag(field: str) -> str:
    """Name the option of a field: `backoff_limit` → `--backoff-limit`; the command is an argument."""
    return {"command": "COMMAND", "ports": "--port"}.get(field, f"--{field.replace('_', '-')}")
