"""The text of a generation's blobs as people read it, in compressed blocks, and which blocks may hold a pattern.

A blob's text is kept once, whichever paths it stands at. A file of texts never changes: those of the other blobs that a
later state has are written to a file of their own, and both are read together.
"""

import threading
import zlib
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
import numpy as np
import numpy.typing as npt

from appliance.codeintel.needs import Check
from appliance.codeintel.store.arrays import end_with, mapped
from appliance.codeintel.store.trigrams import MOST_BLOCKS, Blocks, Need, TrigramBuilder, Trigrams
from appliance.errors import StoreCorrupt
from appliance.ids import BlobId

Find = Callable[[bytes], Iterable[int]]
"""Where the lines that fit begin in a block, in order."""
Numbers = npt.NDArray[np.int64]

_NAME: Final = "text-"  # then a number: files of one generation go on counting
_BLOCK: Final = 32_768  # bytes of text: smaller blocks tell more apart, larger ones pack better
_LEVEL: Final = 3
_HELD: Final = 2_048  # blocks that stay unpacked: 64 MB, which is the text of over a million lines
_CHECK_EVERY: Final = 256  # texts
_ALIGNED: Final = 8
_REMEDY: Final = "Index the repository again."


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    """What stands where in one file: packed blocks first, then arrays of numbers, then this, then its length.

    The arrays have 64 bits a number. Each but the last has one more at its end: where all of it ends.
    """

    blobs: tuple[str, ...]
    texts: bytes  # where each blob's text begins in all of the text
    blocks: bytes  # where each block begins in all of the text
    packed: bytes  # where each block begins in the file
    before: bytes  # of each block: lines of the text at its beginning that stand before it
    trigrams: tuple[dict[str, tuple[int, int]], ...]  # of each `MOST_BLOCKS` blocks: where the arrays begin and end


_TABLE: Final = msgspec.msgpack.Decoder(_Table)


def text_files(folder: Path) -> list[Path]:
    """Return the files of texts of the generation in *folder*, in the order in which they were written."""
    return sorted(folder.glob(f"{_NAME}*"), key=lambda path: int(path.name.removeprefix(_NAME)))


def text_file(folder: Path) -> Path:
    """Return where the next one is to be written."""
    known = text_files(folder)
    return folder / f"{_NAME}{int(known[-1].name.removeprefix(_NAME)) + 1 if known else 0}"


def held_texts(path: Path) -> tuple[str, ...]:
    """Return the blobs whose texts the file at *path* has; raise `StoreCorrupt`."""
    return mapped(path, _TABLE)[0].blobs


def write_text(path: Path, texts: Iterable[tuple[BlobId, str]], *, check: Check) -> int:
    """Write *texts*, whose every line ends with a line feed, to the new file *path*; return how many there were.

    *check* is called now and then and may raise. Nothing is synced.
    """
    count = 0
    with path.open("xb") as file:
        writer = _Writer(file)
        for count, (blob, text) in enumerate(texts, start=1):
            if count % _CHECK_EVERY == 1:
                check()
            writer.add(blob, text.encode())
        writer.finish()
    return count


class Unpacked:
    """Blocks that were read of late, for all indexes of a process. Safe to use from many threads."""

    def __init__(self, most: int = _HELD) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._blocks: OrderedDict[tuple[object, int], bytes] = OrderedDict()

    def get(self, part: object, number: int, read: Callable[[int], bytes]) -> bytes:
        """Return block *number* of *part*, out of *read* if it is not there."""
        key = (part, number)
        with self._lock:
            if (held := self._blocks.get(key)) is not None:
                self._blocks.move_to_end(key)
                return held
        block = read(number)
        with self._lock:
            self._blocks[key] = block
            if len(self._blocks) > self._most:
                self._blocks.popitem(last=False)
        return block


