"""Run a Pulumi program in this process, as the language host and the engine would, and clean up afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import io
import os
import traceback
import warnings
from collections.abc import Callable, Collection, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context, copy_context
from pathlib import Path
from types import TracebackType
from typing import Any

import pulumi
from msgspec import Struct
from pulumi.runtime import config as pulumi_config
from pulumi.runtime import resource as sdk_resource
from pulumi.runtime import settings
from pulumi.runtime.mocks import MockEngine
from pulumi.runtime.proto import engine_pb2
from pulumi.runtime.stack import run_in_stack

from berth.engine import source_locations
from berth.engine.answers import Answers, plausible_outputs
from berth.engine.recorder import ProviderFunctions, Recorder
from berth.engine.records import STACK_TYPE, Message, ProgramError, RecordedResource, References

_SEVERITIES = {engine_pb2.INFO: "info", engine_pb2.WARNING: "warning", engine_pb2.ERROR: "error"}

_STACK_TRACE = "_get_stack_trace"
"""The SDK's function that reads the stack for each resource."""

_IDLE_TURNS = 100
"""Turns of the event loop without a task that starts or ends, after which nothing is on its way any more."""


class Preview(Struct, frozen=True, kw_only=True):
    """What a program registers: resources in order of registration, and the stack's exports (secrets masked)."""

    project: str
    stack: str
    resources: tuple[RecordedResource, ...]
    exports: Mapping[str, object]
    messages: tuple[Message, ...]


def record_program(
    build: Callable[[], object],
    *,
    project: str,
    stack: str,
    config: Mapping[str, str],
    preview: bool = True,
    secrets: Collection[str] = (),
    answers: Answers = plausible_outputs,
    invoke: ProviderFunctions | None = None,
    references: References | None = None,
    base: Path | None = None,
) -> Preview:
    """Run `build` as a Pulumi program and return what it registers; raise `ProgramError` if it fails.

    `config` has the engine's encoding: every value is a string, objects are JSON. `secrets` names its secret keys.
    With `preview`, ids and computed outputs are unknown, as on a first deployment; otherwise `answers` supplies them.
    `invoke` answers provider functions, `references` are the outputs of other stacks, by name.
    Places in errors are relative to `base` (the current folder).
    """
    base_folder = str((base or Path.cwd()).absolute())
    recorder = Recorder(
        project=project,
        stack=stack,
        config=config,
        preview=preview,
        answers=answers,
        invoke=invoke,
        references=references,
        base=base_folder,
    )

    def configure_and_run() -> None:
        _configure(recorder, project, stack, preview, base_folder)
        pulumi_config.set_all_config(dict(config), list(secrets))
        _run_program(build, recorder, base_folder)

    copy_context().run(configure_and_run)
    root = recorder.recorded[recorder.make_urn("", STACK_TYPE, f"{project}-{stack}")]
    return Preview(
        project=project,
        stack=stack,
        resources=tuple(recorder.recorded.values()),
        exports=root.outputs or {},
        messages=tuple(recorder.messages),
    )


def _configure(recorder: Recorder, project: str, stack: str, preview: bool, base_folder: str) -> None:
    """Install the recorder where the SDK looks for the engine. The SDK keeps its whole state in context variables."""
    settings.reset_options()
    settings.configure(
        settings.Settings(
            project=project,
            stack=stack,
            monitor=recorder,
            engine=_EngineLog(recorder.messages),
            dry_run=preview,
            root_directory=base_folder,
            organization="organization",
        )
    )


def _run_program(build: Callable[[], object], recorder: Recorder, base_folder: str) -> None:
    """Run the program to its end and clean up; its faults and the engine's become one `ProgramError`."""
    tasks = _Tasks()
    try:
        with _captured_messages(recorder.messages), _without_gc(), _short_traces():
            _run_in_new_loop(build, tasks)
    except (Exception, SystemExit) as error:
        recorder.faults.extend(_error_lines(error.with_traceback(tasks.first_traceback(error)), base_folder))
        if recorder.faults:
            raise ProgramError("\n".join(recorder.faults)) from error
    finally:
        # Twice: a setting that is None also becomes the default of other contexts.
        settings.reset_options()
        settings.reset_options()
    if recorder.faults:
        raise ProgramError("\n".join(recorder.faults))


