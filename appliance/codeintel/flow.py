"""How values move through one blob: terms for what expressions can be, and what the code does with them.

A front end for each language makes a `Flow` from a syntax tree, once a blob; `resolve` reads the flows of a whole
repository together and says what calls what. After the assignment graph of PyCG (Salis et al., ICSE 2021), but with the
flow inside a function worked out beforehand: a term is what a variable holds where it is read, not all it ever holds.
"""

import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final, Literal, get_args

import msgspec
from msgspec.structs import replace

ScopeKind = Literal["module", "class", "function", "lambda"]
SiteKind = Literal["call", "decorator", "raise", "iter", "with", "get", "implied"]
REST: Final = "\0"  # ends the text of a string of which no more than the start is known
UNKNOWN: Final = 0  # the term of what cannot be told
FLOW_VERSION: Final = 18  # a change in what front ends find raises it, and every blob is read anew
RECEIVER: Final = "<this>"  # the name of a first parameter that no call names: what the function is called on
ON: Final = "<on>"  # the name of a last parameter of a lambda that no call names: what its code is called on
LAST: Final = "<last>"  # the name of an argument behind all others, which the last parameter takes
GETTER: Final = "get "  # stands before the name of a property in the key of the function that reads it
SETTER: Final = "set "  # and of the one that sets it

# Names that no code has, for what a term can ask of a value:
AS_FUNCTION: Final = "as a function"  # what something is itself, if it is a function
RESULT: Final = "what it gives"  # what calls of something give, where it is no place that calls it
KIND: Final = "its type"  # the type of an instance
TAKEN: Final = "takes "  # and the number of a parameter: what whatever function is meant by a type takes there


class Op(IntEnum):
    """What a term is. ``a`` and ``b`` are terms unless it is said otherwise."""

    UNKNOWN = 0
    CONST = 1  # text: the type, and for short strings and integers the value: "str:name", "int:3", "float"
    READ = 2  # a: a scope, text: one of its names, read from elsewhere
    BUILTIN = 3  # text: a name that no scope binds
    PARAM = 4  # a: a scope, b: which of its parameters
    ATTR = 5  # text of a
    CALL = 6  # a: a site
    ITEM = 7  # a[b]
    NEXT = 8  # what an iteration over a yields; b: its site
    ENTER = 9  # what `with a` binds; b: its site
    DEF = 10  # a: the scope of a class, function or lambda
    MAKE = 11  # a container; text: its type, items: key and value in turn, the key UNKNOWN where any fits
    IMPORT = 12  # text: a module, with leading dots if it is relative
    FROM = 13  # text: a module, name: what is taken from it
    JOIN = 14  # any of items
    ELSE = 15  # a, and b where nothing is known of a
    INSTANCE = 16  # an instance of the type a
    SLICE = 17  # a from place b (no term) on
    SUPER = 18  # a: a class's scope; what stands behind that class in the order of the classes of b


class Term(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What an expression can be. Equal terms of a blob are one."""

    op: int
    a: int = 0
    b: int = 0
    text: str = ""
    name: str = ""
    items: tuple[int, ...] = ()


Row = tuple[int, int, int, str, str, tuple[int, ...]]
"""A term on its way: the members of a `Term`."""

_ROW: Final = struct.Struct("<Biiii")
_NUMBER: Final = struct.Struct("<i")
_TEXT_AT: Final = struct.calcsize("<Bii")  # in a row


class Terms(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The terms of a blob, by number, packed: a large repository has millions of them. One that has items has no name."""

    rows: bytes  # op, a, b, where the text stands in texts, and the name; or, counted down from -1, the items in items
    texts: tuple[str, ...]
    items: bytes  # before those of a term, how many they are

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Terms":
        """Return *rows*, packed."""
        texts: dict[str, int] = {}
        held = bytearray()
        pack, place = _ROW.pack, texts.setdefault
        packed = []
        for op, a, b, text, name, items in rows:
            more = -1 - len(held) if items else place(name, len(texts))
            packed.append(pack(op, a, b, place(text, len(texts)), more))
            if items:
                held += struct.pack(f"<{len(items) + 1}i", len(items), *items)
        return cls(b"".join(packed), tuple(texts), bytes(held))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.rows) // _ROW.size

    def __getitem__(self, number: int) -> Term:
        """Return one of them."""
        op, a, b, text, more = _ROW.unpack_from(self.rows, number * _ROW.size)
        if more >= 0:
            return Term(op, a, b, self.texts[text], self.texts[more])
        (count,) = _NUMBER.unpack_from(self.items, -1 - more)
        items = struct.unpack_from(f"<{count}i", self.items, -1 - more + _NUMBER.size)
        return Term(op, a, b, self.texts[text], "", items)

    def text(self, number: int) -> str:
        """Return the text of one of them."""
        (text,) = _NUMBER.unpack_from(self.rows, number * _ROW.size + _TEXT_AT)
        found: str = self.texts[text]
        return found


