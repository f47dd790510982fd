"""How a runner is called, whatever it is: async or not, with the keyword or without, and whatever it returns."""

import asyncio
import concurrent.futures
import contextvars
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping
from contextlib import suppress
from typing import Final, TypeVar

from pydantic import ValidationError

from appliance.operator.agents import AgentRequest, AgentResult, AgentRunner
from appliance.operator.events import StreamingCallback

T = TypeVar("T")
_ENDS_WITHIN_S: Final = 1.0
_KEYWORD: Final = "streaming_callback"

Answers = Callable[..., object]


class WorkStopped(Exception):
    """A runner was cancelled, though nobody cancelled whoever waited for it."""


class WorkBroke(Exception):
    """A runner raised what is no `Exception`: *error*."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class CallableRunner:
    """A plain function as a runner; see `callable_agent`."""

    def __init__(self, fn: Answers) -> None:
        self.fn = fn

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Call the function with *request*, and with the callback if it takes one."""
        return _as_result(await _called(self.fn, request, streaming_callback, aside=False), str)


def callable_agent(fn: Answers) -> AgentRunner:
    """Return a runner that calls ``fn(request)``, which may be async, and may take ``streaming_callback``.

    It returns an `AgentResult`, a dict with its fields, text, or None for no text; of anything else ``str()`` is the text.
    """
    if not callable(fn):
        raise TypeError(f"callable_agent takes a function of one request, not {type(fn).__name__}.")
    return CallableRunner(fn)


async def answer(
    runner: AgentRunner, request: AgentRequest, callback: StreamingCallback, *, timed: bool = False
) -> AgentResult:
    """Return what *runner* answers.

    Where work is *timed* a runner that is not async runs in a thread of its own, as nothing else can be ended in time; the
    thread is left to itself then, and what it returns is dropped.
    """
    if type(runner) is CallableRunner:
        return _as_result(await _called(runner.fn, request, callback, aside=timed), str)
    return _as_result(await _called(runner.run, request, callback, aside=timed), _refused)


async def supervised(
    work: Coroutine[object, object, T], *, within_s: float | None, started: Callable[[asyncio.Task[T]], None]
) -> T:
    """Return what *work* returns, run as a task of its own, which *started* is told of.

    Raise `TimeoutError` after *within_s* seconds, `WorkStopped` or `WorkBroke` where it ended so. When the caller is
    cancelled, or time is over, the task is cancelled and has a second to end; a task that goes on is left behind.
    """
    task = asyncio.create_task(work)
    started(task)
    try:
        await asyncio.wait({task}, timeout=within_s)
    except asyncio.CancelledError:
        await _ended(task)
        raise
    except GeneratorExit:  # whoever waited was thrown away, and can wait for nothing more
        with suppress(RuntimeError):  # with its loop
            task.cancel()
        raise
    if not task.done():
        await _ended(task)
        raise TimeoutError(f"timeout after {within_s:g} s")
    if task.cancelled():
        raise WorkStopped("cancelled")
    if (error := task.exception()) is not None and not isinstance(error, Exception):
        raise WorkBroke(error) from error
    return task.result()


async def _ended(task: asyncio.Task[T]) -> None:
    task.add_done_callback(_seen)
    task.cancel()
    await asyncio.wait({task}, timeout=_ENDS_WITHIN_S)


def _seen(task: asyncio.Task[T]) -> None:
    """Look at how *task* ended, so that asyncio does not complain that nobody did."""
    if not task.cancelled():
        task.exception()


async def _called(fn: Answers, request: AgentRequest, callback: StreamingCallback, *, aside: bool) -> object:
    keywords = {_KEYWORD: callback} if _takes_callback(fn) else {}
    if aside and not _is_async(fn):
        value = await _in_thread(lambda: fn(request, **keywords))
    else:
        value = fn(request, **keywords)
    return await value if inspect.isawaitable(value) else value


def _as_result(value: object, other: Callable[[object], str]) -> AgentResult:
    if isinstance(value, AgentResult):
        return value
    if value is None or isinstance(value, str):
        return AgentResult(content=value or "")
    if isinstance(value, Mapping) and "content" in value:
        return _of_fields(value)
    return AgentResult(content=other(value))


def _of_fields(value: Mapping[str, object]) -> AgentResult:
    try:
        return AgentResult.model_validate(dict(value))
    except ValidationError as exc:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in exc.errors(include_url=False))
        raise TypeError(f"a runner returned a dict that is no AgentResult: {faults}") from exc


def _refused(value: object) -> str:
    raise TypeError(f"a runner returns an AgentResult, a dict with its fields, text or None, not {type(value).__name__}")


def _takes_callback(fn: Answers) -> bool:
    plain = getattr(fn, "__func__", fn)
    return _declares_callback(plain) if isinstance(plain, Hashable) else _declares_callback.__wrapped__(plain)


@functools.lru_cache(maxsize=256)
def _declares_callback(fn: Answers) -> bool:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # some builtins and mocks have none
        return False
    return any(each.name == _KEYWORD or each.kind is each.VAR_KEYWORD for each in parameters)


def _is_async(fn: Answers) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004 - it is


def _in_thread(call: Callable[[], object]) -> Awaitable[object]:
    """Run *call* in a thread that does not keep the process alive, and wait for what it returns."""
    outcome: concurrent.futures.Future[object] = concurrent.futures.Future()
    context = contextvars.copy_context()

    def work() -> None:
        outcome.set_running_or_notify_cancel()
        try:
            outcome.set_result(context.run(call))
        except StopIteration:  # no future can hold one
            outcome.set_exception(RuntimeError("the runner raised StopIteration"))
        except BaseException as exc:  # noqa: BLE001 - it is raised where the outcome is waited for
            outcome.set_exception(exc)

    threading.Thread(target=work, daemon=True, name="operator-runner").start()
    return asyncio.wrap_future(outcome)
