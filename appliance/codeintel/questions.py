"""Which questions the symbol table and the graph can answer, told from their words alone.

Only forms that leave no doubt are taken: one name, and a verb that asks for a place, a list or a signature. Whether that
name exists is for `query.structure` to say; if it does not, the question is one for the evidence card.
"""

import re
from dataclasses import dataclass
from typing import Literal

Intent = Literal[
    "where", "contents", "members", "signature", "callers", "callees", "impact", "references", "path", "history"
]
Members = Literal["members", "methods", "fields"]

_LONGEST = 300  # a longer question is no look-up

_WORDS = {
    "NAME": r"[`'\"]?(?P<name>[\w$~@.][\w$.:/\\#~@+-]*?)(?:\(\))?[`'\"]?",
    "OTHER": r"[`'\"]?(?P<other>[\w$~@.][\w$.:/\\#~@+-]*?)(?:\(\))?[`'\"]?",
    "KIND": "(?:class|struct|interface|trait|enum|type|function|method|constructor|constant|variable|macro|field|symbol)",
    "PLACE": "(?:module|package|file|folder|directory|namespace)",
    "CODE": "(?:the |this )?(?:code|codebase|project|repo|repository|source|source code)",
    "MEMBERS": "(?P<members>methods|members|fields|properties|attributes)",
    "ARGUMENTS": "(?:arguments|args|parameters|params)",
    "THINGS": "(?:files|symbols|definitions|functions|classes|types|structs|interfaces|constants|names)",
    "SHOW": "(?:find|show|show me|open|go to|jump to|locate|list|what is|what's|what are)",
    "DEFINES": "(?:defines?|declares?|contains?|exports?|holds?|includes?|have|has|offers?|provides?)",
}

