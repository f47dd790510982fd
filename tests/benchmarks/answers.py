"""How soon an answer begins, and how often its pack holds the answering lines.

``python -m tests.benchmarks.answers [REPOSITORY …]`` asks the labelled questions of ``data/answers.json`` about this
project, and times a few plain ones on each further repository. Models are taken from ``.cache/models``; without them only
what needs no model is measured.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from appliance.codeintel.answer import Answerer
from appliance.codeintel.citations import Place, Texts
from appliance.codeintel.query.context import Pack, pack
from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.query.querylang import plain
from appliance.codeintel.results import Answer
from appliance.codeintel.store.generation import Generation
from appliance.inference.catalog import Catalog
from appliance.inference.client import EngineClient
from appliance.inference.engines.base import EngineInfo
from tests.benchmarks import targets
from tests.benchmarks.report import Figure, show
from tests.support.indexed import Indexed
from tests.support.models import model_store, store_root
from tests.support.repos import git
from tests.support.shop import whole

_ROOT = Path(__file__).parents[2]
_LABELS = Path(__file__).parent / "data" / "answers.json"
_CHAT = "qwen2.5-coder-1.5b-instruct-q4_k_m"
_EMBED = "all-minilm-l6-v2-int8"
_PROSE_QUESTIONS = 3  # each takes the better part of a minute on a busy machine
_PLAIN = (
    "How are errors handled?",
    "How is the configuration read?",
    "How is a request parsed?",
    "Where are limits enforced?",
)
_ENGINE_WITHIN_S = 60.0
_BUDGETS = {800: "pack-800", 1600: "pack-1600", 2600: None}  # tokens, and the target that they are held to


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, and definitions each of which answers it, as ``path#qualified name``."""

    question: str
    gold: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Engines:
    """The real engines."""

    chat: EngineClient
    embed: EngineClient


def run() -> Sequence[Figure]:
    """Measure answers about this project; a missing model ends it, for a missing figure would not be seen."""
    return measure([_ROOT])


def measure(repositories: Sequence[Path]) -> list[Figure]:
    """Measure answers about each of *repositories*, the first of which is this project."""
    labelled = [Labelled(each["question"], tuple(each["gold"])) for each in json.loads(_LABELS.read_text(encoding="utf-8"))]
    figures = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        engines = stack.enter_context(_engines(folder))
        for number, source in enumerate(repositories):
            data = folder / f"data{number}"
            data.mkdir()
            indexed = Indexed(data)
            stack.callback(indexed.close)
            indexed.graph(indexed.add(_snapshot(source, folder / f"repo{number}"), name="asked", embedder=engines.embed))
            if number == 0:
                figures += _recall(indexed, labelled, engines)
            questions = [each.question for each in labelled] if number == 0 else list(_PLAIN)
            figures += _times(indexed, questions, engines, name=source.resolve().name)
    return figures


def _recall(indexed: Indexed, labelled: Sequence[Labelled], engines: Engines) -> list[Figure]:
    searcher = indexed.searcher(engines.embed)

    async def gather() -> list[Gathered]:
        return [await searcher.gather(plain(each.question), scope=indexed.scope) for each in labelled]

    gathered = asyncio.run(gather())
    part = gathered[0].parts[0]
    texts = Texts({part.repo.id: indexed.generations.source(part.repo.id)})
    figures = []
    for budget, target in _BUDGETS.items():
        packs = [pack(candidates, texts=texts, budget_tokens=budget) for candidates in gathered]
        places = [[chosen.places[block.n - 1] for block in chosen.blocks] for chosen in packs]
        found = sum(covered(each, each_places, part.generation) for each, each_places in zip(labelled, places, strict=True))
        share, load = found / len(labelled), f"{len(labelled)} questions, with vectors"
        name = f"pack of {budget} tokens holds the answer"
        figures.append(targets.reached(target, share, load=load) if target else Figure(name, share, "", load=load))
        counted = statistics.median(_counted(packs, engines.chat))
        figures.append(Figure(f"the same by the model's own count, median of {len(packs)}", counted, "tokens"))
    return figures


