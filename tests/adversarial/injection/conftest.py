"""The street that every case of injected text stands in, and who listens there."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.adversarial.injection.street import Street

_EVENTS = frozenset({"open", "os.listdir", "os.scandir", "subprocess.Popen", "sqlite3.connect"})


@dataclass
class Touched:
    """What this process opened or started while it was listened to, of what has one of *marks* in its name.

    That also tells of what no record of ours would.
    """

    marks: tuple[str, ...] = ()
    seen: list[str] = field(default_factory=list)

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.marks and event in _EVENTS:
            said = repr(arguments)
            if any(mark in said for mark in self.marks):
                self.seen.append(f"{event}{said}")


@pytest.fixture(scope="session")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    """Index three repositories: one that is granted, and two that are not."""
    made = Street(tmp_path_factory.mktemp("street"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def listener() -> Touched:
    """Listen: such a hook stays for good, so it hears nothing where it has no marks."""
    made = Touched()
    sys.addaudithook(made)
    return made


@pytest.fixture
def elsewhere(street: Street, listener: Touched) -> Iterator[list[str]]:
    """Return what is touched of the repositories that nobody was granted."""
    listener.seen.clear()
    listener.marks = street.marks
    yield listener.seen
    listener.marks = ()
