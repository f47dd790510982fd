"""A shell's text taken apart into simple commands, as bash and POSIX shells read it, without running anything.

`shlex` knows quotes alone; what a command hides in substitutions, pipes and here-documents must be seen too. What could be
read in two ways is refused.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from appliance.errors import MalformedContent
from appliance.orchestrator.coordinators.safety.escapes import ansi_text

LONGEST: Final = 64 * 1024  # characters
UNKNOWN: Final = "\ufffd"  # stands for what is known only when it runs, so that nothing is taken for what it may not be
_MOST: Final = 500  # commands
_DEEPEST: Final = 24  # substitutions in each other
_OPERATORS: Final = ("<<<", "&>>", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", ">>", "<<", ">|", "<>", "&>", ">&", "<&")
_SINGLE: Final = frozenset(";&|<>()\n")
_REDIRECTS: Final = frozenset({"<<<", "&>>", "<<-", ">>", "<<", ">|", "<>", "&>", ">&", "<&", "<", ">"})
_SUBSTITUTES: Final = ("<(", ">(")
_KNOWN: Final = {"HOME": "~", "PWD": "."}
_SPECIAL: Final = frozenset("@*#?-$!")
_EMPTY: Final = re.compile(r"[ \t]*\)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*|\d")
_ARITHMETIC: Final = re.compile(r"\(\(|\$\[|\w\[")


def names(text: str) -> frozenset[str]:
    """Return the words of *text*, which are parted by blanks."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Word:
    """A word without its quotes. *computed*: part of it is known only when it runs; `UNKNOWN` stands for it in *text*."""

    text: str
    computed: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where a command reads from or writes to; of a here-document or here-string the *target* is the text itself."""

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
    """What a text would run: its commands, those of its substitutions too, and whether it defines functions."""

    commands: list[Simple] = field(default_factory=list)
    functions: bool = False


def script_of(text: str) -> Script:
    """Take *text* apart; raise `MalformedContent` for what does not close, is too long or deep, or could mean two things."""
    if len(text) > LONGEST or "\0" in text:
        raise MalformedContent("It is too long, or no text.", limit=LONGEST)
    script = Script()
    _Reader(text, script).read()
    return script


@dataclass(frozen=True, slots=True)
class _Document:
    """A here-document that is yet to be read. *expands*: what it substitutes is run."""

    command: Simple
    delimiter: str
    expands: bool
    indented: bool


def _has_case(words: list[Word]) -> bool:
    """Say whether *words* begin a ``case … in``, whose patterns end with a bracket that was never opened."""
    return any(one.text == "case" and other.text == "in" for one, other in zip(words, words[2:], strict=False))


class _Reader:
    """Reads *text* from *at* on; with *closing* up to the bracket that closes a substitution. Commands go to *script*."""

    def __init__(self, text: str, script: Script, *, at: int = 0, depth: int = 0, closing: bool = False) -> None:
        if depth > _DEEPEST:
            raise MalformedContent("Its substitutions are nested too deep.", limit=_DEEPEST)
        self.at = at
        self._text = text
        self._script = script
        self._depth = depth
        self._open = 1 if closing else 0
        self._closing = closing
        self._current = Simple()
        self._pending: str | None = None  # the redirect whose target comes next
        self._code_from = at  # behind the last here-document
        self._documents: list[_Document] = []  # here-documents whose text begins behind the end of the line

    def read(self) -> None:
        """Read all commands, and stand behind the closing bracket in the end."""
        text = self._text
        while self.at < len(text):
            char = text[self.at]
            if char in " \t" or text.startswith("\\\n", self.at):
                self.at += 1 if char != "\\" else 2
            elif char == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            elif char in _SINGLE and not text.startswith(_SUBSTITUTES, self.at):
                self._operator()
                if self._closing and not self._open:
                    return
            else:
                self._word()
        self._end(piped=False)
        if self._closing:
            raise MalformedContent("A bracket is not closed.")

    def _operator(self) -> None:
        text = self._text
        sign = next((each for each in _OPERATORS if text.startswith(each, self.at)), text[self.at])
        words = self._current.words
        if sign in _REDIRECTS:
            if words and words[-1].text.isdigit() and text[self.at - 1].isdigit():
                words.pop()  # the number of what is redirected
            if sign.startswith("&"):  # to bash a redirect; to sh the end of a command, and a redirect of the next one
                self._end(piped=False)
            self._pending = sign
        elif sign == "(" and words and _EMPTY.match(text, self.at + 1):
            self._script.functions = True
            self._end(piped=False)
        else:
            self._end(piped=sign in {"|", "|&"})
        self._open += {"(": 1, ")": -1}.get(sign, 0) if self._closing else 0
        self.at += len(sign)
        if sign == "\n" and self._documents:
            self._read_documents()

    def _end(self, *, piped: bool) -> None:
        if self._current.words or self._current.redirects:
            self._script.commands.append(self._current)
            if len(self._script.commands) > _MOST:
                raise MalformedContent("It has too many commands.", limit=_MOST)
            if self._closing and _has_case(self._current.words):
                raise MalformedContent("A bracket of `case` cannot be told from one that closes a substitution.")
        self._pending = None
        self._current = Simple(piped=piped)

    def _word(self) -> None:
        text, start, parts, computed = self._text, self.at, list[str](), False
        while self.at < len(text):
            char = text[self.at]
            if char in " \t" or (char in _SINGLE and not text.startswith(_SUBSTITUTES, self.at)):
                break
            piece, unknown = self._piece(char)
            computed = computed or unknown
            parts.append(piece)
        self._put(Word("".join(parts), computed), quoted=text[start] in "'\"\\")

    def _put(self, word: Word, *, quoted: bool = False) -> None:
        if self._pending in {"<<", "<<-"}:
            if _ARITHMETIC.search(self._text, self._code_from, self.at):
                raise MalformedContent("A here-document cannot be told from a shift in arithmetic.")
            self._documents.append(_Document(self._current, word.text, expands=not quoted, indented=self._pending == "<<-"))
        elif self._pending is not None:
            self._current.redirects.append(Redirect(self._pending, word))
        else:
            self._current.words.append(word)
        self._pending = None

    def _read_documents(self) -> None:
        """Read the texts of the here-documents that were announced on the line before."""
        for document in self._documents:
            lines: list[str] = []
            while self.at < len(self._text):
                end = self._text.find("\n", self.at)
                end = len(self._text) if end < 0 else end
                line = self._text[self.at : end]
                self.at = end + 1
                if (line.lstrip("\t") if document.indented else line) == document.delimiter:
                    break
                lines.append(line)
            else:
                raise MalformedContent("A here-document does not end.")
            body = "\n".join(lines)
            document.command.redirects.append(Redirect("<<", Word(body)))
            if document.expands:
                _Reader(body, self._script, depth=self._depth + 1).read_substitutions()
        self._documents = []
        self._code_from = self.at

    def read_substitutions(self) -> None:
        """Read a text in which quotes mean nothing and only substitutions are run."""
        while self.at < len(self._text):
            char = self._text[self.at]
            if char in {"$", "`"}:
                self._expansion(quoted=True)
            else:
                self.at += 2 if char == "\\" else 1

    def _piece(self, char: str) -> tuple[str, bool]:
        """Read one part of a word; return its text, and whether more than that is known only when it runs."""
        if char == "\\":
            self.at += 2
            return self._text[self.at - 1 : self.at].replace("\n", ""), False
        if char == "'":
            return self._single(), False
        if char == '"':
            return self._double()
        if char in {"$", "`"} or self._text.startswith(_SUBSTITUTES, self.at):
            return self._expansion(quoted=False)
        self.at += 1
        return char, char == "{" and not self._text.startswith("{}", self.at - 1)

    def _single(self) -> str:
        end = self._text.find("'", self.at + 1)
        if end < 0:
            raise MalformedContent("A quote is not closed.")
        start, self.at = self.at + 1, end + 1
        return self._text[start:end]

    def _double(self) -> tuple[str, bool]:
        self.at += 1
        parts, computed = list[str](), False
        while self.at < len(self._text):
            char = self._text[self.at]
            if char == '"':
                self.at += 1
                return "".join(parts), computed
            if char == "\\" and self._text[self.at + 1 : self.at + 2] in {'"', "\\", "$", "`", "\n"}:
                parts.append(self._text[self.at + 1].replace("\n", ""))
                self.at += 2
            elif char in "$`":
                piece, unknown = self._expansion(quoted=True)
                parts.append(piece)
                computed = computed or unknown
            else:
                parts.append(char)
                self.at += 1
        raise MalformedContent("A quote is not closed.")

    def _expansion(self, *, quoted: bool) -> tuple[str, bool]:
        """Read what begins with a dollar sign, a backquote or ``<(``; *quoted*: within double quotes."""
        text, after = self._text, self._text[self.at + 1 : self.at + 2]
        if text[self.at] == "`":
            return self._backquoted()
        if after == "(":
            inner = _Reader(text, self._script, at=self.at + 2, depth=self._depth + 1, closing=True)
            inner.read()
            self.at = inner.at
            return UNKNOWN, True
        if after == "{":
            return self._braced(quoted=quoted)
        if after == "'" and not quoted:
            said, self.at = ansi_text(text, self.at + 2)
            return said, False
        name = _NAME.match(text, self.at + 1)
        if name is not None:
            self.at = name.end()
            return _KNOWN.get(name[0], UNKNOWN), name[0] not in _KNOWN
        special = after in _SPECIAL and after != ""
        self.at += 2 if special else 1
        return (UNKNOWN, True) if special else ("$", False)

    def _backquoted(self) -> tuple[str, bool]:
        at = self.at + 1
        while at < len(self._text) and self._text[at] != "`":
            at += 2 if self._text[at] == "\\" else 1
        if at >= len(self._text):
            raise MalformedContent("A quote is not closed.")
        inner = re.sub(r"\\([`$\\])", r"\1", self._text[self.at + 1 : at])
        self.at = at + 1
        _Reader(inner, self._script, depth=self._depth + 1).read()
        return UNKNOWN, True

    def _braced(self, *, quoted: bool) -> tuple[str, bool]:
        start = self.at + 2
        self.at = start
        self._depth += 1
        if self._depth > _DEEPEST:
            raise MalformedContent("Its substitutions are nested too deep.", limit=_DEEPEST)
        while self.at < len(self._text) and self._text[self.at] != "}":
            char = self._text[self.at]
            if quoted and char in "'\"":
                raise MalformedContent("A quote in a variable's default could mean two things.")
            self._piece(char)
        if self.at >= len(self._text):
            raise MalformedContent("A bracket is not closed.")
        self._depth -= 1
        name, self.at = self._text[start : self.at], self.at + 1
        return _KNOWN.get(name, UNKNOWN), name not in _KNOWN
