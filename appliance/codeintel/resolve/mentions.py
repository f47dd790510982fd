"""What the names mean that a file mentions, where its flow may not say that they are read: types, mostly."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from appliance.codeintel.facts import Import, Reference
from appliance.codeintel.resolve.bindings import Bindings, Target
from appliance.codeintel.resolve.evaluate import Evaluator
from appliance.codeintel.resolve.values import Class, External, Function, Module, Package, Value

_MOST_SEGMENTS: Final = 8


class Mentioned:
    """Looks up what files mention: through their imports, their own units, and types that the names are read of."""

    def __init__(self, values: Evaluator, bindings: Bindings) -> None:
        self._values = values
        self._bindings = bindings
        self._types: dict[str, list[int]] = defaultdict(list)  # by name, for what nothing else is known of
        for number in range(len(values.scope_file)):
            scope = values.scope(number)
            if scope.kind == "class" and scope.name.isidentifier() and "extends" not in scope.marks:
                self._types[scope.name].append(number)

    def of(
        self, file: int, imports: Sequence[Import], references: Sequence[Reference]
    ) -> Iterator[tuple[Reference, Target, bool]]:
        """Yield each mention that is no call, what it means, and whether that is only guessed from its name."""
        local = {name: (each.module, member) for each in imports for name, member in _names(each)}
        known: dict[tuple[str, str], tuple[tuple[Target, ...], bool]] = {}
        for reference in references:
            if reference.kind == "call":
                continue
            key = (reference.receiver, reference.name)
            if key not in known:
                known[key] = self._meant(file, [*key[0].split(".")[:_MOST_SEGMENTS], key[1]] if key[0] else [key[1]], local)
            targets, guessed = known[key]
            for target in targets:
                yield reference, target, guessed

    def _meant(self, file: int, parts: Sequence[str], local: dict[str, tuple[str, str]]) -> tuple[tuple[Target, ...], bool]:
        head, *rest = parts
        values = self._head(file, head, local)
        for place, name in enumerate(rest):
            if place == len(rest) - 1 and (found := self._member(values, name)):
                return found, False
            values = {each for value in values for each in self._values.attribute(value, name)}
        found = self._called(values, parts[-1]) or (() if rest or head in local else self._own(file, head))
        if found or any(isinstance(each, External) for each in values) or head in local:
            return found, False
        alone = self._types.get(parts[-1], ())
        return (tuple(alone) if len(alone) == 1 else ()), True

    def _head(self, file: int, head: str, local: dict[str, tuple[str, str]]) -> set[Value]:
        if head not in local:
            found = self._values.name(self._values.first_scope[file], head)
            return {each for each in found if not _builtin(each, self._values.words.builtins)}
        module, member = local[head]
        source = self._values.modules.find(module, importer=file)
        return set(self._values.attribute(source, member)) if member else {source}

    def _member(self, values: set[Value], name: str) -> tuple[Target, ...]:
        found: dict[Target, None] = {}
        for value in values:
            if isinstance(value, Package):
                found.update(dict.fromkeys(self._bindings.within(value, name)))
            elif isinstance(value, Class | Module):
                found.update(dict.fromkeys(self._bindings.member((value,), name)))
        return tuple(found)

    def _own(self, file: int, name: str) -> tuple[Target, ...]:
        return self._bindings.named(self._values.first_scope[file], name)

    def _called(self, values: set[Value], name: str) -> tuple[Target, ...]:
        found = (each.scope for each in values if isinstance(each, Class | Function))
        return tuple(dict.fromkeys(scope for scope in found if self._values.scope(scope).name == name))


def _names(each: Import) -> Iterator[tuple[str, str]]:
    """Yield what an import is called in its file, and which member of its module that is, "" for the module."""
    if each.names:
        yield from ((each.alias or name, name) for name in each.names if name != "*")
    else:
        yield each.alias or each.module.replace("::", "/").replace(".", "/").rpartition("/")[2], ""


def _builtin(value: Value, builtins: str) -> bool:
    """Return whether *value* is outside only because nothing around binds its name."""
    return isinstance(value, External) and value.path.startswith(f"{builtins}.")
