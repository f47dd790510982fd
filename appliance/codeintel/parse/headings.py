"""Markdown's headings as symbols: a section reaches to the next heading of its own level or above."""

import re
from collections.abc import Sequence

from appliance.codeintel.facts import Symbol

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.+?)[ \t#]*\Z")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_NAME = 200
_QUALNAME = 400


def headings(lines: Sequence[str]) -> list[Symbol]:
    """Return the headings of *lines* in order, nested by level; lines inside fences are none."""
    found = [(line, level, name) for line, level, name in _found(lines)]
    ends = _ends(found, len(lines))
    symbols: list[Symbol] = []
    stack: list[tuple[int, int]] = []  # level, index
    times: dict[str, int] = {}
    for index, (line, level, name) in enumerate(found):
        while stack and stack[-1][0] >= level:
            stack.pop()
        parent = stack[-1][1] if stack else -1
        qualname = f"{symbols[parent].qualname[:_QUALNAME]}.{name}" if stack else name
        times[qualname] = times.get(qualname, 0) + 1
        if times[qualname] > 1:
            qualname = f"{qualname}#{times[qualname]}"
        symbols.append(Symbol(name, qualname, "heading", line, ends[index], lines[line - 1].strip()[:300], "", parent))
        stack.append((level, index))
    return symbols


def _found(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    fence = ""
    for number, line in enumerate(lines, start=1):
        opening = _FENCE.match(line)
        if opening and (not fence or opening[1] == fence):
            fence = "" if fence else opening[1]
        elif fence:
            continue
        elif match := _HEADING.match(line.rstrip("\r")[: _NAME * 2]):
            found.append((number, len(match[1]), match[2][:_NAME]))
        elif number > 1 and (match := _UNDERLINE.match(line.rstrip("\r"))) and _is_title(lines[number - 2]):
            found.append((number - 1, 1 if match[1][0] == "=" else 2, lines[number - 2].strip()[:_NAME]))
    return found


def _is_title(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and stripped[0] not in "#-*+>|=`~" and len(stripped) <= _NAME


def _ends(found: Sequence[tuple[int, int, str]], last: int) -> list[int]:
    ends = [last] * len(found)
    stack: list[tuple[int, int]] = []
    for index, (line, level, _) in enumerate(found):
        while stack and stack[-1][0] >= level:
            ends[stack.pop()[1]] = max(line - 1, 1)
        stack.append((level, index))
    return ends
