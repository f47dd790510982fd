"""YAML as workflows are written in it: plain mappings, lists and scalars, each with its line, within bounds.

What YAML has beyond that is refused: anchors and aliases, tags, keys that stand twice, several documents. A plain scalar
is a number, ``true``, ``false`` or ``null``, or it is text: ``on``, ``no`` and ``12:30`` are text.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import yaml

from appliance.errors import InvalidInput, LimitExceeded

LARGEST: Final = 256 * 1024  # bytes
DEEPEST: Final = 24
MOST_VALUES: Final = 10_000

Place = tuple[str | int, ...]

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: Final[Mapping[str, object]] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_LONGEST_NUMBER: Final = 40


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says, and on which line each of its values begins, counted from 1."""

    value: object
    lines: Mapping[Place, int]

    def line(self, place: Sequence[str | int]) -> int:
        """Return the line of the value at *place*, or of the nearest around it."""
        known = tuple(place)
        while known and known not in self.lines:
            known = known[:-1]
        return self.lines.get(known, 1)


def read(text: str) -> Document:
    """Return what *text* says; raise `InvalidInput` with the line of what is wrong, `LimitExceeded` if it is too large."""
    if len(text.encode(errors="surrogatepass")) > LARGEST:
        raise LimitExceeded(f"The workflow is larger than {LARGEST // 1024} kB.", remedy="Split it.", limit=LARGEST)
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reader.take(event)
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        where = f"Line {mark.line + 1}: " if mark else ""
        raise InvalidInput(f"{where}this is no YAML: {exc.problem or exc.context}.") from exc
    except (yaml.YAMLError, UnicodeError) as exc:
        raise InvalidInput("This is no YAML: it has characters that no text has.") from exc
    return Document(reader.value, reader.lines)


@dataclass(slots=True)
class _Open:
    """A mapping or list that is not at its end, and the key that waits for its value."""

    value: dict[str, object] | list[object]
    place: Place
    key: str | None = None


@dataclass(slots=True)
class _Reader:
    """Builds values from events, without recursion."""

    value: object = None
    lines: dict[Place, int] = field(default_factory=dict)
    _stack: list[_Open] = field(default_factory=list)
    _documents: int = 0

    def take(self, event: yaml.Event) -> None:
        """Take one event of the parser."""
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _refused(line, "a second document begins", "Give each workflow a file of its own.")
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            self._node(event, line)

    def _node(self, event: yaml.NodeEvent, line: int) -> None:
        if event.anchor is not None:
            sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
            raise _refused(line, f"`{sign}{event.anchor[:40]}`: anchors and aliases are not taken", "Write it out.")
        if getattr(event, "tag", None) is not None:
            raise _refused(line, f"`{str(event.tag)[:60]}`: tags are not taken", "Leave it away.")
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
            return
        value: dict[str, object] | list[object] = {} if isinstance(event, yaml.MappingStartEvent) else []
        place = self._put(value, line)
        self._stack.append(_Open(value, place))
        if len(self._stack) > DEEPEST:
            raise LimitExceeded(f"Line {line}: it nests more than {DEEPEST} deep.", limit=DEEPEST)

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        top = self._stack[-1] if self._stack else None
        if top is None or not isinstance(top.value, dict) or top.key is not None:
            self._put(event.value if event.style else _plain(event.value, line), line)
            return
        if event.value in top.value:
            raise _refused(line, f"the key {event.value[:60]!r} stands here twice", "Keep one.")
        top.key = event.value
        self.lines[(*top.place, event.value)] = line

    def _put(self, value: object, line: int) -> Place:
        if len(self.lines) >= MOST_VALUES:
            raise LimitExceeded(f"The workflow has more than {MOST_VALUES:,} values.", limit=MOST_VALUES)
        if not self._stack:
            self.value, place = value, Place()
        elif isinstance(top := self._stack[-1].value, list):
            place = (*self._stack[-1].place, len(top))
            top.append(value)
        else:
            key = self._stack[-1].key
            if key is None:
                raise _refused(line, "a key is no text", "Keys are words.")
            place, self._stack[-1].key = (*self._stack[-1].place, key), None
            top[key] = value
        self.lines.setdefault(place, line)
        return place


def _plain(text: str, line: int) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _LONGEST_NUMBER and _INTEGER.fullmatch(text):
        return int(text)
    if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text):
        if not math.isfinite(number := float(text)):
            raise _refused(line, f"`{text}` is too large a number", "Write a smaller one, or put it in quotes.")
        return number
    return text


def _refused(line: int, what: str, remedy: str) -> InvalidInput:
    return InvalidInput(f"Line {line}: {what}.", remedy=remedy, line=line)
