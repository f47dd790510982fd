"""Lays a patch over a generation: links to what stays, and in ``patch.db`` what is new and what is dead.

It is done in this process, with what the caller holds open: to start the writer takes longer than to index a few files. Only
what parsers found comes here.
"""

import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import msgspec

from appliance.base.durable import storage_errors
from appliance.base.sqlite import store_errors
from appliance.codeintel.build.assembly import Assembly, Start
from appliance.codeintel.build.changes import Changes
from appliance.codeintel.build.counts import Counts
from appliance.codeintel.build.staging import NAME as STAGING_NAME
from appliance.codeintel.facts import texts as texts_of
from appliance.codeintel.store.added import NAMES, PATH, WORDS, Posting, add_postings, postings
from appliance.codeintel.store.generation import Generation, GenerationInfo
from appliance.codeintel.store.latent import LatentSpace
from appliance.codeintel.store.layers import PATCH_NAME
from appliance.codeintel.store.lexical import FileWords
from appliance.codeintel.store.schema import PATCH
from appliance.errors import StorageFault

_OWN: Final = frozenset({PATCH_NAME, STAGING_NAME})  # of each generation
_VECTORS: Final = "vectors-"
_ROWS: Final = 200_000  # written at once
_WHAT: Final = "SELECT encoding, language, lines, problem, torn FROM files WHERE id = ?"


def link(over: Path, folder: Path, *, also: Sequence[str]) -> None:
    """Let *folder* have every file of the generation in *over* that never changes, and of vectors those named in *also*.

    Raise `OSError` where the file system knows no links.
    """
    with storage_errors(folder), os.scandir(over) as entries:
        for entry in entries:
            if entry.is_dir() and (not entry.name.startswith(_VECTORS) or entry.name in also):
                _link_folder(Path(entry.path), folder / entry.name)
            elif entry.is_file() and entry.name not in _OWN and not entry.name.startswith("."):
                (folder / entry.name).hardlink_to(entry.path)


def _link_folder(source: Path, target: Path) -> None:
    target.mkdir()
    for path in source.iterdir():
        if path.is_dir():
            _link_folder(path, target / path.name)
        else:
            with suppress(FileNotFoundError):  # newer vectors took the place of these just now
                (target / path.name).hardlink_to(path)


def lay(
    folder: Path, over: Generation, tables: sqlite3.Connection, changes: Changes, *, project_db: Path, recipe: str
) -> GenerationInfo:
    """Write into *folder*, which has the links, what *changes* makes of *over*; return what the generation then holds.

    The changes are staged in *folder*, and their facts are in *project_db*, made by *recipe*. ``id``, ``commit`` and the
    like are still those of *over*. Nothing is synced.
    """
    path, patch = folder / PATCH_NAME, over.info.patches + 1
    start = _start(over, tables)
    with storage_errors(folder), store_errors(path):
        if over.info.patches:
            shutil.copyfile(over.folder / PATCH_NAME, path)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "cache_size=-32000"):
                db.execute(f"PRAGMA {pragma}")
            if not over.info.patches:
                db.executescript(PATCH)
            db.execute("BEGIN")
            db.executemany("INSERT INTO dead VALUES (?, ?)", [(number, patch) for number in changes.files])
            db.executemany("INSERT OR IGNORE INTO dead_left_out VALUES (?)", [(number,) for number in changes.left_out])
            counts = _add(db, folder, start, over.latent, project_db=project_db, recipe=recipe)
            db.execute("UPDATE files SET patch = ? WHERE id >= ?", (patch, start.file))
            db.execute("COMMIT")
    return _info(over, tables, changes, counts)


def _start(over: Generation, tables: sqlite3.Connection) -> Start:
    layers = ("main", "patch") if over.info.patches else ("main",)
    symbol, left_out = (
        max(tables.execute(f"SELECT coalesce(max(id) + 1, 0) FROM {layer}.{table}").fetchone()[0] for layer in layers)  # noqa: S608
        for table in ("symbols", "left_out")
    )
    return Start(file=over.files.end, symbol=symbol, chunk=len(over.chunk_file), left_out=max(left_out, 1))


