"""Cached facts of a staged tree, streamed once, into the tables and arrays of a generation."""

import os
import sqlite3
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import numpy as np

from appliance.base.durable import storage_errors
from appliance.base.sqlite import store_errors
from appliance.codeintel.build.staging import NAME as STAGING_NAME
from appliance.codeintel.build.training import texts_file
from appliance.codeintel.facts import BlobFacts, Symbol
from appliance.codeintel.parse.tokens import tokenize
from appliance.codeintel.store.code import unpack_facts
from appliance.codeintel.store.lexical import LexicalDoc
from appliance.codeintel.store.schema import ARRAYS, GENERATION, GENERATION_INDEXES
from appliance.errors import StoreCorrupt

_BATCH = 5_000  # symbols written at once
_TELL_EVERY = 250  # files
_QUERY = (
    "SELECT e.path, e.blob, e.hint, e.flags, b.reason, b.detail, b.facts FROM entries e"
    " LEFT JOIN project.blobs b ON b.blob = e.blob AND b.hint = e.hint AND b.recipe = ? ORDER BY e.id"
)


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What an assembly found, for the postconditions and for the generation's info."""

    entries: int
    files: int
    lines: int
    chunks: int
    symbols: int
    problems: int
    left_out: dict[str, int]
    encodings: dict[str, int]
    languages: dict[str, int]


class Assembly:
    """Writes ``generation.db`` and the chunk arrays into *folder* while its `documents` are drawn by the lexical build."""

    def __init__(self, folder: Path, *, project_db: Path, recipe: str, tell: Callable[[int, int], None]) -> None:
        self._folder = folder
        self._recipe = recipe
        self._tell = tell
        self._db_path = folder / "generation.db"
        self._db = sqlite3.connect(self._db_path, isolation_level=None)
        self._staged = sqlite3.connect(f"{(folder / STAGING_NAME).absolute().as_uri()}?mode=ro", uri=True)
        self._staged.execute("ATTACH ? AS project", (f"{project_db.absolute().as_uri()}?mode=ro",))
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.executescript(GENERATION)
        self._spool = texts_file(folder).open("w", encoding="utf-8", newline="\n")
        self._arrays = {name: array("i") for name in ARRAYS}
        self._symbols: list[tuple[object, ...]] = []
        self._symbol_count = self._files = self._lines = self._problems = 0
        self._left_out: Counter[str] = Counter()
        self._encodings: Counter[str] = Counter()
        self._languages: Counter[str] = Counter()
        self._entries: int = self._staged.execute("SELECT count(*) FROM entries").fetchone()[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._spool.close()
        self._staged.close()
        self._db.close()
        texts_file(self._folder).unlink(missing_ok=True)

    def documents(self) -> Iterator[LexicalDoc]:
        """Yield every chunk as the lexical index takes it, file by file in the order of paths. To be drawn once, wholly."""
        with store_errors(self._db_path), storage_errors(self._folder):
            self._db.execute("BEGIN")
            self._copy_left_out()
            for number, row in enumerate(self._staged.execute(_QUERY, (self._recipe,))):
                if number % _TELL_EVERY == 0:
                    self._tell(number, self._entries)
                path, blob, hint, flags, reason, detail, packed = row
                if packed is None:
                    raise StoreCorrupt("The facts of a listed file are missing.", remedy="Index the repository again.")
                if reason:
                    self._leave_out(path, reason, detail)
                else:
                    yield from self._file(path, (blob, hint, flags), unpack_facts(packed))
            self._flush_symbols()
            self._db.execute("COMMIT")
            self._db.executescript(GENERATION_INDEXES)
            self._write_arrays()
            self._spool.flush()
            self._tell(self._entries, self._entries)

    def counts(self) -> Counts:
        """Return what was found, once `documents` is drawn."""
        return Counts(
            entries=self._entries,
            files=self._files,
            lines=self._lines,
            chunks=len(self._arrays["chunk_file"]),
            symbols=self._symbol_count,
            problems=self._problems,
            left_out=dict(self._left_out),
            encodings=dict(self._encodings),
            languages=dict(self._languages),
        )

    def _copy_left_out(self) -> None:
        for path, reason, detail in self._staged.execute("SELECT path, reason, detail FROM left_out ORDER BY path"):
            self._leave_out(path, reason, detail)

    def _leave_out(self, path: bytes, reason: str, detail: str) -> None:
        self._left_out[reason] += 1
        self._db.execute("INSERT INTO left_out (path, reason, detail) VALUES (?, ?, ?)", (path, reason, detail))

    def _file(self, path: bytes, listed: tuple[str, str, int], facts: BlobFacts) -> Iterator[LexicalDoc]:
        blob, hint, flags = listed
        number, first_symbol, first_chunk = self._files, self._symbol_count, len(self._arrays["chunk_file"])
        self._db.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number, path, blob, hint, facts.language, facts.encoding, flags, facts.lines, first_chunk, first_symbol,
                facts.problem,
            ),
        )  # fmt: skip
        self._count(facts)
        self._add_symbols(number, first_symbol, facts.symbols)
        path_tokens = tokenize(os.fsdecode(path).encode(errors="replace").decode())
        for chunk in facts.chunks:
            defined = [facts.symbols[i] for i in chunk.defines]
            around = [facts.symbols[chunk.symbol].qualname] if chunk.symbol >= 0 else []
            index = len(self._arrays["chunk_file"])
            values = (number, chunk.start_line, chunk.end_line, first_symbol + chunk.symbol if chunk.symbol >= 0 else -1)
            for name, value in zip(ARRAYS, (*values, len(self._arrays["defines"])), strict=False):
                self._arrays[name].append(value)
            self._arrays["defines"].extend(first_symbol + i for i in chunk.defines)
            self._spool.write(chunk.tokens + "\n")
            yield LexicalDoc(
                chunk=index,
                file=number,
                tokens=chunk.tokens,
                names=tokenize(" ".join([*(s.qualname for s in defined), *around])),
                path=path_tokens,
                signature=tokenize(" ".join(s.signature for s in defined)),
                doc=tokenize(" ".join(s.doc for s in defined)),
            )

    def _count(self, facts: BlobFacts) -> None:
        self._files += 1
        self._lines += facts.lines
        self._problems += bool(facts.problem)
        self._encodings[facts.encoding] += 1
        self._languages[facts.language] += 1

    def _add_symbols(self, file: int, first: int, symbols: tuple[Symbol, ...]) -> None:
        self._symbols += [
            (
                first + i, file, s.name, s.name.casefold(), s.qualname, s.kind, s.start_line, s.end_line, s.signature, s.doc,
                first + s.parent if s.parent >= 0 else -1,
            )
            for i, s in enumerate(symbols)
        ]  # fmt: skip
        self._symbol_count += len(symbols)
        if len(self._symbols) >= _BATCH:
            self._flush_symbols()

    def _flush_symbols(self) -> None:
        self._db.executemany("INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._symbols)
        self._symbols.clear()

    def _write_arrays(self) -> None:
        self._arrays["defines_start"].append(len(self._arrays["defines"]))
        for name, values in self._arrays.items():
            np.save(self._folder / f"{name}.npy", np.frombuffer(values, dtype=np.int32), allow_pickle=False)
