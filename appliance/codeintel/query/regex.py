"""Regular expressions over lines: RE2's, which take time in proportion to the text whatever is asked of them.

What a text must have to match is read off the expression itself, so that a trigram index can tell which texts to look at
(Cox, "Regular Expression Matching with a Trigram Index", 2012). Where that is not plain, nothing is asked of the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import re2

from appliance.codeintel.store.trigrams import ANYTHING, Need
from appliance.errors import InvalidInput

_FEW: Final = 12  # lines of a block that are sooner looked at one by one than all of it at once
_MEMORY: Final = 8 << 20  # bytes that RE2 may take for one expression
_MOST_TEXTS: Final = 16  # that one stretch of an expression can stand for, to be looked at one by one
_LONGEST: Final = 64  # bytes of each
_LEAST: Final = 3
_WIDEST_CLASS: Final = 4  # characters
_TOKEN: Final = re.compile(
    r"""(?P<quoted>\\Q(?P<inside>(?s:.*?))(?:\\E|$))
      | (?P<byte>\\C)
      | (?P<edge>\\[AbBz]|[\^$])
      | (?P<code>\\x(?:\{(?P<wide>[0-9A-Fa-f]+)\}|(?P<two>[0-9A-Fa-f]{2})))
      | (?P<vague>\\[pP](?:\{[^}]*\}|.)|\\[0-7]{1,3}|\\[A-Za-z0-9]|\.)
      | \\(?P<escaped>[^A-Za-z0-9])
      | (?P<flags>\(\?(?P<on>[A-Za-z]*)(?P<off>-[A-Za-z]*)?(?P<ends>[:)]))
      | (?P<open>\(\?P?<[^>]*>|\()
      | (?P<close>\))
      | (?P<or>\|)
      | (?P<repeat>[*+?]\??|\{(?P<least>\d*)(?P<more>,)?(?P<most>\d*)\}\??)
      | (?P<class>\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\])
      | (?P<plain>(?s:.))""",
    re.VERBOSE,
)
_MEMBER: Final = re.compile(
    r"\\(?P<escaped>[^A-Za-z0-9])(?!-[^\]])|(?P<plain>[^\\\[-])(?!-[^\]])|(?P<from>[^\\\[-])-(?P<to>[^\\\[])"
)
_ANY_CASE: Final = re.compile(r"\(\?[A-Za-z]*i")
_WHERE: Final = re.compile(r"(?P<what>[^:]+): (?P<at>.*)", re.DOTALL)


Search = Callable[[bytes, int, int], tuple[int, int] | None]
"""The next match in UTF-8 between two places."""
Seek = Callable[[bytes], Iterator[int]]
"""Where in UTF-8 a text stands, from left to right."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression that can be matched against UTF-8, line by line."""

    need: Need  # what every match has
    search: Search
    text: bytes = b""  # the longest text that every match has, the longer the rarer; nothing if none is certain
    seek: Seek | None = None  # finds that text, sooner than `search` finds a match
    alone: bool = False  # that text is all that is asked for

    def lines(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield where each line of *block* that matches begins and ends."""
        if self.seek is None:
            yield from self._matching(block, 0)
            return
        at, sought = 0, 0
        for place in self.seek(block):
            if place < at:
                continue
            start, end = block.rfind(b"\n", at, place) + 1 or at, block.find(b"\n", place)
            if self.alone or self.search(block, start, end):
                yield start, end
            at, sought = end + 1, sought + 1
            if sought > _FEW and not self.alone:
                yield from self._matching(block, at)
                return

    def _matching(self, block: bytes, at: int) -> Iterator[tuple[int, int]]:
        while at < len(block) and (found := self.search(block, at, len(block))) and found[0] < len(block):
            start, end = block.rfind(b"\n", at, found[0]) + 1 or at, block.find(b"\n", found[0])
            yield start, end
            at = end + 1


def compiled(pattern: str, *, any_case: bool, at: int = 0) -> Expression:
    """Return the expression that *pattern* is, matched without regard to case with *any_case*.

    Raise `InvalidInput` with the ``position`` of what is wrong in it, counted from *at*.
    """
    tokens = list(_TOKEN.finditer(pattern))
    _refuse_what_lines_lack(tokens, at)
    options = re2.Options()
    options.never_nl, options.log_errors, options.case_sensitive, options.max_mem = True, False, not any_case, _MEMORY
    whole = "".join({r"\A": "^", r"\z": "$"}.get(token[0], token[0]) for token in tokens)
    try:
        search = _search(f"(?m){whole}", options)
    except re2.error as exc:
        raise _bad(pattern, tokens, exc, at) from exc
    except UnicodeEncodeError as exc:
        raise InvalidInput("The regular expression is not text.", position=at + exc.start) from exc
    need = _need(tokens, any_case=any_case or _ANY_CASE.search(pattern) is not None)
    text = _longest(need)
    return Expression(need, search, text, _seek(text, any_case=True) if text else None)


def exactly(text: str, *, any_case: bool) -> Expression:
    """Return the expression that *text* itself is, without a line end in it."""
    content = text.encode("utf-8", "replace")
    search, seek = _search(content, _literal(any_case=any_case)), _seek(content, any_case=any_case)
    if any_case and not text.isascii():
        return Expression(ANYTHING, search, content, seek, alone=True)
    return Expression(Need(literal=content.lower()), search, content, seek, alone=True)


def _seek(text: bytes, *, any_case: bool) -> Seek:
    anywhere = re2.compile(text, _literal(any_case=any_case))
    if not any_case or not text.isascii():
        return lambda block: (found.start() for found in anywhere.finditer(block))
    options = _literal(any_case=True)
    options.encoding = re2.Options.Encoding.LATIN1  # in which the letters k and s have one other form, not two
    plain = re2.compile(text, options)
    return lambda block: (found.start() for found in (plain if block.isascii() else anywhere).finditer(block))


def _literal(*, any_case: bool) -> re2.Options:
    options = re2.Options()
    options.literal, options.log_errors, options.case_sensitive = True, False, not any_case
    return options


def _search(pattern: str | bytes, options: re2.Options) -> Search:
    expression = re2.compile(pattern, options)

    def search(text: bytes, start: int, end: int) -> tuple[int, int] | None:
        found = expression.search(text, start, end)
        return None if found is None else found.span()

    return search


def _refuse_what_lines_lack(tokens: Iterable[re.Match[str]], at: int) -> None:
    for token in tokens:
        if token["byte"] or "m" in (token["off"] or ""):
            raise InvalidInput(
                f"The regular expression has {token[0]} at position {at + token.start()}: each line is matched by itself.",
                remedy="Leave it out.",
                position=at + token.start(),
            )


def _bad(pattern: str, tokens: list[re.Match[str]], error: Exception, at: int) -> InvalidInput:
    said = error.args[0]
    said = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    found = _WHERE.fullmatch(said)
    what, fragment = (found["what"], found["at"]) if found else (said, "")
    position = at + _position(pattern, tokens, what, fragment)
    return InvalidInput(
        f"The regular expression is wrong at position {position}: {what}.",
        remedy='It is one of RE2\'s, without look-around and back-references. For the text itself write content:"…".',
        position=position,
    )


def _position(pattern: str, tokens: list[re.Match[str]], what: str, fragment: str) -> int:
    opened: list[int] = []
    for token in tokens:
        if token["open"] or (token["flags"] and token["ends"] == ":"):
            opened.append(token.start())
        elif token["close"]:
            if not opened:
                return token.start()
            opened.pop()
    if what == "missing )" and opened:
        return opened[-1]
    if what == "missing ]":
        return max(0, len(pattern) - len(fragment))
    if not fragment:  # a backslash at the end
        return max(0, len(pattern) - 1)
    places = [token.start() for token in tokens if pattern.startswith(fragment, token.start())]
    return places[0] if places else max(0, pattern.find(fragment))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of an expression: the texts that it stands for, if they are few, or what it needs."""

    exact: frozenset[bytes] | None
    need: Need = ANYTHING

    def needed(self) -> Need:
        return self.need if self.exact is None else _of(self.exact)


_VAGUE: Final = _Piece(None)
_EDGE: Final = _Piece(frozenset({b""}))


@dataclass(slots=True)
class _Group:
    """What stands between two parentheses, so far."""

    branches: list[list[_Piece]] = field(default_factory=lambda: [[]])

    def piece(self) -> _Piece:
        branches = [_joined(pieces) for pieces in self.branches]
        if len(branches) == 1:
            return branches[0]
        exact = [branch.exact for branch in branches if branch.exact is not None]
        if len(exact) == len(branches) and len(texts := frozenset[bytes]().union(*exact)) <= _MOST_TEXTS:
            return _Piece(texts)
        needs = [branch.needed() for branch in branches]
        return _VAGUE if ANYTHING in needs else _Piece(None, Need(some=tuple(needs)))


def _need(tokens: Iterable[re.Match[str]], *, any_case: bool) -> Need:
    groups = [_Group()]
    for token in tokens:
        pieces = groups[-1].branches[-1]
        if token["open"] or (token["flags"] and token["ends"] == ":"):
            groups.append(_Group())
        elif token["close"]:
            inner = groups.pop().piece()
            groups[-1].branches[-1].append(inner)
        elif token["or"]:
            groups[-1].branches.append([])
        elif token["repeat"]:
            pieces[-1:] = [_repeated(pieces[-1], token)] if pieces else []
        elif not token["flags"]:
            pieces += _atoms(token, any_case=any_case)
    return groups[0].piece().needed()


def _atoms(token: re.Match[str], *, any_case: bool) -> list[_Piece]:
    if token["edge"]:
        return [_EDGE]
    if token["quoted"]:
        return [_character(character, any_case=any_case) for character in token["inside"]]
    if token["code"]:
        code = int(token["wide"] or token["two"], 16)
        return [_character(chr(code), any_case=any_case)]
    if token["class"]:
        members = _members(token["class"])
        return [_either(members, any_case=any_case) if members else _VAGUE]
    if token["vague"]:
        return [_character("\t", any_case=any_case) if token[0] == r"\t" else _VAGUE]
    return [_character(token["escaped"] or token["plain"], any_case=any_case)]


def _character(character: str, *, any_case: bool) -> _Piece:
    if any_case and not character.isascii():
        return _VAGUE
    return _Piece(frozenset({character.encode("utf-8", "replace").lower()}))


def _either(members: str, *, any_case: bool) -> _Piece:
    pieces = [_character(member, any_case=any_case).exact for member in members]
    texts = [piece for piece in pieces if piece is not None]
    return _Piece(frozenset[bytes]().union(*texts)) if len(texts) == len(members) else _VAGUE


def _members(whole: str) -> str:
    """Return the characters of a class, "" where they are many or not plain."""
    inside = whole[1:-1]
    if inside.startswith("^"):
        return ""
    found, at = "", 0
    while at < len(inside):
        member = _MEMBER.match(inside, at)
        if member is None:
            return ""
        at = member.end()
        if member["from"]:
            low, high = ord(member["from"]), ord(member["to"])
            found += "".join(map(chr, range(low, min(high, low + _WIDEST_CLASS) + 1)))
        else:
            found += member["escaped"] or member["plain"]
        if len(found) > _WIDEST_CLASS:
            return ""
    return found


def _repeated(piece: _Piece, token: re.Match[str]) -> _Piece:
    sign = token["repeat"][0]
    if sign == "?":
        return _VAGUE if piece.exact is None else _small(piece.exact | {b""})
    if sign == "{" and not token["least"]:
        return _VAGUE  # {,3}, which may be text and may be a repetition
    least = {"*": 0, "+": 1}.get(sign, 0) if sign != "{" else int(token["least"])
    if least == 0:
        return _VAGUE
    if piece.exact is not None and len(piece.exact) == 1 and sign == "{" and not token["more"]:
        (text,) = piece.exact
        if len(text) * least <= _LONGEST:
            return _Piece(frozenset({text * least}))
    return _Piece(None, piece.needed())


def _joined(pieces: list[_Piece]) -> _Piece:
    run, needs, whole = frozenset({b""}), list[Need](), True
    for piece in pieces:
        if piece.exact is not None:
            longer = frozenset(one + two for one in run for two in piece.exact) if _fit(run, piece.exact) else None
            if longer is not None:
                run = longer
                continue
        whole = False
        needs += [_of(run), piece.need]
        run = frozenset({b""}) if piece.exact is None else piece.exact
    if whole:
        return _Piece(run)
    needs = [need for need in (*needs, _of(run)) if need != ANYTHING]
    return _Piece(None, needs[0] if len(needs) == 1 else Need(every=tuple(needs)))


def _fit(one: frozenset[bytes], two: frozenset[bytes]) -> bool:
    return len(one) * len(two) <= _MOST_TEXTS and max(map(len, one)) + max(map(len, two)) <= _LONGEST


def _small(texts: frozenset[bytes]) -> _Piece:
    return _Piece(texts) if len(texts) <= _MOST_TEXTS else _VAGUE


def _of(texts: frozenset[bytes]) -> Need:
    """Return the need of one of *texts*: of nothing where one is too short to have a trigram."""
    if min(map(len, texts)) < _LEAST:
        return ANYTHING
    needs = tuple(Need(literal=text) for text in sorted(texts))
    return needs[0] if len(needs) == 1 else Need(some=needs)


def _longest(need: Need) -> bytes:
    return max((need.literal, *map(_longest, need.every)), key=len)
