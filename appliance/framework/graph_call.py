"""One call of a node or a condition: awaited where it is asynchronous, bounded in time, ended when it is not wanted."""

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Collection
from typing import Final

from appliance.errors import ApplianceError, DeadlineExceeded, StepFailed
from appliance.framework.graph_shape import Work

_GRACE_S: Final = 1.0  # how long what was cancelled may take to clean up
_LONGEST_TEXT: Final = 2000  # characters of a foreign error


async def call(work: Work, state: object, *, who: str, timeout_s: float | None, aside: bool) -> object:
    """Return what *work* returns for *state*.

    A plain function runs in a thread of its own where it stands *aside*, beside others, or where a time bounds it. Raise
    `DeadlineExceeded` after *timeout_s* seconds, whether or not *work* heeds its end. An error of the appliance that it
    raises is raised again with *who* in its sentence, any other as `StepFailed`.
    """
    found = None
    try:
        if timeout_s is None:
            return await _result(work, state, aside=aside)
        if ended := await _ended_within(timeout_s, task := asyncio.ensure_future(_result(work, state, aside=True))):
            found = task.result()
    except asyncio.CancelledError as exc:
        if (current := asyncio.current_task()) is not None and current.cancelling():
            raise
        raise StepFailed(f"{who} was cancelled from within.") from exc
    except ApplianceError as exc:
        raise type(exc)(f"{who} failed: {exc.message}", remedy=exc.remedy, **exc.context) from exc
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as exc:  # the step is the author's
        raise StepFailed(f"{who} raised {_told(exc)}") from exc
    if not ended:
        raise DeadlineExceeded(f"{who} took longer than {timeout_s:g} s.", remedy="Give it more time, or less to do.")
    return found


async def settle(tasks: Collection["asyncio.Task[object]"]) -> None:
    """Cancel *tasks* and wait until they have ended, or for a second: one that goes on all the same is no more heard."""
    for task in tasks:
        task.cancel()
        task.add_done_callback(_heard)
    if tasks:
        await asyncio.wait(tasks, timeout=_GRACE_S)


async def _ended_within(seconds: float, task: "asyncio.Task[object]") -> bool:
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if late := not task.done():
            await settle([task])
    return not late


async def _result(work: Work, state: object, *, aside: bool) -> object:
    if inspect.iscoroutinefunction(work) or not aside:
        found = work(state)
    else:
        found = await _in_thread(work, state)
    return await found if inspect.isawaitable(found) else found


async def _in_thread(work: Work, state: object) -> object:
    """Run *work* in a thread that no program's end waits for."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    ended: asyncio.Future[object] = loop.create_future()

    def tell(value: object, error: BaseException | None) -> None:
        if not ended.done():
            ended.set_exception(error) if error is not None else ended.set_result(value)

    def run() -> None:
        value: object = None
        error: BaseException | None = None
        try:
            value = context.run(work, state)
        except StopIteration as exc:  # no future takes one
            error = RuntimeError(f"it raised StopIteration: {exc}")
        except BaseException as exc:  # noqa: BLE001 - it is raised again where it is awaited
            error = exc
        with contextlib.suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(tell, value, error)

    threading.Thread(target=run, name="graph-node", daemon=True).start()
    return await ended


def _heard(task: "asyncio.Task[object]") -> None:
    if not task.cancelled():
        task.exception()


def _told(exc: BaseException) -> str:
    text = str(exc)
    cut = f"{text[:_LONGEST_TEXT]} (cut from {len(text):,} characters)" if len(text) > _LONGEST_TEXT else text
    return f"{type(exc).__name__}: {cut}" if cut else f"{type(exc).__name__}."