class Param(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A parameter. ``star`` is "*" or "**" for one that takes the rest."""

    name: str
    default: int = UNKNOWN
    type: int = UNKNOWN
    star: str = ""


class FlowScope(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A module, class, function or lambda. The first scope of a flow is its module.

    ``names`` is what each name holds at the end of a module or class, and everything that it ever holds in a function.
    """

    kind: ScopeKind
    name: str
    parent: int
    line: int
    params: tuple[Param, ...] = ()
    names: dict[str, int] = {}
    result: int = UNKNOWN
    type: int = UNKNOWN  # of the result, as it is declared
    yields: int = UNKNOWN
    bases: tuple[int, ...] = ()
    marks: tuple[str, ...] = ()  # last names of its decorators
    generator: bool = False
    promises: tuple[int, ...] = ()  # interfaces that a class says it implements, and takes no members from


class Site(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A place where something is called. An argument's name is "" for one by position, "*" or "**" for a splat."""

    kind: SiteKind
    scope: int
    function: int
    line: int
    arguments: tuple[tuple[str, int], ...] = ()


_KINDS: Final[tuple[SiteKind, ...]] = get_args(SiteKind)
_SITE: Final = struct.Struct("<Biiiii")
_ARGUMENT: Final = struct.Struct("<ii")


class Sites(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The sites of a blob, by number, packed."""

    rows: bytes = b""  # kind, scope, function, line, and where its arguments begin and end
    arguments: bytes = b""  # where the name stands in texts, and the term
    texts: tuple[str, ...] = ()  # the names of all arguments

    @classmethod
    def of(cls, sites: Iterable[Site]) -> "Sites":
        """Return *sites*, packed."""
        texts: dict[str, int] = {}
        rows, arguments = [], bytearray()
        for site in sites:
            begin = len(arguments)
            for name, term in site.arguments:
                arguments += _ARGUMENT.pack(texts.setdefault(name, len(texts)), term)
            kind = _KINDS.index(site.kind)
            rows.append(_SITE.pack(kind, site.scope, site.function, site.line, begin, len(arguments)))
        return cls(b"".join(rows), bytes(arguments), tuple(texts))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.rows) // _SITE.size

    def __getitem__(self, number: int) -> Site:
        """Return one of them."""
        kind, scope, function, line, begin, end = _SITE.unpack_from(self.rows, number * _SITE.size)
        if begin == end:
            return Site(_KINDS[kind], scope, function, line)
        arguments = _ARGUMENT.iter_unpack(self.arguments[begin:end])
        return Site(_KINDS[kind], scope, function, line, tuple([(self.texts[name], term) for name, term in arguments]))

    def __iter__(self) -> Iterator[Site]:
        """Yield each."""
        return map(self.__getitem__, range(len(self)))


class Store(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """``base.name = value``, or ``base[key] = value`` where the name is empty."""

    base: int
    value: int
    name: str = ""
    key: int = UNKNOWN


class Read(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attribute that is read. ``term`` is its term."""

    scope: int
    term: int
    line: int


_READ: Final = struct.Struct("<iii")


class Reads(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The reads of a blob, packed."""

    rows: bytes = b""

    @classmethod
    def of(cls, reads: Iterable[Read]) -> "Reads":
        """Return *reads*, packed."""
        return cls(b"".join(_READ.pack(read.scope, read.term, read.line) for read in reads))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.rows) // _READ.size

    def __iter__(self) -> Iterator[Read]:
        """Yield each."""
        return (Read(*row) for row in _READ.iter_unpack(self.rows))


_USE: Final = struct.Struct("<iiii")


class Uses(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Names that are read, packed: in which scope, whose name it is, which name, in which line."""

    rows: bytes = b""
    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, str, int]]) -> "Uses":
        """Return *rows*, each once, packed."""
        texts: dict[str, int] = {}
        place = texts.setdefault
        packed = [_USE.pack(scope, holder, place(name, len(texts)), line) for scope, holder, name, line in rows]
        return cls(b"".join(dict.fromkeys(packed)), tuple(texts))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.rows) // _USE.size

    def __iter__(self) -> Iterator[tuple[int, int, str, int]]:
        """Yield each: a scope, the scope whose name is read in it, the name, and the line."""
        for scope, holder, text, line in _USE.iter_unpack(self.rows):
            yield scope, holder, self.texts[text], line


class Flow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One blob. ``cut`` says that something was nested too deeply to be followed."""

    terms: Terms
    scopes: tuple[FlowScope, ...]
    sites: Sites = Sites()
    stores: tuple[Store, ...] = ()
    reads: Reads = Reads()
    stars: tuple[str, ...] = ()  # modules all of whose names are imported
    cut: bool = False
    unit: str = ""  # the package or namespace that it says it is a part of
    uses: Uses = Uses()


_SAME: Final = {number: number for number in range(5_000)}  # the same objects for the terms of all blobs
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Flow)


def pack_flow(flow: Flow) -> bytes:
    """Return *flow* as it is cached."""
    return _ENCODER.encode(flow)


def unpack_flow(packed: bytes) -> Flow:
    """Return what `pack_flow` packed; raise `msgspec.DecodeError`. Texts that many blobs have are held once."""
    flow = _DECODER.decode(packed)
    return replace(
        flow,
        terms=replace(flow.terms, texts=_held_once(flow.terms.texts)),
        scopes=tuple(map(_with_names_once, flow.scopes)),
        sites=replace(flow.sites, texts=_held_once(flow.sites.texts)),
        uses=replace(flow.uses, texts=_held_once(flow.uses.texts)),
    )


def _held_once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(sys.intern, texts))


def _with_names_once(scope: FlowScope) -> FlowScope:
    names = {sys.intern(name): _SAME.get(term, term) for name, term in scope.names.items()}
    params = tuple(replace(param, name=sys.intern(param.name)) for param in scope.params)
    return replace(scope, name=sys.intern(scope.name), params=params, names=names, marks=_held_once(scope.marks))
