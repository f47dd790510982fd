"""Uses, ways and histories in sentences, each citing the lines that it speaks of."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.citations import Texts
from appliance.codeintel.query.calls import Call, uses
from appliance.codeintel.query.draft import MAX_LISTED, Code, Draft, Found, named, place_of, plain_name, several, stands_at
from appliance.codeintel.query.ways import way_of
from appliance.codeintel.questions import StructureQuery
from appliance.codeintel.store.kinds import USES
from appliance.errors import ApplianceError

_MOST_DEFINITIONS: Final = 3


def say_uses(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
    """Put what uses what *query* names into *draft*."""
    found = named(query, code)
    for item in found[:_MOST_DEFINITIONS]:
        graph = item.code.generation.graph
        head = f"`{plain_name(item.row.qualname)}` ({item.row.kind}, {stands_at(item)})"
        if graph is None:
            draft.say(f"{head} is defined; what uses it is still being followed, ask again in a moment.", place_of(item))
            continue
        listed = uses(item, graph)
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in Counter(use.kind for use in listed).most_common())
        what = f"at {several(len(listed), 'place')} ({kinds})" if listed else "by nothing that could be followed"
        draft.say(f"{head} is used {what}.", place_of(item))
        for use in listed[:MAX_LISTED]:
            draft.say(_using(use), use.place())
        draft.cut(MAX_LISTED, len(listed), what=f"uses of `{plain_name(item.row.qualname)}`")
    draft.cut(_MOST_DEFINITIONS, len(found), what=f"definitions of `{query.name}`")


def say_way(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
    """Put the surest way from what *query* names to where it is to end into *draft*."""
    start = named(query, code)
    end = named(StructureQuery("where", query.other, plain=False), code)
    if not start or not end:
        return
    hops, sure = max((way_of(each, start, end) for each in code), key=lambda found: found[1])
    ends = f"`{plain_name(start[0].row.qualname)}` to `{plain_name(end[0].row.qualname)}`"
    if not hops:
        draft.say(f"No way from {ends} could be followed.", place_of(start[0]), place_of(end[0]))
        return
    draft.say(f"From {ends} it is {several(len(hops), 'step')} ({sure:.0%} sure).", place_of(start[0]))
    for hop in hops:
        draft.say(_using(hop, to=True), hop.place())


def say_history(query: StructureQuery, code: Sequence[Code], draft: Draft, texts: Texts) -> None:
    """Put who changed what *query* names, and when, into *draft*; of a plain folder there is nothing to say."""
    for item in named(query, code)[:1]:
        row, info = item.row, item.code.generation.info
        lines = (row.start_line, row.end_line)
        try:
            found = texts.source(info.repo).commits(commit=info.commit, path=row.path, lines=lines, most=MAX_LISTED)
        except (ApplianceError, OSError) as exc:
            draft.say(f"The history of {_named(item)} cannot be told: {exc}", place_of(item))
            continue
        draft.say(f"{_named(item)} was changed last by these commits, the newest first.", place_of(item))
        for each in found:
            said = f"{each.date[:10]} {display(each.author)}: {display(each.summary)} ({each.id[:12]})"
            draft.say(said, place_of(item))
        if len(found) == MAX_LISTED:
            draft.warnings.append(f"The newest {MAX_LISTED} commits are listed: `skellig graph history` lists more.")


def _named(item: Found) -> str:
    return f"`{plain_name(item.row.qualname)}` ({item.row.kind}, {stands_at(item)})"


def _using(use: Call, *, to: bool = False) -> str:
    who = f"`{plain_name(use.caller.qualname)}`" if use.caller else f"The top level of {display(use.path)}"
    what = f" `{plain_name(use.name)}`" if to else " it"
    verbs = {"inherits": "inherits from", "overrides": "replaces", "references": "uses"}
    verb = verbs.get(use.kind, use.kind if use.kind in USES else "calls")
    may = "may: " if use.how == "candidate" else ""
    return f"{who} {may}{verb}{what} at {use.code.label}{display(use.path)}:{use.line} ({use.confidence:.0%} sure)."
