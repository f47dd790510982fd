"""What a new state has otherwise than a generation: files to be indexed or left out, and what is gone."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from appliance.codeintel.build.staging import Listed
from appliance.codeintel.parse.added import Languages
from appliance.codeintel.source.base import Change, Entry, LeftOut
from appliance.codeintel.source.filters import flags, hint_of
from appliance.codeintel.source.rules import ATTRIBUTES_FILE, IGNORE_FILE, MODULES_FILE, Rules
from appliance.codeintel.source.walk import judged
from appliance.codeintel.store.files import Files
from appliance.config import Index
from appliance.errors import MalformedContent

Judge = Callable[[Entry], Listed | LeftOut]
_RULES: Final = frozenset({IGNORE_FILE, ATTRIBUTES_FILE, MODULES_FILE})  # what they say is of every file


@dataclass(frozen=True, slots=True)
class Changes:
    """``listed`` is new, or stands in the place of what is gone: numbers of ``files`` and ``left_out`` of the generation."""

    listed: list[Listed | LeftOut] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.listed or self.files or self.left_out)


def listed(entry: Entry, *, limits: Index, rules: Rules, languages: Languages) -> Listed | LeftOut:
    """Return *entry* as it is to be indexed, or why it is not."""
    left_out = judged(entry, limits=limits, rules=rules)
    return left_out or Listed(entry, hint_of(entry.path, limits=limits, languages=languages), flags(entry.path))


def compare(
    found: Iterable[Change], files: Files, tables: sqlite3.Connection, *, judge: Judge, again: AbstractSet[tuple[str, str]]
) -> Changes:
    """Return what *found* changes of the generation with *files* and *tables*; *again* is to be looked at once more.

    Raise `MalformedContent` when it does not fit that generation, or is of a kind that concerns all files.
    """
    changes = Changes()
    seen: set[int] = set()
    for change in found:
        number, others = files.number(change.path), _left_out(tables, change.path)
        if change.path in _RULES or change.was != (number is not None or bool(others)):
            raise MalformedContent("A change cannot be told from the former state alone.", path=change.path)
        new = None if change.entry is None else judge(change.entry)
        if (
            number is not None
            and isinstance(new, Listed)
            and _same(new, files, number)
            and not _is_among(files, number, again)
        ):
            continue
        changes.left_out.extend(others)
        if number is not None:
            seen.add(number)
            changes.files.append(number)
        if new is not None:
            changes.listed.append(new)
    for number in _worth_another_look(files, again, seen):
        _look_again(files, number, files.hints[number], changes)
    return changes


def compare_beside(found: Sequence[LeftOut], tables: sqlite3.Connection, changes: Changes) -> None:
    """Put into *changes* what the source leaves out now, *found*, and did not, or not any more."""
    before = {
        (os.fsdecode(row[1]), row[2], row[3]): row[0]
        for row in tables.execute("SELECT id, path, reason, detail FROM left_out WHERE beside")
    }
    now = {(item.path, item.reason, item.detail): item for item in found}
    changes.left_out.extend(number for key, number in before.items() if key not in now)
    changes.listed.extend(item for key, item in now.items() if key not in before)


def compare_languages(files: Files, changes: Changes, *, limits: Index, languages: Languages) -> None:
    """Put into *changes* what is in another language now by its path alone, or in one that is defined otherwise."""
    seen = set(changes.files)
    for number in files.numbers:
        hint = hint_of(files.paths[number], limits=limits, languages=languages)
        if hint != files.hints[number] and number not in seen:
            _look_again(files, number, hint, changes)


def _look_again(files: Files, number: int, hint: str, changes: Changes) -> None:
    path = files.paths[number]
    changes.files.append(number)
    changes.listed.append(Listed(Entry(path, files.blobs[number], 0, "100644"), hint, flags(path)))


def _same(new: Listed, files: Files, number: int) -> bool:
    return new.entry.blob == files.blobs[number] and new.hint == files.hints[number]


def _is_among(files: Files, number: int, again: AbstractSet[tuple[str, str]]) -> bool:
    return (files.blobs[number], files.hints[number]) in again


def _worth_another_look(files: Files, again: AbstractSet[tuple[str, str]], seen: AbstractSet[int]) -> Iterator[int]:
    if again:
        yield from (number for number in files.numbers if number not in seen and _is_among(files, number, again))


def _left_out(tables: sqlite3.Connection, path: str) -> list[int]:
    query = "SELECT id FROM left_out WHERE path = ? AND NOT beside"
    return [row[0] for row in tables.execute(query, (os.fsencode(path),))]
