"""Running the tests of a repository: in the sandbox, in a scratch worktree, with what they said at their end."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from appliance.base import sandbox
from appliance.base.sandbox import Outcome
from appliance.contracts.tools import Cancellation, Json, ToolContext, ToolOutput
from appliance.errors import Cancelled, InvalidInput
from appliance.orchestrator.fence import fenced, visible
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
    run = partial(_run, index, bench)
    about = "Run the tests, without network."
    parameters = schema(command=command, repo=REPO)
    return (
        tool(
            "run_tests",
            about,
            parameters,
            run,
            category="run",
            effect="run",
            timeout_s=bench.policy.limits.seconds + _AROUND_S,
        ),
    )


async def _run(index: CodeIndex, bench: Workbench, given: Given, context: ToolContext) -> ToolOutput:
    reach = await Reach.of(index, context)
    repo, command = given.text("repo"), given.words("command") if given.has("command") else []
    reach.one(repo)
    left = threading.Event()
    try:
        return await asyncio.to_thread(
            _ran,
            index,
            bench,
            reach,
            repo,
            command,
            context=context,
            stop=lambda: left.is_set() or _ended(context.cancellation),
        )
    finally:
        left.set()  # whoever waited for this has gone: so does the command


def _ran(
    index: CodeIndex,
    bench: Workbench,
    reach: Reach,
    repo: str,
    command: list[str],
    *,
    context: ToolContext,
    stop: Callable[[], bool],
) -> ToolOutput:
    with _folder(index, bench, reach, repo, context) as (folder, missing):
        wanted = command or _usual(folder)
        policy = replace(
            bench.policy, environment=_PYTHON | {"PYTHONPATH": f"{folder}:{folder}/src", **bench.policy.environment}
        )
        outcome = sandbox.run(wanted, folder=folder, aside=bench.worktrees.aside, policy=policy, stop=stop)
    context.cancellation.check()
    return _told(wanted, outcome, missing)


@contextmanager
def _folder(index: CodeIndex, bench: Workbench, reach: Reach, repo: str, context: ToolContext) -> Iterator[tuple[Path, int]]:
    """Hold the worktree of the run, or a new one that lasts as long as the command; with it, how many files it lacks."""
    if context.workspace is not None:
        with bench.at(context) as path:
            yield path, 0
        return
    part = reach.part(index, repo)
    with bench.worktrees.of(index.generations.source(part.repo), part.generation.info.commit) as made:
        yield made.path, len(made.left_out)


def _usual(folder: Path) -> list[str]:
    for name, command in _USUAL:
        if (folder / name).exists():
            return list(command)
    raise InvalidInput("Nothing here says how the tests are run.", remedy="Give the command.")


def _told(command: list[str], outcome: Outcome, missing: int) -> ToolOutput:
    out, err = (stream.decode("utf-8", "backslashreplace") for stream in (outcome.stdout, outcome.stderr))
    said = "\n".join(part.rstrip("\n") for part in (out, err) if part)
    end = said[-MOST_TEXT:]
    how = _WHY.get(outcome.ending) or (
        f"It ended with {outcome.code}." if outcome.code is not None else f"Signal {outcome.signal}."
    )
    warnings = [f"{each}." for each in outcome.confinement.lacking]
    warnings += [f"{missing:,} files of the repository are not in the worktree."] if missing else []
    warnings += (
        [f"{outcome.left:,} processes that it left behind were ended."]
        if outcome.left and outcome.ending == "itself"
        else []
    )
    cut = outcome.cut or len(end) < len(said)
    data: dict[str, Json] = {
        "command": command,
        "ending": outcome.ending,
        "code": outcome.code,
        "signal": outcome.signal,
        "seconds": round(outcome.seconds, 2),
        "layers": list(outcome.confinement.layers),
        "stdout": out[-_KEPT:],
        "stderr": err[-_KEPT:],
    }
    label = (
        f"the end of what {visible(' '.join(command))[:200]} said"
        if cut
        else f"what {visible(' '.join(command))[:200]} said"
    )
    fence = fenced(end, label=label, most=MOST_TEXT * 2).text
    return ToolOutput(
        "\n".join((how, fence, *(f"note: {each}" for each in warnings))), data, warnings=tuple(warnings), cut=cut
    )


def _ended(cancellation: Cancellation) -> bool:
    try:
        cancellation.check()
    except Cancelled:
        return True
    return False
