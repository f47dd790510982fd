"""Checkpoints as JSON, and back: what is none is said to be damaged, whatever it is."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, TypeAdapter, ValidationError

from appliance.errors import HostUnfit, StoreCorrupt
from appliance.framework.checkpoint import FORMAT, Checkpoint, Due, Status

_Count = Annotated[int, Field(ge=0, lt=1 << 63)]
_Due = Annotated[tuple[str, dict[str, Any] | None, str | None], Strict(strict=False)]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    id: str
    thread_id: str
    seq: _Count
    graph: str
    at: float
    step: _Count
    status: Status
    state: dict[str, Any]
    due: list[_Due]
    ran: list[str]
    visits: dict[str, _Count]
    stopped: Literal["", "before", "after", "inside"]
    waits: list[str]
    error: str
    parent: str
    format: Literal[1]


_MAPPING: Final = TypeAdapter(dict[str, Any])


def encoded(checkpoint: Checkpoint) -> str:
    """Return *checkpoint* as JSON."""
    body = {each.name: getattr(checkpoint, each.name) for each in fields(Checkpoint)}
    due = [[each.node, each.given, each.join_at] for each in checkpoint.due]
    return json.dumps({**body, "due": due}, allow_nan=False)


def decoded(body: str, *, thread_id: str, format_: int) -> Checkpoint:
    """Return the checkpoint in *body*; raise `HostUnfit` for one of another *format_*, `StoreCorrupt` for what is none."""
    if format_ != FORMAT:
        raise HostUnfit(
            f"The checkpoint of the thread {thread_id!r} has the format {format_}, and this version reads {FORMAT}.",
            remedy="Go on with the version that wrote it, or begin under another thread id. It was left as it is.",
            thread=thread_id,
        )
    try:
        found = _Body.model_validate(json.loads(body))
    except (ValueError, TypeError, RecursionError) as exc:
        raise damaged(thread_id, exc) from exc
    if found.thread_id != thread_id:
        raise damaged(thread_id, "it is of another thread")
    due = tuple(Due(*each) for each in found.due)
    return Checkpoint(**{**dict(found), "due": due, "ran": tuple(found.ran), "waits": tuple(found.waits)})


def decoded_write(body: str, *, thread_id: str) -> Mapping[str, object]:
    """Return what a branch returned; raise `StoreCorrupt` for what is no mapping."""
    try:
        return _MAPPING.validate_python(json.loads(body))
    except (ValueError, TypeError, RecursionError) as exc:
        raise damaged(thread_id, exc) from exc


def damaged(thread_id: str, why: object) -> StoreCorrupt:
    """Return the error for what of a thread cannot be read."""
    if isinstance(why, ValidationError):
        first = why.errors(include_url=False, include_input=False)[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return StoreCorrupt(
        f"A checkpoint of the thread {thread_id!r} cannot be read: {str(why)[:200]}.",
        remedy="Begin under another thread id, or delete this one. It was left as it is.",
        thread=thread_id,
    )
