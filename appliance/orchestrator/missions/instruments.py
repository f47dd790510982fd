"""What a mission asks of the index beyond what agents have. Each is a tool: its calls are granted, and on record."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from appliance.base.clock import Clock
from appliance.base.paths import display
from appliance.codeintel.citations import Place, cite, excerpt
from appliance.codeintel.parse.tokens import query_tokens
from appliance.codeintel.query import structure
from appliance.codeintel.query.asking import Asked, ask, unknown
from appliance.codeintel.query.context import CARD_PLACES, PACK_TOKENS, pack
from appliance.codeintel.query.draft import DEFINITIONS, is_aside, plain_name, rows_named
from appliance.codeintel.query.querylang import plain
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.questions import Intent, Members, StructureQuery
from appliance.codeintel.results import Scope
from appliance.codeintel.store.generations import Generations
from appliance.codeintel.support import Ground, Rarity, share
from appliance.contracts.chat import JsonSchema
from appliance.contracts.tools import Evidence, Json, Tool, ToolContext, ToolOutput, ToolSpec
from appliance.errors import NotGranted
from appliance.ids import ProjectId, RepoId
from appliance.orchestrator.coordinators.tasks import Analyzes
from appliance.orchestrator.missions.encoding import plain as as_json
from appliance.orchestrator.missions.encoding import typed

STATE: Final = "index_state"
NAMES: Final = "known_names"
TYPES: Final = "task_types"
STRUCTURE: Final = "structure"
PACK: Final = "evidence_pack"
WEIGHTS: Final = "word_weights"
VERIFY: Final = "verify_places"
INSTRUMENTS: Final = frozenset({STATE, NAMES, TYPES, STRUCTURE, PACK, WEIGHTS, VERIFY})

_MOST_NAMES: Final = 12
_MOST_DEFINITIONS: Final = 6  # of one name
_MOST_PLACES: Final = 80
_MOST_TEXT: Final = 20_000
_INTENTS: Final[tuple[Intent, ...]] = (
    "where", "contents", "members", "signature", "callers", "callees", "impact", "references", "path", "history"
)  # fmt: skip
_MEMBERS: Final[tuple[Members, ...]] = ("members", "methods", "fields")


@dataclass(frozen=True, slots=True)
class Index:
    """What the instruments look into."""

    generations: Generations
    searcher: Searcher
    tasks: Analyzes
    clock: Clock

    def asked(self, context: ToolContext) -> Asked:
        """Open what *context* is granted; raise `NotFound` when nothing of it is indexed."""
        return ask(self.generations, self.clock, scope_of(context))


def scope_of(context: ToolContext) -> Scope:
    """Return what *context* may look at: never more than its grants. Raise `NotGranted` where that is nothing."""
    if not context.grants.project or not context.grants.repos:
        raise NotGranted("This run may look at no repository.", remedy="Grant it those that it is about.")
    return Scope(ProjectId(context.grants.project), tuple(map(RepoId, context.grants.repos)), context.branches)


Look = Callable[[Index, Mapping[str, Json], ToolContext], Awaitable[ToolOutput]]


@dataclass(frozen=True, slots=True)
class Instrument:
    """Satisfies `Tool`: one way of looking into the index."""

    spec: ToolSpec
    index: Index
    look: Look

    async def run(self, arguments: Mapping[str, Json], *, context: ToolContext) -> ToolOutput:
        """Look, as far as *context* is granted."""
        return await self.look(self.index, arguments, context)


def _evidence(places: Sequence[Place], asked: Asked) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            repo=place.repo,
            repo_name=place.repo_name,
            path=place.path,
            start_line=place.start_line,
            end_line=place.end_line,
            blob=place.blob,
            commit=place.commit,
            text=excerpt(place.span(), texts=asked.texts),
            symbol=place.symbol,
            kind=place.kind,
            why=place.why,
        )
        for place in places
    )


def _parameters(required: Sequence[str], **properties: JsonSchema) -> JsonSchema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


# Named as texts are: what is looked for is nobody's path, and no rule should take it for one.
_TEXT: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": 2_000}
_NAME: Final[JsonSchema] = {"type": "string", "maxLength": 400}


async def _state(index: Index, arguments: Mapping[str, Json], context: ToolContext) -> ToolOutput:
    """Return the freshness of each repository, and what is to be said of it."""
    del arguments

    def look() -> ToolOutput:
        rest = index.asked(context).rest(total=0, end=0, warnings=())
        data: dict[str, Json] = {"freshness": as_json(rest["freshness"])}
        text = "\n".join(f"{each.repo_name} at {each.commit[:12]}" for each in rest["freshness"])
        return ToolOutput(text, data, warnings=rest["warnings"])

    return await asyncio.to_thread(look)


async def _names(index: Index, arguments: Mapping[str, Json], context: ToolContext) -> ToolOutput:
    """Return for each name the definitions that it can mean, code before tests."""
    names = typed(arguments["names"], list[str])

    def look() -> ToolOutput:
        asked = index.asked(context)
        known: dict[str, Json] = {name: _definitions(name, asked) for name in names}
        found = ", ".join(display(name) for name in names if known[name])
        return ToolOutput(f"Known: {found or 'none of them'}.", {"known": known})

    return await asyncio.to_thread(look)


def _definitions(name: str, asked: Asked) -> Json:
    rows = [(code, row) for code in asked.code for row in rows_named(name, code.generation) if row.kind in DEFINITIONS]
    rows.sort(key=lambda found: is_aside(found[0].generation, found[1].file))
    return [
        {
            "symbol": plain_name(row.qualname),
            "kind": row.kind,
            "path": row.path,
            "line": row.start_line,
            "repo": code.repo_name,
            "signature": row.signature[:160],
            "aside": is_aside(code.generation, row.file),
        }
        for code, row in rows[:_MOST_DEFINITIONS]
    ]


async def _types(index: Index, arguments: Mapping[str, Json], context: ToolContext) -> ToolOutput:
    """Return what kind of task each question is."""
    del context
    types = [index.tasks.analyze(question).task_type for question in typed(arguments["question"], list[str])]
    return ToolOutput(", ".join(types), {"types": list(types)})


async def _structure(index: Index, arguments: Mapping[str, Json], context: ToolContext) -> ToolOutput:
    """Return sentences, each citing evidence by its number; raise `NotFound` for a name that is not known."""
    intent = next(intent for intent in _INTENTS if intent == arguments["intent"])
    members: Members = next((each for each in _MEMBERS if each == arguments.get("members")), "members")
    name, other = str(arguments["name"]), str(arguments.get("symbol", ""))
    query = StructureQuery(intent, name, plain=False, members=members, other=other)

    def look() -> ToolOutput:
        asked = index.asked(context)
        found = structure.answer(query, code=asked.code, texts=asked.texts)
        if found is None:
            raise unknown(name, asked.code, what=f"No definition of which `{intent}` could be told")
        text = "\n".join(sentence.text for sentence in found.sentences)
        sentences: Json = [{"text": sentence.text, "cites": list(sentence.cites)} for sentence in found.sentences]
        return ToolOutput(text, {"sentences": sentences}, _evidence(found.places, asked), tuple(found.warnings))

    return await asyncio.to_thread(look)


async def _pack(index: Index, arguments: Mapping[str, Json], context: ToolContext) -> ToolOutput:
    """Return the places as evidence, and how much of the question's words the best of them has, 0 to 1."""
    question, tokens = str(arguments["question"]), typed(arguments.get("tokens", PACK_TOKENS), int)
    gathered = await index.searcher.gather(plain(question), scope=scope_of(context))

    def look() -> ToolOutput:
        asked = index.asked(context)
        chosen = pack(gathered, texts=asked.texts, budget_tokens=tokens, most=CARD_PLACES)
        evidence = _evidence(chosen.places, asked)
        grounds = [Ground.of(n, each.text, each.path, each.symbol) for n, each in enumerate(evidence, start=1)]
        overlap = share(question, grounds, weigh=_rarity(asked).of)
        data: dict[str, Json] = {"overlap": round(overlap, 3), "read": [block.n for block in chosen.blocks]}
        text = "\n".join(f"[{n}] {display(each.path)}:{each.start_line}" for n, each in enumerate(evidence, start=1))
        return ToolOutput(text, data, evidence, (*gathered.warnings, *gathered.vector_warnings))

    return await asyncio.to_thread(look)


