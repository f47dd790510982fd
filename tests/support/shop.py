"""A small real repository, indexed by the real pipeline: what tests of questions and answers ask about."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from appliance.codeintel.answer import Answerer
from appliance.codeintel.needs import ChatModel
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Answer, AnswerEvent, Scope
from tests.support.indexed import Indexed
from tests.support.repos import make_repo

STORE = '''"""Where models are kept, by digest."""

import hashlib


class DigestMismatch(Exception):
    """A file is not what the catalogue says."""


def digest_of(path):
    """Return the sha256 of the file at *path*."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class ModelStore:
    """Model files in one folder."""

    root = "models"

    def __init__(self, catalog):
        self.catalog = catalog

    def verify(self, name):
        """Compare the digest of the installed model with the one in the catalogue."""
        wanted = self.catalog[name].sha256
        found = digest_of(self.path(name))
        if found != wanted:
            raise DigestMismatch(name)
        return found

    def path(self, name):
        return f"{self.root}/{name}"
'''

POOL = '''"""Engines that are started, watched and restarted."""


class EnginePool:
    """Knows every engine by its role."""

    def __init__(self, starter):
        self.starter = starter
        self.engines = {}

    def restart(self, role):
        """Stop the engine of *role* if it runs, and start it again."""
        running = self.engines.pop(role, None)
        if running is not None:
            running.terminate()
        self.engines[role] = self.starter.start(role)

    def health(self, role):
        return "ready" if role in self.engines else "down"
'''

TEXT = '''"""Text on its way to a terminal."""


def verify(text):
    """Return *text* if it can be printed."""
    if not text.isprintable():
        raise ValueError(text)
    return text


def shorten(text, width=80):
    return text if len(text) <= width else text[: width - 1] + "…"
'''

SERVER = """package main

import "net/http"

// Server answers requests for pages.
type Server struct {
\tAddress string
}

// Serve listens until the process ends.
func (s *Server) Serve() error {
\treturn http.ListenAndServe(s.Address, nil)
}

func main() {
\t(&Server{Address: ":8080"}).Serve()
}
"""

TESTS = """from shop.store import ModelStore


def test_verify_compares_the_digest_of_the_model_with_the_catalogue():
    assert ModelStore({}).verify("a model's digest is verified here")
"""

FILES: Mapping[str, str] = {
    "README.md": "# Shop\n\nKeeps models and runs engines.\n",
    "cmd/server/main.go": SERVER,
    "shop/__init__.py": "",
    "shop/pool.py": POOL,
    "shop/store.py": STORE,
    "shop/util/text.py": TEXT,
    "tests/test_store.py": TESTS,
}


def function(name: str, lines: int, word: str) -> str:
    """Return a function of *lines* lines that are full of *word*."""
    return f"def {name}():\n" + "".join(f"    {word}_{n} = {n}\n" for n in range(lines - 1)) + "\n\n"


# What the rules for packs and lists are there for; each folder speaks of things of its own.
CORNERS: Mapping[str, str] = {
    **{f"many/m{n}.py": function(f"flush_{n}", 6, f"buffer{n}") for n in range(30)},
    **{f"copies/copy{n}/store.py": STORE for n in range(5)},
    "short/journal.py": function("first", 12, "alpha")
    + function("write_journal", 38, "step")
    + function("last", 12, "omega"),
    "long/ledger.py": function("sum_ledger", 400, "entry"),
    "wide/table.py": "table = [\n" + "".join(f'    "planet row {"x" * 90} {n}",\n' for n in range(60)) + "]\n",
    "same/tests/test_thing.py": "class Thing:\n    tested = 1\n",
    "same/thing.py": "class Thing:\n    pass\n",
    **{f"part{n:02}/lib.py": f"def same():\n    return {n}\n" for n in range(17)},
    "lib/dup/a.py": "def a():\n    pass\n",
    "deep/lib/dup.py": "def b():\n    pass\n",
    "deep/down/lib/dup.py": "def c():\n    pass\n",
    "big.py": "class Big:\n" + "".join(f"    x{n} = {n}\n" for n in range(200)),
}


class Shop(Indexed):
    """An index over repositories made in *folder*, and answers from it. Without an embedder: words alone."""

    def __init__(self, folder: Path) -> None:
        (folder / "data").mkdir(parents=True)
        super().__init__(folder / "data")
        self.folder = folder

    def make(self, name: str, files: Mapping[str, str] = FILES) -> Repo:
        """Make the git repository *name* of *files* and index it."""
        return self.add(make_repo(self.folder, files, name=name))

    def only(self, name: str) -> Scope:
        """Return the scope of the one repo called *name*."""
        return Scope(self.project, (self.registry.repo(name).id,))

    def answerer(self, chat: ChatModel | None = None) -> Answerer:
        """Return an answerer that asks *chat*."""
        return Answerer(self.generations, self.searcher(), chat, self.clock)


async def whole(events: AsyncIterator[AnswerEvent]) -> tuple[list[AnswerEvent], Answer]:
    """Return every event, and the answer of the last one."""
    seen = [event async for event in events]
    last = seen[-1].answer
    assert last is not None
    return seen, last
