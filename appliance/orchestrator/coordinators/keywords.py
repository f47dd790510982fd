"""The words that say what a message is about: names of code first."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from appliance.codeintel import questions

MOST_KEYWORDS: Final = 8
_LONGEST: Final = 4000  # of a message, what is read
_MARKED: Final = re.compile(r"`([^`\n]{1,80})`|\"([^\"\n]{1,80})\"|'([\w./:$-]{2,80})'")
_NAME: Final = re.compile(r"[\w$@~][\w$.:/\\#~@-]*\w|\w")
_CODE: Final = re.compile(r"[a-z0-9][A-Z]|\w_\w|\w\.\w|[/\\:#$@]\w|^_\w|[A-Z]{2,}[a-z]|^[A-Z][A-Z0-9_]{2,}$|\d")


def keywords_of(text: str) -> tuple[str, ...]:
    """Return the names of code in *text*, then the other words that say what it is about, as they are written."""
    text = text[:_LONGEST]
    plain = (word for word in _words(text) if len(word) > 2 and word.lower() not in _COMMON)
    return _distinct((*names_in(text), *plain))[:MOST_KEYWORDS]


def names_in(text: str) -> tuple[str, ...]:
    """Return what in *text* can hardly be but a name of code: it is quoted, called, asked for, or written like one."""
    text = text[:_LONGEST]
    quoted = [name.strip("()") for each in _MARKED.findall(text) for name in each if name and " " not in name]
    query = questions.classify(text)
    asked = [name for name in (query.name, query.other) if name] if query is not None else []
    written = [word for word in _words(text) if _CODE.search(word) or f"{word}(" in text]
    return _distinct((*quoted, *asked, *written))


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    seen: dict[str, str] = {}
    for word in words:
        seen.setdefault(word.lower(), word)
    return tuple(seen.values())


def _words(text: str) -> Iterator[str]:
    return (match[0].rstrip(".:") for match in _NAME.finditer(text))


_COMMON: Final = frozenset(
    """
    a about add after all already also am an and any anybody anyone anything are as at be because been before being
    between both but by call called callee callees caller callers calls can change changed changes changing code
    come could decide defined definition describe did do does doing done each else end ever every everything explain
    file files find first fix for from function functions get gets getting give given go goes going got had has have
    having he hello help her here hi how i idea if impact in into is isn it its just know last let like list locate
    look make many may me mean means method more most much must my need new no not now of ok on one only or other
    our out over overview path place places please project put really references repo repository review run same see
    set she should show so some still such summarise summarize tell test tests than thanks that the their them then
    there these they thing things this those through time to too under understand up us use used user uses using
    usages very want was way we were what when where which while who why will with within without work works would
    write wrote wrong you your
    """.split()  # noqa: SIM905 - a list of 200 words, a line each, is no help to a reader
)
