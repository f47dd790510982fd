"""Which files git changed together with those that a definition stands in."""

from collections.abc import Sequence
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.query.asking import Asked
from appliance.codeintel.query.draft import Found
from appliance.codeintel.results import Companion
from appliance.errors import ApplianceError, InvalidInput

_MOST_COMMITS: Final = 100
_MOST_FILES: Final = 3  # that are asked about
_MOST: Final = 10
_LEAST: Final = 2  # times; once is chance


def companions(asked: Asked, found: Sequence[Found]) -> tuple[tuple[Companion, ...], list[str]]:
    """Return the files that changed most often with those of *found*, and a warning for each of which git does not tell.

    A plain folder has no history: nothing changed together.
    """
    companions: dict[str, Companion] = {}
    warnings = []
    files = dict.fromkeys((item.code, item.row.path) for item in found)
    for code, path in list(files)[:_MOST_FILES]:
        info = code.generation.info
        try:
            seen = asked.texts.source(info.repo).together(commit=info.commit, path=path, most=_MOST_COMMITS)
        except InvalidInput:
            continue
        except (ApplianceError, OSError) as exc:
            warnings.append(f"What changed together with {display(path)} cannot be told: {exc}")
            continue
        for other, times in seen.files.items():
            known = companions.get(other)
            if (
                times >= _LEAST
                and code.generation.files.number(other) is not None
                and (known is None or known.times < times)
            ):
                companions[other] = Companion(other, times, seen.commits)
    best = sorted(companions.values(), key=lambda each: (-each.times / each.commits, -each.times, each.path))
    return tuple(best[:_MOST]), warnings
