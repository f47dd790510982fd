"""The coordinator of a mission: it plans by words and names alone, commissions the juniors, and has their finds reviewed."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.answer import LEAST_OVERLAP
from appliance.contracts.tools import Json
from appliance.operator import AgentRequest, AgentResult, StreamingCallback
from appliance.orchestrator.missions import instruments
from appliance.orchestrator.missions.case import Case
from appliance.orchestrator.missions.encoding import plain, typed
from appliance.orchestrator.missions.plan import Part, Task, again, is_read, names_of, parts_of, research, tasks_of
from appliance.orchestrator.missions.researcher import qualified

COORDINATOR: Final = "coordinator"
_MOST_NAMES: Final = 12
_LONGEST_NAME: Final = 200
_TOKENS: Final = 800
Rows = list[Mapping[str, Json]]
Tools = Mapping[str, Callable[..., Awaitable[Mapping[str, object]]]]


class Lead:
    """Satisfies `AgentRunner`, for one *case*."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._tools: Tools = {}
        self._parts = 0  # of all goals so far

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Have the goal worked on until nothing is left to do; the findings stand in the case."""
        del streaming_callback
        self._tools = {tool.__name__: tool for tool in request.metadata["tools"]}
        said = self._case.journal.instructions  # by people, when they let the mission go on
        goals, heard = [request.objective], 0
        while goals:
            for goal in goals:
                await self._work(goal)
            if len(said) == heard:
                await self._commission(Task("reviewer", "Hold what was found against the lines that it rests on."))
            goals, heard = said[heard:], len(said)
        return AgentResult(content=f"{len(self._case.findings)} findings.")

    async def _work(self, goal: str) -> None:
        parts, more = parts_of(goal)
        first, self._parts = self._parts, self._parts + len(parts)
        if more:
            self._case.warn(f"{more} further questions of the goal were left out: ask them in a mission of their own.")
        types = await self._types(parts)
        about = " ".join(part.text for part, kind in zip(parts, types, strict=True) if is_read(part, kind))
        known = await self._known(about, parts)
        tasks = tasks_of(parts, types=types, known=known, first=first)
        for task in tasks:
            await self._commission(task)
        for number, part in enumerate(parts, start=first):
            if f"{number}" in self._case.failed and part.query is not None:
                await self._commission(research(part, number, known))

    async def _known(self, about: str, parts: Sequence[Part]) -> dict[str, str]:
        """Return for each name that the index knows the one definition that is meant by it."""
        names = [name for name in names_of(parts) if len(name) <= _LONGEST_NAME][:_MOST_NAMES]
        if not names:
            return {}
        gave = await self._case.call(COORDINATOR, instruments.NAMES, {"names": names})
        given = gave.data.get("known")
        known = given if isinstance(given, Mapping) else {}
        return {name: meant for name in names if (meant := await self._meant(name, known.get(name), about, parts))}

    async def _types(self, parts: Sequence[Part]) -> list[str]:
        """Return of each part which kind of task it is."""
        gave = await self._case.call(COORDINATOR, instruments.TYPES, {"question": [part.text[:2_000] for part in parts]})
        return typed(gave.data.get("types", ["other"] * len(parts)), list[str])

    async def _meant(self, name: str, rows: Json, about: str, parts: Sequence[Part]) -> str:
        """Return the qualified name of what *name* means, "" if nothing; of several the model's choice, or the first.

        The only one that stands in the lines that bear on *about* is meant; of more, these are put first: small models lean
        to the first option.
        """
        found = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) else []
        proper = [row for row in found if not row["aside"]] or found
        if len(proper) < 2:
            return name if proper else ""
        exact, proper = await self._nearest(about, proper) if about else ([], proper)
        task = next(part.text for part in parts if name in part.names)
        options = [f"{row['kind']} {row['symbol']} in {display(str(row['path']))}: {row['signature']}" for row in proper]
        place, _ = (0, False) if len(exact) == 1 else await self._case.choose(COORDINATOR, task, options)
        row = proper[place or 0]
        where, *others = (
            f"{display(str(each['path']))}:{each['line']}" for each in (row, *(r for r in proper if r is not row))
        )
        said = f"`{name}` has {len(proper)} definitions: what is told of one means `{row['symbol']}` in {where}"
        self._case.warn(f"{said}, not {' or '.join(others)}.")
        return qualified(str(row["path"]), str(row["symbol"]))

    async def _nearest(self, about: str, rows: Rows) -> tuple[Rows, Rows]:
        """Return which of *rows* stand in the lines that bear on *about*, and all: these first, then of their files."""
        gave = await self._case.call(COORDINATOR, instruments.PACK, {"question": about[:2_000], "tokens": _TOKENS})

        def rank(row: Mapping[str, Json]) -> tuple[bool, int]:
            path, line = str(row["path"]), typed(row["line"], int)
            files = [n for n, each in enumerate(gave.evidence) if each.path == path]
            exact = [n for n in files if gave.evidence[n].start_line <= line <= gave.evidence[n].end_line]
            return not exact, min(exact or files or [len(gave.evidence)])

        ranked = sorted(rows, key=rank)
        return [row for row in ranked if not rank(row)[0]], ranked

    async def _commission(self, task: Task) -> None:
        """Have a junior do *task*: accept what it reports, send it on once where that is weak, refuse what failed."""
        case, journal = self._case, self._case.journal
        await self._within("commissions")
        props: dict[str, Json] = {
            "question": task.question,
            "part": task.part,
            "symbol": task.symbol,
            "looks": plain(task.looks),
        }
        journal.note("commissioned", {"junior": task.junior, "objective": task.objective, "props": props}, agent=COORDINATOR)
        case.starts(task.junior)
        began = journal.now
        staged = await self._tools["commission"](task.junior, task.objective, None, props)
        if staged.get("status") == "staged" and self._weak(task):
            self._stage(task, staged, began)
            staged = await self._again(task, staged)
        self._stage(task, staged, began)
        if staged.get("status") == "staged":
            await self._tools["accept_agent_result"](task.junior, staged["index"])
            journal.note("accepted", {"junior": task.junior}, agent=COORDINATOR)

    async def _again(self, task: Task, staged: Mapping[str, object]) -> Mapping[str, object]:
        await self._within("instructs")
        message = again(task.question, names_of(parts_of(task.question)[0]))
        self._case.journal.note("instructed", {"junior": task.junior, "message": message}, agent=COORDINATOR)
        return await self._tools["instruct_agent"](task.junior, staged["index"], message)

    def _weak(self, task: Task) -> bool:
        mine = [each for each in self._case.findings if each.question and each.part == task.part and not each.said]
        return task.junior == "researcher" and bool(mine) and mine[-1].overlap < LEAST_OVERLAP

    def _stage(self, task: Task, staged: Mapping[str, object], began: float) -> None:
        """Put on record how a junior came back; a mission that was halted meanwhile goes no further."""
        journal = self._case.journal
        if staged.get("status") == "staged":
            seconds = round(journal.now - began, 3)
            data: dict[str, Json] = {"junior": task.junior, "summary": str(staged.get("summary")), "seconds": seconds}
            journal.note("staged", data, agent=COORDINATOR)
            return
        reason = str(staged.get("summary") or staged.get("detail") or staged.get("error"))
        journal.note("refused", {"junior": task.junior, "reason": reason}, agent=COORDINATOR)
        if task.junior != "researcher" and task.looks and not any(look.asked for look in task.looks):
            return
        self._case.warn(f"The {task.junior} found nothing: {reason.partition(': ')[2] or reason}")

    async def _within(self, what: str) -> None:
        """Pause where so many commissions, or instructs, were given as the limits allow."""
        journal, limits = self._case.journal, self._case.begun.limits
        limit = limits.commissions if what == "commissions" else limits.instructs
        while (journal.meter.commissions if what == "commissions" else journal.meter.instructs) >= limit:
            await journal.pause(f"The mission has made its {limit} {what}.")
