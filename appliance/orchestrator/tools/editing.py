"""Edits of the scratch worktree of a run, each of which can be taken back. Repositories are never written to."""

import asyncio
import difflib
from functools import partial
from typing import Final

from appliance.base.paths import display
from appliance.contracts.tools import ToolContext, ToolOutput
from appliance.errors import Conflict, InvalidInput, NotFound, UnsafePath
from appliance.ids import ProjectId
from appliance.orchestrator.fence import fenced
from appliance.orchestrator.held_files import read_state
from appliance.orchestrator.tools.arguments import PATH, Given, schema, text
from appliance.orchestrator.tools.built_in import BuiltIn, tool
from appliance.orchestrator.tools.told import label_of
from appliance.orchestrator.tools.workbench import Workbench
from appliance.orchestrator.undo import MOST_BYTES, Group
from appliance.orchestrator.worktree import is_safe

_LONGEST: Final = 8_000
_MOST_LINES: Final = 5_000  # that are compared to show what changed


def edit_tools(bench: Workbench) -> tuple[BuiltIn, ...]:
    """Return the tools of this family at *bench*."""
    old = text(_LONGEST, "exact text that is there once; empty: a new file")
    edit = schema(["path", "old", "new"], path=PATH, old=old, new=text(_LONGEST))
    write = partial(tool, category="edit", effect="write")
    return (
        write("edit_file", "Replace text in a file.", edit, partial(_edit, bench)),
        write("undo_edit", "Take back the last edit.", schema(), partial(_undo, bench)),
    )


async def _edit(bench: Workbench, given: Given, context: ToolContext) -> ToolOutput:
    path, old, new = given.file(), given.text("old"), given.text("new")
    return await asyncio.to_thread(_edited, bench, context, path, old, new)


async def _undo(bench: Workbench, given: Given, context: ToolContext) -> ToolOutput:
    del given
    return await asyncio.to_thread(_undone, bench, context)


def _edited(bench: Workbench, context: ToolContext, path: str, old: str, new: str) -> ToolOutput:
    if not is_safe(path):
        raise UnsafePath(f"{display(path)!r} is no file of the code.", remedy="A worktree holds no repository.")
    with bench.at(context) as worktree:
        before = read_state(worktree, path, most=MOST_BYTES).content
        after = _replaced(path, before, old, new)
        history = bench.history(ProjectId(context.grants.project))
        group = history.begin_change_group(worktree, f"edit {display(path)}")
        try:
            history.record_change(group, worktree, path, after)
            done = history.commit(group)
        except BaseException:
            history.recover(worktree)
            raise
    lines = list(difflib.unified_diff(_lines(before or b""), _lines(after), lineterm="", n=1))[2:]
    inside = fenced("\n".join(lines), label=f"the change of {label_of(path)}")
    return ToolOutput(f"Edited.\n{inside.text}", data={"path": display(path), "group": done.id}, cut=inside.cut)


def _undone(bench: Workbench, context: ToolContext) -> ToolOutput:
    with bench.at(context) as worktree:
        group = bench.history(ProjectId(context.grants.project)).undo(worktree)
    inside = fenced("\n".join(_paths(group)), label="files")
    return ToolOutput(f"Taken back:\n{inside.text}", data={"paths": _paths(group), "group": group.id}, cut=inside.cut)


def _replaced(path: str, before: bytes | None, old: str, new: str) -> bytes:
    """Return the file at *path* with *old* replaced by *new*; raise where that is not exactly one place."""
    if old == new:
        raise InvalidInput("old and new are the same.", remedy="Give what is to stand there instead.")
    if not old:
        if before is not None:
            raise Conflict(f"There is a file {display(path)!r}.", remedy="Give the text of it that is to be replaced.")
        return _encoded(new)
    if before is None:
        raise NotFound(f"There is no file {display(path)!r}.", remedy="Look with list_files; an empty old makes a new one.")
    wanted, instead = _encoded(old), _encoded(new)
    if wanted not in before and b"\r\n" in before:  # models write plain line ends
        wanted, instead = wanted.replace(b"\n", b"\r\n"), instead.replace(b"\n", b"\r\n")
    count = before.count(wanted)
    if count == 0:
        raise NotFound(f"{display(path)} does not hold that text.", remedy="Read the lines and give them exactly.")
    if count > 1:
        raise Conflict(f"{display(path)} holds that text {count} times.", remedy="Give more of the lines around it.")
    return before.replace(wanted, instead)


def _encoded(said: str) -> bytes:
    return said.encode("utf-8", "surrogateescape")


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "backslashreplace").splitlines()[:_MOST_LINES]


def _paths(group: Group) -> list[str]:
    return list(dict.fromkeys(display(change.path) for change in group.changes))
