"""What of a model's answer reaches whoever asked: no mark of the fences in its prompt, and no call of a tool."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from appliance.contracts.chat import Message
from appliance.orchestrator.fence import marks

_OPEN: Final = "<tool_call>"
_CLOSE: Final = "</tool_call>"
_TAGS: Final = (_OPEN, _CLOSE, "<tool_response>", "</tool_response>", "<tools>", "</tools>")
_WHOLE: Final = ("{", "```json\n{")  # what begins so may be a call that is written without its tags
_SIGNS: Final = str.maketrans("<>", "‹›")  # noqa: RUF001 - as what is fenced has them: no token of any model
_BEGINS: Final = re.compile(r"\s*(?:\{\s*(?:[\"'}]|\Z)|<function=)")  # a call, behind its tag
_GOES_ON: Final = re.compile(r"\s*(?:\{\s*|<[a-z]*)?")  # what may still become that
_AROUND: Final = (("[", "]"), ("⟦", "]"), ("⟦", "⟧"), ("(", ")"), ("`", "`"), ("", ""))
_FENCE: Final = "```"
_LOWER: Final = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}  # others could change its length


class Strainer:
    """Takes an answer piece by piece, and gives on what may be seen; *messages* are the prompt that it answers.

    Whatever the pieces are, what it gives is the same in sum: nowhere in it stands the number of a fence of the prompt, or a
    tag of a tool call, even where those that were taken out stood in each other. A call is left out; a tag that begins none,
    as of an answer about code that has it, is written with other signs.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        found = marks("\n".join(message.content for message in messages))
        forms = {*_TAGS, *found}
        for number in found.values():
            forms |= {f"{a}{word}{number}{b}" for a, b in _AROUND for word in ("data ", "end ", "")}
        self._forms = sorted((form.translate(_LOWER) for form in forms), key=lambda form: (-len(form), form))
        self._found = re.compile("|".join(map(re.escape, self._forms)), re.IGNORECASE | re.ASCII)
        self._held = ""
        self._last = " "
        self._begun = False
        self._within = False  # a call
        self.called = False
        """Whether a call of a tool was taken out."""

    def passed(self, piece: str) -> str:
        """Return what may be seen now that *piece* is there, too."""
        self._held += piece
        return self._seen(whole=False)

    def rest(self) -> str:
        """Return what may be seen of what was held back until the end."""
        return self._seen(whole=True)

    def _seen(self, *, whole: bool) -> str:
        if not self._begun:
            start = self._held.lstrip()
            if not whole and any(start.startswith(each[: len(start)]) for each in _WHOLE):
                return ""
            self._begun = True
            if start.startswith(_WHOLE) and _is_call(start):
                self.called, self._held = True, ""
        seen = ""
        while self._held:
            if self._within and not self._left_call():
                break
            stop = len(self._held) if whole else self._undecided()
            match = self._found.search(self._held)
            if match is None or match.start() >= stop or not (whole or self._is_decided(match)):
                stop = stop if match is None else min(stop, match.start())
                seen, self._held = seen + self._kept(self._held[:stop]), self._held[stop:]
                break
            seen += self._kept(self._held[: match.start()])
            self._held = self._held[match.end() :]
            self._within = match[0].translate(_LOWER) == _OPEN and _BEGINS.match(self._held) is not None
            self.called |= self._within
            is_quoted = match[0].startswith("<") and not self._within
            seen += self._kept(match[0].translate(_SIGNS) if is_quoted else self._in_place_of(match[0]))
        return seen

    def _left_call(self) -> bool:
        """Drop what belongs to a call, and say whether its end was there."""
        end = self._held.translate(_LOWER).find(_CLOSE)
        self._within = end < 0
        self._held = self._held[end + len(_CLOSE) :] if end >= 0 else self._held[-len(_CLOSE) + 1 :]
        return not self._within

    def _undecided(self) -> int:
        """Return from where on it takes more of the answer to know what may be seen: some form ends there, or goes on."""
        text = self._held.translate(_LOWER)
        ends = (at for at in range(len(text)) if any(form.startswith(text[at:]) for form in self._forms))
        return next(ends, len(text))

    def _is_decided(self, match: re.Match[str]) -> bool:
        """Return whether what stands behind *match* says whether a call begins there, where it is the tag of one."""
        behind = self._held[match.end() :]
        return match[0].translate(_LOWER) != _OPEN or not _GOES_ON.fullmatch(behind)

    def _in_place_of(self, mark: str) -> str:
        """Return what stands for *mark*, so that what stood around it does not become another."""
        word = mark[:4]
        if word.translate(_LOWER) == "data" and not self._held[:1].isalnum():
            return word
        if not self._last.isspace():
            return " "
        self._held = self._held.removeprefix(" ")
        return ""

    def _kept(self, text: str) -> str:
        self._last = text[-1:] or self._last
        return text


def strained(text: str, messages: Iterable[Message] | None = None) -> str:
    """Return *text* whole, without the marks of *messages*, or, where none are given, its own."""
    strainer = Strainer([Message("user", text)] if messages is None else messages)
    return strainer.passed(text) + strainer.rest()


def _is_call(text: str) -> bool:
    """Return whether all of *text* is a call: one object with the name of a tool and its arguments."""
    with suppress(ValueError, RecursionError):
        said = json.loads(text.strip().removeprefix("```json").removesuffix(_FENCE))
        return isinstance(said, dict) and isinstance(said.get("arguments"), dict) and bool(said.keys() & {"tool", "name"})
    return False