class _InlineExecutor(ThreadPoolExecutor):
    """An executor that works in the caller's thread: the SDK sends every request through one, and ours never block."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run the call now."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # the exception belongs to the result
            future.set_exception(error)
        return future


def _run_in_new_loop(build: Callable[[], Any], tasks: _Tasks) -> None:
    """Run the program and all its tasks to the end, in a private event loop."""

    async def build_and_settle() -> None:
        result = build()
        if inspect.isawaitable(result):
            await result
        await tasks.settle()

    loop = asyncio.new_event_loop()
    loop.set_default_executor(_InlineExecutor())
    loop.set_task_factory(tasks.create)
    loop.set_exception_handler(lambda _loop, _context: None)  # a failed program leaves futures that nothing awaits
    try:
        loop.run_until_complete(run_in_stack(build_and_settle))
    finally:
        _close_loop(loop)


class _Tasks:
    """The tasks of a program, and where their exceptions came from.

    A future that several await keeps its traceback only for the first one.
    """

    def __init__(self) -> None:
        self._by_error_id: dict[int, tuple[BaseException, TracebackType | None]] = {}
        self._started = 0
        self._done = 0

    async def settle(self) -> None:
        """Let tasks run until none starts or ends any more; at most the SDK's own waiting is left then.

        The SDK waits for the first task that ends, again and again, and looks at all of them each time: that is
        quadratic in the number of resources.
        """
        idle = 0
        while idle < _IDLE_TURNS and self._done + 1 < self._started:  # one of them is the program, which waits here
            before = self._started, self._done
            await asyncio.sleep(0)
            idle = 0 if (self._started, self._done) != before else idle + 1

    def create(self, loop: asyncio.AbstractEventLoop, coro: Any, context: Context | None = None) -> asyncio.Task[Any]:
        """Create a task that records its exception before anything else handles it."""
        task = asyncio.Task(coro, loop=loop, context=context)
        self._started += 1
        task.add_done_callback(self._remember)
        return task

    def _remember(self, task: asyncio.Task[Any]) -> None:
        self._done += 1
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._by_error_id.setdefault(id(error), (error, error.__traceback__))

    def first_traceback(self, error: BaseException) -> TracebackType | None:
        """Return the traceback that the exception had at first."""
        return self._by_error_id[id(error)][1] if id(error) in self._by_error_id else error.__traceback__


def _close_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel tasks that a failed program left, and close the loop."""
    pending = asyncio.all_tasks(loop)
    for task in pending:
        task.cancel()
    if pending:
        loop.run_until_complete(asyncio.wait(pending))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _error_lines(error: BaseException, base_folder: str) -> list[str]:
    """Return an exception as text with its place; a `RunError` is text already. Empty for an exit with status 0."""
    if isinstance(error, SystemExit) and not error.code:
        return []
    if isinstance(error, SystemExit):
        text = error.code if isinstance(error.code, str) else f"the program ended with exit status {error.code}"
    elif isinstance(error, pulumi.RunError):
        text = str(error)
    else:
        place = source_locations.location_of_error(error, base_folder)
        message = error.msg if isinstance(error, SyntaxError) else error
        text = f"{place}: " if place else ""
        text += f"{type(error).__name__}: {message}"
    return [
        text + ("\n" + "".join(traceback.format_exception(error)) if os.environ.get("BERTH_TRACEBACK") == "1" else "")
    ]


class _EngineLog(MockEngine):
    """The engine's log; debug messages are dropped."""

    def __init__(self, messages: list[Message]) -> None:
        super().__init__(None)
        self._messages = messages

    def Log(self, request: engine_pb2.LogRequest) -> None:
        """Keep a message."""
        if request.severity in _SEVERITIES:
            self._messages.append(Message(_SEVERITIES[request.severity], request.message, request.urn))

    def RequirePulumiVersion(self, request: engine_pb2.RequirePulumiVersionRequest) -> None:
        """Return that the CLI is recent enough: there is none."""


@contextlib.contextmanager
def _without_gc() -> Generator[None]:
    """Pause garbage collection: a program's objects live until its end, and scanning them takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _short_traces() -> Generator[None]:
    """Let the SDK read one frame of the stack for each resource instead of all, where it still has that function."""
    original = getattr(sdk_resource, _STACK_TRACE, None)
    if original is not None:
        setattr(sdk_resource, _STACK_TRACE, source_locations.innermost_trace)
    try:
        yield
    finally:
        if original is not None:
            setattr(sdk_resource, _STACK_TRACE, original)


@contextlib.contextmanager
def _captured_messages(messages: list[Message]) -> Generator[None]:
    """Record what the program prints, and Python's warnings, as messages, as the language host does."""

    def show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object) -> None:
        messages.append(Message("warning", f"{filename}:{lineno}: {category.__name__}: {message}"))

    stdout = io.StringIO()
    try:
        with contextlib.redirect_stdout(stdout), warnings.catch_warnings():
            # Loading these modules warns about every deprecated class; the log also reports the use of one.
            warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"pulumi_\w+\.")
            warnings.showwarning = show_warning
            yield
    finally:
        messages.extend(Message("info", line) for line in stdout.getvalue().splitlines())