def _add(
    db: sqlite3.Connection, folder: Path, start: Start, latent: LatentSpace | None, *, project_db: Path, recipe: str
) -> Counts:
    packed: Callable[[str], bytes] = (lambda _: b"") if latent is None else latent.packed
    with closing(Assembly(db, folder, project_db=project_db, recipe=recipe, tell=_silent, start=start)) as assembly:
        texts: list[tuple[str, bytes]] = []
        rows: list[Posting] = []
        for file in assembly.files():
            of_file = texts_of(file.texts, file.table)
            texts += [(text, packed(text)) for text in of_file]
            rows += _postings(db, file, of_file)
            if len(rows) > _ROWS:
                add_postings(db, rows)
        add_postings(db, rows)
        _add_chunks(db, assembly, start.chunk, texts)
        return assembly.counts()


def _postings(db: sqlite3.Connection, file: FileWords, texts: Sequence[str]) -> Iterator[Posting]:
    """Yield what stands in a *file* and in its chunks, of such *texts*, and note how long each field is."""
    chunks = range(file.first_chunk, file.first_chunk + len(texts))
    fields = [(WORDS, chunk, text.split()) for chunk, text in zip(chunks, texts, strict=True)]
    fields += [(NAMES, chunk, names.split()) for chunk, names in zip(chunks, texts_of(file.names, file.table), strict=True)]
    fields.append((PATH, file.file, " ".join(file.path).split()))
    lengths = [(field, number, len(tokens)) for field, number, tokens in fields]
    db.executemany("INSERT INTO lengths VALUES (?, ?, ?)", lengths)
    for field, number, tokens in fields:
        yield from postings(field, number, tokens)


def _add_chunks(db: sqlite3.Connection, assembly: Assembly, first: int, texts: Sequence[tuple[str, bytes]]) -> None:
    file, start, end, symbol, bounds, defines = (assembly.arrays[name] for name in assembly.arrays)
    rows = zip(range(first, first + len(texts)), file, start, end, symbol, *zip(*texts, strict=True), strict=True)
    db.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?)", rows if texts else ())
    db.executemany(
        "INSERT INTO defines VALUES (?, ?)",
        [(first + n, defined) for n in range(len(texts)) for defined in defines[bounds[n] : bounds[n + 1]]],
    )


def _info(over: Generation, tables: sqlite3.Connection, changes: Changes, counts: Counts) -> GenerationInfo:
    """Return what is left of *over* without what is gone, together with what was added."""
    left_out, encodings, languages = (
        Counter(dict(each)) for each in (over.info.left_out, over.info.encodings, over.info.languages)
    )
    for number in set(changes.left_out):
        left_out[tables.execute("SELECT reason FROM left_out WHERE id = ?", (number,)).fetchone()[0]] -= 1
    lines = problems = torn = secrets = gone = 0
    for number in changes.files:
        row = tables.execute(_WHAT, (number,)).fetchone()
        encodings[row[0]] -= 1
        languages[row[1]] -= 1
        lines, problems, torn = lines + row[2], problems + bool(row[3]), torn + bool(row[4])
        secrets += tables.execute("SELECT count(*) FROM secrets WHERE file = ?", (number,)).fetchone()[0]
        gone += int(over.files.first_chunk[number + 1] - over.files.first_chunk[number])
    return msgspec.structs.replace(
        over.info,
        files=over.info.files - len(changes.files) + counts.files,
        lines=over.info.lines - lines + counts.lines,
        chunks=over.info.chunks - gone + counts.chunks,
        left_out=_sum(left_out, counts.left_out),
        encodings=_sum(encodings, counts.encodings),
        languages=_sum(languages, counts.languages),
        problems=over.info.problems - problems + counts.problems,
        torn=over.info.torn - torn + counts.torn,
        secrets=over.info.secrets - secrets + counts.secrets,
        patches=over.info.patches + 1,
        worn=over.info.worn + gone + counts.chunks,
        vectors=0,
        vectors_skipped=0,
        vectors_failed=0,
    )


def hold_to(info: GenerationInfo, over: GenerationInfo, changes: Changes) -> None:
    """Raise `StorageFault` unless every file that was listed is either indexed or left out with a reason."""
    gone = len(changes.files) + len(set(changes.left_out))
    before, now = (each.files + sum(each.left_out.values()) for each in (over, info))
    if before - gone + len(changes.listed) != now:
        raise StorageFault(f"Of {before - gone + len(changes.listed)} files of the tree {now} were indexed or left out.")


def _sum(counted: "Counter[str]", more: Mapping[str, int]) -> dict[str, int]:
    counted.update(more)
    return {key: count for key, count in counted.items() if count}


def _silent(done: int, total: int) -> None:
    """Say nothing of how far a patch is: it is soon done."""
