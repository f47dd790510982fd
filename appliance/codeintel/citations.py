"""Citations: lines that are known to stand where they are said to stand.

``verified`` is a statement about the location alone: in that commit, that path holds that blob, and the blob has those
lines. It says nothing about any sentence that points there.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.facts import CERTAIN, Encoding
from appliance.codeintel.parse.decode import decode
from appliance.codeintel.results import Citation, Span
from appliance.codeintel.source.base import Source
from appliance.errors import ApplianceError, NotFound
from appliance.ids import BlobId, CommitId, RepoId

_NAMED: Final = 3  # files, in one warning


@dataclass(frozen=True, slots=True)
class Place:
    """Lines that an answer may cite, and the definition that they belong to."""

    repo: RepoId
    repo_name: str
    commit: CommitId
    path: str
    blob: BlobId
    start_line: int
    end_line: int
    symbol: str = ""
    kind: str = ""
    why: str = ""  # what the graph says of it, where that brought it here

    def span(self) -> Span:
        """Return the lines as a span that nobody has verified yet."""
        return Span(self.repo, self.repo_name, self.path, self.start_line, self.end_line, self.blob, self.commit)


class Texts:
    """The lines of the blobs that one question touches, each read once."""

    def __init__(self, sources: Mapping[RepoId, Source]) -> None:
        self._sources = sources
        self._lines: dict[tuple[RepoId, BlobId], tuple[str, ...]] = {}
        self._encodings: dict[tuple[RepoId, BlobId], Encoding] = {}

    def lines(self, repo: RepoId, blob: BlobId) -> tuple[str, ...]:
        """Return the lines of *blob* without their ends; raise as `source` and `Source.blob` do."""
        key = (repo, blob)
        if key not in self._lines:
            self._keep(repo, blob, self.source(repo).blob(blob))
        return self._lines[key]

    def fetch(self, repo: RepoId, blobs: Iterable[BlobId]) -> None:
        """Read those of *blobs* that were not read yet, all at once; raise as `source` does.

        What cannot be read is told of when its `lines` are asked for.
        """
        wanted = [blob for blob in dict.fromkeys(blobs) if (repo, blob) not in self._lines]
        for blob, content in self.source(repo).blobs(wanted).items() if wanted else ():
            self._keep(repo, blob, content)

    def encoding(self, repo: RepoId, blob: BlobId) -> Encoding:
        """Return what *blob* was read as; "utf-8" while it was not, or cannot be read."""
        return self._encodings.get((repo, blob), "utf-8")

    def source(self, repo: RepoId) -> Source:
        """Return the source of *repo*; raise `NotFound` if it could not be opened."""
        if repo not in self._sources:
            raise NotFound("The repository cannot be opened.", remedy="Check that its path still exists.", repo=repo)
        return self._sources[repo]

    def _keep(self, repo: RepoId, blob: BlobId, content: bytes) -> None:
        decoded = decode(content)
        self._lines[repo, blob] = tuple(decoded.lines())
        self._encodings[repo, blob] = decoded.encoding


def split_lines(content: bytes) -> tuple[str, ...]:
    """Return the lines of a file as the index counts them, without their ends."""
    return tuple(decode(content).lines())


def verify(spans: Sequence[Span], *, texts: Texts) -> tuple[list[Span], list[str]]:
    """Return *spans*, each with ``verified`` as its repository says now, and a warning for each repo that says nothing.

    A span is verified only when the path holds exactly that blob in that commit and the blob has all of those lines.
    """
    warnings: dict[RepoId, str] = {}
    located: dict[tuple[RepoId, CommitId], Mapping[str, BlobId | None]] = {}
    for (repo, commit), mine in _by_commit(spans).items():
        try:
            located[repo, commit] = texts.source(repo).located(commit=commit, paths=[span.path for span in mine])
            texts.fetch(repo, (span.blob for span in mine))
        except (ApplianceError, OSError) as exc:
            warnings[repo] = _unverified(mine[0], exc)
    checked = []
    for span in spans:
        stands = False
        if span.repo not in warnings and located[span.repo, span.commit].get(span.path) == span.blob:
            try:
                stands = 1 <= span.start_line <= span.end_line <= len(texts.lines(span.repo, span.blob))
            except (ApplianceError, OSError) as exc:
                warnings[span.repo] = _unverified(span, exc)
        checked.append(_checked(span, verified=stands))
    missing = [span for span in checked if not span.verified and span.repo not in warnings]
    notes = [f"{display(span.path)} does not hold the cited lines at {span.commit[:12]}." for span in missing]
    return checked, [*warnings.values(), *dict.fromkeys(notes)]


def verify_places(spans: Sequence[Span], *, sources: Mapping[RepoId, Source]) -> list[Span]:
    """Return *spans*, of whose blobs it is known that they have those lines, verified where their paths hold the blobs."""
    located: dict[tuple[RepoId, CommitId], Mapping[str, BlobId | None]] = {}
    for (repo, commit), mine in _by_commit(spans).items():
        with suppress(ApplianceError, OSError, KeyError):
            located[repo, commit] = sources[repo].located(commit=commit, paths=[span.path for span in mine])
    nothing: Mapping[str, BlobId | None] = {}
    return [
        _checked(span, verified=located.get((span.repo, span.commit), nothing).get(span.path) == span.blob) for span in spans
    ]


def cite(places: Sequence[Place], *, texts: Texts) -> tuple[tuple[Citation, ...], list[str]]:
    """Return *places* as citations numbered from 1 and verified, each with its lines, and the warnings to give with them.

    Where a repository cannot be read any more, the citation is there without its text.
    """
    spans, warnings = verify([place.span() for place in places], texts=texts)
    warnings += guessed((span.path, texts.encoding(span.repo, span.blob)) for span in spans)
    return tuple(
        Citation(number, span, place.symbol, place.kind, excerpt(span, texts=texts))
        for number, (place, span) in enumerate(zip(places, spans, strict=True), start=1)
    ), warnings


def guessed(files: Iterable[tuple[str, str]]) -> list[str]:
    """Return a warning for each encoding that some of *files*, each a path and its encoding, were only taken to be in."""
    names: dict[str, dict[str, None]] = {}
    for path, encoding in files:
        if encoding not in CERTAIN:
            names.setdefault(encoding, {})[display(path)] = None
    said = []
    for encoding, paths in names.items():
        first, more = list(paths)[:_NAMED], len(paths) - _NAMED
        shown = ", ".join(first) + (f" and {more} more" if more > 0 else "")
        said.append(f"{shown}: no proper UTF-8 or UTF-16, read as {encoding}; letters beyond ASCII may be wrong.")
    return said


def excerpt(span: Span, *, texts: Texts) -> str:
    """Return the lines of *span*, joined, or "" if they cannot be read: `verify` does not call it verified then."""
    try:
        lines = texts.lines(span.repo, span.blob)
    except (ApplianceError, OSError):
        return ""
    return "\n".join(lines[span.start_line - 1 : span.end_line])


def _checked(span: Span, *, verified: bool) -> Span:
    if span.verified == verified:
        return span
    return Span(span.repo, span.repo_name, span.path, span.start_line, span.end_line, span.blob, span.commit, verified)


def _by_commit(spans: Iterable[Span]) -> dict[tuple[RepoId, CommitId], list[Span]]:
    grouped: dict[tuple[RepoId, CommitId], list[Span]] = {}
    for span in spans:
        grouped.setdefault((span.repo, span.commit), []).append(span)
    return grouped


def _unverified(span: Span, reason: Exception) -> str:
    return f"Citations of {span.repo_name} could not be verified: {reason}"
