"""What tools take: schemas of which every part is bounded, and arguments read by their kind.

Schemas stand in every prompt, so descriptions are a few words, and only where the name does not say it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from appliance.contracts.chat import JsonSchema
from appliance.contracts.tools import Json
from appliance.errors import InvalidInput, UnsafePath

LONGEST_PATH: Final = 1_000
LONGEST_NAME: Final = 200
LONGEST_REPO: Final = 100
LAST_LINE: Final = 10_000_000

Property = Mapping[str, object]


def schema(required: Sequence[str] = (), **properties: Property) -> JsonSchema:
    """Return the schema of an object of *properties*, what it needs first."""
    ordered = dict(sorted(properties.items(), key=lambda item: item[0] not in required))
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": ordered, **needed, "additionalProperties": False}


def text(most: int, description: str = "") -> Property:
    """Return the schema of a text of at most *most* characters."""
    return {"type": "string", "maxLength": most} | ({"description": description} if description else {})


def number(least: int, most: int, description: str = "") -> Property:
    """Return the schema of a whole number."""
    return {"type": "integer", "minimum": least, "maximum": most} | ({"description": description} if description else {})


def words(most: int, longest: int, description: str = "") -> Property:
    """Return the schema of a list of texts."""
    items = {"type": "string", "maxLength": longest}
    return {"type": "array", "items": items, "maxItems": most} | ({"description": description} if description else {})


REPO: Final = text(LONGEST_REPO)
PATH: Final = text(LONGEST_PATH, "such as src/main.py")
OF_LINES: Final = schema(["path"], path=PATH, repo=REPO, start_line=number(0, LAST_LINE), end_line=number(0, LAST_LINE))
"""What tools take that are about lines of a file. Tools that take the same cost a model little more than one."""

NAME: Final = text(LONGEST_NAME, "such as Client.stream")


class Given:
    """The arguments of one call. They fit the schema already; what does not is refused here too."""

    def __init__(self, arguments: Mapping[str, Json]) -> None:
        self._arguments = arguments

    def has(self, name: str) -> bool:
        """Return whether there is an argument of that *name*."""
        return self._arguments.get(name) is not None

    def text(self, name: str, default: str = "") -> str:
        """Return a text; raise `InvalidInput` for anything else, and for one with a NUL or half a sign in it."""
        value = self._arguments.get(name)
        if value is None:
            return default
        if not isinstance(value, str) or not _is_text(value):
            raise InvalidInput(f"{name} is no text.", remedy="Give a text without NUL.")
        return value

    def needed(self, name: str) -> str:
        """Return a text that is not empty; raise `InvalidInput`."""
        if not (value := self.text(name)):
            raise InvalidInput(f"{name} is missing.", remedy="Give it.")
        return value

    def number(self, name: str, default: int) -> int:
        """Return a whole number; raise `InvalidInput` for anything else."""
        value = self._arguments.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidInput(f"{name} is no whole number.", remedy="Give one, such as 10.")
        return value

    def limit(self, default: int, *, most: int) -> int:
        """Return how many entries are wanted, 1 to *most*; raise as `number` does."""
        return min(max(1, self.number("limit", default)), most)

    def lines(self) -> tuple[int, int]:
        """Return the first line that is wanted, and the last, 0 for the end of the file; raise as `number` does."""
        return max(1, self.number("start_line", 1)), max(0, self.number("end_line", 0))

    def words(self, name: str) -> list[str]:
        """Return a list of texts; raise `InvalidInput` for anything else."""
        value = self._arguments.get(name)
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise InvalidInput(f"{name} is no list.", remedy="Give a list of texts.")
        found = [each for each in value if isinstance(each, str) and _is_text(each)]
        if not found or len(found) != len(value):
            raise InvalidInput(f"{name} is empty, or holds what is no text.", remedy="Give a list of texts without NUL.")
        return found

    def file(self) -> str:
        """Return the path of a file; raise `InvalidInput` where none was given, and as `path` does."""
        if not (path := self.path()):
            raise InvalidInput("path is missing.", remedy="Give the path of a file.")
        return path

    def path(self, name: str = "path") -> str:
        """Return the path of something in a repository, "" if none was given; raise `UnsafePath` for one that leaves it."""
        value = self._arguments.get(name)
        if value is None or value == "":
            return ""
        parts = value.split("/") if isinstance(value, str) else [""]
        if not isinstance(value, str) or not _is_text(value) or len(value) > LONGEST_PATH or {"", ".", ".."} & set(parts):
            raise UnsafePath(
                f"{name} is not the path of something in a repository.",
                remedy="Give it as other tools name it, relative to the repository and without `..`.",
            )
        return value


def _is_text(value: str) -> bool:
    """Return whether *value* can be looked for: JSON also says halves of signs. A path's odd bytes are none."""
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return "\0" not in value
