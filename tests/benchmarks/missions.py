"""Ten real missions on the model for answers, over two repositories: what they took, and what became of them.

``python -m tests.benchmarks.missions [REPOSITORY]`` works on this project and on REPOSITORY (by default the code of the
installed ``rich``, as a plain folder). The first mission is killed in the middle of a completion, and resumed; all are
verified and replayed. The transcripts are written to ``missions.txt`` in the folder that ``--transcripts`` names.
"""

import argparse
import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.base.sqlite import connect
from appliance.codeintel.results import Answer, Scope
from appliance.framework.tried import Remembering
from appliance.inference.catalog import Catalog
from appliance.inference.client import EngineClient
from appliance.inference.engines.base import EngineInfo
from appliance.orchestrator.missions.build import Parts, desk_of, runner_of
from appliance.orchestrator.missions.desk import Desk
from appliance.orchestrator.missions.model import Entry, Mission, Replay
from appliance.orchestrator.runners.probe import probe
from appliance.tables import MIGRATIONS
from tests.benchmarks.answers import _CHAT, _ROOT, _engine, _snapshot
from tests.benchmarks.report import Figure, show
from tests.support.indexed import Indexed
from tests.support.missions import Going

_WITHIN_S: Final = 600.0
_GOALS: Final = {
    "own": (
        "Where is Journal.effect defined and who calls it? How does it keep a step from being done twice?",
        "How does the engine client stream a completion, and what happens when the engine falls silent?",
        "Who calls classify, what does it call, and when was it changed last?",
        "What breaks if I change fitted? Explain what it does with an entry that is too large.",
        "How is a citation verified before it is shown?",
    ),
    "other": (
        "Where is Console.print defined and what does it call? How does it render what it is given?",
        "Who calls render_lines, and what does a change of it reach?",
        "How does a Table compute the widths of its columns?",
        "What methods does Progress have, and how does it refresh the display?",
        "How does rich highlight the syntax of code? Who uses Syntax?",
    ),
}


@dataclass(frozen=True, slots=True)
class Told:
    """A mission that was worked on, and what its replay said."""

    mission: Mission
    entries: list[Entry]
    replay: Replay
    whole: bool
    killed: bool


def run() -> Sequence[Figure]:
    """Work on the missions, with what is installed here as the second repository."""
    return measure(_installed(), transcripts=None)


