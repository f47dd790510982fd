"""Tool calls in the form that models are trained on: one JSON object between tags, after free text.

The form is that of the Hermes templates, which Qwen's share. A model uses it only where `probe` saw it do so.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from appliance.contracts.tools import ToolSpec
from appliance.errors import MalformedContent
from appliance.orchestrator.runners.envelope import Choice, bounded, compact, first

_CALL: Final = re.compile(r"<tool_call>\s*(\{.{1,8000}?\})\s*</tool_call>", re.DOTALL)
_BOUNDS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems", "additionalProperties"})
_HEAD: Final = (
    "You may call one function to help with the user's request. The functions are given within <tools></tools>:\n<tools>\n"
)
_TAIL: Final = (
    "\n</tools>\nTo call a function, reply with a JSON object within <tool_call></tool_call>:\n"
    '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)


def instructions(specs: Sequence[ToolSpec]) -> str:
    """Return the system prompt that offers *specs*, in as few words as the envelope takes for them."""
    offered = (
        {
            "type": "function",
            "function": {"name": spec.name, "description": first(spec), "parameters": _brief(bounded(spec.parameters))},
        }
        for spec in specs
    )
    return _HEAD + "\n".join(compact(each) for each in offered) + _TAIL


def _brief(schema: object) -> object:
    """Return *schema* without its bounds: nothing holds a model to them here, and each is a word before the task."""
    if isinstance(schema, Mapping):
        return {
            key: {name: _brief(each) for name, each in part.items()} if key == "properties" else _brief(part)
            for key, part in schema.items()
            if key not in _BOUNDS
        }
    return [_brief(part) for part in schema] if isinstance(schema, list) else schema


def call(text: str) -> Choice | None:
    """Return the call in *text*, None if there is none; raise `MalformedContent` for one that cannot be read."""
    found = _CALL.search(text)
    if found is None:
        return None
    try:
        said = json.loads(found[1])
    except (ValueError, RecursionError) as exc:
        raise MalformedContent("The model's tool call is no JSON.") from exc
    arguments = said.get("arguments") if isinstance(said, dict) else None
    if not isinstance(arguments, dict) or not isinstance(said.get("name"), str):
        raise MalformedContent("The model's tool call has no name, or no arguments.")
    return Choice(said["name"], arguments)
