"""Running the tests of a repository: in the sandbox, in a scratch worktree, with what they said at their end."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from appliance.base import sandbox
from appliance.base.sandbox import Outcome
from appliance.contracts.tools import ToolContext, ToolOutput
from appliance.errors import Cancelled, InvalidInput
from appliance.ids import RepoId
from appliance.orchestrator.fence import fenced
from appliance.orchestrator.tools.arguments import REPO, Given, schema, words
from appliance.orchestrator.tools.built_in import BuiltIn, tool
from appliance.orchestrator.tools.reach import CodeIndex, Reach
from appliance.orchestrator.tools.told import MOST_TEXT
from appliance.orchestrator.tools.workbench import Workbench

_MOST_WORDS: Final = 20
_LONGEST_WORD: Final = 300
_AROUND_S: Final = 60.0  # for the worktree, and the end of all that was started
_KEPT: Final = 20_000  # characters of each stream, in the data
_USUAL: Final = (  # a file that is there, and how tests are run then
    ("Cargo.toml", ("cargo", "test", "--offline")),
    ("go.mod", ("go", "test", "./...")),
    ("package.json", ("npm", "test", "--offline")),
    ("pyproject.toml", ("python3", "-m", "pytest", "-q")),
    ("setup.py", ("python3", "-m", "pytest", "-q")),
    ("tests", ("python3", "-m", "pytest", "-q")),
    ("Makefile", ("make", "test")),
)
_PYTHON: Final = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
_WHY: Final = {
    "time": "It took too long and was ended.",
    "output": "It said too much and was ended.",
    "memory": "It took too much memory and was ended.",
    "processes": "It started too many processes and was ended.",
    "disk": "It wrote too much and was ended.",
    "broken": "It was ended from outside.",
}


def run_tools(index: CodeIndex, bench: Workbench) -> tuple[BuiltIn, ...]:
    """Return the tools of this family over *index*, at *bench*."""
    command = words(_MOST_WORDS, _LONGEST_WORD, "program and arguments; left out: the usual one")
    run = partial(tool, category="run", effect="run", timeout_s=bench.policy.limits.seconds + _AROUND_S)
    parameters = schema(command=command, repo=REPO)
    return (run("run_tests", "Run the tests, without network.", parameters, partial(_run, index, bench)),)


async def _run(index: CodeIndex, bench: Workbench, given: Given, context: ToolContext) -> ToolOutput:
    reach = await Reach.of(index, context)
    command = tuple(given.words("command")) if given.has("command") else ()
    repo = reach.one(given.text("repo"))
    left = threading.Event()
    try:
        return await asyncio.to_thread(_Tests(index, bench, reach, repo.id, command, context, left).run)
    finally:
        left.set()  # whoever waited for this has gone: so does the command


@dataclass(frozen=True, slots=True)
class _Tests:
    """Tests of one repository, to be run once; *left* is set once nobody waits for them any more."""

    index: CodeIndex
    bench: Workbench
    reach: Reach
    repo: RepoId
    command: tuple[str, ...]
    context: ToolContext
    left: threading.Event

    def run(self) -> ToolOutput:
        """Run them, and return how they ended."""
        with self._folder() as (folder, missing):
            command = self.command or _usual(folder)
            python = _PYTHON | {"PYTHONPATH": f"{folder}:{folder}/src"}
            policy = replace(self.bench.policy, environment=python | dict(self.bench.policy.environment))
            aside = self.bench.worktrees.aside
            outcome = sandbox.run(command, folder=folder, aside=aside, policy=policy, stop=self._is_over)
        self.context.cancellation.check()
        return _told(command, outcome, _warnings(outcome, missing))

    @contextmanager
    def _folder(self) -> Iterator[tuple[Path, int]]:
        """Hold the worktree of the run, or one that lasts as long as the command; with it, how many files it lacks."""
        if self.context.workspace is not None:
            with self.bench.at(self.context) as path:
                yield path, 0
            return
        part = self.reach.part(self.index, self.repo)
        source = self.index.generations.source(part.repo)
        with self.bench.worktrees.of(source, part.generation.info.commit) as made:
            yield made.path, len(made.left_out)

    def _is_over(self) -> bool:
        try:
            self.context.cancellation.check()
        except Cancelled:
            return True
        return self.left.is_set()


def _usual(folder: Path) -> tuple[str, ...]:
    for name, command in _USUAL:
        if (folder / name).exists():
            return command
    raise InvalidInput("Nothing here says how the tests are run.", remedy="Give the command.")


def _warnings(outcome: Outcome, missing: int) -> tuple[str, ...]:
    said = [f"{each}." for each in outcome.confinement.lacking]
    if missing:
        said.append(f"{missing:,} files of the repository are not in the worktree.")
    if outcome.left and outcome.ending == "itself":
        said.append(f"{outcome.left:,} processes that it left behind were ended.")
    return tuple(said)


def _told(command: tuple[str, ...], outcome: Outcome, warnings: tuple[str, ...]) -> ToolOutput:
    out, err = (stream.decode("utf-8", "backslashreplace") for stream in (outcome.stdout, outcome.stderr))
    said = "\n".join(part.rstrip("\n") for part in (out, err) if part)
    end = said[-MOST_TEXT:]
    cut = outcome.cut or len(end) < len(said)
    inside = fenced(end, label=f"{'the end of ' if cut else ''}what {' '.join(command)} said", most=MOST_TEXT * 2)
    return ToolOutput(
        text="\n".join((_how(outcome), inside.text, *(f"note: {each}" for each in warnings))),
        data={
            "command": list(command),
            "ending": outcome.ending,
            "code": outcome.code,
            "signal": outcome.signal,
            "seconds": round(outcome.seconds, 2),
            "layers": list(outcome.confinement.layers),
            "stdout": out[-_KEPT:],
            "stderr": err[-_KEPT:],
        },
        warnings=warnings,
        cut=cut,
    )


def _how(outcome: Outcome) -> str:
    if outcome.ending in _WHY:
        return _WHY[outcome.ending]
    return f"A signal ended it: {outcome.signal}." if outcome.code is None else f"It ended with {outcome.code}."
