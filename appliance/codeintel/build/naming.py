"""References by name alone, in languages whose calls nobody follows: to the only definition of a name that can be meant."""

import os
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec

from appliance.codeintel.build.rows import Rows
from appliance.codeintel.facts import Import, Reference
from appliance.codeintel.store.flows import FlowStore

_REFERENCES: Final = msgspec.msgpack.Decoder(tuple[Reference, ...])
_NEAR: Final = 0.4  # how surely one of the same file, or of a file that it imports, is meant
_FAR: Final = 0.3
_NO_CODE: Final = frozenset({"text", "markdown"})
_Definition = tuple[int, int]  # file, id


def write_names(rows: Rows, generation: sqlite3.Connection, flows: FlowStore, *, but: Sequence[str]) -> None:
    """Write the references of all languages *but* those that are followed; what comes from outside is nobody's in here."""
    for (language,) in generation.execute("SELECT DISTINCT language FROM files ORDER BY language").fetchall():
        if language not in _NO_CODE and language not in but:
            rows.begin()
            _Names(rows, generation, flows, language).write()
            rows.commit()


class _Names:
    """The definitions of one language by their names."""

    def __init__(self, rows: Rows, generation: sqlite3.Connection, flows: FlowStore, language: str) -> None:
        self._rows = rows
        self._flows = flows
        self._files = generation.execute(
            "SELECT id, path, blob, hint, first_symbol FROM files WHERE language = ? ORDER BY path", (language,)
        ).fetchall()
        self._defined: dict[str, list[_Definition]] = defaultdict(list)
        self._stems: dict[str, list[int]] = defaultdict(list)
        for file, path, _, _, _ in self._files:
            self._stems[PurePosixPath(os.fsdecode(path)).stem.lower()].append(file)
            for name, number in generation.execute("SELECT name, id FROM symbols WHERE file = ? ORDER BY id", (file,)):
                self._defined[name].append((file, number))

    def write(self) -> None:
        """Write the references of each file."""
        for file, _, blob, hint, first_symbol in self._files:
            mentions = self._flows.mentions((blob, hint))
            if mentions is None:
                continue
            imported, foreign = self._imported(file, mentions.imports)
            known: dict[str, tuple[int, float] | None] = {}
            for reference in _REFERENCES.decode(mentions.references):
                name, head = reference.name, reference.receiver.partition(".")[0]
                if name in foreign or head in foreign:
                    continue
                if name not in known:
                    known[name] = self._meant(name, file, imported)
                meant, source = known[name], first_symbol + reference.enclosing if reference.enclosing >= 0 else -1 - file
                if meant is not None and meant[0] != source:
                    kind = "inherits" if reference.kind == "inherit" else "references"
                    self._rows.edge(meant[0], source, reference.line, kind=kind, how="candidate", confidence=meant[1])
            self._rows.flush()

    def _imported(self, file: int, imports: Sequence[Import]) -> tuple[set[int], set[str]]:
        """Return the files that *imports* read, which are written as edges, and the names that come from outside."""
        files: set[int] = set()
        foreign: set[str] = set()
        for each in imports:
            stem = each.module.replace("\\", "/").replace("::", "/").rpartition("/")[2].removesuffix(".h")
            candidates = {stem.lower(), PurePosixPath(stem).stem.lower(), stem.rpartition(".")[2].lower()}
            found = [number for name in candidates for number in self._stems.get(name, ()) if number != file]
            named = [(other, number) for name in each.names for other, number in self._defined.get(name, ())]
            if len(set(found)) == 1:
                files.add(found[0])
                self._rows.edge(-1 - found[0], -1 - file, each.line, kind="imports", how="candidate", confidence=_NEAR)
            elif len(named) == 1:
                files.add(named[0][0])
                self._rows.edge(named[0][1], -1 - file, each.line, kind="imports", how="candidate", confidence=_NEAR)
            else:
                foreign.update(name for name in (each.alias, *each.names) if name not in {"", "*"})
                self._rows.outside(-1 - file, each.module, each.line, kind="imports")
        return files, foreign

    def _meant(self, name: str, file: int, imported: set[int]) -> tuple[int, float] | None:
        """Return the one definition that *name* can mean in *file*, nearest first, and how sure that is."""
        every = self._defined.get(name, ())
        for near in ([number for at, number in every if at == file], [number for at, number in every if at in imported]):
            if near:
                return (near[0], _NEAR) if len(near) == 1 else None
        return (every[0][1], _FAR) if len(every) == 1 else None
