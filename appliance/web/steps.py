"""What an entry of a mission's record tells people: one line, the same at every door."""

import json
from collections.abc import Callable, Mapping
from typing import Final

from appliance.base.paths import display
from appliance.contracts.tools import Json
from appliance.errors import ApprovalRequired
from appliance.orchestrator.missions.model import Entry, EntryKind

LONGEST: Final = 240
"""Characters of one line."""

_Data = Mapping[str, Json]


def told(entry: Entry) -> str:
    """Return *entry* in one line, without who did it and when: bounded, and safe to show."""
    line = _LINES[entry.kind](entry.data)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2]} …"


def _begun(data: _Data) -> str:
    repos = data.get("repos")
    names = ", ".join(_text(each) for each in repos) if isinstance(repos, list | tuple) else _text(repos)
    model = _text(data.get("model"))
    return f"begins: {_said(data, 'goal')}" + (f"; in {names}" if names else "") + (f"; {model}" if model else "; no model")


def _asked_model(data: _Data) -> str:
    parameters = data.get("parameters")
    most = parameters.get("max_tokens") if isinstance(parameters, Mapping) else None
    return "asks the model" + (f" for at most {most} tokens" if isinstance(most, int) else "")


def _model_said(data: _Data) -> str:
    tokens = f"{_number(data, 'prompt_tokens'):,.0f} + {_number(data, 'completion_tokens'):,.0f} tokens"
    cut = ", cut off" if data.get("finish") == "length" else ""
    return f"the model, {tokens}, {_number(data, 'seconds'):.1f} s{cut}: {_said(data, 'text')}"


def _called_tool(data: _Data) -> str:
    arguments = data.get("arguments")
    pairs = arguments.items() if isinstance(arguments, Mapping) else ()
    return f"{_said(data, 'tool')} " + ", ".join(f"{display(name)}={_text(value)}" for name, value in pairs)


def _tool_gave(data: _Data) -> str:
    tool, spent = _said(data, "tool"), f"{_number(data, 'seconds'):.1f} s"
    if data.get("code") == ApprovalRequired.code:
        return f"{tool} needs a person's yes"
    if error := _said(data, "error"):
        return f"{tool} failed after {spent}: {error}"
    evidence = data.get("evidence")
    places = len(evidence) if isinstance(evidence, list | tuple) else 0
    found = f"{places} place{'' if places == 1 else 's'}" if places else _said(data, "text") or "nothing"
    return f"{tool} gave, after {spent}: {found}"


def _asked_approval(data: _Data) -> str:
    why = _said(data, "reason")
    return f"waits for a yes or no to {_called_tool(data)}" + (f": {why}" if why else "")


def _approval(data: _Data) -> str:
    by, why = _said(data, "by"), _said(data, "reason")
    return f"{_said(data, 'decision')}" + (f" by {by}" if by else "") + (f": {why}" if why else "")


def _evidence(data: _Data) -> str:
    place = f"{_said(data, 'path')}:{_text(data.get('start_line'))}-{_text(data.get('end_line'))}"
    return f"evidence [{_text(data.get('n'))}] {place} of {_said(data, 'repo_name')}"


def _sentence(data: _Data) -> str:
    cites = data.get("cites")
    return _said(data, "text") + "".join(f" [{_text(n)}]" for n in (cites if isinstance(cites, list | tuple) else ()))


def _resumed(data: _Data) -> str:
    by, words = _said(data, "by"), _said(data, "instruction")
    return "goes on" + (f", by {by}" if by else "") + (f": {words}" if words else "")


def _ended(data: _Data) -> str:
    reason = _said(data, "reason")
    return f"ended: {_said(data, 'state')}" + (f": {reason}" if reason else "")


def _both(words: str, *names: str) -> Callable[[_Data], str]:
    """Return what says *words* with the named data in their places."""
    return lambda data: words.format(*(_said(data, name) for name in names))


_LINES: Final[Mapping[EntryKind, Callable[[_Data], str]]] = {
    "begun": _begun,
    "commissioned": _both("asks the {}: {}", "junior", "objective"),
    "instructed": _both("tells the {}: {}", "junior", "message"),
    "staged": _both("the {} reports: {}", "junior", "summary"),
    "accepted": _both("accepts what the {} reports", "junior"),
    "refused": _both("refuses what the {} reports: {}", "junior", "reason"),
    "asked_model": _asked_model,
    "model_said": _model_said,
    "called_tool": _called_tool,
    "tool_gave": _tool_gave,
    "asked_approval": _asked_approval,
    "approval": _approval,
    "evidence": _evidence,
    "sentence": _sentence,
    "struck": _both("struck: {} ({})", "text", "reason"),
    "paused": _both("pauses: {}", "reason"),
    "resumed": _resumed,
    "interrupted": _both("was interrupted: {}", "reason"),
    "answer": lambda _: "answers",
    "ended": _ended,
}


def _said(data: _Data, name: str) -> str:
    return _text(data.get(name))


def _text(value: Json) -> str:
    """Return *value* in one line, cut before it is looked through: it may be long."""
    if value is None:
        return ""
    whole = value if isinstance(value, str) else json.dumps(value, default=str)
    return display(" ".join(whole[: 4 * LONGEST].split()))[:LONGEST]


def _number(data: _Data, name: str) -> float:
    value = data.get(name)
    return value if isinstance(value, int | float) else 0.0
