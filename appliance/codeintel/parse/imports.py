"""Imports, read from the text of the statements that the query finds: what is imported, from where, under which name."""

import re
from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

from appliance.codeintel.facts import Import
from appliance.codeintel.parse.grammars import Captures
from appliance.codeintel.parse.text import SourceText

_LONGEST = 8000  # characters of one statement that are read
_LONGEST_REQUIRE = 400  # most calls that could be one are none
_MOST = 500  # names of one statement
_Read = Callable[[str, int], Iterator[Import]]
_QUOTED = re.compile(r"""["'`<]([^"'`<>\n]{1,300})["'`>]""")
_REQUIRE = re.compile(r"""(?:^|[=\s])require(?:_relative)?\s*\(?\s*["'`]([^"'`\n]{1,300})["'`]""")
_REQUIRED_AS = re.compile(r"^\s*(?:local\s+)?(\w+)\s*=")
_REQUIRED_NAMES = re.compile(r"^\s*\{([^{}]*)\}\s*=")
_REQUIRED_BY_NAME = re.compile(r"^import\s+(?:type\s+)?(\w+)\s*=\s*require\b")  # TypeScript's own
_BLANKS = re.compile(r"\s+")
_COMMENT = re.compile(r"#[^\n]*|//[^\n]*")


def imports(language: str, captures: Captures, text: SourceText) -> list[Import]:
    """Return the imports among *captures* in the order of the source."""
    nodes = [(node, _READERS.get(language, _quoted)) for node in captures.get("import", ())]
    nodes += [(node, _required) for node in captures.get("import.require", ())]
    nodes.sort(key=lambda item: (item[0].start_byte, -item[0].end_byte))
    found: list[Import] = []
    done = -1
    for node, reader in nodes:
        if node.end_byte > done:  # a call inside a declaration that was read
            done = node.end_byte
            found += _read(node, reader, text)
    return found


def _read(node: Node, reader: _Read, text: SourceText) -> Iterator[Import]:
    longest = _LONGEST_REQUIRE if reader is _required else _LONGEST
    statement = text.cut(node.start_byte, min(node.end_byte, node.start_byte + longest))
    return reader(statement, node.start_point.row + 1)


def _items(listed: str, *, renamed: str = " as ") -> Iterator[tuple[str, str]]:
    """Yield each name of a comma-separated list and its alias."""
    for item in listed.split(",")[:_MOST]:
        name, _, alias = _BLANKS.sub(" ", item).strip().partition(renamed)
        if name.strip():
            yield name.strip(), alias.strip()


def _named(module: str, line: int, pairs: Sequence[tuple[str, str]]) -> Iterator[Import]:
    """Yield one import for the names that keep theirs, and one for each that is renamed."""
    plain = tuple(name for name, alias in pairs if not alias)
    if plain:
        yield Import(module, line, plain)
    yield from (Import(module, line, (name,), alias) for name, alias in pairs if alias)


def _python(statement: str, line: int) -> Iterator[Import]:
    statement = _BLANKS.sub(" ", _COMMENT.sub("", statement))
    if statement.startswith("from"):
        module, _, names = statement.removeprefix("from").partition(" import")
        yield from _named(module.strip(), line, list(_items(names.strip(" ()"))))
    else:
        for module, alias in _items(statement.removeprefix("import")):
            yield Import(module, line, (), alias)


def _javascript(statement: str, line: int) -> Iterator[Import]:
    match = _QUOTED.search(statement, max(0, statement.rfind("from")))
    if match is None:
        return
    module = match[1]
    if required := _REQUIRED_BY_NAME.match(statement):
        yield Import(module, line, (), required[1])
        return
    clause = _BLANKS.sub(" ", statement[: match.start()])
    clause = re.sub(r"^(?:import|export)\s*(?:type\s+)?|\s*from\s*$", "", clause).strip()
    braces = re.search(r"\{([^{}]*)\}", clause)
    outside = clause[: braces.start()] if braces else clause
    found = False
    for part in outside.split(","):
        name, _, alias = part.strip().partition("* as ")
        if alias or (name and name != "*"):
            found = True
            yield Import(module, line, () if alias else ("default",), (alias or name).strip())
    if braces:
        yield from _named(module, line, [(name.removeprefix("type "), alias) for name, alias in _items(braces[1])])
    elif not found:
        yield Import(module, line, ("*",) if "*" in outside else ())


