"""Cached facts of a staged tree, streamed once, into tables and arrays."""

import os
import sqlite3
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.codeintel.build.counts import Counts
from appliance.codeintel.build.staging import NAME as STAGING_NAME
from appliance.codeintel.facts import Chunk, Searched, Symbol, unpack_facts
from appliance.codeintel.parse.tokens import by_word
from appliance.codeintel.store.lexical import FileWords
from appliance.codeintel.store.schema import ARRAYS
from appliance.errors import StoreCorrupt

_BATCH = 5_000  # symbols written at once
_TELL_EVERY = 250  # files
_QUERY = (
    "SELECT e.path, e.blob, e.hint, e.flags, b.reason, b.detail, b.facts FROM entries e"
    " LEFT JOIN project.blobs b ON b.blob = e.blob AND b.hint = e.hint AND b.recipe = ? ORDER BY e.id"
)


_FILE = (
    "INSERT INTO files (id, path, blob, hint, language, encoding, flags, lines, first_chunk, first_symbol, torn, problem)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class Start:
    """Which numbers come next."""

    file: int = 0
    symbol: int = 0
    chunk: int = 0
    left_out: int = 1


_FIRST: Final = Start()


class Assembly:
    """Writes files, symbols and what is left out into the tables of *db* while its `files` are drawn.

    *folder* holds the staged tree. ``arrays`` then hold the chunks, the first of which has the number of *start*.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        folder: Path,
        *,
        project_db: Path,
        recipe: str,
        tell: Callable[[int, int], None],
        start: Start = _FIRST,
    ) -> None:
        self._db = db
        self._recipe = recipe
        self._tell = tell
        self._start = start
        self._staged = sqlite3.connect(f"{(folder / STAGING_NAME).absolute().as_uri()}?mode=ro", uri=True)
        self._staged.execute("ATTACH ? AS project", (f"{project_db.absolute().as_uri()}?mode=ro",))
        self.arrays = {name: array("i") for name in ARRAYS}
        self._columns = [self.arrays[name] for name in ARRAYS[:-1]]  # one number a chunk
        self._symbols: list[tuple[object, ...]] = []
        self._symbol_count = self._files = self._lines = self._problems = self._torn = self._secrets = 0
        self._left_out: Counter[str] = Counter()
        self._encodings: Counter[str] = Counter()
        self._languages: Counter[str] = Counter()
        self._entries: int = self._staged.execute("SELECT count(*) FROM entries").fetchone()[0]

    def close(self) -> None:
        """Close the staged tree."""
        self._staged.close()

    def files(self) -> Iterator[FileWords]:
        """Yield every file as the lexical index takes it, in the order of paths. To be drawn once, wholly."""
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
                yield self._file(path, (blob, hint, flags), unpack_facts(packed, Searched))
        self._flush_symbols()
        self.arrays["defines_start"].append(len(self.arrays["defines"]))
        self._tell(self._entries, self._entries)

    def counts(self) -> Counts:
        """Return what was found, once `files` is drawn."""
        return Counts(
            entries=self._entries,
            files=self._files,
            lines=self._lines,
            chunks=len(self.arrays["chunk_file"]),
            symbols=self._symbol_count,
            problems=self._problems,
            torn=self._torn,
            secrets=self._secrets,
            left_out=dict(self._left_out),
            encodings=dict(self._encodings),
            languages=dict(self._languages),
        )

    def _copy_left_out(self) -> None:
        for row in self._staged.execute("SELECT path, reason, detail, beside FROM left_out ORDER BY path"):
            self._leave_out(*row)

    def _leave_out(self, path: bytes, reason: str, detail: str, beside: int = 0) -> None:
        number = self._start.left_out + self._left_out.total()
        self._left_out[reason] += 1
        self._db.execute("INSERT INTO left_out VALUES (?, ?, ?, ?, ?)", (number, path, reason, detail, beside))

    def _file(self, path: bytes, listed: tuple[str, str, int], facts: Searched) -> FileWords:
        blob, hint, flags = listed
        number, first_symbol = self._start.file + self._files, self._start.symbol + self._symbol_count
        first_chunk = self._start.chunk + len(self.arrays["chunk_file"])
        values = (
            number, path, blob, hint, facts.language, facts.encoding, flags, facts.lines, first_chunk, first_symbol,
            facts.torn, facts.problem,
        )  # fmt: skip
        self._db.execute(_FILE, values)
        self._count(facts)
        self._db.executemany("INSERT INTO secrets VALUES (?, ?, ?)", [(number, *secret) for secret in facts.secrets])
        self._add_symbols(number, first_symbol, facts.symbols)
        for chunk in facts.chunks:
            self._add_chunk(number, first_symbol, chunk)
        spelt = os.fsdecode(path).encode(errors="replace").decode()
        return FileWords(number, first_chunk, list(by_word(spelt)), facts.words, facts.texts, facts.names)

    def _add_chunk(self, file: int, first_symbol: int, chunk: Chunk) -> None:
        holder = first_symbol + chunk.symbol if chunk.symbol >= 0 else -1
        row = (file, chunk.start_line, chunk.end_line, holder, len(self.arrays["defines"]))
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self.arrays["defines"].extend(first_symbol + i for i in chunk.defines)

    def _count(self, facts: Searched) -> None:
        self._files += 1
        self._lines += facts.lines
        self._problems += bool(facts.problem)
        self._torn += bool(facts.torn)
        self._secrets += len(facts.secrets)
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
