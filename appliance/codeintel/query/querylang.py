"""The query language: words, "phrases", names, /expressions/ and filters. docs/reference/query-language.md tells of it."""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from appliance.codeintel.parse.tokens import LONGEST_WORD, compounds, query_tokens
from appliance.errors import InvalidInput, LimitExceeded

Style = Literal["symbol", "prose"]
Case = Literal["yes", "no", "auto"]

FILTERS = ("repo", "path", "lang", "symbol", "branch", "case", "content")
LONGEST_QUERY = 1_000  # characters
LONGEST_QUESTION = 4_000
_ITEM = re.compile(
    r"""(?P<minus>-?)(?:content:(?P<content>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\S+)
                       |/(?P<regex>(?:[^/\\]|\\.|/(?!\s|$))+)/
                       |(?P<name>[a-z]+):(?P<value>"[^"]*"|(?![:/])[^\s"]+))(?=\s|$)
      | "(?P<phrase>[^"]*)"
      | (?P<word>\S+)""",
    re.VERBOSE,
)
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->|\#)[^\W\d]\w*)*")
_JOINT = re.compile(r"\.|::|->|#")
_MARKED = re.compile(r"_\w|\w_|[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|\.|::|->|#")  # what prose does not do inside a word
_CODE = re.compile(r"\\[pPx]\{[^}]*\}|\\x[0-9A-Fa-f]{2}|\\[A-Za-z]|\(\?P?<[^>]*>|\(\?[A-Za-z-]+")
_ESCAPED_QUOTE = re.compile(r"\\([\"'\\])")
_MOST_NAMES = 16  # each is looked up in the symbol table
_PAIR = 2  # "Client stream": a class and its method, asked for without a dot
_LANGUAGES = {
    "py": "python", "js": "javascript", "jsx": "javascript", "ts": "typescript", "golang": "go", "rs": "rust",
    "c++": "cpp", "cxx": "cpp", "cc": "cpp", "c#": "csharp", "cs": "csharp", "rb": "ruby", "sh": "bash", "shell": "bash",
    "kt": "kotlin", "md": "markdown", "c-sharp": "csharp",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filter:
    """One ``name:value``; *negative* where it was written with a minus."""

    name: str
    value: str
    negative: bool = False

    def __str__(self) -> str:
        return f"{'-' if self.negative else ''}{self.name}:{self.value}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """Text that must stand in a line as it is written here, or a regular expression; *negative*: that must not.

    ``at`` is where it begins in the query.
    """

    text: str
    regex: bool
    at: int = 0
    negative: bool = False


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query taken apart. ``names`` are the identifiers in it, as written: they may be defined somewhere."""

    text: str  # what is embedded: the words and phrases without filters
    tokens: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    style: Style
    filters: tuple[Filter, ...]
    patterns: tuple[Pattern, ...] = ()
    case: Case = "auto"

    @property
    def lists_lines(self) -> bool:
        """Whether every line that fits is asked for, in order, and nothing is to be ranked."""
        return not self.tokens

    def any_case(self, pattern: Pattern) -> bool:
        """Say whether *pattern* is matched without regard to case: by itself, where it has no capital letter."""
        return self.case == "no" or (self.case == "auto" and not any(map(str.isupper, _without_codes(pattern))))

    def of(self, name: str) -> tuple[Filter, ...]:
        """Return the filters called *name*."""
        return tuple(f for f in self.filters if f.name == name)


def parse(query: str) -> ParsedQuery:
    """Take a search query apart.

    Raise `InvalidInput` when nothing is asked or a filter is unknown, `LimitExceeded` when the query is too long.
    """
    _bounded(query, most=LONGEST_QUERY, what="query")
    words: list[str] = []
    phrases: list[str] = []
    filters: list[Filter] = []
    patterns: list[Pattern] = []
    for item in _ITEM.finditer(query):
        if item["regex"]:
            patterns.append(Pattern(item["regex"], regex=True, at=item.start("regex"), negative=bool(item["minus"])))
        elif item["content"]:
            patterns.append(_content(item))
        elif item["name"]:
            filters.append(_filter(item["name"], item["value"].strip('"'), negative=bool(item["minus"])))
        elif item["word"]:
            words.append(_word(item["word"]))
        elif item["phrase"].strip():
            phrases.append(item["phrase"])
            words.append(item["phrase"])
    case = _case(filters)
    if case == "yes":
        patterns += [Pattern(word, regex=False) for word in words]
    filters = [f for f in filters if f.name != "case"]
    if not words and all(pattern.negative for pattern in patterns):
        words = [f.value for f in filters if f.name == "symbol"]
    return _parsed(words, phrases, filters, patterns=patterns, case=case)


def plain(text: str) -> ParsedQuery:
    """Take a question apart, in which colons and quotes mean nothing; raise as `parse` does."""
    _bounded(text, most=LONGEST_QUESTION, what="question")
    return _parsed([text], [], [])


def language_name(value: str) -> str:
    """Return the name that the index uses for the language *value*: ``py`` and ``Python`` are ``python``."""
    return _LANGUAGES.get(value.lower(), value.lower())


def path_matches(path: str, filters: Sequence[Filter]) -> bool:
    """Say whether *path* passes the ``path:`` *filters*: one of the positive ones, if there are any, and no negative one."""
    positive = [f for f in filters if not f.negative]
    return (not positive or any(_matches(path, f.value) for f in positive)) and not any(
        _matches(path, f.value) for f in filters if f.negative
    )


def last_name(name: str) -> str:
    """Return the last part of a qualified name: ``stream`` of ``Client.stream`` and of ``Client::stream``."""
    return _JOINT.split(name)[-1]


def dotted(name: str) -> str:
    """Return a qualified name as the symbol table writes it: with dots."""
    return _JOINT.sub(".", name)


def _bounded(text: str, *, most: int, what: str) -> None:
    if len(text) > most:
        raise LimitExceeded(f"A {what} has at most {most:,} characters.", limit=most, size=len(text))


def _parsed(
    words: Sequence[str],
    phrases: Sequence[str],
    filters: Sequence[Filter],
    *,
    patterns: Sequence[Pattern] = (),
    case: Case = "auto",
) -> ParsedQuery:
    text = " ".join(words)
    tokens = tuple(query_tokens(text))
    if not tokens and (text.strip() or all(pattern.negative for pattern in patterns)):
        raise InvalidInput(
            "The query has no words.",
            remedy="Say what to look for: a name, words, or a question."
            f' Signs as they stand, and words of more than {LONGEST_WORD} characters, are content:"…".',
        )
    style, names = _names(text)
    if style == "prose":
        tokens = tuple(dict.fromkeys((*tokens, *compounds(text))))
    split = (tuple(query_tokens(phrase)) for phrase in phrases)
    return ParsedQuery(
        text, tokens, tuple(filter(None, split)), names, style, tuple(filters), patterns=tuple(patterns), case=case
    )


def _content(item: re.Match[str]) -> Pattern:
    text, at = item["content"], item.start("content")
    quote = text[0]
    if quote in "\"'":
        if len(text) == 1 or text[-1] != quote:
            raise InvalidInput(
                f"The quote at position {at} is not closed.",
                remedy=f"End it with {quote}, and a blank after that.",
                position=at,
            )
        text = _ESCAPED_QUOTE.sub(r"\1", text[1:-1])
    if not text:
        raise InvalidInput("The filter content: has no value.", remedy='Write content:"TEXT".', filter="content")
    return Pattern(text, regex=False, at=at, negative=bool(item["minus"]))


def _case(filters: Sequence[Filter]) -> Case:
    said = {f.value for f in filters if f.name == "case"}
    if len(said) > 1:
        raise InvalidInput("The query has two different case: filters.", remedy="Leave one out.", filter="case")
    return cast("Case", said.pop()) if said else "auto"


def _without_codes(pattern: Pattern) -> str:
    """Return the text of *pattern* without the codes of an expression: their capital letters stand for no letter."""
    return _CODE.sub("", pattern.text) if pattern.regex else pattern.text


def _word(word: str) -> str:
    if word.endswith(":") and word[:-1].removeprefix("-") in FILTERS:
        _filter(word[:-1].removeprefix("-"), "", negative=False)
    return word.replace('"', " ")


def _filter(name: str, value: str, *, negative: bool) -> Filter:
    if name not in FILTERS:
        raise InvalidInput(
            f"There is no filter {name}:.",
            remedy=f"The filters are {', '.join(f'{f}:' for f in FILTERS)}. To look for the text itself, put it in quotes.",
            filter=name,
        )
    if not value:
        raise InvalidInput(f"The filter {name}: has no value.", remedy=f"Write {name}:VALUE without a space.", filter=name)
    if name in {"symbol", "case"} and negative:
        raise InvalidInput(f"The filter {name}: cannot be negated.", remedy="Leave out the minus.", filter=name)
    if name == "case" and value not in get_args(Case):
        raise InvalidInput(f"There is no case:{value}.", remedy="Write case:yes, case:no or case:auto.", filter=name)
    return Filter(name, language_name(value) if name == "lang" else value, negative)


def _matches(path: str, pattern: str) -> bool:
    if any(c in pattern for c in "*?["):
        return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, f"*/{pattern}")
    return pattern.strip("/") in path if not pattern.startswith("/") else path.startswith(pattern[1:])


def _names(text: str) -> tuple[Style, tuple[str, ...]]:
    words = [word.strip("()[]{}<>,;:!?.'`*&") for word in text.split()]
    words = [word for word in words if word]
    if all(_NAME.fullmatch(word) for word in words) and (
        len(words) == 1 or (len(words) == _PAIR and all(_marked(word) or word[0].isupper() for word in words))
    ):
        return "symbol", tuple(words)
    marked = dict.fromkeys(word for word in words if _NAME.fullmatch(word) and _marked(word))
    return "prose", tuple(marked)[:_MOST_NAMES]


def _marked(word: str) -> bool:
    return _MARKED.search(word) is not None
