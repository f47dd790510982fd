"""How much work a task is: one look-up or a small change, work in one area, or work all over the place."""

import re
from collections.abc import Mapping
from typing import Final, Literal

from appliance.orchestrator.coordinators.task_signs import TaskType

Complexity = Literal["simple", "medium", "complex"]


def _any(*signs: str) -> re.Pattern[str]:
    return re.compile("|".join(signs), re.IGNORECASE)


_ALL: Final = "whole|entire|complete|full|all|every|each"
# What makes any task one for all over the place.
_WIDE: Final = _any(
    rf"\b(?:{_ALL}|everything)\b.*\b(?:project|code ?base|repo(?:sitory)?|system|statement)\b",
    rf"\b(?:{_ALL}) (?:\w+ )?(?:configuration|code|service|endpoints?|modules?|call sites?|docs)\b",
    r"\b(?:complete|full) (?:\w+ )?(?:life|review|audit)\b|\bend[- ]to[- ]end\b|\bin detail\b|\bthoroughly\b|\baudit\b",
    r"\barchitecture\b|\boverview\b|\btake over\b(?!.*\b(?:module|package|part)\b)|\bintroduction\b|\bmap of the\b",
    r"\bjoined\b|\bwho talks to\b|\beverywhere\b|\bacross (?:all|our|the (?:whole|entire))\b|\bmonolith\w*",
    r"\ball our \w+|\b(?:whole|entire) \w+",
    r"\bhow they (?:talk|interact|fit)\b",
    r"\bmigrate\b|\brewrite\b|\bredesign\b|\brefactor\b.*\binto\b|\bport (?:the|our)\b",
    r"\bmulti-\w+\b|\breplacing\b|\bgod class\b",
    r"\bplug-?in system\b|\broot cause\b|\btrack (?:it|this|them) down\b|\binvestigate\b|\banaly[sz]e\b",
    r"\b(?:figure|find) out whether\b|\bunder load\b|\bsometimes\b|\bnow and then\b|\bin production\b|\bone in a\b",
    r"\bonly (?:in|with|on)\b|\bevery (?:few|now)\b|\bcomponents\b.*\binteract\b|\b(?:work|fit) together\b|\bcompare how\b",
    r"\bplan it\b|\bin what order\b|\bmodule by module\b|\bone commit per step\b",
)
# What makes a look-up more than one.
_BROAD: Final[Mapping[TaskType, re.Pattern[str]]] = {
    "locate": _any(
        r"\b(?:all|every|each|any|everything|anywhere)\b|\bdead code\b|\bwithout \w+ing\b|\bnot\b|\bmore than\b",
    ),
    "callers": _any(r"\b(?:every|each|across|transitive\w*|indirect\w*|instead of|endpoint|directly)\b"),
    "callees": _any(r"\b(?:everything|transitive\w*|indirect\w*|also|step by step|full|tree)\b"),
    "impact": _any(
        r"\b(?:i'd like|i want|we want|going to (?!notice)|about to|suppose|what else)\b",
        r"\bif we\b|\bif i (?:switch|make|upgrade)\b",
        r"\bfrom .+ to\b|\b(?:table|format|schema)\b(?! of)",
    ),
    "path": _any(r"\bchain\b|\bfollow\b|^explain\b"),
    "history": _any(
        r"\b(?:why|evolved|dig|between|best|reasons?|ever|story|reconstruct)\b|\bfind the commit\b|\bhas any(?:one|body)\b",
    ),
}
# What makes another task a small one.
_SMALL: Final[Mapping[TaskType, re.Pattern[str]]] = {
    "overview": _any(r"\blicen[cs]e\b|\bversion\b|\bfile\b|[\w/]\.\w{1,4}\b|\b(?:Make|Docker)file\b"),
    "explain": _any(
        r"\bwhat(?: does| is|'s)\b.*\b(?:do|mean|return|stand for|purpose of|default|type of|unit)\b|\bmeaning of\b",
        r"^(?:what|which|does|is|how do i (?:use|call))\b.*(?:(?-i:[a-z0-9][A-Z])|\w_\w|\w\.\w|\w::\w|\w\()",
        r"\bwhat type\b|\breturns? .*\bor\b|\bin what unit\b|\bdifference between \S+ and \S+$",
        r"\bwhat (?:is|are) an? \S+(?: \w+)?(?: here| in (?:this|our|the) \w+)?\??$|\breturn value\b",
    ),
    "review": _any(
        r"\b(?:docstring|comment|readme|annotation|is it (?:true|correct|right)|still (?:true|right|correct))\b|[=;]\s"
    ),
    "test": _any(
        r"\b(?:run|does|which|is there a|write a|add a|a single) (?:\S+ ){0,3}tests?\b|\btest_\w+ (?:pass|fail)",
        r"\bassertion\b|\bis \S+ tested\b|\brun the tests in\b",
    ),
    "edit": _any(
        r"^(?:please )?(?:rename|bump|delete|remove|set|drop|correct|mark|reword|raise|lower|swap|comment out|log)\b",
        r"^(?:please )?fix the (?:typo|spelling|indentation|formatting|wording)\b|^change .* from .* to\b",
        r"^(?:please )?change the default\b|\bshould be \S+ (?:and )?not\b|^make \S+ an? ",
        r"\b(?:typo|docstring|comment|imports?|a property|f-strings?|spelling)\b",
    ),
    "debug": _any(
        r"^[^\n]*\w\([^\n]*$|\b(?:Name|Syntax|Import|Indentation|ModuleNotFound)Error\b",
        r"\bis not (?:defined|a function)\b|\w*lint\b",
        r"^(?-i:[A-Z]\w*(?:Error|Exception))\b|\bfatal:|\bwhat does \"",
    ),
}
_EVERYWHERE: Final = re.compile(r"\b(?:all|every|each)\b", re.IGNORECASE)
_AND: Final = re.compile(r",(?:\s+and\b)?|\band\b", re.IGNORECASE)
_CALLABLE: Final = re.compile(r"[a-z0-9][A-Z]|\w_\w|\w\.\w|\w::\w")
_PARTED: Final = frozenset({"edit", "test", "explain", "review", "overview"})  # four asks in one make it work all over
_AT_ONCE: Final = frozenset({"overview", "edit", "review", "debug"})  # one sign is enough, however short
_SHORT, _LOOK_UP, _SMALL_CHANGE = 12, 20, 16  # words


def complexity_of(text: str, task: TaskType) -> Complexity:
    """Return how much work *text* asks for, which is a task of type *task*."""
    words = len(text.split())
    if task == "other":
        return "simple"
    if _is_wide(text, task, words):
        return "complex"
    broad, small = _BROAD.get(task), _SMALL.get(task)
    if broad is not None:
        unnamed = task == "path" and not _CALLABLE.search(text)
        return "medium" if words > _LOOK_UP or broad.search(text) or unnamed else "simple"
    is_small = small is not None and small.search(text) and words <= _SMALL_CHANGE and not _EVERYWHERE.search(text)
    return "simple" if is_small else "medium"


def _is_wide(text: str, task: TaskType, words: int) -> bool:
    parts = len(_AND.findall(text))
    if task in _PARTED and parts > 3 and words > _SHORT:
        return True
    return _WIDE.search(text) is not None and (words > _SHORT or task in _AT_ONCE)