class TextIndex:
    """The texts of *blobs*, the files of the generation in *folder*. Safe to use from many threads.

    Each text has a number; ``of_file`` has that of each file's text, -1 where there is none.
    """

    def __init__(self, folder: Path, blobs: Sequence[BlobId], *, unpacked: Unpacked) -> None:
        self._parts = [_Part(path, unpacked) for path in text_files(folder)]
        self._bases = [0]
        for part in self._parts:
            self._bases.append(self._bases[-1] + len(part.blobs))
        self._blobs = blobs

    @cached_property
    def of_file(self) -> Numbers:
        """The number of each file's text, -1 where there is none; told when it is first asked for."""
        numbers: dict[str, int] = {}
        for part, base in zip(self._parts, self._bases[:-1], strict=True):
            for number, blob in enumerate(part.blobs, start=base):
                numbers.setdefault(blob, number)
        return np.fromiter((numbers.get(blob, -1) for blob in self._blobs), np.int64, len(self._blobs))

    def __len__(self) -> int:
        """Return how many texts there are, of files that are no more too."""
        return self._bases[-1]

    def lines(self, text: int, first: int, last: int) -> list[str]:
        """Return the lines *first* to *last*, from 1, of a text that has so many."""
        part = bisect_right(self._bases, text) - 1
        return self._parts[part].between(text - self._bases[part], first, last)

    def search(self, need: Need, find: Find, *, wanted: npt.NDArray[np.bool_]) -> Iterator[list[tuple[int, int]]]:
        """Yield text and line number of the lines that *find* finds, block by block, an empty list where it finds none.

        Only blocks that may have what *need* says are looked at, and only texts that are *wanted*: it has one entry a text.
        """
        for part, base in zip(self._parts, self._bases[:-1], strict=True):
            mine = wanted[base : base + len(part.blobs)]
            for block in np.flatnonzero(part.may_have(need) & part.touching(mine)).tolist():
                yield [(base + text, line) for text, line in part.lines(block, find, mine)]


