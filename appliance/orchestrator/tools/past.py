"""What git tells: who changed a definition, a file, a line, and how. Only commits that the granted branch descends from."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.query.lines import FileLines, held, read_lines
from appliance.codeintel.query.parts import Part
from appliance.codeintel.results import Change, Scope
from appliance.codeintel.source.base import Source
from appliance.codeintel.source.past import Blamed, Commit
from appliance.contracts.tools import ToolContext, ToolOutput
from appliance.orchestrator.tools.arguments import LONGEST_PATH, NAME, OF_LINES, REPO, Given, number, schema, text
from appliance.orchestrator.tools.built_in import BuiltIn, tool
from appliance.orchestrator.tools.changes import Changes, changes
from appliance.orchestrator.tools.reach import CodeIndex, Reach
from appliance.orchestrator.tools.told import Entry, Resting, Row, label_of, proof, told, where

_LIMIT: Final = 20
_MOST: Final = 100
_COUNTED: Final = 200  # commits, as `history` does
_MOST_LINES: Final = 100
_ID: Final = 12
_COMMIT: Final = text(64, "its id, or how that begins")


def past_tools(index: CodeIndex) -> tuple[BuiltIn, ...]:
    """Return the tools of this family over *index*."""
    git = partial(tool, category="git")
    repo, limit = REPO, number(1, _MOST)
    path = text(LONGEST_PATH, "a file or folder; left out: all")
    of_name, of_path = schema(["name"], name=NAME, repo=repo, limit=limit), schema(path=path, repo=repo, limit=limit)
    of_commit = schema(["commit"], commit=_COMMIT, base=_COMMIT, path=path, repo=repo)
    return (
        git("history", "List who changed a definition.", of_name, partial(_history, index)),
        git("git_log", "List the newest commits.", of_path, partial(_log, index)),
        git("git_blame", "Tell which commit made each line.", OF_LINES, partial(_blame, index)),
        git("git_diff", "Show what commit changed, or all since base.", of_commit, partial(_diff, index)),
    )


async def _history(index: CodeIndex, given: Given, context: ToolContext) -> ToolOutput:
    reach = await Reach.of(index, context)
    scope, limit = reach.scope(given.text("repo")), given.limit(_LIMIT, most=_MOST)
    found = await index.graphs.history(given.needed("name"), scope=scope, limit=limit)
    return told("commits", [_commit(each) for each in found.changes], found, total=found.total, label="commits")


async def _log(index: CodeIndex, given: Given, context: ToolContext) -> ToolOutput:
    part, source = await _opened(index, given, context)
    path, limit = given.path(), given.limit(_LIMIT, most=_MOST)
    found = await asyncio.to_thread(source.log, commit=part.generation.info.commit, path=path, most=_COUNTED + 1)
    older = (f"More than {_COUNTED} commits: the older ones are not counted.",) if len(found) > _COUNTED else ()
    entries, label = [_commit(each) for each in found[:limit]], f"commits of {label_of(path or '.')}"
    return told("commits", entries, Resting((part.freshness,), older), total=min(len(found), _COUNTED), label=label)


async def _blame(index: CodeIndex, given: Given, context: ToolContext) -> ToolOutput:
    reach, path = await Reach.of(index, context), given.file()
    scope = reach.scope(given.text("repo"))
    start, end = given.lines()
    lines, blamed = await asyncio.to_thread(_blamed, index, scope, path, start, end)
    rests = Resting((lines.freshness,), lines.warnings)
    entries = [_line(lines, each) for each in blamed]
    return told("lines", entries, rests, total=len(entries), label=label_of(lines.span.path), facts=where(lines.span))


async def _diff(index: CodeIndex, given: Given, context: ToolContext) -> ToolOutput:
    part, source = await _opened(index, given, context)
    commit, base, path = given.needed("commit"), given.text("base"), given.path()
    return _changed(await asyncio.to_thread(changes, source, part, commit=commit, base=base, path=path), part)


async def _opened(index: CodeIndex, given: Given, context: ToolContext) -> tuple[Part, Source]:
    """Return what is indexed of the repository that is meant, and where its commits are."""
    reach = await Reach.of(index, context)
    part = await asyncio.to_thread(reach.part, index, given.text("repo"))
    return part, await asyncio.to_thread(index.generations.source, part.repo)


def _blamed(index: CodeIndex, scope: Scope, path: str, start: int, end: int) -> tuple[FileLines, list[Blamed]]:
    file = held(index.generations, path, scope=scope)
    have = read_lines(index.generations, file, start=start, end=end, most=_MOST_LINES)
    source, span = index.generations.source(file.part.repo), have.span
    lines = (span.start_line, span.end_line)
    return have, source.blame(commit=span.commit, path=span.path, lines=lines) if have.lines else []


def _commit(each: Change | Commit) -> Entry:
    number = each.commit if isinstance(each, Change) else each.id
    row = {"commit": number, "author": display(each.author), "date": each.date, "summary": display(each.summary)}
    return Entry(f"{number[:_ID]} {each.date[:10]} {display(each.author)}: {display(each.summary)}", row)


def _line(have: FileLines, each: Blamed) -> Entry:
    made, text = each.commit, have.lines[each.line - have.span.start_line]
    span = replace(have.span, start_line=each.line, end_line=each.line)
    row: Row = {"line": each.line, "commit": made.id, "author": display(made.author), "date": made.date}
    return Entry(
        f"{each.line}  {made.id[:_ID]} {made.date[:10]} {display(made.author)}  {text}",
        {**row, "summary": display(made.summary)},
        evidence=proof(span, text, why=f"last changed by {made.id[:_ID]}"),
    )


def _changed(found: Changes, part: Part) -> ToolOutput:
    entries = [
        Entry(
            f"{each.how} {display(each.path)}",
            {"path": display(each.path), "how": each.how},
            each.text,
            each.evidence,
            lines=_MOST_LINES,
        )
        for each in found.files
    ]
    rests = Resting((part.freshness,), found.warnings)
    facts = {"commit": found.commit, "base": found.base}
    return told("changed files", entries, rests, total=found.total, label=f"changes of {found.commit[:_ID]}", facts=facts)
