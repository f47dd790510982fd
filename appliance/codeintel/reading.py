"""The model's JSON, read while it is still being written.

The shape is ``{"enough_evidence": true, "sentences": ["…", "…"]}``: the verdict comes first, so that it is known before the
first word, and each sentence is handed on piece by piece.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass

from appliance.errors import MalformedContent

MAX_CHARACTERS = 20_000  # far above what max_tokens lets through: a bound for an engine that ignores it

_Steps = Generator[None, None, None]
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": " ", "f": " ", "n": " ", "r": " ", "t": " "}
_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the model said of the evidence."""

    enough: bool


@dataclass(frozen=True, slots=True)
class Fragment:
    """The next piece of the sentence that is being written."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A sentence that has ended, whole."""

    text: str


Part = Verdict | Fragment | Finished


class AnswerReader:
    """A parser that is fed text of any cut and returns each part as soon as it is certain.

    Line ends and control characters inside a sentence become spaces. Text that cannot become the shape raises
    `MalformedContent`; what follows the closing brace is ignored.
    """

    def __init__(self) -> None:
        self.at_verdict = False  # the next character that is not blank begins the verdict
        self.complete = False  # the closing brace was read
        self._parts: list[Part] = []
        self._piece: list[str] = []
        self._sentence: list[str] = []
        self._char = ""
        self._read = 0
        self._steps = self._answer()

    @property
    def unfinished(self) -> str:
        """The sentence that had begun and has not ended, or ""."""
        return "".join(self._sentence)

    def feed(self, text: str) -> list[Part]:
        """Read *text* and return the parts that it completed, in order."""
        self._read += len(text)
        if self._read > MAX_CHARACTERS:
            raise MalformedContent("The model wrote more than an answer can be.", characters=self._read)
        for self._char in text:
            if self.complete:
                break
            next(self._steps)
        self._flush(whole=False)
        parts, self._parts = self._parts, []
        return parts

    def _answer(self) -> _Steps:
        yield from self._word("{")
        yield from self._word('"enough_evidence"')
        yield from self._word(":", then=self._expect_verdict)
        yield from self._blanks()
        self.at_verdict = False
        enough = self._char == "t"
        yield from self._word("true" if enough else "false", then=lambda: self._parts.append(Verdict(enough)))
        yield from self._word(",")
        yield from self._word('"sentences"')
        yield from self._word(":")
        yield from self._word("[")
        yield from self._blanks()
        while self._char != "]":
            yield from self._string()
            yield from self._blanks()
            if self._char not in {",", "]"}:
                raise self._malformed(", or ]")
            if self._char == ",":
                yield
                yield from self._blanks()
                if self._char == "]":
                    raise self._malformed('"')
        yield
        yield from self._blanks()
        if self._char != "}":
            raise self._malformed("}")
        self.complete = True
        yield

    def _expect_verdict(self) -> None:
        self.at_verdict = True

    def _word(self, word: str, *, then: Callable[[], None] | None = None) -> _Steps:
        """Read *word*; *then* is called on its last character, not on the one after."""
        yield from self._blanks()
        for position, expected in enumerate(word, start=1):
            if self._char != expected:
                raise self._malformed(word)
            if then is not None and position == len(word):
                then()
            yield

    def _blanks(self) -> _Steps:
        while self._char in _BLANK:
            yield

    def _string(self) -> _Steps:
        if self._char != '"':
            raise self._malformed('"')
        yield
        while self._char != '"':
            if self._char == "\\":
                yield from self._escape()
            else:
                self._piece.append(self._char)
                yield
        self._flush(whole=True)
        self._parts.append(Finished(self.unfinished))
        self._sentence.clear()
        yield

    def _escape(self) -> _Steps:
        yield
        if self._char != "u":
            if self._char not in _ESCAPES:
                raise self._malformed("an escape")
            self._piece.append(_ESCAPES[self._char])
            yield
            return
        yield from self._unit()

    def _unit(self) -> _Steps:
        yield
        digits = ""
        while len(digits) < 4:
            if self._char not in "0123456789abcdefABCDEF":
                raise self._malformed("four hexadecimal digits")
            digits += self._char
            if len(digits) == 4:
                self._piece.append(chr(int(digits, 16)))
            yield

    def _flush(self, *, whole: bool) -> None:
        """Hand on what was read; unless the sentence is *whole*, keep back half of a surrogate pair."""
        held = [self._piece.pop()] if self._piece and not whole and "\ud800" <= self._piece[-1] < "\udc00" else []
        if self._piece:
            text = _safe("".join(self._piece))
            self._sentence.append(text)
            self._parts.append(Fragment(text))
        self._piece = held

    def _malformed(self, expected: str) -> MalformedContent:
        return MalformedContent(f"The model did not keep to the agreed form: {expected} was expected.", at=self._read)


def _safe(text: str) -> str:
    """Join surrogate pairs, and replace what is no character or cannot be shown."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return "".join(char if char.isprintable() else " " for char in joined)
