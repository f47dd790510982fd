"""The researcher: it gathers the lines that bear on a question, and looks closer at the definition that matters most."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.answer import LEAST_OVERLAP
from appliance.codeintel.parse.tokens import query_tokens
from appliance.codeintel.query.draft import CALLABLES
from appliance.contracts.tools import Evidence, Json
from appliance.errors import InvalidInput
from appliance.operator import AgentRequest, AgentResult, StreamingCallback
from appliance.orchestrator.fence import visible
from appliance.orchestrator.missions import instruments
from appliance.orchestrator.missions.card import within
from appliance.orchestrator.missions.case import Case, Finding, Gave, Said
from appliance.orchestrator.missions.encoding import typed
from appliance.orchestrator.missions.juniors import finding_of, looked_at
from appliance.orchestrator.missions.plan import Look

_OPTIONS: Final = 6
_TOKENS: Final = 800
_FOUND: Final = 8  # places of a plain search
_IN_ORDER: Final = 10  # calls that are told
_TESTS: Final = 3
_MOST: Final = 50  # rows of a tool
_PLACE: Final = 40  # lines of a definition that a place shows
_BODY: Final = 60  # lines of a longer one that are read
_SHORTEST: Final = 3  # letters of a word that tells methods apart
_WHOLE: Final = 2_600  # characters of a definition that a model reads beside other lines
_ABOVE: Final = 12  # lines above a definition in which what its author says of it can stand
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s")
_WORD: Final = re.compile(r"\w+")
Row = Mapping[str, Json]


class Researcher:
    """Gathers lines by a search for the question, or for its bare words where that found little."""

    def __init__(self, case: Case) -> None:
        self._case = case

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Research; report the places. An instruction is taken as other words for the same question."""
        del streaming_callback
        props = request.agent_props or {}
        question, part = str(props.get("question", request.objective)), typed(props.get("part", 0), int)
        told = [str(each.get("content")) for each in request.messages if each.get("role") == "user"][1:]
        finding = await self._gathered(request.agent, question, part, told[-1] if told else question)
        case = self._case
        if told:
            before = [each for each in case.findings if (each.junior, each.part) == (request.agent, part) and not each.said]
            finding = max([finding, *before], key=lambda each: each.overlap)
            case.findings = [each for each in case.findings if each not in before]
            finding = await self._searched(request.agent, finding, told[-1])
        case.findings.append(finding)
        if finding.overlap >= LEAST_OVERLAP:
            await self._closer(request.agent, finding, str(props.get("symbol", "")))
        weak = "" if finding.overlap >= LEAST_OVERLAP else " The evidence is weak."
        places = "\n".join(f"{display(each.path)}:{each.start_line}" for each in finding.evidence)
        return AgentResult(content=f"{len(finding.evidence)} places bear on it.{weak}\n{places}")

    async def _gathered(self, agent: str, question: str, part: int, words: str) -> Finding:
        gave = await self._case.call(agent, instruments.PACK, {"question": words, "tokens": _TOKENS})
        if gave.error:
            raise InvalidInput(gave.error)
        return Finding(
            junior=agent,
            part=part,
            said=(),
            evidence=gave.evidence,
            question=question,
            read=tuple(number - 1 for number in typed(gave.data.get("read", ()), list[int])),
            overlap=typed(gave.data.get("overlap", 0.0), float),
        )

    async def _searched(self, agent: str, finding: Finding, words: str) -> Finding:
        """Return *finding* with what a plain search for *words* finds beside it: places for people, which no model reads."""
        gave = await self._case.ask(agent, "search_code", {"query": words, "limit": _FOUND})
        beside = [each for each in gave.evidence if each not in finding.evidence]
        return replace(finding, evidence=(*finding.evidence, *beside)[: len(finding.evidence) + _FOUND])

    async def _closer(self, agent: str, finding: Finding, symbol: str) -> None:
        """Read one definition whole, and tell what a single look cannot: its calls in order, its tests, its last change.

        That is what the question names, where it can be called, else of those that were found the model's choice.
        """
        found, doc = await self._definition(agent, symbol) if symbol else (None, "")
        if found is None or found.kind not in CALLABLES:
            options = await self._options(agent, finding, found, owner=symbol.rpartition(".")[2])
            if not options:
                return
            place, _ = await self._case.choose(agent, finding.question, list(options.values()))
            symbol = list(options)[place or 0]
            found, doc = await self._definition(agent, symbol)
        if found is None or found.kind not in CALLABLES:
            return
        await self._read_whole(agent, finding, found)
        await self._quote(agent, found, doc, finding.part)
        said = await self._in_order(agent, symbol, found)
        if said is not None:
            self._keep(agent, finding.part, said, found, calls=True)
        await self._tests(agent, symbol, found, finding.part)
        look = Look("history", symbol, finding.part, asked=False)
        gave = await looked_at(self._case, agent, look)
        if not gave.error:
            self._case.findings.append(finding_of(gave, look, junior=agent))

    async def _options(self, agent: str, finding: Finding, named: Evidence | None, *, owner: str) -> dict[str, str]:
        """Return what could be looked at closer, best first: each name, and how a model is told it.

        Where no place is a definition that can be called, it is what the lines of the best place define. Methods of *owner*,
        which the question names, are before all others; if one of them is called as the question says, these alone are.
        """
        if named is not None and (methods := await self._methods(agent, finding.question, named)):
            return methods
        found = {qualified(each.path, each.symbol): each for each in finding.evidence if each.kind in CALLABLES}
        found = {name: each for name, each in found.items() if owner and each.symbol.startswith(f"{owner}.")} or found
        if found or not finding.evidence:
            told = {name: f"{each.kind} {each.symbol} in {display(each.path)}" for name, each in found.items()}
            return dict(list(told.items())[:_OPTIONS])
        best = finding.evidence[finding.read[0] if finding.read else 0]
        lines: Row = {"start_line": best.start_line, "end_line": best.end_line}
        gave = await self._case.ask(agent, "outline", {"path": best.path, "repo": best.repo, **lines})
        rows = [row for row in _rows(gave) if row.get("kind") in CALLABLES][:_OPTIONS]
        where = display(best.path)
        return {qualified(best.path, str(row["symbol"])): f"{row['kind']} {row['symbol']} in {where}" for row in rows}

    async def _methods(self, agent: str, question: str, owner: Evidence) -> dict[str, str]:
        """Return the methods of *owner* whose names have words of *question*, those that have most first."""
        gave = await self._case.ask(
            agent, "outline", {"path": owner.path, "repo": owner.repo, "start_line": owner.start_line}
        )
        asked = {word for word in query_tokens(question) if len(word) >= _SHORTEST} - {*query_tokens(owner.symbol)}
        mine = [str(row["symbol"]) for row in _rows(gave) if row.get("kind") in CALLABLES]
        shared = {
            name: len(asked & {*query_tokens(name.rpartition(".")[2])})
            for name in mine
            if name.startswith(f"{owner.symbol}.")
        }
        best = sorted((name for name in shared if shared[name]), key=lambda name: -shared[name])[:_OPTIONS]
        return {qualified(owner.path, name): f"method {name} in {display(owner.path)}" for name in best}

    async def _definition(self, agent: str, symbol: str) -> tuple[Evidence | None, str]:
        """Return the lines of what *symbol* means, None where it means several, and what its author says of it."""
        gave = await self._case.ask(agent, "definition", {"name": symbol, "limit": 2})
        rows = _rows(gave)
        one = len(rows) == 1 and len(gave.evidence) == 1
        return (gave.evidence[0], str(rows[0].get("doc", ""))) if one else (None, "")

    async def _body(self, agent: str, found: Evidence) -> Evidence | None:
        """Return of *found*, where a place does not show all of it, what it does: the lines behind what its author says."""
        at: Row = {"path": found.path, "repo": found.repo}
        gave = await self._case.ask(agent, "outline", {**at, "start_line": found.start_line, "end_line": found.start_line})
        ends = [typed(row["end_line"], int) for row in _rows(gave) if row.get("symbol") == found.symbol]
        if max(ends, default=0) <= found.end_line:
            return None
        marks = [n for n, line in enumerate(found.text.split("\n")) for _ in range(line.count('"""'))]
        start = found.start_line + (marks[1] + 1 if len(marks) > 1 else 0)
        lines: Row = {"start_line": start, "end_line": min(max(ends), start + _BODY - 1)}
        gave = await self._case.ask(agent, "read_lines", {**at, **lines})
        return replace(gave.evidence[0], symbol=found.symbol, kind=found.kind) if gave.evidence else None

    async def _read_whole(self, agent: str, finding: Finding, found: Evidence) -> None:
        """Put all of *found* in the place of its pieces, first of what a model reads; of a long one its body."""
        if found.end_line - found.start_line + 1 >= _PLACE:
            found = await self._body(agent, found) or found
        elif len(found.text) > _WHOLE:
            return
        case, pieces = self._case, [n for n, each in enumerate(finding.evidence) if within(each, found)]
        kept = [each for n, each in enumerate(finding.evidence) if n not in pieces]
        read = [kept.index(finding.evidence[n]) + 1 for n in finding.read if n not in pieces]
        whole = replace(finding, evidence=(found, *kept), read=(0, *read))
        case.findings = [whole if each is finding else each for each in case.findings]

    async def _quote(self, agent: str, found: Evidence, doc: str, part: int) -> None:
        """Tell the first sentence of *doc* where it stands in *found* as it is, or in the lines right above it."""
        sentence = _SENTENCE.split(doc, maxsplit=1)[0]
        if not sentence or sentence.endswith("…"):
            return
        if not _stands(sentence, found.text):
            first: Row = {"start_line": max(1, found.start_line - _ABOVE), "end_line": found.start_line}
            gave = await self._case.ask(agent, "read_lines", {"path": found.path, "repo": found.repo, **first})
            if not gave.evidence or not _stands(sentence, gave.evidence[0].text):
                return
            found = replace(gave.evidence[0], symbol=found.symbol, kind=found.kind)
        said = Said(f"`{found.symbol}` says of itself: “{visible(sentence)}”", (0,))
        self._case.findings.append(Finding(agent, part, (said,), (found,)))

    async def _in_order(self, agent: str, symbol: str, found: Evidence) -> str | None:
        """Return what *found* calls of its repository, in the order of its lines; None for nothing."""
        gave = await self._case.ask(agent, "callees", {"name": symbol, "limit": _MOST})
        lines: dict[str, int] = {}
        for row in _rows(gave):
            name, line = str(row.get("callee")).removesuffix(".__init__"), typed(row.get("start_line", 0), int)
            if row.get("inside"):
                lines[name] = min(line, lines.get(name, line))
        calls = sorted(lines.items(), key=lambda call: call[1])
        if not calls:
            return None
        listed = ", ".join(f"`{name}` (line {line})" for name, line in calls[:_IN_ORDER])
        more = f" and {len(calls) - _IN_ORDER} more" if len(calls) > _IN_ORDER else ""
        return f"`{found.symbol}` calls, in this order: {listed}{more}."

    async def _tests(self, agent: str, symbol: str, found: Evidence, part: int) -> None:
        """Tell how many places in tests come to *found*, and name a few of the nearest."""
        gave = await self._case.ask(agent, "impact", {"name": symbol, "limit": _MOST})
        count = typed(gave.data.get("tests", 0), int)
        if gave.error or not count:
            return
        reached = [row for row in _rows(gave) if row.get("test") and row.get("symbol")]
        near = sorted(reached, key=lambda row: not _is_test(str(row["symbol"])))[:_TESTS]
        lines = {(each.path, each.start_line): each for each in gave.evidence}
        cited = [line for row in near if (line := lines.get((str(row.get("path")), typed(row.get("start_line", 0), int))))]
        many = "1 place in tests comes" if count == 1 else f"{count} places in tests come"
        names = ", ".join(f"`{row['symbol']}`" for row in near)
        among = f", such as {names}" if names else ""
        self._keep(agent, part, f"{many} to `{found.symbol}`{among}.", found, *cited)

    def _keep(self, agent: str, part: int, text: str, *evidence: Evidence, calls: bool = False) -> None:
        said = Said(text, tuple(range(len(evidence))))
        self._case.findings.append(Finding(agent, part, (said,), evidence, asked=False, origin="graph", calls=calls))


def _stands(sentence: str, text: str) -> bool:
    """Return whether the words of *sentence* stand in *text* one behind the other, whatever marks the lines of a comment."""
    words, there = (f" {' '.join(_WORD.findall(each))} " for each in (sentence, text))
    return not words.isspace() and words in there


def _is_test(symbol: str) -> bool:
    """Return whether *symbol* is called as a test is, and is not what tests stand on."""
    return symbol.rpartition(".")[2].lower().startswith("test")


def qualified(path: str, symbol: str) -> str:
    """Return a name that means *symbol* of the file at *path* alone: with the parts of that before it."""
    stem = path.rpartition(".")[0] or path
    return f"{stem.replace('/', '.')}.{symbol.partition('#')[0]}"


def _rows(gave: Gave) -> Sequence[Row]:
    items = gave.data.get("items", ())
    return [row for row in items if isinstance(row, Mapping)] if isinstance(items, Sequence) else []
