"""Claims about events: which kinds there are, what each carries, and how they are numbered."""

import dataclasses
import json

import pytest

from appliance.framework import AgentEvent, EventType
from appliance.framework.events import Emitter

KINDS = {
    "content": "content", "thinking": "content",
    "tool_call": "tool", "tool_result": "tool", "tool_error": "tool error", "tool_progress": "tool",
    "stage_change": "", "stream_start": "lifecycle", "stream_end": "lifecycle", "error": "error",
    "recovery": "", "progress": "", "milestone": "", "awaiting_approval": "",
}  # fmt: skip


def test_there_are_fourteen_kinds() -> None:
    assert [kind.value for kind in EventType] == list(KINDS)


@pytest.mark.parametrize("kind", EventType)
def test_an_event_says_of_what_family_it_is(kind: EventType) -> None:
    event = AgentEvent(kind)
    is_one = {"tool": event.is_tool_event, "content": event.is_content_event}
    is_one |= {"error": event.is_error_event, "lifecycle": event.is_lifecycle_event}
    assert {name for name, it_is in is_one.items() if it_is} == set(KINDS[kind.value].split())


def test_an_event_as_a_mapping_has_every_field_and_is_json() -> None:
    event = Emitter("run_1")(AgentEvent(EventType.TOOL_CALL, tool_name="search", arguments={"query": ["a"]}))
    told = event.to_dict()
    assert list(told) == [field.name for field in dataclasses.fields(AgentEvent)]
    assert json.loads(json.dumps(told)) == told


def test_each_run_numbers_its_own_events_from_one() -> None:
    """Were the count the process's, two runs at once would each see gaps that look like lost events."""
    first, second = Emitter("a", now=lambda: 1.0), Emitter("b", member_id="tracer", now=lambda: 2.0)
    said = [emit(AgentEvent(EventType.PROGRESS)) for emit in (first, second, first, second)]
    assert [(e.run_id, e.sequence_id) for e in said] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert {(e.run_id, e.member_id, e.timestamp) for e in said} == {("a", "", 1.0), ("b", "tracer", 2.0)}
