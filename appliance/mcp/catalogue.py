"""The tools: their names, what models are told of them, what they take and what they give back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from appliance.base.paths import display
from appliance.errors import NotFound
from appliance.mcp import arguments, results
from appliance.mcp.arguments import Arguments
from appliance.mcp.results import Answered

INSTRUCTIONS: Final = (
    "Skellig knows the code of this site's repositories. Begin with search_code or ask; read what they name with read_lines."
    " Who calls what is in callers, callees and impact. Answers speak of the indexed commit: `behind` says how many commits"
    " are newer. Where `complete` is false, do not conclude that something does not exist: `warnings` says what was not"
    " looked at. Where `truncated` is true, go on with `next_cursor` or narrow the question."
)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    title: str
    description: str
    arguments: type[Arguments]
    result: type[Answered]


TOOLS: Final[Mapping[str, Tool]] = {
    "search_code": Tool(
        "Search code",
        "Find code by words, by names, by what it does, or every line that has some text. Use this first, when you do not"
        " know where something is. Each result has its path and lines.",
        arguments.SearchCode,
        results.Hits,
    ),
    "read_lines": Tool(
        "Read lines of a file",
        "Read a file, or some lines of it, exactly as indexed. Use it with a path that another tool gave you.",
        arguments.ReadLines,
        results.FileLines,
    ),
    "definition": Tool(
        "Where it is defined",
        "Find where a function, method, class or constant is defined, with its signature and first lines. Use it when you"
        " know a name.",
        arguments.Named,
        results.Definitions,
    ),
    "references": Tool(
        "Where it is used",
        "List every use of a definition: calls, imports, subclasses, overrides and others.",
        arguments.Named,
        results.References,
    ),
    "callers": Tool(
        "Who calls it",
        "List every call of a function, method or class. Better than a search: it follows imports, types and aliases."
        " How sure each call is, is said with it.",
        arguments.Named,
        results.Calls,
    ),
    "callees": Tool(
        "What it calls",
        "List the calls that stand inside a function, method or class, those that leave the repository last.",
        arguments.Named,
        results.Calls,
    ),
    "impact": Tool(
        "What a change of it reaches",
        "List what may break if a function, method or class is changed: its callers, their callers and so on, and the tests"
        " among them.",
        arguments.Impact,
        results.Reach,
    ),
    "outline": Tool(
        "What a file defines",
        "List the classes, functions and methods of one file with their lines. Use it before you read a long file.",
        arguments.Outline,
        results.FileOutline,
    ),
    "repomap": Tool(
        "Map of the code",
        "Get the files and definitions that most of the code leans on, to find your way in code that you do not know; with"
        " focus, those around some names or folders.",
        arguments.Repomap,
        results.Map,
    ),
    "ask": Tool(
        "Ask about the code",
        "Give a question in plain words; get the lines of code that answer it, and exact answers to questions such as"
        " `where is X defined`. Use search_code instead when you have a name or know the words.",
        arguments.Ask,
        results.Answer,
    ),
}
"""In the order in which clients list them."""


def known(name: str) -> Tool:
    """Return the tool called *name*; raise `NotFound`."""
    if name not in TOOLS:
        raise NotFound(f"There is no tool {display(name[:100])!r}.", remedy=f"There are {', '.join(TOOLS)}.")
    return TOOLS[name]


def input_schema(tool: Tool) -> dict[str, object]:
    """Return the JSON schema of what *tool* takes, what it needs first: models read the beginning best."""
    schema = _lean(tool.arguments.model_json_schema())
    properties, needed = schema["properties"], schema.get("required", [])
    if isinstance(properties, dict) and isinstance(needed, list):
        schema["properties"] = dict(sorted(properties.items(), key=lambda item: item[0] not in needed))
    return schema


def output_schema(tool: Tool) -> dict[str, object]:
    """Return the JSON schema of what *tool* gives back."""
    return _lean(tool.result.model_json_schema())


def _lean(schema: Mapping[str, object]) -> dict[str, object]:
    """Return *schema* without titles and class descriptions, which repeat names that stand there already."""
    kept: dict[str, object] = {}
    for name, value in schema.items():
        if name == "title" and isinstance(value, str):
            continue
        if name == "description" and "properties" in schema:
            continue
        kept[name] = _lean(value) if isinstance(value, dict) else value
    return kept