# Capitals stand for _WORDS, [] for what may be missing. The flag: the form itself asks for a definition, so that the
# name need not look like code.
_FORMS: tuple[tuple[Intent, bool, str], ...] = (
    ("where", True, "where (?:is|are) [the] [KIND] NAME [KIND] (?:defined|declared) [in CODE]"),
    ("where", True, "where (?:do|does) (?:we|you|it|one) (?:define|declare) [the] [KIND] NAME [KIND]"),
    ("where", True, "(?:which|what) PLACE (?:defines|declares) [the] [KIND] NAME [KIND]"),
    ("where", True, "in (?:which|what) PLACE is [the] [KIND] NAME [KIND] [(?:defined|declared)]"),
    ("where", True, "[SHOW] [the] (?:definition|declaration) (?:of|for) [the] [KIND] NAME [KIND]"),
    ("where", True, "NAME (?:definition|declaration)"),
    ("where", True, "where (?:is|are) [the] KIND NAME [(?:implemented|located|found)] [in CODE]"),
    ("where", True, "where (?:is|are) [the] NAME KIND [(?:implemented|located|found)] [in CODE]"),
    ("where", False, "(?:where is|where are|where's) [the] NAME [(?:implemented|located|found)] [in CODE]"),
    ("where", False, "(?:def|class|func|function|fn|struct|interface|trait|enum|type) NAME"),
    ("where", False, "(?:find|locate|go to|jump to) [the] [KIND] NAME [KIND]"),
    ("signature", True, "[SHOW] [the] signature (?:of|for) [the] [KIND] NAME [KIND]"),
    ("signature", True, "(?:what|which) ARGUMENTS (?:does|can) [the] [KIND] NAME [KIND] (?:take|accept|have|need|expect)"),
    ("signature", True, "[SHOW] [the] ARGUMENTS (?:of|to|for) [the] [KIND] NAME [KIND]"),
    ("signature", True, "NAME (?:signature|ARGUMENTS)"),
    ("members", True, "(?:what|which) MEMBERS (?:does|do) [the] [KIND] NAME [KIND] (?:DEFINES|expose|implement)"),
    ("members", True, "(?:what|which) MEMBERS [are] [there] [defined] (?:in|on|by|of) [the] [KIND] NAME [KIND]"),
    ("members", True, "[SHOW] [all] [the] MEMBERS (?:of|in|on|for) [the] [KIND] NAME [KIND]"),
    ("members", True, "NAME MEMBERS"),
    ("callers", True, "(?:who|what|which THINGS) (?:calls?|invokes?) [the] [KIND] NAME [KIND]"),
    ("callers", True, "(?:where|from where) is [the] [KIND] NAME [KIND] (?:called|invoked) [from] [in CODE]"),
    ("callers", True, "[SHOW] [all] [the] (?:callers|calls) (?:of|to|for) [the] [KIND] NAME [KIND]"),
    ("callers", True, "NAME callers"),
    ("callees", True, "(?:what|which THINGS) (?:does|do) [the] [KIND] NAME [KIND] (?:call|invoke)"),
    ("callees", True, "[SHOW] [all] [the] (?:callees (?:of|for)|calls (?:in|made by)) [the] [KIND] NAME [KIND]"),
    ("callees", True, "NAME callees"),
    ("impact", True, "what (?:breaks|can break) (?:if|when) (?:I|we|you|someone) changes? [the] [KIND] NAME [KIND]"),
    ("impact", True, "(?:who|what|which THINGS) depends? on [the] [KIND] NAME [KIND]"),
    ("impact", True, "what is (?:affected|reached) by [(?:changing|a change (?:of|to|in))] [the] [KIND] NAME [KIND]"),
    ("impact", True, "[SHOW] [the] impact of [(?:changing|a change (?:of|to|in))] [the] [KIND] NAME [KIND]"),
    ("impact", True, "NAME impact"),
    ("references", True, "(?:who|what|which THINGS) (?:uses?|references?|mentions?) [the] [KIND] NAME [KIND]"),
    ("references", True, "(?:where|from where) is [the] [KIND] NAME [KIND] (?:used|referenced|mentioned) [in CODE]"),
    ("references", True, "[SHOW] [all] [the] (?:uses|usages|references) (?:of|to) [the] [KIND] NAME [KIND]"),
    ("references", True, "NAME (?:references|usages|uses)"),
    ("path", False, "how (?:does|can|do) [the] [KIND] NAME [KIND] (?:reach|call|get to|lead to) [the] [KIND] OTHER [KIND]"),
    ("path", True, "[SHOW] [the] (?:path|way) from [the] [KIND] NAME [KIND] to [the] [KIND] OTHER [KIND]"),
    ("history", True, "who (?:changed|wrote|touched|last changed) [the] [KIND] NAME [KIND]"),
    ("history", True, "when was [the] [KIND] NAME [KIND] [last] (?:changed|written|touched)"),
    ("history", True, "[SHOW] [the] history of [the] [KIND] NAME [KIND]"),
    ("history", True, "NAME history"),
    ("contents", True, "what(?: is| are|'s) [(?:defined|declared)] (?:in|inside|under) [the] [PLACE] NAME [PLACE]"),
    ("contents", True, "what (?:does|do) [the] [(?:PLACE|KIND)] NAME [PLACE] DEFINES"),
    ("contents", True, "(?:what|which) THINGS [are] [there] [(?:defined|declared)] in [the] [PLACE] NAME [PLACE]"),
    ("contents", True, "(?:what|which) THINGS (?:does|do) [the] [PLACE] NAME [PLACE] DEFINES"),
    ("contents", True, "[SHOW] [all] [the] (?:contents?|outline|THINGS) (?:of|in|inside|under) [the] [PLACE] NAME [PLACE]"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StructureQuery:
    """A question of structure: what is wanted, and the one name it is wanted of, without quotes and brackets.

    *plain* says that the name could as well be an ordinary word, and that nothing in the question marks it as a name of
    the code: then only an exact match may answer. *members* says which of a class are wanted, *other* where a way ends.
    """

    intent: Intent
    name: str
    plain: bool
    members: Members = "members"
    other: str = ""  # of a way: where it ends


def classify(question: str) -> StructureQuery | None:
    """Return what *question* asks of the symbol table, or None for a question that wants prose."""
    text = " ".join(question.split()).rstrip(" ?!.")
    text = re.sub(r"^(?:please|hey|ok|so|can you|could you|tell me)[, ]+", "", text, flags=re.IGNORECASE)
    if not text or len(text) > _LONGEST:
        return None
    for intent, says_definition, pattern in _PATTERNS:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        name = match["name"].rstrip(":.#") or match["name"]
        marked = _looks_like_code(name) or f"`{name}" in text or f"'{name}'" in text or f'"{name}"' in text
        if name.lower() in _NOT_NAMES or not (says_definition or marked):
            return None
        return StructureQuery(intent, name, plain=not marked, members=_members_of(match), other=_other_of(match))
    return None


def _other_of(match: re.Match[str]) -> str:
    return (match.groupdict().get("other") or "").rstrip(":.#")


def _members_of(match: re.Match[str]) -> Members:
    word = match.groupdict().get("members", "members").lower()
    return "methods" if word == "methods" else "members" if word == "members" else "fields"


def _looks_like_code(name: str) -> bool:
    """Say whether *name* can hardly be an ordinary word: a capital, a digit, or a sign within it."""
    return re.search(r"[A-Z0-9_$/.:#~@]", name) is not None


def _compiled(form: str) -> re.Pattern[str]:
    """Return the pattern of a whole question in which words are parted by single spaces."""
    text = re.sub(r"^\[(.+?)\] ", r"(?:\1 )?", form)
    while (shorter := re.sub(r"^((?:\(\?:[^()]+ \)\?)+)\[(.+?)\] ", r"\1(?:\2 )?", text)) != text:
        text = shorter
    text = re.sub(r" \[(.+?)\]", r"(?: \1)?", text)
    for word, pattern in _WORDS.items():
        text = text.replace(word, pattern)
    return re.compile(text, re.IGNORECASE)


_PATTERNS = tuple((intent, says_definition, _compiled(form)) for intent, says_definition, form in _FORMS)
_NOT_NAMES = frozenset(
    {
        "a", "an", "the", "it", "this", "that", "these", "those", "here", "there", "we", "you", "i", "they", "he", "she",
        "my", "our", "your", "its", "code", "class", "function", "method", "module", "package", "file", "folder",
        "directory", "project", "repo", "repository", "everything", "all", "and", "or", "of", "in",
    }
)  # fmt: skip
