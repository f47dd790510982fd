"""What questions about code look like, and what comes back. Doors serialise these as they are."""

from dataclasses import dataclass, field
from typing import Literal

from appliance.ids import BlobId, CommitId, GenerationId, ProjectId, RepoId

AnswerKind = Literal["structure", "prose", "evidence"]
Signal = Literal["lexical", "latent", "vector", "text"]
Direction = Literal["callers", "callees"]
Origin = Literal["", "graph", "git", "search", "model"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which code is asked about: one project, all of its repos or the named ones.

    ``branches`` are patterns; without one each repo is asked about at its own branch.
    """

    project: ProjectId
    repos: tuple[RepoId, ...] = ()
    branches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Freshness:
    """Which state of one repo an answer speaks of. ``behind`` counts commits on the branch that are not indexed yet.

    ``dirty``: its work tree holds changes that no commit has; no answer sees them.
    """

    repo: RepoId
    repo_name: str
    branch: str
    commit: CommitId
    generation: GenerationId
    behind: int | None  # None: the repository could not be asked
    dirty: bool | None  # None: that could not be told
    left_out: int  # files that the index does not hold
    vectors: float  # share of the chunks that have a vector, 0 to 1


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of one blob at one commit. ``verified``: that blob stands at that path in that commit, and has those lines."""

    repo: RepoId
    repo_name: str
    path: str  # surrogateescape; show it through `base.paths.display`
    start_line: int
    end_line: int
    blob: BlobId
    commit: CommitId
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result."""

    span: Span
    symbol: str  # qualified name of the definition that the span is in or defines; "" for none
    kind: str  # kind of that symbol; "" for none
    language: str
    score: float
    why: tuple[str, ...]  # e.g. "defines Client", "words: retry, stream", "meaning 0.61", "test file, lowered"
    text: str  # the lines themselves
    columns: tuple[tuple[int, int], ...] = ()  # of one line: where matches begin, from 1, and the columns after their ends
    also: tuple[str, ...] = ()  # the first of the other places where the same stands: repo and path


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Hits, best first, and what they rest on. ``warnings`` says what is missing: a signal, a repo, freshness.

    Where a query has patterns and no words the hits are all lines that fit, in the order of repositories, paths and lines.
    """

    query: str
    hits: tuple[Hit, ...]
    total: int  # candidates that were ranked, or lines that fit
    truncated: bool
    signals: tuple[Signal, ...]
    freshness: tuple[Freshness, ...]
    warnings: tuple[str, ...]
    timings: dict[str, float]  # milliseconds by step


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What every list rests on. ``total`` counts all of it; ``truncated``: more of it follows behind this page.

    ``warnings`` says what is missing: files that could not be read or followed, calls that could not be told, staleness. A
    name that is unknown is never an empty list: it raises `NotFound`, with names that are near.
    """

    total: int
    truncated: bool
    freshness: tuple[Freshness, ...]
    warnings: tuple[str, ...]
    timings: dict[str, float]  # milliseconds by step


@dataclass(frozen=True, slots=True)
class Pointed:
    """A name where it stands: *word* on *line* of a file as it is indexed, or whatever stands at *column*, from 1."""

    repo: RepoId
    path: str
    line: int
    column: int = 0
    word: str = ""


Subject = str | Pointed
"""What a question is about: a name, which may be qualified by classes, modules and parts of its path, or a place."""


@dataclass(frozen=True, slots=True)
class CallHit:
    """A call. ``caller`` is "" at the top level of a file; ``inside``: what is called stands in the repository."""

    span: Span
    caller: str
    callee: str
    inside: bool
    kind: str  # call, decorator, raise, iter, with, get, implied (an operator, a destructor, a base that is made)
    how: str  # name, self, type, value, protocol, candidate
    confidence: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsResponse(Listing):
    """The calls of something, or those in it, code before tests. ``definitions`` are what has the name."""

    name: str
    direction: Direction
    definitions: tuple["Citation", ...]
    calls: tuple[CallHit, ...]


@dataclass(frozen=True, slots=True)
class ImpactHit:
    """Something that a change reaches. ``symbol`` is "" at the top level of a file; ``via`` is what it calls on the way."""

    span: Span
    symbol: str
    kind: str
    via: str
    steps: int
    confidence: float
    test: bool
    text: str


@dataclass(frozen=True, slots=True)
class Companion:
    """A file that changed together with another one, ``times`` of the last ``commits`` that changed that one."""

    path: str
    times: int
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactResponse(Listing):
    """What a change can reach, nearest first. ``cut``: there is more than was looked at.

    ``together`` is what git changed with it; ``unresolved`` the share of all calls that could not be told, 0 to 1.
    """

    name: str
    definitions: tuple["Citation", ...]
    reached: tuple[ImpactHit, ...]
    tests: int  # of the total
    cut: bool
    together: tuple[Companion, ...]
    unresolved: float


@dataclass(frozen=True, slots=True)
class DefinitionHit:
    """A definition. ``how`` and ``confidence`` say how surely a place means it; a name means all that have it."""

    span: Span
    name: str
    symbol: str  # qualified name
    kind: str
    signature: str
    doc: str
    how: str
    confidence: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionsResponse(Listing):
    """What a name, or a place where one stands, means: surest first, then code before tests."""

    name: str
    definitions: tuple[DefinitionHit, ...]


@dataclass(frozen=True, slots=True)
class ReferenceHit:
    """A use of a definition. ``inside`` is the definition that the use stands in, "" at the top level of a file."""

    span: Span
    inside: str
    symbol: str  # what is used
    kind: str  # of the edge: call, inherits, implements, overrides, imports, references…
    how: str
    confidence: float
    test: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencesResponse(Listing):
    """The uses of something, of whatever kind, code before tests, sure before unsure. ``kinds`` counts all of them."""

    name: str
    definitions: tuple["Citation", ...]
    references: tuple[ReferenceHit, ...]
    kinds: dict[str, int]


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A definition of a file. ``depth`` counts the definitions around it."""

    name: str
    symbol: str
    kind: str
    signature: str
    doc: str
    start_line: int
    end_line: int
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlineResponse(Listing):
    """What one file defines, in the order of lines. ``file`` is all of the file."""

    file: Span
    language: str
    entries: tuple[OutlineEntry, ...]


@dataclass(frozen=True, slots=True)
class Hop:
    """A step of a way: at these lines ``source`` uses ``target``. An empty source is the top level of the file."""

    span: Span
    source: str
    target: str
    kind: str
    how: str
    confidence: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PathResponse(Listing):
    """The surest way from one definition to another. No hops: there is none that could be followed, and that is said.

    ``confidence`` is that of all hops together.
    """

    start: str
    end: str
    hops: tuple[Hop, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class MapFile:
    """A file of a map, by how much of the code leans on it, and the heads of what it defines that most is used of."""

    file: Span
    rank: float  # of all files together 1
    entries: tuple[OutlineEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepomapResponse(Listing):
    """What matters most in a scope, within a budget of tokens. ``total`` counts files; ``text`` is all of it as one text."""

    files: tuple[MapFile, ...]
    text: str
    tokens: int  # about
    budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextResponse(Listing):
    """The lines that bear on a question, best first, within a budget of tokens. ``total`` counts the places."""

    question: str
    evidence: tuple["Citation", ...]
    text: str  # of all of it, each place with its heading
    tokens: int  # about
    budget: int


@dataclass(frozen=True, slots=True)
class Change:
    """A commit that changed a definition."""

    commit: CommitId
    author: str
    date: str  # ISO 8601
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryResponse(Listing):
    """Who changed a definition and when, newest first. ``definitions`` are what has the name; the first is spoken of."""

    name: str
    definitions: tuple["Citation", ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """A numbered span of the evidence card. ``verified`` speaks of the location, never of prose about it."""

    n: int
    span: Span
    symbol: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, linked by us to the citations in ``cites``. ``origin``: who tells it, "" where that was not kept."""

    text: str
    cites: tuple[int, ...]
    origin: Origin = ""


@dataclass(frozen=True, slots=True)
class Struck:
    """A sentence that was not let through, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether the evidence was strong enough for prose.

    ``reason`` is a sentence that goes on from ``No prose:``, which each door writes itself. ``probability`` is P(true) at
    the model's `enough_evidence`.
    """

    passed: bool
    reason: str
    probability: float | None = None
    overlap: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole answer, as the API returns it and the transcript keeps it."""

    question: str
    kind: AnswerKind
    evidence: tuple[Citation, ...]
    sentences: tuple[Sentence, ...] = ()
    struck: tuple[Struck, ...] = ()
    gate: Gate | None = None
    model: str = ""  # "" when no model was asked
    freshness: tuple[Freshness, ...] = ()
    warnings: tuple[str, ...] = ()
    timings: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """One step of a streamed answer, in this order: ``evidence``, any ``token``, ``sentence``, ``struck``, then ``done``.

    ``answer`` is set on ``evidence`` (so far: the card) and on ``done`` (all of it); ``text`` on ``token``; ``sentence``
    and ``struck`` on their own kinds.
    """

    type: Literal["evidence", "token", "sentence", "struck", "done"]
    answer: Answer | None = None
    text: str = ""
    sentence: Sentence | None = None
    struck: Struck | None = None
