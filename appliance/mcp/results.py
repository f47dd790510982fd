"""What the tools give back, beside a text of the same: models for the output schemas, small enough to be read by a model."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from appliance.codeintel.results import AnswerKind, Origin

Repo = Annotated[str, Field(description="The repository's name.")]
Text = Annotated[str, Field(description="The lines; where they were shortened, the last one says so.")]


class Result(BaseModel):
    """Part of an answer."""

    model_config = ConfigDict(frozen=True)


class Indexed(Result):
    """Which state of a repository was read: all that is said of it is true at that commit."""

    repo: Repo
    branch: str
    commit: str
    generation: str
    behind: int | None = Field(description="Commits on the branch that are not indexed yet; null: it could not be asked.")
    dirty: bool | None = Field(description="Whether its work tree holds changes that no commit has: no answer sees them.")
    left_out: int = Field(description="Files of it that the index does not hold: binary, too large, generated and so on.")


class Answered(Result):
    """What every answer says of itself."""

    complete: bool = Field(description="false: something could not be looked at, and more may exist. warnings says what.")
    warnings: list[str]
    index: list[Indexed]


class Listed(Answered):
    """A page of a list."""

    total: int = Field(description="How many there are in all, on every page the same.")
    truncated: bool = Field(description="Whether more follow this page.")
    next_cursor: str = Field(description="Give this back as cursor for the next page; empty: there is none.")
    hint: str = Field(description="How to ask for less, or for the rest.")


class Lines(Result):
    """Lines of a file. ``verified``: they were found there, at the indexed commit, while this was answered."""

    repo: Repo
    path: str
    start_line: int
    end_line: int
    verified: bool


class Hit(Lines):
    """A search result."""

    symbol: str
    kind: str
    why: list[str]
    text: Text


class Hits(Listed):
    """Search results, best first."""

    hits: list[Hit]


class FileLines(Listed):
    """Lines of one file. ``total`` and the cursor count lines."""

    repo: Repo
    path: str
    commit: str
    lines: int = Field(description="Lines of the whole file.")
    start_line: int
    end_line: int
    text: Text


class Defined(Lines):
    """What the name means."""

    symbol: str
    kind: str


class Call(Result):
    """A call. ``caller`` is empty at the top level of a file; ``inside``: what is called stands in the repository."""

    repo: Repo
    path: str
    line: int
    caller: str
    callee: str
    inside: bool
    how: str = Field(description="How it is known: name, self, type, value, protocol; candidate is a guess by name.")
    confidence: float
    text: str


class Definition(Lines):
    """A definition. ``confidence`` says how surely it is the one that is meant."""

    symbol: str
    kind: str
    signature: str
    doc: str = Field(description="What its author says of it.")
    how: str = Field(description="How it is known to be meant.")
    confidence: float
    text: Text


class Definitions(Listed):
    """Definitions, the surest first."""

    definitions: list[Definition]


class Use(Result):
    """A use of a definition. ``inside``: the definition that it stands in, empty at the top level of a file."""

    repo: Repo
    path: str
    line: int
    inside: str
    symbol: str = Field(description="What is used.")
    kind: str = Field(description="call, inherits, implements, overrides, imports, references and others.")
    how: str
    confidence: float
    test: bool
    text: str


class References(Listed):
    """Uses of something, of whatever kind, code before tests."""

    definitions: list[Defined]
    kinds: dict[str, int] = Field(description="How many of all there are of each kind.")
    references: list[Use]


class Entry(Result):
    """A definition of a file. ``depth`` counts the definitions around it."""

    symbol: str
    kind: str
    signature: str
    start_line: int
    end_line: int
    depth: int


class FileOutline(Listed):
    """What one file defines, in the order of lines."""

    repo: Repo
    path: str
    commit: str
    language: str
    lines: int = Field(description="Lines of the whole file.")
    entries: list[Entry]


class Calls(Listed):
    """Calls, code before tests, sure ones before unsure ones."""

    definitions: list[Defined]
    calls: list[Call]


class Reached(Result):
    """Something that a change reaches, by the call that stands there."""

    repo: Repo
    path: str
    line: int
    symbol: str
    via: str = Field(description="What it calls on the way.")
    steps: int
    confidence: float
    test: bool


class Companion(Result):
    """A file that git changed ``times`` of ``commits`` times together with the one that the definition stands in."""

    path: str
    times: int
    commits: int


class Reach(Listed):
    """What a change can reach, nearest first."""

    definitions: list[Defined]
    tests: int = Field(description="How many of all stand in tests.")
    unresolved: float = Field(description="The share of all calls that could not be told, 0 to 1: so much may be missing.")
    together: list[Companion] = Field(description="Files that git changed together with it before.")
    reached: list[Reached]


class MapFile(Result):
    """A file, and the heads of what it defines that most of the code leans on, each after its line."""

    repo: Repo
    path: str
    rank: float = Field(description="How much of the code leans on it; of all files together 1.")
    heads: list[str]


class Map(Answered):
    """The files that matter most, the first most of all."""

    total: int = Field(description="How many files there are in all.")
    truncated: bool = Field(description="Whether there is more than fits max_tokens.")
    hint: str
    files: list[MapFile]


class Evidence(Lines):
    """Numbered lines that bear on the question."""

    n: int
    symbol: str
    text: Text


class Sentence(Result):
    """A sentence about the evidence, and the numbers of the lines that it rests on."""

    text: str
    cites: list[int]
    origin: Origin = Field(description="graph, git, search: exact; model: its reading, which nobody verified.")


class Answer(Answered):
    """An answer: evidence, and sentences that are exact (kind ``structure``) or a small model's reading (``prose``)."""

    kind: AnswerKind
    sentences: list[Sentence]
    no_prose: str = Field(description="Why the model wrote nothing, where it was asked to.")
    evidence: list[Evidence]
    truncated: bool = Field(description="Whether evidence was left out or shortened for the sake of max_tokens.")