def _required(statement: str, line: int) -> Iterator[Import]:
    match = _REQUIRE.search(statement)
    if match is None:
        return
    names = _REQUIRED_NAMES.match(statement)
    alias = _REQUIRED_AS.match(statement)
    if names:
        yield from _named(match[1], line, list(_items(names[1], renamed=":")))
    else:
        yield Import(match[1], line, (), alias[1] if alias else "")


def _go(statement: str, line: int) -> Iterator[Import]:
    if match := _QUOTED.search(statement):
        yield Import(match[1], line, (), statement[: match.start()].strip())


def _quoted(statement: str, line: int) -> Iterator[Import]:
    if match := _QUOTED.search(statement):
        yield Import(match[1], line)


def _cpp(statement: str, line: int) -> Iterator[Import]:
    if not statement.startswith("using"):
        yield from _quoted(statement, line)
        return
    words = statement.rstrip("; ").split()
    module, _, name = words[-1].rpartition("::")
    if "namespace" in words:
        yield Import(words[-1], line, ("*",))
    elif module:
        yield Import(module, line, (name,))


def _rust(statement: str, line: int) -> Iterator[Import]:
    """Unfold ``use a::{b, c::{d as e}}`` with a stack of what stands before each brace."""
    if match := re.search(r"\b(?:mod|extern\s+crate)\s+(\w+)", statement):
        yield Import(match[1], line)
        return
    path = _BLANKS.sub(" ", re.sub(r"^.*?\buse\s+", "", statement, count=1, flags=re.DOTALL)).rstrip("; ")
    before, stack, word = "", [], ""
    for char in f"{path},"[:_LONGEST]:
        if char == "{":
            stack.append(before)
            before, word = before + word.strip(), ""
        elif char in ",}":
            name, _, alias = word.strip().partition(" as ")
            if name:
                module, _, last = (before + name).rpartition("::")
                yield Import(module or last, line, (last,) if module else (), alias)
            word = ""
            if char == "}" and stack:
                before = stack.pop()
        else:
            word += char


def _dotted(statement: str, line: int) -> Iterator[Import]:
    """Java, Kotlin, Swift: the last part of the path is the name."""
    words = statement.rstrip("; \n").split()
    alias = words[words.index("as") + 1] if "as" in words[:-1] else ""
    path = words[words.index("as") - 1] if alias else words[-1]
    module, _, name = path.rpartition(".")
    yield Import(module or name, line, (name,) if module else (), alias)


def _csharp(statement: str, line: int) -> Iterator[Import]:
    words = _BLANKS.sub(" ", statement).rstrip("; ").removeprefix("global ").removeprefix("using ").removeprefix("static ")
    alias, equals, module = words.partition("=")
    yield Import(module.strip() if equals else words.strip(), line, (), alias.strip() if equals else "")


def _php(statement: str, line: int) -> Iterator[Import]:
    if not statement.startswith("use"):
        yield from _quoted(statement, line)
        return
    clause = re.sub(r"^use\s+(?:function\s+|const\s+)?", "", _BLANKS.sub(" ", statement)).rstrip("; ")
    group = re.match(r"([^{},]*)\{([^{}]*)\}", clause)
    pairs = [(group[1] + name, alias) for name, alias in _items(group[2])] if group else _items(clause)
    for path, alias in pairs:
        module, _, name = path.strip("\\ ").rpartition("\\")
        yield Import(module or name, line, (name,) if module else (), alias)


def _scala(statement: str, line: int) -> Iterator[Import]:
    path = _BLANKS.sub(" ", statement.removeprefix("import")).strip()
    if braces := re.search(r"\.?\{([^{}]*)\}", path):
        pairs = _items(braces[1].replace(" as ", "=>"), renamed="=>")
        yield from _named(path[: braces.start()], line, list(pairs))
        return
    for each, alias in _items(path):
        module, _, name = each.rpartition(".")
        yield Import(module or name, line, (name,) if module else (), alias)


_READERS: dict[str, _Read] = {
    "python": _python, "javascript": _javascript, "typescript": _javascript, "tsx": _javascript, "go": _go, "rust": _rust,
    "java": _dotted, "kotlin": _dotted, "swift": _dotted, "csharp": _csharp, "php": _php, "scala": _scala, "cpp": _cpp,
}  # fmt: skip
