"""One file: its lines, and what it defines."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from appliance.base.paths import display, shown
from appliance.codeintel.query.lines import FileLines, read_lines
from appliance.codeintel.results import Freshness, OutlineEntry, Scope
from appliance.mcp import found, results
from appliance.mcp.arguments import Outline, ReadLines
from appliance.mcp.pages import MOST_LINES, Page, Rest
from appliance.mcp.replies import Progress, Reply
from appliance.mcp.tools.asked import file_of, read
from appliance.services import Services

_LONGEST_LINE: Final = 2_000


async def lines(services: Services, given: Mapping[str, object], progress: Progress) -> Reply:
    """Return lines of a file, as it is indexed."""
    del progress
    asked = read(ReadLines, given)
    page = Page("read_lines", asked)
    file = await file_of(services, asked, commit=asked.commit)
    start = asked.start_line + page.offset
    have = await asyncio.to_thread(read_lines, services.generations, file, start=start, end=asked.end_line, most=MOST_LINES)
    wanted = _Wanted.of(have, asked)

    def made(some: Sequence[str], rest: Rest) -> results.FileLines:
        return results.FileLines(
            repo=have.span.repo_name,
            path=display(have.span.path),
            commit=have.span.commit,
            lines=have.total,
            start_line=start,
            end_line=start + len(some) - 1,
            text="\n".join(some),
            **rest,
            **found.base(wanted),
        )

    text = [found.clipped(shown(line), _LONGEST_LINE) for line in have.lines]
    return await page.fitted(
        wanted, text, made, hint="Go on with next_cursor, or ask for fewer lines.", order=[have.span.blob]
    )


async def outline(services: Services, given: Mapping[str, object], progress: Progress) -> Reply:
    """Return what a file defines."""
    del progress
    asked = read(Outline, given)
    page = Page("outline", asked)
    file = await file_of(services, asked)
    of = file.part.repo
    response = await services.graphs.outline(
        of.id, file.path, scope=Scope(of.project, (of.id,)), limit=page.limit, offset=page.offset
    )

    def made(entries: Sequence[OutlineEntry], rest: Rest) -> results.FileOutline:
        return results.FileOutline(
            repo=response.file.repo_name,
            path=display(response.file.path),
            commit=response.file.commit,
            language=response.language,
            lines=response.file.end_line,
            entries=[found.entry(each) for each in entries],
            **rest,
            **found.base(response, more=file.warnings),
        )

    return await page.fitted(response, response.entries, made, hint="Go on with next_cursor.")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The lines that were asked for, as a list."""

    total: int
    freshness: tuple[Freshness, ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, have: FileLines, asked: ReadLines) -> "_Wanted":
        last = min(asked.end_line or have.total, have.total)
        return cls(max(last - asked.start_line + 1, 0), (have.freshness,), have.warnings)
