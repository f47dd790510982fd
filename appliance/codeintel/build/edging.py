"""From a solver that has learnt all it can to the rows of a graph."""

from collections.abc import Sequence
from typing import Final

import msgspec

from appliance.codeintel.build.places import Part, Places
from appliance.codeintel.build.rows import Rows
from appliance.codeintel.facts import Mentions, Reference
from appliance.codeintel.resolve.bindings import Named, Target
from appliance.codeintel.resolve.edges import Edge, Edges, Unresolved
from appliance.codeintel.resolve.mentions import Mentioned
from appliance.codeintel.resolve.solve import Solver
from appliance.codeintel.resolve.tested import files_named_for, named_for, words_of
from appliance.codeintel.resolve.typed_bindings import TypedBindings, bindings_of
from appliance.codeintel.resolve.uses import Use, Uses
from appliance.codeintel.store.flows import FlowStore
from appliance.errors import StoreCorrupt

_REFERENCES: Final = msgspec.msgpack.Decoder(tuple[Reference, ...])
_GUESSED: Final = 0.4  # a type known by its name alone
_NAMED: Final = 0.8  # how surely a test is for what it is named for


class Edging:
    """Writes the edges of one family of languages, file by file."""

    def __init__(self, rows: Rows, solver: Solver, parts: Sequence[Part], places: Places) -> None:
        self._rows = rows
        self._values = solver.values
        self._parts = parts
        self._places = places
        self._edges = Edges(solver)
        bindings = bindings_of(solver.values, places.defined)
        self._uses = Uses(solver, bindings)
        told = any(part.flow.uses for part in parts) and not isinstance(bindings, TypedBindings)
        self._mentioned = None if told else Mentioned(solver.values, bindings)
        self._files = files_named_for([part.path for part in parts], [part.test for part in parts])
        self._seen: set[tuple[int, int]] = set()  # of the file at hand: target and line
        self._called: set[tuple[int, str]] = set()  # of it too: line, and the name of a function that is called there
        self._tested: set[tuple[int, int]] = set()
        self._subjects: dict[tuple[str, ...], int] = {}  # what it imports, by the words of its name

    def write(self, flows: FlowStore) -> None:
        """Write the edges of every file; *flows* say what each mentions. Raise `StoreCorrupt` where they do not."""
        self._rows.begin()
        for file, part in enumerate(self._parts):
            self._seen.clear()
            self._called.clear()
            self._tested.clear()
            self._subjects.clear()
            mentions = flows.mentions(part.key)
            if mentions is None:
                raise StoreCorrupt("The facts of a listed file are missing.", remedy="Index the repository again.")
            for each in self._edges.of(file):
                self._call(each, test=self._places.tested[each.caller])
            for use in self._uses.of(file, mentions.imports):
                self._use(use, test=self._places.tested[use.source])
            if self._mentioned is not None:
                self._mention(file, mentions, self._mentioned)
            if part.test:
                self._named_for(file)
            self._rows.flush()
        self._rows.commit()

    def _call(self, edge: Edge | Unresolved, *, test: bool) -> None:
        source = self._places.of[edge.caller]
        if isinstance(edge, Unresolved):
            self._rows.unresolved(source, edge.name, edge.line)
        elif edge.target is None:
            self._rows.outside(source, edge.external, edge.line, kind=edge.kind)
        elif (target := self._places.target(edge.target)) is not None:
            self._seen.add((target, edge.line))
            self._called.add((edge.line, self._values.scope(edge.target).name))
            self._rows.edge(target, source, edge.line, kind=edge.kind, how=edge.how, confidence=edge.confidence)
            if test and edge.how != "candidate" and not self._places.in_test(edge.target):
                self._test(target, source, edge.line, edge.how, edge.confidence)

    def _use(self, use: Use, *, test: bool) -> None:
        source = self._places.of[use.source]
        if use.target is None:
            self._rows.outside(source, use.external, use.line, kind=use.kind)
            return
        target = self._places.target(use.target)
        if target is None or target == source or (use.kind == "references" and self._is_told(use, target)):
            return
        self._seen.add((target, use.line))
        self._rows.edge(target, source, use.line, kind=use.kind, how=use.how, confidence=use.confidence)
        if test and use.kind == "imports" and not self._places.in_test(use.target):
            self._subjects.setdefault(words_of(self._name(use.target)), target)

    def _is_told(self, use: Use, target: int) -> bool:
        """Return whether an edge says already what is used here: of several functions of one name the one that is called."""
        if (target, use.line) in self._seen:
            return True
        scope = self._values.scope(use.target) if isinstance(use.target, int) else None
        return scope is not None and scope.kind == "function" and (use.line, scope.name) in self._called

    def _mention(self, file: int, mentions: Mentions, mentioned: Mentioned) -> None:
        """Write what *file* *mentions*, where its flow does not say which names are read."""
        part = self._parts[file]
        for reference, meant, guessed in mentioned.of(file, mentions.imports, _REFERENCES.decode(mentions.references)):
            target = self._places.target(meant)
            source = part.first_symbol + reference.enclosing if reference.enclosing >= 0 else -1 - part.number
            if target is not None and target != source and (target, reference.line) not in self._seen:
                self._seen.add((target, reference.line))
                how, sure = ("candidate", _GUESSED) if guessed else ("name", 1.0)
                self._rows.edge(target, source, reference.line, kind="references", how=how, confidence=sure)

    def _named_for(self, file: int) -> None:
        """Write what the tests of *file*, and the file itself, are named for."""
        part, first = self._parts[file], self._values.first_scope[file]
        if (subject := self._files.get(file)) is not None:
            self._test(-1 - self._parts[subject].number, -1 - part.number, 1, "name", _NAMED)
        for number, scope in enumerate(part.flow.scopes, start=first):
            if self._places.own[number] and scope.kind in {"function", "class"}:
                target = named_for(scope.name, self._subjects)
                if target is not None:
                    self._test(target, self._places.of[number], scope.line, "name", _NAMED)

    def _test(self, target: int, source: int, line: int, how: str, confidence: float) -> None:
        """Write that the test *source* is one of *target*, once for both."""
        if (target, source) not in self._tested:
            self._tested.add((target, source))
            self._rows.edge(target, source, line, kind="tests", how=how, confidence=confidence)

    def _name(self, target: Target) -> str:
        if isinstance(target, int):
            return self._values.scope(target).name
        return target.name if isinstance(target, Named) else ""
