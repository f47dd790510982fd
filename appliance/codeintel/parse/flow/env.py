"""What each variable of one scope holds at the point that the walk has reached."""

from collections.abc import Iterable

from appliance.codeintel.flow import UNKNOWN
from appliance.codeintel.parse.flow.builder import Builder


class Env:
    """Layers of names and of paths such as ``self.x``: one for the scope, and one more for each branch and loop inside.

    A path's meaning ends where its root is bound anew or handed to a call; what it means then is for others to say.
    """

    def __init__(self, builder: Builder, outer: "Env | None" = None, *, loop: bool = False) -> None:
        self._builder = builder
        self.outer = outer
        self._loop = loop
        self._held: dict[str, int] = {}
        self._carried: dict[str, int] = {}
        self.dead = False  # no way leads on from here
        self.paths: dict[str, dict[str, int]] = outer.paths if outer else {}  # by root, with what each means by itself

    def get(self, name: str) -> int | None:
        """Return what *name* holds, or None if that is not known here."""
        held = self._held.get(name)
        if held is not None:
            return held or None
        if self.outer is None:
            return None
        before = self.outer.get(name)
        if before is not None and self._loop:
            carried = self._builder.loose()
            self._builder.tie(carried, (before,))
            self._carried[name] = self._held[name] = carried
            return carried
        return before

    def set(self, name: str, term: int) -> None:
        """Let *name* hold *term* from here on; what was known below it ends."""
        self.forget_below(name)
        self._held[name] = term

    def set_path(self, path: str, term: int, *, plain: int) -> None:
        """Let *path*, longer than a name, hold *term* from here on; by itself it means *plain*."""
        self.forget_below(path)
        self.paths.setdefault(_root(path), {})[path] = plain
        self._held[path] = term

    def forget_below(self, path: str) -> None:
        """Forget what is known of paths that go through *path*."""
        known = self.paths.get(_root(path))
        if known:
            for longer in known:
                if longer.startswith(path) and longer[len(path) : len(path) + 1] in {".", "["}:
                    self._held[longer] = UNKNOWN

    def branch(self) -> "Env":
        """Return an environment for code that may or may not run from here."""
        return Env(self._builder, self)

    def loop(self) -> "Env":
        """Return an environment for code that may run many times from here."""
        return Env(self._builder, self, loop=True)

    def merge(self, branches: Iterable["Env"], *, or_none: bool = False) -> None:
        """Go on after *branches* of this environment, one of which has run, or none of them with *or_none*."""
        alive = [each for each in branches if not each.dead]
        for each in alive:
            each.close()
        self.dead = self.dead or not (alive or or_none)
        changed = {name for each in alive for name in each._held}  # noqa: SLF001 - of its own kind
        for name in sorted(changed):
            before = self.get(name)
            terms = [each._held.get(name, before) for each in alive] + [before] * or_none  # noqa: SLF001
            if any(term == UNKNOWN for term in terms):
                self._held[name] = UNKNOWN
            else:
                known = [self._plain(name) if term is None else term for term in terms]
                self._held[name] = self._builder.join(known)

    def take_some(self, other: "Env") -> None:
        """Let everything be what it is here or what it is in *other*, which may have ended anywhere."""
        for name, term in other._held.items():  # noqa: SLF001 - of its own kind
            before = self.get(name)
            self._held[name] = self._builder.join((before or self._plain(name), term)) if term else UNKNOWN

    def _plain(self, path: str) -> int:
        return self.paths.get(_root(path), {}).get(path, UNKNOWN)

    def close(self) -> None:
        """At the end of a loop, let what is read at its start be what was written at its end."""
        for name, carried in self._carried.items():
            end = self._held[name]
            before = self.outer.get(name) if self.outer else None
            if end == carried:
                self._held[name] = before or UNKNOWN
            self._builder.tie(carried, (before or UNKNOWN, end))
        self._carried.clear()

    def names(self) -> dict[str, int]:
        """Return what every name holds now; paths are no names."""
        return {name: term for name, term in self._held.items() if term and "." not in name and "[" not in name}


def _root(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]
