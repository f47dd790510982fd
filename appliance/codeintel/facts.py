"""What one blob says, found in one pass over it and cached by its digest.

These are msgspec structs and not dataclasses because a large repository holds a million of them: they cross a pipe from
the parser processes and are made and encoded ten times faster. Lines are 1-based and inclusive everywhere.
"""

import zlib
from array import array
from collections.abc import Sequence, Sized
from itertools import islice
from typing import Final, Literal, TypeVar

import msgspec

from appliance.errors import StoreCorrupt
from appliance.ids import BlobId

SymbolKind = Literal[
    "module", "namespace", "class", "interface", "struct", "enum", "trait", "type", "function", "method", "constructor",
    "property", "field", "variable", "constant", "macro", "heading",
]  # fmt: skip
ReferenceKind = Literal["call", "name", "type", "inherit"]
Encoding = Literal[
    "utf-8", "utf-16", "damaged utf-8", "damaged utf-16",
    "shift-jis", "euc-jp", "euc-kr", "gbk", "big5", "cp1251", "koi8-r", "latin-1",
]  # fmt: skip
CERTAIN: Final = frozenset({"utf-8", "utf-16"})  # encodings: every other one is a guess, or what is left of one
_ZLIB_LEVEL: Final = 1  # 130 MB/s and a third of the size; higher levels cost more than the disk saves
UNSURE: Final = frozenset(
    {"parse-timeout", "parse-crash", "parse-grammar"}
)  # problems that may be the machine's and not the file's


class Symbol(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A definition. ``parent`` is the index of the enclosing symbol in the same blob, or -1."""

    name: str
    qualname: str  # dotted within the blob: Client.stream; a second one of the same name is Client.stream#2
    kind: SymbolKind
    start_line: int
    end_line: int
    signature: str  # the head on one line, cut at 300 characters
    doc: str  # first paragraph of the docstring or of the comment above, cut at 500 characters
    parent: int = -1


class Reference(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A use of a name. ``enclosing`` is an index into the blob's symbols, or -1 for the top level."""

    name: str
    line: int
    kind: ReferenceKind
    enclosing: int = -1
    receiver: str = ""  # the text before the last dot of `a.b.name`, cut at 80 characters


class Import(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An import, include, use or require, as written."""

    module: str
    line: int
    names: tuple[str, ...] = ()
    alias: str = ""


class Chunk(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A span that is searched and cited as one. ``symbol`` is the index of the innermost symbol that holds it, or -1."""

    start_line: int
    end_line: int
    symbol: int
    defines: tuple[int, ...]  # indexes of the symbols whose head stands in this chunk


class Spelt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Words one after the other, as places in a table of words, and how many of them each chunk has."""

    places: bytes
    counts: tuple[int, ...]


NOTHING_SPELT: Final = Spelt(b"", ())


class BlobFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Everything that one pass found. ``problem`` says why the syntax was not used ("" when it was): the text still is.

    ``torn`` is the percentage of the text that is no syntax: what stands there was passed over, the rest was read.
    """

    language: str  # "python", "go", …, or "text"
    encoding: Encoding
    lines: int
    symbols: tuple[Symbol, ...] = ()
    references: tuple[Reference, ...] = ()
    imports: tuple[Import, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    problem: str = ""
    secrets: tuple[tuple[int, str], ...] = ()  # line and kind of each that was found, masked or not
    torn: int = 0
    words: tuple[str, ...] = ()  # each once, as its search tokens: identifiers split and kept whole, lightly stemmed
    texts: Spelt = NOTHING_SPELT  # of each chunk
    names: Spelt = NOTHING_SPELT  # of each chunk: of what it defines, and of what it stands in


class Searched(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The members of `BlobFacts` that are searched, as they are cached."""

    language: str
    encoding: str
    lines: int
    symbols: tuple[Symbol, ...]
    references: msgspec.Raw
    imports: msgspec.Raw
    chunks: tuple[Chunk, ...]
    problem: str
    secrets: tuple[tuple[int, str], ...]
    torn: int
    words: tuple[str, ...]
    texts: Spelt
    names: Spelt


class Mentions(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The members of `BlobFacts` up to its imports, as they are cached: to read these alone is cheap."""

    language: str
    encoding: str
    lines: int
    symbols: msgspec.Raw
    references: msgspec.Raw
    imports: tuple[Import, ...]


class BlobTask(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One blob to parse. ``path`` is one of the paths it has: it chooses the language. ``secrets`` are those found in it."""

    blob: BlobId
    path: str
    content: bytes
    secrets: tuple[tuple[int, str], ...] = ()


class Packed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The facts of a blob as they are cached, and their ``problem`` beside them."""

    problem: str
    facts: bytes


def kind_of(words: Sized) -> Literal["H", "I"]:
    """Return the type of numbers, as `array` has it, that places in a table of *words* are written in."""
    return "H" if len(words) <= 1 << 16 else "I"


def places(spelt: Spelt, words: Sequence[str]) -> "array[int]":
    """Return the places in the table of *words* that are *spelt*."""
    return array(kind_of(words), spelt.places)


def texts(spelt: Spelt, words: Sequence[str]) -> list[str]:
    """Return what is *spelt* by the table of *words* as search tokens joined by single spaces, one text a chunk."""
    each = iter(map(words.__getitem__, places(spelt, words)))
    return [" ".join(filter(None, islice(each, count))) for count in spelt.counts]


Form = TypeVar("Form", BlobFacts, Searched, Mentions)

_ENCODER: Final = msgspec.msgpack.Encoder()


def pack_facts(facts: BlobFacts) -> Packed:
    """Return *facts* as they are cached."""
    return Packed(facts.problem, zlib.compress(_ENCODER.encode(facts), _ZLIB_LEVEL))


def unpack_facts(packed: bytes, form: type[Form]) -> Form:
    """Return as *form* what `pack_facts` packed; raise `StoreCorrupt`."""
    try:
        return msgspec.msgpack.decode(zlib.decompress(packed), type=form)
    except (zlib.error, msgspec.DecodeError) as exc:
        raise StoreCorrupt(
            "Cached facts of a file cannot be read.",
            remedy="Delete the project's project.db and index its repositories again.",
        ) from exc
