"""The words that tell kinds of tasks apart.

A sign is a phrase in which a blank stands for any space, ``*`` for a few words, ``(a|b)`` for a choice.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

TaskType = Literal[
    "locate", "overview", "explain", "callers", "callees", "impact", "path", "history", "review", "test", "edit", "debug",
    "other",
]  # fmt: skip
Signs = Mapping[int, Sequence[str]]  # by weight

_LOCATE: Final[Signs] = {
    5: (
        "point me (to|at)",
        "(looking|search) for",
        "^(find|locate)",
        "(tell me|know) where",
        "where\\?$",
        "(which|what) (file|class|module|function)",
        "(is there already|are there any)",
        "entry point",
    ),
    3: (
        "where (is|are|does|do|did|the)",
        "where's",
        "(find|locate|search|grep|look)( me| for| up)?",
        "show me",
        "(which|what) * (file|line|class|module|function|method|enum|package|place|table)s?",
        "(which|what) * (endpoint|key|setting|flag|constant)s?",
        "in (which|what)",
        "(name|path|location|definition|place) of",
        "is there (an?|any)",
        "(list|collect|enumerate|gather) (all|every|the)",
        "i need the (function|class|code|file)",
    ),
    2: ("defined", "declared", "configured", "stored", "implements", "definition", "dead code", "constants?", "which *"),
}
_OVERVIEW: Final[Signs] = {
    6: (
        "overview",
        "architecture",
        "(big|whole) picture",
        "high[- ]level",
        "introduction",
        "onboard(ing)?",
        "tech(nology)? stack",
        "(code|folder|project|directory|repo|repository) (layout|structure)",
        "(map|tour) (of|through)",
        "quick tour",
        "(which|what|under) (\\w+ )?licen[cs]e",
        "laid out",
        "sketch",
        "(what|which) * (languages|frameworks|directories|components)",
        "just cloned",
        "take over",
        "what am i looking at",
        "(what|which) (does|is) (this|the) (project|repo|repository|library|app|code ?base)( do| for| about)?",
        "how is (the|this) (code|project|repo|repository) (organi[sz]ed|structured|laid out)",
        "where (should|do) i (start|begin)",
        "main (parts|components|modules)",
        "(summari[sz]e|list|describe) * (package|module|folder|directory|modules|packages|folders)",
    ),
    3: ("i'm new", "(parts|packages|modules) are", "how * (fit|work) together", "structure of"),
}
_EXPLAIN: Final[Signs] = {
    6: ("explain", "walk me through"),
    4: (
        "why (is|are|was|do|does) * (used|needed|done|written|called)",
        "understand",
        "i don'?t get",
        "what happens",
        "what (would|will) happen",
        "difference between",
        "(meaning|purpose|idea|rationale|point) (of|behind)",
        "what (is|are) * (doing|for)",
        "what (does|do) * (do|mean|return|raise|stand for)",
        "(return|result) type",
        "how exactly",
        "(in|of) what unit",
        "what type",
        "document the",
        "compare how",
        "what for",
        "describe",
        "tell me about",
        "default (value )?of",
        "as return value",
    ),
    2: ("how (do|does|is|are|come|did|can)", "why (do|does|is|are|was|were)", "what (is|are|'s) (a|an|the)?", "what's"),
    1: ("why", "how", "returns?", "described?"),
}
_WHO: Final = "(who|what|which \\w+|any(one|body|thing)( else)?)"
_CALLERS: Final[Signs] = {
    6: (
        "callers?",
        "usages?",
        "call sites?",
        "references? (to|of)",
        "consumers?",
        "from where",
        "who * needs?",
        f"{_WHO}( else| still| is| are)* (call(s|ing)?|us(es?|ing)|imports?|consumes?|invokes?)( into)?",
        f"{_WHO}( else| still| is| are)* (references|rely(ing)? on)",
        "where * (used|called|invoked|referenced|imported)",
        "(anything|anyone|anybody|something) (depends?|relies) on",
        "where (do|does|did) (we|you|it|they|anyone) (call|use|invoke|import|reference)",
        "(which|every) \\w+ (that )?still (calls?|uses?)",
        "(is|are) (\\S+ ){1,4}(called|used|invoked|imported)",
        "(is|are) \\S+ (dead|unused)",
        "(still|do we) (need|use|used|needed)",
    ),
}
_CALLEES: Final[Signs] = {
    8: (
        "callees?",
        "call tree",
        "called (\\w+ ){0,3}(by|inside|within)",
        "invoked (by|inside|within)",
        "ends? up calling",
        "(what|which \\w+( \\w+)?)( all)? (does|do|did) * (call|calls|invoke|depend on|run)",
        "(does|do) \\S+ (call|invoke) \\S+",
        "(functions|methods|things|what) (that )?\\S+ (calls|invokes|runs)$",
        "pulls? in",
        "calls made by",
    ),
}
_IMPACT: Final[Signs] = {
    6: (
        "impact",
        "what happens (to|if|when) * (if|when) (i|we)",
        "blast radius",
        "affect(s|ed)?",
        "fallout",
        "ripple",
        "consequences?",
        "downstream",
        "dependents?",
        "(what|who|which \\w+)( \\w+)? (breaks?|fails?|(would|will|can|might) (break|fail|be hurt|stop|notice))",
        "break any\\w+",
        "without breaking",
        "safe(ly)? to (remove|delete|rename|change|drop|move)",
        "what else (do|does|must|has|have)",
        "can (i|we)( safely)? (remove|delete|rename|change|drop|move)",
        "(what|who|which \\w+) (depends?|relies) on",
        "dangerous",
        "(what|who|which|where) * (needs?|has|have|would|will|going) (to )?(be )?(adjusted|adapted|touched)",
        "(what|who|which|where) * (needs?|has|have|would|will|going) (to )?(follow|touch|hurt|notice|change)",
        "(would|will) (that|this|it) (touch|break|hurt)",
        "stop working",
        "have to (adapt|touch|adjust)",
    ),
    3: (
        "if (i|we) (switch|change|upgrade|remove|delete|rename|drop|move|replace|make)",
        "suppose",
        "(about|going|want|like|thinking)( to| of) (chang|upgrad|remov|mov|drop|replac|renam)\\w*",
    ),
}
_PATH: Final[Signs] = {
    7: (
        "call chain",
        "chain (from|between|of)",
        "data flow( from)?",
        "gets? from",
        "(path|way|route) (from|between|to)",
        "^(trace|follow)",
        "in between",
        "how * (get to|get into|reach(es)?|flow|arrive|end up)",
        "(can|could|does|is) \\S+ (ever )?(reach|connected to|lead to)",
        "ends? up (in|at)",
        "get from",
        "from * (down|through) to",
    ),
}
_HISTORY: Final[Signs] = {
    6: (
        "blame",
        "commits?",
        "git log",
        "history",
        "evolved?",
        "how * (changed?|evolved?) (during|over|since|in)",
        "authors?",
        "bisect",
        "reverts?(ed)?",
        "reconstruct",
        "how old",
        "who (wrote|last|changed|touched|added|removed|introduced|deleted|broke|authored|maintains|owns)",
        "since when",
        "story of",
        "last (changed?|changes?|touched|modified|edited|updated)",
        "(latest|recent) changes?",
        "what (changed|happened)",
        "(over|in|during) the (last|past) \\w+ (days|weeks|months|years)",
        "changed (between|since)",
        "when (was|were|did)",
        "has any(one|body)",
        "(was|were) there ever",
        "ever (been|a version|had)",
        "in which (release|version)",
        "who are the people",
        "originally",
    ),
    3: ("why was * (introduced|added|removed|changed)", "between v?\\d", "introduced", "last year"),
}
_REVIEW: Final[Signs] = {
    7: (
        "reviews?",
        "lgtm",
        "audit(?! logs?| trail)",
        "(look|glance) at (my|our|this|the) (changes?|code|branch|patch|pr|diff)",
        "what you think",
        "(double|sanity|cross)[- ]?check",
        "look over",
        "critical look",
        "feedback on",
        "deviations?",
        "verify",
        "is it (true|correct|right)",
        "still (true|right|correct|valid)",
        "check (whether|that|if|the|my|all|our|every)",
        "before (i|we) (merge|open|ship)",
        "(pr|mr|pull request|merge request) #?\\d*",
        "race conditions?",
        "thread[- ]?safe",
        "does * (match|really|keep|hold)",
        "claims?",
        "is (our|my|the|this) * (safe|secure|correct|sound|ok)",
        "mistakes",
        "(be|are|is) (improved|nicer|better|cleaner)",
        "improvements?",
    ),
    3: ("diff", "patch", "guidelines", "judge", "risky", "vulnerab\\w+"),
}
_TEST: Final[Signs] = {
    12: (
        "(write|add|generate|create|run|set up|design|extend|cover|port) (\\S+ ){0,4}(test|test suite|assertion)s?",
        "(extend|increase|improve) * (tests?|coverage)",
        "(unit|load|regression|smoke|property-based|end-to-end|e2e|automated) tests?",
        "(not|un) ?(covered|tested)",
        "flaky",
        "mock",
        "test cases?",
        "which tests? (covers?|exercises?)",
        "(is|are) \\S+ tested",
        "the tests (take|are|run)",
        "no tests",
        "(is|are) there (a|any) tests?",
        "single test",
        "test_\\w+ (pass|fail)",
        "with tests",
        "fixtures?",
    ),
    3: ("tests?", "tested", "coverage"),
}
_VERBS: Final = (
    "(add|remove|rename|replace|change|fix|bump|extract|make|migrate|refactor|rewrite|implement|convert|port|use|switch"
    "|sort|write|handle|speed up|move|delete|update|split|inline|drop|create|introduce|support|optimi[sz]e|get rid of"
    "|clean up|set|wrap|deprecate|build|raise|lower|mark|correct|let|allow|turn|log|enable|disable|adapt|extend"
    "|simplify|expose|hide|upgrade|format|translate|put|throw|reduce|increase|limit|cache|register|unify|merge"
    "|swap|throttle|comment out|rework|store|return|ignore|keep|stop|start)"
)
_NO_ORDER: Final = (  # first words of what asks, tells or wants something looked at
    "(wh\\w+|how|is|are|was|were|do|does|did|can|could|should|has|have|in|on|at|of|for|from|with|by|to|since|after|before"
    "|when|if|find|show|list|give|tell|explain|describe|summari[sz]e|review|check|verify|audit|run|test|cover|mock|trace|follow"
    "|search|locate|look|compare|investigate|and|or|but|all|not|that|this|see|get|during|inside|under|over|as|analy[sz]e)"
)
_EDIT: Final[Signs] = {
    8: (
        f"^(please |now |let's |just )*{_VERBS}",
        f"(can|could|would|will) you (please |just |also )*{_VERBS}",
        f"(i|we) (need|want|have|would like|'d like)( you)? to {_VERBS}",
        "we need (a|an|support)",
    ),
    5: (
        f"^(please )?(?!{_NO_ORDER}\\b)\\w+( out| up| off| down| in)? (the|an?|our|all|every|each|this|these|those|my) \\w+",
    ),
    4: (
        "should (?!i|we)\\w+",
        "(i|we) (need|want|would like|'d like) (a|an|support|that|to (?!know|see|understand|find|learn))",
        "must( not)? be",
        "(has|have|needs?) to (go|be|become)",
        "get rid of",
        "please$",
    ),
}
_DEBUG: Final[Signs] = {
    7: (
        "traceback",
        "stack ?trace",
        "undefined reference",
        "segfaults?",
        "panics?",
        "core dump",
        "error\\[",
        "fatal",
        "root cause",
        "permission denied",
        "no space left",
        "(cannot|can'?t|could not) (find(?! where| the| any| out)|open|borrow|import|connect)",
        "investigate",
        "(find out|figure out|no idea|any idea) (whether|why|what)?",
        "track it down",
        "analy[sz]e",
    ),
    4: (
        "(fail(s|ed|ing)?|exits?|die[sd]?|crash(es|ed|ing)?|hangs?|freezes|refused|times? out|timed out)",
        "(deadlocks?|leaks?|throws|broken|vanish(es)?|disappears?|disconnect\\w*)",
        "returns? (an? )?[45]\\d\\d",
        "(does|do|did)(n'?t| not) work",
        "not working",
        "does nothing",
        "wrong",
        "grows? by",
        "slower",
        "latency",
        "what'?s wrong",
        "no such",
        "(does|do|did) not exist",
        "ERR!?",
        "(could|can) ?not \\w+",
        "turns? into",
        "although",
        "exit (status|code)",
        "after (upgrading|the (last|upgrade|update))",
        "since (the|version|yesterday|last|\\d|\\w+day)",
        "why (does|is|do|are) * (raise|fail|crash|hang|slow|null|none|wrong)\\w*",
        "now and then",
        "keeps",
        "worked (before|until|yesterday)",
        "(i|we) upgraded",
        "as soon as",
        "complains?",
        "(strange|weird|odd) \\w+",
        "even (if|though|when)",
        "(shows?|shown|displays?|prints?|gives|gets?) (nan|null|none|undefined|nothing|twice|\\[object)",
    ),
    2: ("says", "errors?", "bugs?", "sometimes", "why", "any more"),
}
_SMALL_TALK: Final[Signs] = {
    12: (
        "^(help|stop|yes|no|undo|cancel|continue)[.!?]*$",
        "(haiku|poem|joke|weather|recipe|football)",
        "^(hi|hello|hey|thanks?|thank you|ok(ay)?|great|good (morning|evening)|bye)\\b[^.]{0,25}$",
        "^(how are you|what can you do|what's your name|(please|do you) speak|tell me a joke)\\b[^.]{0,25}$",
    ),
}

_ERROR: Final = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")


def _compiled(signs: Signs) -> tuple[tuple[int, re.Pattern[str]], ...]:
    """Return one expression for each weight; it counts once, however many of its signs a text has."""
    return tuple(
        (weight, re.compile("|".join(map(_expression, phrases)), re.IGNORECASE)) for weight, phrases in signs.items()
    )


def _expression(phrase: str) -> str:
    text = phrase.replace(" * ", r"\b.{1,60}?\b").replace(" *", r"\b.{1,60}?")
    return (
        (r"" if text.startswith("^") else r"(?<!\w)") + text.replace(" ", r"\s+") + ("" if text.endswith("$") else r"(?!\w)")
    )


PATTERNS: Final[Mapping[TaskType, tuple[tuple[int, re.Pattern[str]], ...]]] = {
    "locate": _compiled(_LOCATE),
    "overview": _compiled(_OVERVIEW),
    "explain": _compiled(_EXPLAIN),
    "callers": _compiled(_CALLERS),
    "callees": _compiled(_CALLEES),
    "impact": _compiled(_IMPACT),
    "path": _compiled(_PATH),
    "history": _compiled(_HISTORY),
    "review": _compiled(_REVIEW),
    "test": _compiled(_TEST),
    "edit": _compiled(_EDIT),
    "debug": (*_compiled(_DEBUG), (6, _ERROR)),
    "other": _compiled(_SMALL_TALK),
}
"""The signs of each kind, with how much each weighs."""