class _Part:
    """What one file holds."""

    def __init__(self, path: Path, unpacked: Unpacked) -> None:
        table, self._mapped = mapped(path, _TABLE)
        self.blobs = table.blobs
        self._path = path
        self._unpacked = unpacked
        self._token = object()
        numbers = (np.frombuffer(each, dtype=np.int64) for each in (table.texts, table.blocks, table.packed, table.before))
        self._texts, self._blocks, self._at, self._before = numbers
        self._begins, self._starts = memoryview(table.texts).cast("q"), memoryview(table.blocks).cast("q")  # one by one
        count = len(self._before)
        if not len(self._texts) == len(self.blobs) + 1 or not len(self._blocks) == len(self._at) == count + 1:
            raise StoreCorrupt(f"The text in {path} is not whole.", remedy=_REMEDY, path=str(path))
        self._first = np.searchsorted(self._texts, self._blocks[:-1], side="right") - 1
        self._last = np.searchsorted(self._texts, self._blocks[1:], side="left")
        view = memoryview(self._mapped)
        self._trigrams = [
            Trigrams({name: view[start:end] for name, (start, end) in each.items()}, blocks=min(MOST_BLOCKS, count - first))
            for first, each in zip(range(0, count, MOST_BLOCKS), table.trigrams, strict=True)
        ]

    def may_have(self, need: Need) -> Blocks:
        if not self._trigrams:
            return np.zeros(0, dtype=np.bool_)
        return np.concatenate([each.may_have(need) for each in self._trigrams])

    def touching(self, wanted: npt.NDArray[np.bool_]) -> Blocks:
        """Return for each block whether a text that is *wanted* reaches into it."""
        total = np.cumsum(np.r_[0, wanted])
        touching: Blocks = total[self._last] > total[self._first]
        return touching

    def lines(self, number: int, find: Find, wanted: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
        """Yield text and line number of the lines in block *number* that *find* finds in texts that are *wanted*."""
        block = self._block(number)
        start, text, line = int(self._blocks[number]), int(self._first[number]), int(self._before[number]) + 1
        counted, end = 0, int(self._texts[text + 1]) - start  # the place whose line that is, and where the text ends
        for first in find(block):
            while end <= first:
                counted, line, text = end, 1, text + 1
                end = int(self._texts[text + 1]) - start
            if wanted[text]:
                line += block.count(b"\n", counted, first)
                counted = first
                yield text, line

    def between(self, text: int, first: int, last: int) -> list[str]:
        begins, ends = self._begins[text], self._begins[text + 1]
        start, after = bisect_right(self._starts, begins) - 1, bisect_left(self._starts, ends)
        block = start
        while block + 1 < after and self._before[block + 1] < first:
            block += 1
        skipped = first - 1 - (int(self._before[block]) if block > start else 0)
        held = self._block(block)[max(0, begins - self._starts[block]) :]
        wanted = skipped + last - first + 1
        while block + 1 < after and held.count(b"\n") < wanted:
            block += 1
            held += self._block(block)
        return [line.decode() for line in held.split(b"\n", wanted)[skipped:wanted]]

    def _block(self, number: int) -> bytes:
        return self._unpacked.get(self._token, number, self._read)

    def _read(self, number: int) -> bytes:
        start, end = int(self._at[number]), int(self._at[number + 1])
        try:
            block = zlib.decompress(self._mapped[start:end])
        except zlib.error as exc:
            raise StoreCorrupt(f"A block of text in {self._path} is damaged.", remedy=_REMEDY) from exc
        if len(block) != self._blocks[number + 1] - self._blocks[number]:
            raise StoreCorrupt(f"A block of text in {self._path} is not whole.", remedy=_REMEDY)
        return block


class _Writer:
    """Cuts texts into blocks, at the ends of lines."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._pending = bytearray()
        self._pending_before = 0
        self._trigrams = TrigramBuilder()
        self._built: list[dict[str, npt.NDArray[np.generic]]] = []
        self._blobs: list[str] = []
        self._texts, self._blocks, self._at, self._before = [0], [0], [0], list[int]()

    def add(self, blob: BlobId, text: bytes) -> None:
        begins = len(self._pending)  # of this text in what is pending
        self._pending += text
        self._blobs.append(blob)
        self._texts.append(self._texts[-1] + len(text))
        lines = 0
        while len(self._pending) >= _BLOCK:
            cut = self._pending.rfind(b"\n", 0, _BLOCK) + 1 or self._pending.find(b"\n") + 1
            lines += self._pending.count(b"\n", begins, cut)
            self._flush(cut)
            begins = 0
            self._pending_before = lines if self._pending else 0

    def finish(self) -> None:
        if self._pending:
            self._flush(len(self._pending))
        if len(self._trigrams):
            self._built.append(self._trigrams.arrays())
        places = [self._placed(arrays) for arrays in self._built]
        numbers = (np.array(each, dtype=np.int64).tobytes() for each in (self._texts, self._blocks, self._at, self._before))
        texts, blocks, packed, before = numbers
        table = _Table(
            blobs=tuple(self._blobs), texts=texts, blocks=blocks, packed=packed, before=before, trigrams=tuple(places)
        )
        end_with(self._file, table)

    def _placed(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, tuple[int, int]]:
        """Write *arrays*, each where its numbers are aligned, and return where they are."""
        places = {}
        for name, array in arrays.items():
            self._file.write(bytes(-self._file.tell() % _ALIGNED))
            start = self._file.tell()
            self._file.write(array.tobytes())
            places[name] = (start, self._file.tell())
        return places

    def _flush(self, size: int) -> None:
        block = bytes(self._pending[:size])
        del self._pending[:size]
        self._trigrams.add(block)
        self._at.append(self._at[-1] + self._file.write(zlib.compress(block, _LEVEL)))
        self._blocks.append(self._blocks[-1] + size)
        self._before.append(self._pending_before)
        if len(self._trigrams) == MOST_BLOCKS:
            self._built.append(self._trigrams.arrays())
            self._trigrams = TrigramBuilder()
