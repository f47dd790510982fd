"""Files: what there is, what they define, what stands in them."""

import asyncio
from collections import Counter
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.query.lines import FileLines, held, read_lines
from appliance.codeintel.query.parts import Part
from appliance.codeintel.results import OutlineEntry, OutlineResponse, Scope
from appliance.contracts.tools import ToolContext, ToolOutput
from appliance.errors import NotFound
from appliance.orchestrator.fence import fenced
from appliance.orchestrator.tools.arguments import LONGEST_PATH, OF_LINES, REPO, Given, number, schema, text
from appliance.orchestrator.tools.built_in import BuiltIn, tool
from appliance.orchestrator.tools.reach import CodeIndex, Reach
from appliance.orchestrator.tools.told import Entry, Resting, Row, doubts, label_of, notes, proof, told, where

MOST_LINES: Final = 200
_MOST_TEXT: Final = 6_000
_LONGEST_LINE: Final = 300  # in the data; evidence is whole
_LISTED: Final = 60
_MOST_LISTED: Final = 200


def file_tools(index: CodeIndex) -> tuple[BuiltIn, ...]:
    """Return the tools of this family over *index*."""

    async def read(given: Given, context: ToolContext) -> ToolOutput:
        reach, path = await Reach.of(index, context), given.file()
        scope, (start, end) = reach.scope(given.text("repo")), given.lines()
        return _lines(await asyncio.to_thread(_read, index, scope, path, start, end))

    async def files(given: Given, context: ToolContext) -> ToolOutput:
        reach, folder = await Reach.of(index, context), given.path()
        part = await asyncio.to_thread(reach.part, index, given.text("repo"))
        return await asyncio.to_thread(_listed, part, folder, given.limit(_LISTED, most=_MOST_LISTED))

    async def outline(given: Given, context: ToolContext) -> ToolOutput:
        reach, path = await Reach.of(index, context), given.file()
        scope = reach.scope(given.text("repo"))
        file = await asyncio.to_thread(held, index.generations, path, scope=scope)
        only = Scope(reach.project, (file.part.repo.id,), reach.branches)
        found = await index.graphs.outline(file.part.repo.id, file.path, scope=only)
        return _outlined(found, *given.lines())

    folder = schema(path=text(LONGEST_PATH, "a folder; left out: the top"), repo=REPO, limit=number(1, _MOST_LISTED))
    return (
        tool("read_lines", "Read lines of a file.", OF_LINES, read, category="read"),
        tool("list_files", "List the files and folders in a folder.", folder, files, category="read"),
        tool("outline", "List what a file, or some lines of it, define.", OF_LINES, outline, category="read"),
    )


def _read(index: CodeIndex, scope: Scope, path: str, start: int, end: int) -> FileLines:
    file = held(index.generations, path, scope=scope)
    return read_lines(index.generations, file, start=start, end=end, most=MOST_LINES)


def _lines(have: FileLines) -> ToolOutput:
    span, rests = have.span, Resting((have.freshness,), have.warnings)
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(have.lines, span.start_line))
    inside = fenced("\n".join((*doubts(rests), numbered)), label=label_of(span.path), most=_MOST_TEXT)
    cut = inside.cut or span.end_line < have.total
    head = f"Lines {span.start_line} to {span.end_line} of {have.total:,}:"
    evidence = proof(span, "\n".join(have.lines))
    return ToolOutput(
        text="\n".join((head, inside.text, *notes(rests, cut=inside.cut))),
        data={**where(span), "total": have.total, "lines": [line[:_LONGEST_LINE] for line in have.lines]},
        evidence=() if evidence is None else (evidence,),
        warnings=have.warnings,
        cut=cut,
    )


def _listed(part: Part, folder: str, limit: int) -> ToolOutput:
    start = f"{folder}/" if folder else ""
    files = part.generation.files
    inside = [(path[len(start) :], number) for path, number in files.by_path.items() if path.startswith(start)]
    if not inside:
        raise NotFound(f"The index has no folder {display(folder)!r}.", remedy="Leave the path out to see the top.")
    folders = Counter(path.partition("/")[0] for path, _ in inside if "/" in path)
    entries = [
        Entry(f"{display(name)}/  {count:,} files", {"path": display(f"{start}{name}/"), "files": count})
        for name, count in sorted(folders.items())
    ]
    for name, at in inside:
        if "/" not in name:
            lines = int(files.lines[at])
            row: Row = {"path": display(start + name), "lines": lines, "language": files.languages[at]}
            entries.append(Entry(f"{display(name)}  {lines:,} lines", row))
    rests = Resting((part.freshness,))
    return told("files and folders", entries[:limit], rests, total=len(entries), label=f"names in {label_of(folder or '.')}")


def _outlined(response: OutlineResponse, start: int, end: int) -> ToolOutput:
    file = response.file
    inside = [each for each in response.entries if each.end_line >= start and (not end or each.start_line <= end)]
    entries = [_defined(each) for each in inside]
    facts = where(file) | {"language": response.language}
    label = f"what {label_of(file.path)} defines"
    total = response.total if len(inside) == len(response.entries) else len(inside)
    return told("definitions", entries, response, total=total, label=label, facts=facts)


def _defined(each: OutlineEntry) -> Entry:
    said = each.signature or f"{each.kind} {each.symbol}"
    row: Row = {"symbol": each.symbol, "kind": each.kind, "start_line": each.start_line, "end_line": each.end_line}
    return Entry(f"{'  ' * each.depth}{each.start_line}-{each.end_line}  {said}", row)
