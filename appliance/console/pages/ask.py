"""Ask: a question, the evidence for it, and what the model read in that. Streams with script, renders at once without."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from litestar import Response, get, post
from litestar.params import QueryParameter, URLEncodedBody

from appliance.codeintel.parse.languages import language_of
from appliance.codeintel.query.querylang import LONGEST_QUESTION
from appliance.codeintel.results import Answer, AnswerKind, Citation, Freshness, Gate, Origin
from appliance.console.choices import LONGEST, Choices, choices, scope_of
from appliance.console.code import Excerpt, Place
from appliance.console.pages.lines import card_lines
from appliance.console.render import Fault, Page
from appliance.console.text import count, duration
from appliance.console.wiring import Pages
from appliance.errors import ApplianceError, InvalidInput
from appliance.services import Services
from appliance.web.listening import while_listening
from appliance.web.wiring import Asked, Wired

_CODE_LINES: Final = 60
_CARDS: Final = 16  # on one page
EXAMPLES: Final = (
    "Where is a model's digest verified?",
    "What does config.py define?",
    "How does a job resume after its worker was killed?",
)


@dataclass(frozen=True, slots=True)
class Words:
    """What the reading is called, what it is worth, and what stands there when it is empty."""

    label: str
    caveat: str
    silence: str


WORDS: Final[Mapping[AnswerKind, Words]] = {
    "structure": Words("From the symbol table", "Exact: no model was asked.", "The symbol table knows no such name."),
    "prose": Words(
        "The model's reading",
        "The locations are verified; the reading is not.",
        "Nothing that the model wrote could be kept.",
    ),
    "evidence": Words("No reading", "", "No prose: the model wrote nothing."),
}
OF_MISSIONS: Final[Mapping[AnswerKind, Words]] = {
    **WORDS,
    "structure": Words("From the graph and git", "The model wrote none of it.", "Nothing was found."),
    "prose": Words(
        "What was found",
        "Where the model's reading points is verified, what it says is not.",
        "Nothing that the model wrote could be kept.",
    ),
}


ORIGINS: Final[Mapping[Origin, str]] = {
    "": "",
    "graph": "from the graph",
    "git": "from git",
    "search": "from the lines",
    "model": "the model's reading",
}


@dataclass(frozen=True, slots=True)
class Cite:
    """A link from a sentence to its lines."""

    n: int
    href: str


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence; names stand in backquotes. ``origin``: who tells it, where an answer mixes them."""

    text: str
    cites: tuple[Cite, ...]
    origin: str = ""


@dataclass(frozen=True, slots=True)
class StruckClaim:
    """One sentence that was not let through."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One card."""

    n: int
    place: Place
    symbol: str
    kind: str
    verified: bool
    code: Excerpt

    @classmethod
    def of(cls, citation: Citation, *, services: Services, among: int = 1) -> "Evidence":
        """Return *citation* as a card, one *among* so many."""
        span, language = citation.span, language_of(citation.span.path)
        code = card_lines(span, citation.text, language=language, limit=_CODE_LINES, among=among, services=services)
        return cls(citation.n, Place.of(span), citation.symbol, citation.kind, span.verified, code)


BLANK: Final = Evidence(0, Place("", "", "", 0, 0, "", ""), "", "", verified=True, code=Excerpt((), 0, 0))


@dataclass(frozen=True, slots=True)
class AnswerView:
    """A whole answer. ``numbered``: its warnings speak of its sentences by number."""

    words: Words
    numbered: bool
    silence: str
    scope: str
    count: str
    made: str
    sentences: tuple[Said, ...]
    struck: tuple[StruckClaim, ...]
    evidence: tuple[Evidence, ...]
    warnings: tuple[str, ...]
    timings: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class AskView:
    """The page."""

    question: str
    choices: Choices
    answer: AnswerView | None = None
    fault: Fault | None = None
    examples: tuple[str, ...] = EXAMPLES
    blank: Evidence = BLANK

    @property
    def words(self) -> Mapping[AnswerKind, Words]:
        """The words for each kind of answer: the script takes them from the page."""
        return WORDS


