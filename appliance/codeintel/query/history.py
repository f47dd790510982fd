"""Who changed a definition, and when, as git tells it."""

from typing import Final

from appliance.base.paths import display
from appliance.codeintel.citations import cite
from appliance.codeintel.query.asking import Asked, Page
from appliance.codeintel.query.draft import place_of, plain_name, stands_at
from appliance.codeintel.query.meaning import meant
from appliance.codeintel.results import Change, HistoryResponse, Subject

_MOST: Final = 200  # commits that git is asked for


def history(asked: Asked, subject: Subject, page: Page) -> HistoryResponse:
    """Return the commits that changed the lines of what *subject* means first; raise as `meant` and `Source.commits` do."""
    name, every, warnings = meant(subject, asked)
    found = [each.found for each in every]
    row, info = found[0].row, found[0].code.generation.info
    lines = (row.start_line, row.end_line)
    commits = asked.texts.source(info.repo).commits(commit=info.commit, path=row.path, lines=lines, most=_MOST + 1)
    definitions, unread = cite([place_of(item) for item in found[: page.limit]], texts=asked.texts)
    if len(found) > 1:
        warnings.append(
            f"This is the history of `{plain_name(row.qualname)}` in {stands_at(found[0])}: others have its name."
        )
    if len(commits) > _MOST:
        warnings.append(f"More than {_MOST} commits changed it: the older ones are not listed.")
    return HistoryResponse(
        name=name,
        definitions=definitions,
        changes=tuple(
            Change(each.id, display(each.author), each.date, display(each.summary)) for each in commits[:_MOST][page.part]
        ),
        **asked.rest(total=min(len(commits), _MOST), end=page.end, warnings=(*warnings, *unread)),
    )