async def _weights(index: Index, arguments: Mapping[str, Json], context: ToolContext) -> ToolOutput:
    """Return the weight of each word of a text that has a meaning of its own."""
    words = sorted(query_tokens(str(arguments["text"])))

    def look() -> ToolOutput:
        weights = _rarity(index.asked(context)).of(words)
        return ToolOutput("", {"weights": {word: round(weight, 4) for word, weight in sorted(weights.items())}})

    return await asyncio.to_thread(look)


def _rarity(asked: Asked) -> Rarity:
    chunks = sum(part.generation.info.chunks for part in asked.parts)
    return Rarity([part.generation.lexical for part in asked.parts], chunks=chunks)


async def _verify(index: Index, arguments: Mapping[str, Json], context: ToolContext) -> ToolOutput:
    """Return the places as citations, in their order; raise `NotGranted` for one of another repository."""
    places = [typed(json.loads(text), Place) for text in typed(arguments["text"], list[str])]
    if beyond := sorted({place.repo for place in places} - set(context.grants.repos)):
        raise NotGranted("This run may not cite that repository.", remedy="Cite what its tools gave.", repos=beyond)

    def look() -> ToolOutput:
        citations, warnings = cite(places, texts=index.asked(context).texts)
        text = f"{sum(each.span.verified for each in citations)} of {len(citations)} stand there."
        return ToolOutput(text, {"citations": as_json(citations)}, warnings=tuple(warnings))

    return await asyncio.to_thread(look)