@dataclass(frozen=True, slots=True)
class Question:
    """The form."""

    question: str
    repo: str = ""


@get("/ask", sync_to_thread=True)
def show(
    services: Wired,
    pages: Pages,
    q: Annotated[str, QueryParameter(max_length=LONGEST_QUESTION)] = "",
    repo: Annotated[str, QueryParameter(max_length=LONGEST)] = "",
) -> Response[str]:
    """Show the question field; with script, ``q`` is asked at once."""
    view = AskView(question=q, choices=choices(services, repo))
    return pages.response("ask.html", page=Page("Ask", "ask", services.clock.now()), view=view)


@post("/ask", status_code=200)
async def answer_whole(data: URLEncodedBody[Question], request: Asked, services: Wired, pages: Pages) -> Response[str]:
    """Answer without script: the page comes when the answer is whole. A browser that leaves stops the model."""
    answer, fault = None, None
    try:
        whole = await while_listening(request.receive, _whole(data, services))
        answer = await asyncio.to_thread(answer_view, whole, services)
    except ApplianceError as exc:
        fault = Fault.told(exc, request=request)
    chosen = await asyncio.to_thread(choices, services, data.repo)
    view = AskView(question=data.question[:LONGEST_QUESTION], choices=chosen, answer=answer, fault=fault)
    page = Page("Ask", "ask", services.clock.now())
    return pages.response("ask.html", page=page, view=view, fault=fault)


async def _whole(form: Question, services: Services) -> Answer:
    question = form.question.strip()
    if not question or len(question) > LONGEST_QUESTION:
        raise InvalidInput(f"A question has 1 to {LONGEST_QUESTION:,} characters.", remedy="Shorten it and ask again.")
    return await services.answer(question, scope=await asyncio.to_thread(scope_of, services, form.repo))


def answer_view(answer: Answer, services: Services, *, of_mission: bool = False) -> AnswerView:
    """Return *answer* in the words of the page: in one of a mission a model and the graph may stand side by side."""
    words = (OF_MISSIONS if of_mission else WORDS)[answer.kind]
    shown = answer.evidence[:_CARDS]
    cards = tuple(Evidence.of(citation, services=services, among=len(shown)) for citation in shown)
    links = {citation.n: Place.of(citation.span).href for citation in answer.evidence}
    return AnswerView(
        words=words,
        numbered=of_mission,
        silence=_silence(words, answer.gate),
        scope=" · ".join(_freshness(fresh) for fresh in answer.freshness),
        count=_count(answer),
        made=_made(answer),
        sentences=tuple(
            Said(
                said.text,
                tuple(Cite(n, links.get(n, f"#e{n}")) for n in said.cites),
                ORIGINS[said.origin] if of_mission else "",
            )
            for said in answer.sentences
        ),
        struck=tuple(StruckClaim(claim.text, claim.reason) for claim in answer.struck),
        evidence=cards,
        warnings=answer.warnings,
        timings=tuple(answer.timings.items()),
    )


def _count(answer: Answer) -> str:
    verified, all_of_it = sum(citation.span.verified for citation in answer.evidence), len(answer.evidence)
    further = all_of_it - _CARDS
    more = f"; {count(further, 'further place')} by their numbers in the reading" if further > 0 else ""
    return f"{verified} of {all_of_it} verified at their commit{more}"


def _freshness(fresh: Freshness) -> str:
    if fresh.behind is None:
        state = "source not readable"
    elif fresh.behind:
        state = f"{count(fresh.behind, 'commit')} behind"
    else:
        state = "index current"
    dirty = {True: ", changes that no commit has", None: ", maybe changes that no commit has"}.get(fresh.dirty, "")
    return f"{fresh.repo_name} at {fresh.branch or 'HEAD'} {fresh.commit[:10]}, {state}{dirty}"


def _silence(words: Words, gate: Gate | None) -> str:
    if gate is None or gate.passed:
        return words.silence
    return f"No prose: {gate.reason}"


def _made(answer: Answer) -> str:
    spent = answer.timings.get("total_ms")
    parts = [answer.model, duration(spent / 1000) if spent is not None else ""]
    return " · ".join(part for part in parts if part)
