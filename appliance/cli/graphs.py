"""What the API answers of the graph, as far as the command line shows it."""

import msgspec

from appliance.cli.views import Fresh


class Listing(msgspec.Struct):
    """What a list rests on."""

    total: int
    truncated: bool
    freshness: list[Fresh]
    warnings: list[str]


class Definition(msgspec.Struct):
    """A definition of a name."""

    repo_name: str
    path: str
    start_line: int
    symbol: str
    kind: str


class Call(msgspec.Struct):
    """A call in a repository."""

    repo_name: str
    path: str
    start_line: int
    caller: str
    callee: str
    inside: bool
    kind: str
    how: str
    confidence: float
    text: str


class Calls(Listing):
    """Calls, and what they rest on."""

    direction: str
    definitions: list[Definition]
    calls: list[Call]


class Reached(msgspec.Struct):
    """Something that a change reaches."""

    repo_name: str
    path: str
    start_line: int
    symbol: str
    via: str
    steps: int
    confidence: float
    test: bool


class Together(msgspec.Struct):
    """A file that git changed together with another."""

    path: str
    times: int
    commits: int


class Impact(Listing):
    """What a change can reach, and what that rests on."""

    definitions: list[Definition]
    reached: list[Reached]
    tests: int
    cut: bool
    together: list[Together]
    unresolved: float


class Meaning(msgspec.Struct):
    """A definition, and how surely it is meant."""

    repo_name: str
    path: str
    start_line: int
    symbol: str
    kind: str
    signature: str
    how: str
    confidence: float


class Meanings(Listing):
    """What a name, or a place where one stands, means."""

    definitions: list[Meaning]


class Reference(msgspec.Struct):
    """A use of a definition."""

    repo_name: str
    path: str
    start_line: int
    inside: str
    kind: str
    how: str
    confidence: float
    text: str


class References(Listing):
    """The uses of a definition."""

    definitions: list[Definition]
    references: list[Reference]
    kinds: dict[str, int]


class Hop(msgspec.Struct):
    """A step of a way."""

    repo_name: str
    path: str
    start_line: int
    source: str
    target: str
    kind: str
    how: str
    confidence: float
    text: str


class Way(Listing):
    """A way from one definition to another."""

    start: str
    end: str
    hops: list[Hop]
    confidence: float


class Entry(msgspec.Struct):
    """A definition of a file."""

    symbol: str
    kind: str
    signature: str
    start_line: int
    depth: int


class Outline(Listing):
    """What a file defines."""

    language: str
    entries: list[Entry]


class Change(msgspec.Struct):
    """A commit that changed a definition."""

    commit: str
    author: str
    date: str
    summary: str


class History(Listing):
    """Who changed a definition."""

    definitions: list[Definition]
    changes: list[Change]


class Text(Listing):
    """A map, or a pack of evidence, as one text."""

    text: str
    tokens: int
    budget: int
