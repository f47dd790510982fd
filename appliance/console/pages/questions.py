"""What waits for a person's yes or no, as several pages show it."""

from dataclasses import dataclass
from typing import Final

from appliance.base.paths import display
from appliance.services import Services

_MOST: Final = 5  # on one page: each is shown whole, as it is decided
_COUNTED: Final = 1_000


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``href`` leads to the mission that asks; "": something else does, or the page is the mission's own."""

    id: str
    what: str
    arguments: str
    why: str
    expires_at: float
    href: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """What nobody has decided yet, the newest first; ``more`` are not among these."""

    questions: tuple[Question, ...]
    more: int


def waiting(services: Services, *, run: str | None = None) -> Waiting:
    """Return what waits for a decision, of one *run* if given."""
    pending = services.missions.approvals.list(state="pending", run=run, limit=_COUNTED)
    shown = tuple(
        Question(
            id=each.id,
            what=display(each.what),
            arguments=display(each.arguments),
            why=display(each.why),
            expires_at=each.expires_at,
            href=f"/missions/{each.run}" if run is None and is_mission(each.run) else "",
        )
        for each in pending[:_MOST]
    )
    return Waiting(shown, len(pending) - len(shown))


def is_mission(run: str) -> bool:
    """Return whether it is a mission that is called *run*."""
    return run.startswith("mission_")
