"""A shell's text taken apart into simple commands, as POSIX shells and bash read it, without running anything.

`shlex` knows quotes alone; what a command hides in substitutions, pipes and here-strings must be seen too.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from appliance.errors import MalformedContent

LONGEST: Final = 64 * 1024  # characters
_OPERATORS: Final = ("<<<", "&>>", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", ">>", "<<", ">|", "<>", "&>", ">&", "<&")
_SINGLE: Final = frozenset(";&|<>()\n")
_REDIRECTS: Final = frozenset({"<<<", "&>>", "<<-", ">>", "<<", ">|", "<>", "&>", ">&", "<&", "<", ">"})
_HOMES: Final = frozenset({"HOME", "{HOME}"})
_HERE: Final = frozenset({"PWD", "{PWD}"})
_BLANK: Final = frozenset({"IFS", "{IFS}"})
_EMPTY: Final = re.compile(r"[ \t]*\)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}


def names(text: str) -> frozenset[str]:
    """Return the words of *text*, which are parted by blanks."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes. *computed*: part of it is known only when it runs; that part is left out of *text*."""

    text: str
    computed: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where a command reads from or writes to."""

    operator: str
    target: Word


@dataclass(slots=True)
class Simple:
    """A command with its arguments. *piped*: what comes before it in a pipe is its input."""

    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    piped: bool = False


@dataclass(slots=True)
class Script:
    """What a text would run: its commands, the texts of its substitutions, and whether it defines functions."""

    commands: list[Simple] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    functions: bool = False


def script_of(text: str) -> Script:
    """Take *text* apart; raise `MalformedContent` for quotes and brackets that do not close, and for too long a text."""
    if len(text) > LONGEST or "\0" in text:
        raise MalformedContent("A command is too long, or no text.", limit=LONGEST)
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._script = Script()
        self._current = Simple()
        self._pending: str | None = None  # the redirect whose target comes next

    def read(self) -> Script:
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r" or self._text.startswith("\\\n", self._at):
                self._at += 1 if char != "\\" else 2
            elif char == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif char in _SINGLE and not self._text.startswith(("<(", ">("), self._at):
                self._operator()
            else:
                self._word()
        self._end(piped=False)
        return self._script

    def _operator(self) -> None:
        text = self._text
        sign = next((each for each in _OPERATORS if text.startswith(each, self._at)), text[self._at])
        self._at += len(sign)
        if sign in _REDIRECTS:
            words = self._current.words
            if words and words[-1].text.isdigit() and text[self._at - len(sign) - 1].isdigit():
                words.pop()  # the number of what is redirected
            self._pending = sign
        elif sign == "(" and self._current.words and _EMPTY.match(text, self._at):
            self._script.functions = True
            self._end(piped=False)
        else:
            self._end(piped=sign in {"|", "|&"})

    def _end(self, *, piped: bool) -> None:
        if self._current.words or self._current.redirects:
            self._script.commands.append(self._current)
        self._pending = None
        self._current = Simple(piped=piped)

    def _word(self) -> None:
        start, parts, computed = self._at, list[str](), False
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r" or (char in _SINGLE and not self._text.startswith(("<(", ">("), self._at)):
                break
            piece, unknown = self._piece(char)
            computed = computed or unknown
            if piece == " " and char == "$" and not unknown:  # $IFS parts words like a blank
                self._put(Word("".join(parts), computed))
                parts, computed = [], False
                continue
            parts.append(piece)
        if self._at == start:
            raise MalformedContent("A command cannot be read.")
        self._put(Word("".join(parts), computed))

    def _put(self, word: Word) -> None:
        if self._pending is not None:
            self._current.redirects.append(Redirect(self._pending, word))
            self._pending = None
        else:
            self._current.words.append(word)

    def _piece(self, char: str) -> tuple[str, bool]:
        """Read one part of a word; return its text, and whether more than that is known only when it runs."""
        if char == "\\":
            self._at += 2
            return self._text[self._at - 1 : self._at].replace("\n", ""), False
        if char == "'":
            return self._until("'", self._at + 1), False
        if char == '"':
            return self._double()
        if char in {"$", "`"} or self._text.startswith(("<(", ">("), self._at):
            return self._expansion()
        self._at += 1
        return char, char == "{" and not self._text.startswith("{}", self._at - 1)

    def _until(self, quote: str, start: int) -> str:
        end = self._text.find(quote, start)
        if end < 0:
            raise MalformedContent("A quote is not closed.")
        self._at = end + 1
        return self._text[start:end]

    def _double(self) -> tuple[str, bool]:
        self._at += 1
        parts, computed = list[str](), False
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == '"':
                self._at += 1
                return "".join(parts), computed
            if char == "\\" and self._text[self._at + 1 : self._at + 2] in {'"', "\\", "$", "`", "\n"}:
                parts.append(self._text[self._at + 1])
                self._at += 2
            elif char in "$`":
                piece, unknown = self._expansion()
                parts.append(piece)
                computed = computed or unknown
            else:
                parts.append(char)
                self._at += 1
        raise MalformedContent("A quote is not closed.")

    def _expansion(self) -> tuple[str, bool]:
        text = self._text
        if text[self._at] == "`":
            self._script.nested.append(self._until("`", self._at + 1))
            return "", True
        after = text[self._at + 1 : self._at + 2]
        if after == "(":
            inner = self._bracketed("(", ")", self._at + 1)
            self._script.nested.append(inner)
            return "", True
        if after == "'":
            return self._ansi(), False
        if after == "{":
            inner = self._bracketed("{", "}", self._at + 1)
            return self._variable(f"{{{inner}}}")
        name = 1
        while self._at + name < len(text) and (text[self._at + name].isalnum() or text[self._at + name] == "_"):
            name += 1
        if name == 1:
            special = after in {"@", "*", "#", "?", "-", "$", "!"}
            self._at += 2 if special else 1
            return ("", True) if special else ("$", False)
        self._at += name
        return self._variable(text[self._at - name + 1 : self._at])

    def _variable(self, name: str) -> tuple[str, bool]:
        if name in _HOMES:
            return "~", False
        if name in _HERE:
            return ".", False
        if name in _BLANK:
            return " ", False
        return "", True

    def _bracketed(self, opening: str, closing: str, start: int) -> str:
        """Return what stands between the bracket at *start* and its partner, quotes skipped, and go on behind it."""
        depth, at, quote = 0, start, ""
        while at < len(self._text):
            char = self._text[at]
            if char == "\\" and quote != "'":
                at += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char == opening:
                depth += 1
            elif char == closing:
                depth -= 1
                if not depth:
                    self._at = at + 1
                    return self._text[start + 1 : at]
            at += 1
        raise MalformedContent("A bracket is not closed.")

    def _ansi(self) -> str:
        """Read ``$'…'``, in which signs may be written by number."""
        at, parts = self._at + 2, list[str]()
        while at < len(self._text) and self._text[at] != "'":
            if self._text[at] != "\\":
                parts.append(self._text[at])
                at += 1
                continue
            sign = self._text[at + 1 : at + 2]
            digits, base, skip = _number(self._text, at + 1)
            parts.append(chr(int(digits, base) & 0x10FFFF) if digits else _ESCAPES.get(sign, sign))
            at += skip
        if at >= len(self._text):
            raise MalformedContent("A quote is not closed.")
        self._at = at + 1
        return "".join(parts)


def _number(text: str, at: int) -> tuple[str, int, int]:
    """Return the digits of the escape whose letter stands at *at*, their base, and how long the whole escape is."""
    letter = text[at : at + 1]
    start, most, base = {"x": (at + 1, 2, 16), "u": (at + 1, 4, 16), "U": (at + 1, 8, 16)}.get(letter, (at, 3, 8))
    allowed = "0123456789abcdefABCDEF" if base == 16 else "01234567"
    end = start
    while end < len(text) and end - start < most and text[end] in allowed:
        end += 1
    digits = text[start:end]
    return (digits, base, end - at + 1) if digits else ("", base, 2)
