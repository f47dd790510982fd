"""One run of a tool: it ends in time, whatever it does, and what it gives is checked and bounded."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from appliance.base import log
from appliance.contracts.tools import Evidence, Json, ToolContext, ToolOutput
from appliance.errors import ApplianceError, DeadlineExceeded, LimitExceeded, NotGranted, ToolFailed
from appliance.orchestrator.calls import canonical
from appliance.orchestrator.services.registry import Registered

_LOOK_S: Final = 0.25  # between two looks at whether the run was asked to stop
_GRACE_S: Final = 1.0  # for a tool that was told to stop
_WARNINGS: Final = 20
_WARNING_CHARACTERS: Final = 500
_REMEDY: Final = "Go on without it; the log has the details."
_log = log.get("tools")


@dataclass(frozen=True, slots=True)
class OutputBounds:
    """What of an output is handed on: characters of text, pieces of evidence, and characters in all of them."""

    text: int = 24_000
    evidence: int = 200
    evidence_text: int = 400_000


async def run_tool(
    found: Registered, arguments: Mapping[str, Json], *, context: ToolContext, bounds: OutputBounds
) -> ToolOutput:
    """Return what the tool gave, bounded, evidence of granted repositories only.

    Raise its own errors, `DeadlineExceeded` after its time-out, `Cancelled` once the run was asked to stop, `NotGranted`
    where it looked elsewhere, and `ToolFailed` for whatever else it does.
    """
    spec = found.spec
    task = asyncio.ensure_future(_called(found, arguments, context))
    try:
        output = await _in_time(task, seconds=spec.timeout_s, name=spec.name, context=context)
    except ApplianceError:
        raise
    except Exception as exc:
        _log.warning("tool.failed", tool=spec.name, run=context.run_id, exc_info=exc)
        raise ToolFailed(f"The tool {spec.name} failed ({type(exc).__name__}).", remedy=_REMEDY) from exc
    return _bounded(output, name=spec.name, context=context, bounds=bounds)


async def _called(found: Registered, arguments: Mapping[str, Json], context: ToolContext) -> object:
    running: object = found.tool.run(arguments, context=context)
    if not isinstance(running, Awaitable):
        raise ToolFailed(
            f"The tool {found.spec.name} does not run asynchronously.", remedy="Write its `run` as `async def`."
        )
    return await cast("Awaitable[object]", running)


async def _in_time(task: "asyncio.Future[object]", *, seconds: float, name: str, context: ToolContext) -> object:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    try:
        while not task.done():
            left = end - loop.time()
            if left <= 0:
                raise DeadlineExceeded(
                    f"The tool {name} took longer than {seconds:g} s.",
                    remedy="Ask it for less at once.",
                    seconds=seconds,
                )
            await asyncio.wait({task}, timeout=min(left, _LOOK_S))
            if not task.done():
                context.cancellation.check()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_GRACE_S)
    return _result(task, name)


def _result(task: "asyncio.Future[object]", name: str) -> object:
    if task.cancelled():  # not by us: we would not be here
        raise ToolFailed(f"The tool {name} gave up (CancelledError).", remedy=_REMEDY)
    return task.result()


def _bounded(output: object, *, name: str, context: ToolContext, bounds: OutputBounds) -> ToolOutput:
    if not isinstance(output, ToolOutput) or not isinstance(output.text, str):
        raise ToolFailed(f"The tool {name} gave {type(output).__name__}, which is no output of a tool.", remedy=_REMEDY)
    _require_granted(output, name=name, context=context)
    try:
        canonical(output.data)
    except LimitExceeded as exc:
        raise ToolFailed(f"The tool {name} gave more data than one call may.", remedy="Ask it for less at once.") from exc
    except ApplianceError as exc:
        raise ToolFailed(f"The tool {name} gave data that is no JSON.", remedy=_REMEDY) from exc
    evidence = _within(output.evidence, bounds)
    notes = [str(warning)[:_WARNING_CHARACTERS] for warning in output.warnings[:_WARNINGS]]
    if len(output.text) > bounds.text:
        notes.append(f"The text was cut: {bounds.text:,} of {len(output.text):,} characters are here.")
    if len(evidence) < len(output.evidence):
        notes.append(f"Evidence was left out: {len(evidence)} of {len(output.evidence)} pieces are here.")
    cut = output.cut or len(output.text) > bounds.text or len(evidence) < len(output.evidence)
    return replace(output, text=output.text[: bounds.text], evidence=evidence, warnings=tuple(notes), cut=cut)


def _require_granted(output: ToolOutput, *, name: str, context: ToolContext) -> None:
    """Withhold all of an output that shows lines of a repository which the run may not see."""
    if any(piece.repo not in context.grants.repos for piece in output.evidence):
        raise NotGranted(
            f"The tool {name} found lines of a repository that this run may not see; its output is withheld.",
            remedy="Name one of the granted repositories in the call.",
        )


def _within(evidence: tuple[Evidence, ...], bounds: OutputBounds) -> tuple[Evidence, ...]:
    kept, left = list[Evidence](), bounds.evidence_text
    for piece in evidence[: bounds.evidence]:
        left -= len(piece.text)
        if left < 0:
            break
        kept.append(piece)
    return tuple(kept)