_ALL: Final = (
    (_state, ToolSpec(STATE, "Tell which state of each repository is indexed.", _parameters(()), category="index")),
    (
        _names,
        ToolSpec(
            NAMES,
            "Tell which of some names are definitions, and where these stand.",
            _parameters(("names",), names={"type": "array", "items": _NAME, "maxItems": _MOST_NAMES}),
            category="index",
        ),
    ),
    (
        _types,
        ToolSpec(
            TYPES,
            "Tell what kind of task each of some questions is.",
            _parameters(("question",), question={"type": "array", "items": _TEXT, "maxItems": _MOST_NAMES}),
            category="index",
        ),
    ),
    (
        _structure,
        ToolSpec(
            STRUCTURE,
            "Answer a question of structure exactly: where a name is, who calls it, what it calls, what a change reaches.",
            _parameters(
                ("intent", "name"),
                intent={"enum": list(_INTENTS)},
                name={"type": "string", "minLength": 1, "maxLength": 400},
                symbol={**_NAME, "description": "where a way ends"},
                members={"enum": list(_MEMBERS)},
            ),
            category="index",
        ),
    ),
    (
        _pack,
        ToolSpec(
            PACK,
            "Gather the lines that bear on a question, best first.",
            _parameters(("question",), question=_TEXT, tokens={"type": "integer", "minimum": 100, "maximum": 4_000}),
            category="index",
        ),
    ),
    (
        _weights,
        ToolSpec(
            WEIGHTS,
            "Tell how rare the words of a text are in the code.",
            _parameters(("text",), text={"type": "string", "maxLength": _MOST_TEXT}),
            category="index",
        ),
    ),
    (
        _verify,
        ToolSpec(
            VERIFY,
            "Check that lines, each place as JSON, stand where they are said to stand, at their commit.",
            _parameters(
                ("text",), text={"type": "array", "items": {"type": "string", "maxLength": 9_000}, "maxItems": _MOST_PLACES}
            ),
            category="index",
        ),
    ),
)


def instruments(index: Index) -> tuple[Tool, ...]:
    """Return the instruments over *index*."""
    return tuple(Instrument(spec, index, look) for look, spec in _ALL)