def _counted(packs: Sequence[Pack], chat: EngineClient) -> list[int]:
    """Return how many tokens the blocks of each pack are for the model that reads them."""

    async def counts() -> list[int]:
        return [await chat.tokens("\n\n".join(f"[{b.n}] {b.heading}\n{b.text}" for b in each.blocks)) for each in packs]

    return asyncio.run(counts())


def covered(labelled: Labelled, places: Sequence[Place], generation: Generation) -> bool:
    """Say whether *places* hold at least half of the lines of a definition that answers."""
    for gold in labelled.gold:
        path, _, name = gold.partition("#")
        row = next((row for row in generation.symbols.in_file(path) if row.qualname == name), None)
        if row is None:
            continue
        wanted = set(range(row.start_line, row.end_line + 1))
        shown = {line for place in places if place.path == path for line in range(place.start_line, place.end_line + 1)}
        if 2 * len(wanted & shown) >= len(wanted):
            return True
    return False


def _times(indexed: Indexed, questions: Sequence[str], engines: Engines, *, name: str) -> list[Figure]:
    searcher = indexed.searcher(engines.embed)
    load = f"{name}, load {os.getloadavg()[0]:.1f}"

    async def asked(question: str, *, prose: bool) -> Answer:
        answerer = Answerer(indexed.generations, searcher, engines.chat, indexed.clock)
        return (await whole(answerer.ask(question, scope=indexed.scope, prose=prose)))[1]

    cards = [asyncio.run(asked(question, prose=False)) for question in [*questions, *questions]][len(questions) :]
    evidence = sorted(card.timings["evidence_ms"] for card in cards)
    figures = [Figure("first evidence, p95", evidence[int(0.95 * (len(evidence) - 1))], "ms", 150, load=load)]
    answers = [asyncio.run(asked(question, prose=True)) for question in questions[:_PROSE_QUESTIONS]]
    written = [answer for answer in answers if "first_token_ms" in answer.timings]
    for step, what, limit in (("first_token_ms", "first token of prose", 12.0), ("total_ms", "whole answer", None)):
        seconds = statistics.median(answer.timings[step] for answer in written) / 1000
        figures.append(Figure(f"{what}, median of {len(written)}", seconds, "s", limit, load=load))
    return figures


@contextmanager
def _engines(folder: Path) -> Iterator[Engines]:
    with _engine(folder, "chat", _CHAT) as chat, _engine(folder, "embed", _EMBED) as embed:
        yield Engines(chat, embed)


@contextmanager
def _engine(folder: Path, role: str, name: str) -> Iterator[EngineClient]:
    """Run the engine program for *name* as the product does: with its own default of threads."""
    store = model_store()
    if not store.have(name):
        raise SystemExit(f"The model {name} is missing: skellig model pull {name} --store {store_root()}")
    model, socket = Catalog.load().get(name), folder / f"{role}.sock"
    module = "llama_server" if role == "chat" else "onnx_embed"
    files = [part for path in store.paths(name) for part in ("--model", str(path))]
    program = [sys.executable, "-m", f"appliance.inference.engines.{module}", "--name", name, *files]
    context = ["--context", "4096"] if role == "chat" else []
    process = subprocess.Popen([*program, "--socket", str(socket), *context])
    try:
        info = EngineInfo(model.role, name, model.context, model.dimensions)
        client = EngineClient(socket, expected=info)
        _wait(client)
        yield client
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait(client: EngineClient) -> None:
    end = time.monotonic() + _ENGINE_WITHIN_S
    while asyncio.run(client.health()).state != "ready":
        if time.monotonic() > end:
            raise TimeoutError(client.model)
        time.sleep(0.2)


def _snapshot(source: Path, target: Path) -> Path:
    """Clone *source* bare, so that what is measured cannot change while it is."""
    git(target.parent, "clone", "-q", "--bare", str(source), str(target))
    return target


if __name__ == "__main__":
    show(measure([_ROOT, *map(Path, sys.argv[1:])]))
