"""One pass over one blob: everything that the index ever needs to know of it."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from tree_sitter import Node

from appliance.codeintel.facts import BlobFacts, BlobTask, Chunk, Encoding, Symbol
from appliance.codeintel.parse.added import BUILT_IN, AddedLanguage, Languages
from appliance.codeintel.parse.added_grammar import NOTHING_TOLD, Told, added_grammar
from appliance.codeintel.parse.chunks import CODE, TEXT, Piece, Span, cut
from appliance.codeintel.parse.decode import decode
from appliance.codeintel.parse.grammars import LANGUAGES, Captures, grammar
from appliance.codeintel.parse.headings import headings
from appliance.codeintel.parse.imports import imports
from appliance.codeintel.parse.languages import LOOKED_AT, MARKDOWN, language_of
from appliance.codeintel.parse.references import references
from appliance.codeintel.parse.symbols import Scope, SymbolFinder
from appliance.codeintel.parse.text import SourceText
from appliance.codeintel.parse.torn import torn_percent
from appliance.codeintel.parse.words import Words
from appliance.errors import InvalidInput, MalformedContent

_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".h++", ".cuh")
_HEAD = 400  # lines in which imports count as the head of the file


def facts(task: BlobTask, languages: Languages = BUILT_IN) -> BlobFacts:
    """Return everything that *task*'s content says, with its syntax if the language is built in or one of *languages*."""
    decoded = decode(task.content)
    text = SourceText(decoded.text)
    language = language_of(task.path, text.source[:LOOKED_AT], added=languages.names)
    added = languages.added.get(language)
    if added is None and language not in LANGUAGES:
        return _by_lines(task, text, decoded.encoding, language)
    try:
        root, captures, told = _read(language, added, text.source)
    except MalformedContent:
        return _by_lines(task, text, decoded.encoding, language, problem="parse-nest")
    except InvalidInput:
        return _by_lines(task, text, decoded.encoding, language, problem="parse-grammar")
    found = SymbolFinder(language, text, header=task.path.lower().endswith(_HEADERS), told=told).find(captures)
    spans = [Span(scope.first, scope.last, scope.above, scope.parent) for scope in found.scopes]
    pieces, words = cut(text.lines, spans, head=_head(captures, found.scopes), shape=CODE), Words()
    return BlobFacts(
        language=language,
        encoding=decoded.encoding,
        lines=len(text.lines),
        symbols=tuple(found.symbols),
        references=tuple(references(language, captures, text, found.scopes)),
        imports=tuple(imports(language, captures, text)),
        chunks=_chunks(pieces, text, found.symbols, owners=[scope.symbol for scope in found.scopes], words=words),
        secrets=task.secrets,
        torn=torn_percent(root),
        words=words.table(),
        texts=words.texts(),
        names=words.names(),
    )


def _read(language: str, added: AddedLanguage | None, source: bytes) -> tuple[Node, Captures, Mapping[int, Told]]:
    """Return the root of the tree of *source*, what is captured in it, and what is told of that."""
    if added is None:
        known = grammar(language)
        root = known.root(source)
        return root, known.captures(root), NOTHING_TOLD
    loaded = added_grammar(added)
    root = loaded.root(source)
    return root, *loaded.captures(root)


def facts_by_lines(task: BlobTask, languages: Languages = BUILT_IN, *, problem: str) -> BlobFacts:
    """Return what can be said of *task*'s content without its syntax; *problem* says why that was not used."""
    decoded = decode(task.content)
    text = SourceText(decoded.text)
    language = language_of(task.path, text.source[:LOOKED_AT], added=languages.names)
    return _by_lines(task, text, decoded.encoding, language, problem=problem)


def _by_lines(task: BlobTask, text: SourceText, encoding: Encoding, language: str, *, problem: str = "") -> BlobFacts:
    symbols = headings(text.lines) if language == MARKDOWN else []
    spans = [Span(each.start_line, each.end_line, each.start_line, each.parent) for each in symbols]
    pieces, words = cut(text.lines, spans, head=0, shape=TEXT), Words()
    return BlobFacts(
        language=language,
        encoding=encoding,
        lines=len(text.lines),
        symbols=tuple(symbols),
        chunks=_chunks(pieces, text, symbols, owners=range(len(symbols)), words=words),
        problem=problem,
        secrets=task.secrets,
        words=words.table(),
        texts=words.texts(),
        names=words.names(),
    )


def _chunks(
    pieces: Sequence[Piece], text: SourceText, symbols: Sequence[Symbol], *, owners: Sequence[int], words: Words
) -> tuple[Chunk, ...]:
    heads, chunks = [symbol.start_line for symbol in symbols], list[Chunk]()
    for first, last, span in pieces:
        defines = tuple(range(bisect_left(heads, first), bisect_right(heads, last)))
        holder = owners[span] if span >= 0 else -1
        chunks.append(Chunk(start_line=first, end_line=last, symbol=holder, defines=defines))
        named = (*defines, holder) if holder >= 0 else defines
        words.add(text.between(first, last), " ".join([symbols[each].qualname for each in named]))
    return tuple(chunks)


def _head(captures: Captures, scopes: Sequence[Scope]) -> int:
    """Return the last line of the imports that stand before the first definition, 0 if there are none."""
    border = scopes[0].start if scopes else float("inf")
    nodes = (node for name in ("import", "import.require") for node in captures.get(name, ()))
    rows = (node.end_point.row + 1 for node in nodes if node.start_byte < border)
    return max((row for row in rows if row <= _HEAD), default=0)
