"""Generations made by hand from facts, without git and without parsers."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs

from appliance.base.paths import DataPaths
from appliance.base.sqlite import connect
from appliance.codeintel.build.staging import Listed, Staging
from appliance.codeintel.build.writer import build
from appliance.codeintel.facts import BlobFacts, Chunk, Symbol, pack_facts
from appliance.codeintel.parse.words import Words
from appliance.codeintel.schema import MIGRATIONS
from appliance.codeintel.source.base import Entry, FileFlags, LeftOut
from appliance.codeintel.store.code import BlobRow, CodeStore
from appliance.codeintel.store.generation import GenerationInfo
from appliance.ids import BlobId, CommitId, GenerationId, RepoId, new_id

RECIPE = "test"


def facts_of(text: str, *names: str, language: str = "python") -> BlobFacts:
    """Return facts of *text* as one chunk that defines a function of each of *names*, all at line 1."""
    lines = text.count("\n") + 1
    symbols = tuple(Symbol(n.rpartition(".")[2], n, "function", 1, lines, f"def {n}()", f"The {n}.") for n in names)
    chunk = Chunk(1, lines, 0 if names else -1, tuple(range(len(names))))
    return with_texts(BlobFacts(language, "utf-8", lines, symbols, chunks=(chunk,)), text)


def with_texts(facts: BlobFacts, *texts: str) -> BlobFacts:
    """Return *facts* with the words of *texts*, one a chunk, and of the names of all symbols."""
    words = Words()
    for text in texts:
        words.add(text, " ".join(symbol.qualname for symbol in facts.symbols))
    return structs.replace(facts, words=words.table(), texts=words.texts(), names=words.names())


def blob_of(facts: BlobFacts) -> BlobId:
    """Return a made-up blob id: the same for the same facts."""
    return BlobId(hashlib.sha1(pack_facts(facts).facts, usedforsecurity=False).hexdigest())


def publish(
    store: CodeStore,
    repo: RepoId,
    files: Mapping[str, BlobFacts],
    *,
    left_out: Sequence[LeftOut] = (),
    flags: Mapping[str, FileFlags] | None = None,
    commit: str = "c" * 40,
    branch: str = "",
) -> GenerationInfo:
    """Publish a generation of *files* for *repo* and return what it holds."""
    identity = GenerationId(new_id("gen"))
    folder = store.paths.generations / identity
    folder.mkdir()
    listed = [
        Listed(Entry(path, blob_of(facts), 1, "100644"), facts.language, (flags or {}).get(path, FileFlags.NONE))
        for path, facts in sorted(files.items())
    ]
    store.put(
        [BlobRow(item.entry.blob, item.hint, pack_facts(files[item.entry.path]).facts) for item in listed], recipe=RECIPE
    )
    staging = Staging(folder, project_db=store.paths.db)
    staging.add([*listed, *left_out])
    staging.close()
    counts = build(folder, project_db=store.paths.db, recipe=RECIPE, tell=lambda _done, _total: None)
    info = GenerationInfo(
        id=identity,
        repo=repo,
        commit=CommitId(commit),
        branch=branch or "main",
        tree=identity,
        created_at=0.0,
        files=counts.files,
        lines=counts.lines,
        chunks=counts.chunks,
        left_out=counts.left_out,
        encodings=counts.encodings,
        languages=counts.languages,
        problems=counts.problems,
        torn=counts.torn,
        parser_version=1,
    )
    store.publish(info, folder=folder.name, recipe=RECIPE, branch=branch)
    return info


def data_at(path: Path) -> DataPaths:
    """Return a data directory at *path* with an empty ``global.db`` that has the registry's tables."""
    paths = DataPaths(path)
    path.mkdir(parents=True, exist_ok=True)
    connect(paths.global_db, migrations=MIGRATIONS).close()
    return paths
