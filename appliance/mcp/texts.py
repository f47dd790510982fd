"""Results as texts: for clients that show their model nothing else."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from appliance.mcp import results
from appliance.mcp.results import Answered, Indexed, Lines, Listed


def text_of(result: Answered) -> str:
    """Return the text that says what *result* says."""
    return "\n".join([*_BODIES[type(result)](result), *_foot(result)])


def _foot(result: Answered) -> Iterable[str]:
    yield from (f"note: {warning}" for warning in result.warnings)
    yield f"index: {'; '.join(map(_indexed, result.index))}"
    if isinstance(result, Listed | results.Map) and result.hint:
        yield f"hint: {result.hint}"
    if isinstance(result, Listed) and result.next_cursor:
        yield f"next_cursor: {result.next_cursor}"


def _indexed(index: Indexed) -> str:
    behind = "may be behind" if index.behind is None else f"{index.behind} behind"
    dirty = ", may be dirty" if index.dirty is None else ", dirty" if index.dirty else ""
    return f"{index.repo} at {index.branch or 'HEAD'} {index.commit[:12]}, {behind}{dirty} ({index.generation})"


def _head(shown: int, total: int, what: str, result: Answered) -> str:
    if total:
        return f"{shown:,} of {total:,} {what}:"
    return f"No {what}." if result.complete else f"No {what} found, but not everything could be looked at:"


def _hits(result: results.Hits) -> Iterable[str]:
    yield _head(len(result.hits), result.total, "results", result)
    for hit in result.hits:
        yield f"{_place(hit)}  {hit.symbol}  ({'; '.join(hit.why)})"
        yield hit.text


def _lines(result: results.FileLines) -> Iterable[str]:
    some = f"lines {result.start_line} to {result.end_line} of {result.lines:,}"
    yield f"{result.repo}: {result.path}, {some} at {result.commit}"
    yield from (f"{number}\t{line}" for number, line in enumerate(result.text.split("\n"), result.start_line))


def _found(result: results.Definitions) -> Iterable[str]:
    yield _head(len(result.definitions), result.total, "definitions", result)
    for each in result.definitions:
        yield f"{_place(each)}  {each.kind} {each.symbol}  {each.how} {each.confidence:.2f}"
        yield each.text


def _uses(result: results.References) -> Iterable[str]:
    yield from _definitions(result.definitions)
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in result.kinds.items())
    yield _head(len(result.references), result.total, f"uses{f' ({kinds})' if kinds else ''}", result)
    for use in result.references:
        place = f"{use.repo}: {use.path}:{use.line}"
        yield f"{place}  {use.kind} in {use.inside or '(top level)'}  {use.how} {use.confidence:.2f}  {use.text}"


def _outline(result: results.FileOutline) -> Iterable[str]:
    yield f"{result.repo}: {result.path}, {result.language}, {result.lines:,} lines at {result.commit}"
    yield _head(len(result.entries), result.total, "definitions", result)
    for each in result.entries:
        yield f"{'  ' * each.depth}{each.start_line}-{each.end_line}  {each.signature or f'{each.kind} {each.symbol}'}"


def _calls(result: results.Calls) -> Iterable[str]:
    yield from _definitions(result.definitions)
    yield _head(len(result.calls), result.total, "calls", result)
    for call in result.calls:
        way = f"{call.caller or '(top level)'} -> {call.callee}{'' if call.inside else ' (outside)'}"
        yield f"{call.repo}: {call.path}:{call.line}  {way}  {call.how} {call.confidence:.2f}  {call.text}"


def _reach(result: results.Reach) -> Iterable[str]:
    yield from _definitions(result.definitions)
    yield _head(len(result.reached), result.total, f"places reached, {result.tests:,} of all in tests", result)
    yield f"{result.unresolved:.0%} of all calls could not be told"
    yield from (f"changed with it {each.times} of {each.commits} times: {each.path}" for each in result.together)
    for each in result.reached:
        name = each.symbol or "(top level)"
        test = ", test" if each.test else ""
        yield (
            f"{each.repo}: {each.path}:{each.line}  {name} calls {each.via}  step {each.steps}, {each.confidence:.2f}{test}"
        )


def _map(result: results.Map) -> Iterable[str]:
    yield _head(len(result.files), result.total, "files, the most important first", result)
    for each in result.files:
        yield f"{each.repo}: {each.path}"
        yield from each.heads


def _answer(result: results.Answer) -> Iterable[str]:
    exact = result.kind == "structure"
    if result.sentences:
        yield "Exact, from the index:" if exact else "A small model's reading of the evidence, which may be wrong:"
    yield from (f"- {each.text} {''.join(f'[{n}]' for n in each.cites)}" for each in result.sentences)
    if result.no_prose:
        yield f"No prose: {result.no_prose}"
    yield f"Evidence:{' (shortened)' if result.truncated else ''}" if result.evidence else "No evidence was found."
    for each in result.evidence:
        yield f"[{each.n}] {_place(each)}  {each.symbol}"
        yield each.text


def _definitions(definitions: Iterable[results.Defined]) -> Iterable[str]:
    yield from (f"{each.kind} {each.symbol} is defined at {_place(each)}" for each in definitions)


def _place(lines: Lines) -> str:
    unsure = "" if lines.verified else " (not verified)"
    return f"{lines.repo}: {lines.path}:{lines.start_line}-{lines.end_line}{unsure}"


_BODIES: Final[Mapping[type[Answered], Callable[..., Iterable[str]]]] = {
    results.Hits: _hits,
    results.FileLines: _lines,
    results.Definitions: _found,
    results.References: _uses,
    results.FileOutline: _outline,
    results.Calls: _calls,
    results.Reach: _reach,
    results.Map: _map,
    results.Answer: _answer,
}
