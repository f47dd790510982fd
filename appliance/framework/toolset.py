"""Which tools an agent may use: a set of names that exist, with the algebra of sets.

It becomes the grants of a run, and the tool service refuses whatever is not in them: what a model is told has no say in it.
"""

import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Final

from appliance.base.paths import display
from appliance.contracts.tools import Effect, ToolSpec
from appliance.errors import InvalidInput

Catalogue = Mapping[str, ToolSpec]

_MINIMAL: Final = ("search", "read")
_HISTORY: Final = "git"
_RESEARCH: Final = ("search", "read", "graph", _HISTORY)
_SHOWN: Final = 60  # characters of a name that is none


@cache
def built_in() -> Catalogue:
    """Return the tools that are there without a plugin, by name."""
    # What reads code loads half the appliance: it waits until somebody asks for a tool.
    module = importlib.import_module("appliance.orchestrator.tools.catalogue")
    specs: Catalogue = {spec.name: spec for spec in module.builtin_specs()}
    return specs


@dataclass(frozen=True, slots=True)
class ToolSet:
    """An immutable set of tools by *names*, each of *catalogue*; raise `InvalidInput` for one that is not there.

    Without a catalogue it is of the tools that are built in; `Agent.catalogue` has those of plugins too. Every method
    returns another set, and two sets are equal when their names are.
    """

    names: frozenset[str]
    catalogue: Catalogue = field(default_factory=built_in, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in sorted(self.names - self.catalogue.keys()):
            raise _unknown("tool", name, self.catalogue)

    @classmethod
    def default(cls, *, catalogue: Catalogue | None = None) -> "ToolSet":
        """Return every tool that only reads, but for those of history: a small model chooses better among fewer."""
        reads = cls._with(catalogue, "read")
        return cls(frozenset(name for name in reads.names if reads.catalogue[name].category != _HISTORY), reads.catalogue)

    @classmethod
    def minimal(cls, *, catalogue: Catalogue | None = None) -> "ToolSet":
        """Return what finds code and shows it."""
        return cls.from_categories(_MINIMAL, catalogue=catalogue)

    @classmethod
    def full(cls, *, catalogue: Catalogue | None = None) -> "ToolSet":
        """Return every tool, also those that run code in the sandbox or write in a scratch worktree."""
        return cls._with(catalogue, "read", "run", "write")

    @classmethod
    def airgapped(cls, *, catalogue: Catalogue | None = None) -> "ToolSet":
        """Return every tool but those of plugins; none of these needs a network."""
        whole = built_in() if catalogue is None else catalogue
        return cls(frozenset(whole.keys() & built_in().keys()), whole)

    @classmethod
    def coding(cls, *, catalogue: Catalogue | None = None) -> "ToolSet":
        """Return what finds code, edits a scratch worktree, and runs tests in the sandbox."""
        return cls.minimal(catalogue=catalogue) | cls._with(catalogue, "run", "write")

    @classmethod
    def research(cls, *, catalogue: Catalogue | None = None) -> "ToolSet":
        """Return what finds code, follows its graph and reads its history."""
        return cls.from_categories(_RESEARCH, catalogue=catalogue)

    @classmethod
    def from_categories(cls, categories: Iterable[str], *, catalogue: Catalogue | None = None) -> "ToolSet":
        """Return the tools of *categories*; raise `InvalidInput` for one that no tool has."""
        whole = built_in() if catalogue is None else catalogue
        return cls(frozenset().union(*(_of_category(name, whole) for name in sorted(_several(categories)))), whole)

    @classmethod
    def from_tools(cls, names: Iterable[str], *, catalogue: Catalogue | None = None) -> "ToolSet":
        """Return the tools of these *names*; raise `InvalidInput` for one that does not exist."""
        return cls(_several(names), built_in() if catalogue is None else catalogue)

    @property
    def effects(self) -> frozenset[Effect]:
        """What its tools may do."""
        return frozenset(self.catalogue[name].effect for name in self.names)

    def include(self, *names: str) -> "ToolSet":
        """Return this set with *names*; raise `InvalidInput` for one that does not exist."""
        return ToolSet(self.names | _several(names), self.catalogue)

    def include_category(self, category: str) -> "ToolSet":
        """Return this set with the tools of *category*; raise `InvalidInput` if no tool has it."""
        return ToolSet(self.names | _of_category(category, self.catalogue), self.catalogue)

    def exclude_tools(self, *names: str) -> "ToolSet":
        """Return this set without *names*; raise `InvalidInput` for one that does not exist at all."""
        return self - ToolSet(_several(names), self.catalogue)

    def over(self, catalogue: Catalogue) -> "ToolSet":
        """Return the same names as a set over *catalogue*; raise `InvalidInput` for one that it has not."""
        return ToolSet(self.names, catalogue)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.names))

    def __len__(self) -> int:
        return len(self.names)

    def __or__(self, other: "ToolSet") -> "ToolSet":
        return ToolSet(self.names | other.names, {**other.catalogue, **self.catalogue})

    def __and__(self, other: "ToolSet") -> "ToolSet":
        return ToolSet(self.names & other.names, self.catalogue)

    def __sub__(self, other: "ToolSet") -> "ToolSet":
        return ToolSet(self.names - other.names, self.catalogue)

    def __le__(self, other: "ToolSet") -> bool:
        return self.names <= other.names

    @classmethod
    def _with(cls, catalogue: Catalogue | None, *effects: Effect) -> "ToolSet":
        whole = built_in() if catalogue is None else catalogue
        return cls(frozenset(name for name, spec in whole.items() if spec.effect in effects), whole)


def _several(names: Iterable[str]) -> frozenset[str]:
    if isinstance(names, str):
        raise InvalidInput(f"{display(names)[:_SHOWN]!r} is one text, not several names.", remedy="Put it into a list.")
    if not isinstance(names, Iterable):
        raise InvalidInput(f"{display(repr(names))[:_SHOWN]} is no list of names.", remedy="Pass a list of texts.")
    found = [*names]
    if strange := [each for each in found if not isinstance(each, str)]:
        raise InvalidInput(f"{display(repr(strange[0]))[:_SHOWN]} is no name.", remedy="Names are texts.")
    return frozenset(found)


def _of_category(category: str, catalogue: Catalogue) -> frozenset[str]:
    found = frozenset(name for name, spec in catalogue.items() if spec.category == category)
    if not found:
        raise _unknown("category of tools", category, {spec.category for spec in catalogue.values()})
    return found


def _unknown(what: str, name: object, known: Iterable[str]) -> InvalidInput:
    there = sorted(known)
    near = get_close_matches(str(name), there, n=3, cutoff=0.5) or there
    said = display(str(name))[:_SHOWN]
    return InvalidInput(f"There is no {what} {said!r}.", remedy=f"Take one of: {', '.join(near)}.")