def measure(other: Path, *, transcripts: Path | None, goals: int = 10) -> list[Figure]:
    """Return the figures of the first *goals* missions over this project and *other*."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        data = folder / "data"
        data.mkdir()
        indexed = Indexed(data)
        stack.callback(indexed.close)
        indexed.graph(indexed.add(_snapshot(_ROOT, folder / "own"), name="own"))
        indexed.graph(indexed.add(other, name="other"))
        stack.enter_context(_engine(folder, "chat", _CHAT))
        work = _Work(folder, indexed)
        wanted = [(name, goal) for name, each in _GOALS.items() for goal in each][:goals]
        told = [work.told(goal, name=name, killed=number == 0) for number, (name, goal) in enumerate(wanted)]
        work.desk.close()
    text = "\n\n".join(map(_transcript, told))
    sys.stdout.write(f"{text}\n")
    if transcripts is not None:
        (transcripts / "missions.txt").write_text(text, encoding="utf-8")
    return _figures(told)


class _Work:
    """Missions over one index, one after the other, each in a process of its own."""

    def __init__(self, folder: Path, indexed: Indexed) -> None:
        self._folder = folder
        self._indexed = indexed
        self.desk: Desk = _desk(folder, indexed)

    def told(self, goal: str, *, name: str, killed: bool) -> Told:
        """Work on *goal* about the repository called *name*; one that is to be *killed* is, once it reads, and resumed."""
        scope = Scope(self._indexed.project, (self._indexed.registry.repo(name).id,))
        mission = self.desk.create(goal, scope=scope, asked_by="benchmark")
        if killed:
            self._kill(mission)
        self._child(mission).wait(_WITHIN_S)
        entries = list(self.desk.entries(mission.id))
        replay = asyncio.run(self.desk.replay(mission.id))
        return Told(self.desk.get(mission.id), entries, replay, self.desk.verify(mission.id).whole, killed)

    def _kill(self, mission: Mission) -> None:
        child = self._child(mission)
        end = time.monotonic() + _WITHIN_S
        while time.monotonic() < end and child.poll() is None:
            last = self.desk.get(mission.id).entries
            entries = self.desk.entries(mission.id, after=max(0, last - 1))
            if entries and entries[-1].kind == "asked_model" and entries[-1].agent == "reviewer":
                break
            time.sleep(0.05)
        if child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
        child.wait(_WITHIN_S)

    def _child(self, mission: Mission) -> "subprocess.Popen[bytes]":
        argv = [sys.executable, "-m", "tests.benchmarks.missions", "--work", str(self._folder), mission.id]
        return subprocess.Popen(argv, stdout=subprocess.DEVNULL)


def _desk(folder: Path, indexed: Indexed) -> Desk:
    return desk_of(
        lambda: connect(folder / "missions.db", migrations=MIGRATIONS),
        registry=indexed.registry,
        chat=_client(folder),
        clock=indexed.clock,
    )


def _client(folder: Path) -> EngineClient:
    model = Catalog.load().get(_CHAT)
    return EngineClient(folder / "chat.sock", expected=EngineInfo(model.role, _CHAT, model.context))


def _worked(folder: Path, mission: str) -> None:
    """Work on *mission*: what the child does."""
    indexed = Indexed(folder / "data")
    parts = Parts(
        connect=lambda: connect(folder / "missions.db", migrations=MIGRATIONS),
        registry=indexed.registry,
        generations=indexed.generations,
        searcher=indexed.searcher(),
        chat=_client(folder),
        digest=lambda name: " ".join(file.sha256 for file in Catalog.load().get(name).file),
        clock=indexed.clock,
        trial=Remembering(folder, "llama_server", probe),
    )
    runner = runner_of(parts)
    asyncio.run(runner.run(_desk(folder, indexed).get(mission).id, stopping=Going()))  # type: ignore[arg-type]
    runner.close()
    indexed.close()


def _figures(told: Sequence[Told]) -> list[Figure]:
    done = [(each.mission, each.mission.answer) for each in told if each.mission.answer is not None]
    answers = [answer for _, answer in done]
    load = f"{len(told)} missions, load {os.getloadavg()[0]:.1f}"
    cited = [citation for answer in answers for citation in answer.evidence]
    sentences = sum(len(answer.sentences) for answer in answers)
    used = [mission.usage for mission, _ in done]
    times = sorted(usage.seconds for usage in used) or [0.0]
    return [
        Figure("missions done", len(done), "", len(told), "higher", load=load),
        Figure("their records whole", sum(each.whole for each in told), "", len(told), "higher", load=load),
        Figure("replayed byte for byte", sum(each.replay.same for each in told), "", len(told), "higher", load=load),
        Figure("killed and resumed", sum(_resumed(each) for each in told), "", 1, "higher", load=load),
        Figure("a mission, median", times[len(times) // 2], "s", load=load),
        Figure("a mission, longest", times[-1], "s", load=load),
        Figure("entries of a record, mean", sum(each.mission.entries for each in told) / len(told), "", load=load),
        Figure("calls of tools, mean", sum(usage.tool_calls for usage in used) / max(1, len(used)), "", load=load),
        Figure("calls of the model, mean", sum(usage.model_calls for usage in used) / max(1, len(used)), "", load=load),
        Figure("tokens of a mission, mean", _tokens(used) / max(1, len(used)), "tokens", load=load),
        Figure("citations that hold", _share(cited), "", 1.0, "higher", load=f"{len(cited)} citations"),
        Figure("sentences", sentences, "", load=load),
        Figure("struck", sum(len(answer.struck) for answer in answers), "", load=load),
        Figure("missions with prose", sum(answer.kind == "prose" for answer in answers), "", load=load),
    ]


def _resumed(told: Told) -> bool:
    return told.killed and told.mission.state == "done" and any(entry.kind == "interrupted" for entry in told.entries)


def _tokens(used: Sequence[object]) -> float:
    return float(sum(getattr(usage, "prompt_tokens", 0) + getattr(usage, "completion_tokens", 0) for usage in used))


def _share(cited: Sequence[object]) -> float:
    held = [citation for citation in cited if citation.span.verified]  # type: ignore[attr-defined]
    return len(held) / max(1, len(cited))


def _transcript(told: Told) -> str:
    mission, usage = told.mission, told.mission.usage
    juniors = [str(entry.data["junior"]) for entry in told.entries if entry.kind == "commissioned"]
    calls = f"{usage.tool_calls} calls of tools, {usage.model_calls} of the model"
    tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    killed = ", killed and resumed" if told.killed else ""
    lines = [
        f"## {mission.goal}",
        f"{mission.state} {mission.reason}in {usage.seconds:.1f} s{killed}; {', '.join(juniors)}; {calls}; {tokens}",
        f"record of {mission.entries} entries; whole: {told.whole}; replayed the same: {told.replay.same}",
        *(_answered(mission.answer) if mission.answer is not None else ()),
    ]
    return "\n".join(lines)


def _answered(answer: Answer) -> list[str]:
    places = [f"[{c.n}] {c.span.path}:{c.span.start_line}-{c.span.end_line} {c.symbol}" for c in answer.evidence]
    held = sum(citation.span.verified for citation in answer.evidence)
    gate = "" if answer.gate is None else f"gate: {answer.gate.passed}, {answer.gate.reason}"
    return [
        f"{held} of {len(answer.evidence)} citations hold; {gate}",
        *(f"  - {sentence.text} {list(sentence.cites)}" for sentence in answer.sentences),
        *(f"  struck: {struck.text} ({struck.reason})" for struck in answer.struck),
        *(f"  note: {warning}" for warning in answer.warnings),
        *(f"  {place}" for place in places),
    ]


def _installed() -> Path:
    """Return the folder of the installed code that is worked on where no repository is named."""
    found = importlib.util.find_spec("rich")
    if found is None or found.origin is None:
        raise SystemExit("rich is not installed: name a repository to work on.")
    return Path(found.origin).parent


def main() -> None:
    """Read the command line and work."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.missions", description=__doc__)
    parser.add_argument("repository", nargs="?", type=Path, help="the second repository; default: the installed rich")
    parser.add_argument("--goals", type=int, default=10, help="how many missions; default: 10")
    parser.add_argument("--transcripts", type=Path, help="where missions.txt is written")
    parser.add_argument("--work", nargs=2, metavar=("FOLDER", "MISSION"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        _worked(Path(given.work[0]), given.work[1])
    else:
        show(measure(given.repository or _installed(), transcripts=given.transcripts, goals=given.goals))


if __name__ == "__main__":
    main()
