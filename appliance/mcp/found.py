"""From what was found to what the tools give back: shortened, so that an answer stays as long as was asked for."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypedDict

from appliance.base.paths import display, shown
from appliance.codeintel.results import (
    CallHit,
    Citation,
    DefinitionHit,
    Freshness,
    ImpactHit,
    OutlineEntry,
    ReferenceHit,
    Span,
)
from appliance.codeintel.results import Companion as FoundCompanion
from appliance.codeintel.results import Hit as FoundHit
from appliance.codeintel.results import MapFile as FoundFile
from appliance.mcp.results import Call, Companion, Defined, Definition, Entry, Evidence, Hit, Indexed, MapFile, Reached, Use

_LONGEST_NAME = 200
_LONGEST_LINE = 300
_LONGEST_WARNING = 300
_MOST_WARNINGS = 8
_MOST_INDEXED = 12
_MOST_REASONS = 8


class Rests(Protocol):
    """What every list and answer rests on."""

    @property
    def freshness(self) -> tuple[Freshness, ...]:
        """Which state of each repo was read."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is missing."""


class Base(TypedDict):
    """The members of an `Answered`."""

    complete: bool
    warnings: list[str]
    index: list[Indexed]


class Where(TypedDict):
    """The members of a `Lines`."""

    repo: str
    path: str
    start_line: int
    end_line: int
    verified: bool


def base(rests: Rests, *, used: Iterable[str] = (), more: Sequence[str] = ()) -> Base:
    """Return what an answer says of itself: *used* are the repos that it names, *more* are further warnings."""
    names = set(used)
    fresh = sorted(rests.freshness, key=lambda each: each.repo_name not in names)
    said = list(dict.fromkeys([*rests.warnings, *more]))
    warnings = [clipped(shown(warning), _LONGEST_WARNING) for warning in said[:_MOST_WARNINGS]]
    if len(said) > _MOST_WARNINGS:
        warnings.append(f"{len(said) - _MOST_WARNINGS} further warnings are not given here.")
    if len(fresh) > _MOST_INDEXED:
        warnings.append(f"{len(fresh) - _MOST_INDEXED} more repositories were looked at and are not listed in index.")
    return Base(complete=not said, warnings=warnings, index=[indexed(each) for each in fresh[:_MOST_INDEXED]])


def indexed(fresh: Freshness) -> Indexed:
    """Return which state of a repo was read."""
    return Indexed(
        repo=fresh.repo_name,
        branch=display(fresh.branch),
        commit=fresh.commit,
        generation=fresh.generation,
        behind=fresh.behind,
        dirty=fresh.dirty,
        left_out=fresh.left_out,
    )


def hit(found: FoundHit, *, most: int) -> Hit:
    """Return a search result with at most *most* characters of its lines."""
    why = [clipped(display(reason), _LONGEST_NAME) for reason in found.why[:_MOST_REASONS]]
    return Hit(
        **where(found.span), symbol=_name(found.symbol), kind=found.kind, why=why, text=clipped(shown(found.text), most)
    )


def call(found: CallHit) -> Call:
    """Return a call with its line."""
    return Call(
        repo=found.span.repo_name,
        path=display(found.span.path),
        line=found.span.start_line,
        caller=_name(found.caller),
        callee=_name(found.callee),
        inside=found.inside,
        how=found.how,
        confidence=found.confidence,
        text=_line(found.text),
    )


def reached(found: ImpactHit) -> Reached:
    """Return something that a change reaches."""
    return Reached(
        repo=found.span.repo_name,
        path=display(found.span.path),
        line=found.span.start_line,
        symbol=_name(found.symbol),
        via=_name(found.via),
        steps=found.steps,
        confidence=found.confidence,
        test=found.test,
    )


def companion(found: FoundCompanion) -> Companion:
    """Return a file that changed together with another one."""
    return Companion(path=display(found.path), times=found.times, commits=found.commits)


def definition(found: DefinitionHit, *, most: int) -> Definition:
    """Return a definition with at most *most* characters of its lines."""
    return Definition(
        **where(found.span),
        symbol=_name(found.symbol),
        kind=found.kind,
        signature=_line(found.signature),
        doc=_line(found.doc),
        how=found.how,
        confidence=found.confidence,
        text=clipped(shown(found.text), most),
    )


def use(found: ReferenceHit) -> Use:
    """Return a use with its line."""
    return Use(
        repo=found.span.repo_name,
        path=display(found.span.path),
        line=found.span.start_line,
        inside=_name(found.inside),
        symbol=_name(found.symbol),
        kind=found.kind,
        how=found.how,
        confidence=found.confidence,
        test=found.test,
        text=_line(found.text),
    )


def entry(found: OutlineEntry) -> Entry:
    """Return a definition of a file."""
    return Entry(
        symbol=_name(found.symbol),
        kind=found.kind,
        signature=_line(found.signature),
        start_line=found.start_line,
        end_line=found.end_line,
        depth=found.depth,
    )


def map_file(found: FoundFile) -> MapFile:
    """Return a file of a map."""
    return MapFile(
        repo=found.file.repo_name,
        path=display(found.file.path),
        rank=found.rank,
        heads=[
            f"{each.start_line:>5} {'  ' * each.depth}{_line(each.signature) or _name(each.symbol)}"
            for each in found.entries
        ],
    )


def defined(found: Citation) -> Defined:
    """Return where something is defined."""
    return Defined(**where(found.span), symbol=_name(found.symbol), kind=found.kind)


def evidence(found: Citation, *, most: int) -> Evidence:
    """Return a numbered span with at most *most* characters of its lines."""
    return Evidence(**where(found.span), n=found.n, symbol=_name(found.symbol), text=clipped(shown(found.text), most))


def where(span: Span) -> Where:
    """Return the members that say where *span* lies."""
    return Where(
        repo=span.repo_name,
        path=display(span.path),
        start_line=span.start_line,
        end_line=span.end_line,
        verified=span.verified,
    )


def clipped(text: str, most: int) -> str:
    """Return about *most* characters of *text*, cut at the end of a line where one is near, and say what is cut."""
    if len(text) <= most:
        return text
    end = text.rfind("\n", most // 2, most)
    kept = text[: end if end > 0 else most]
    lines = text.count("\n", len(kept))
    return f"{kept}\n… {lines} more lines" if end > 0 else f"{kept} … {len(text) - len(kept):,} more characters"


def _name(name: str) -> str:
    return clipped(display(name), _LONGEST_NAME)


def _line(text: str) -> str:
    return clipped(shown(text).strip(), _LONGEST_LINE)
