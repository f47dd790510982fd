from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.missioned import Field, Make, Place, Scripted
from tests.support.missions import Office

_OTHER = "class Vault:\n    def verify(self, digest, catalogue):\n        return digest == catalogue\n"


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """Open a desk and a runner over a database of their own."""
    made = Office(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    """Index a shop, and beside it in the same project a repository that no mission here is about."""
    made = Field(tmp_path_factory.mktemp("missions") / "shop")
    made.shop.make("secret", {"vault.py": _OTHER})
    yield made
    made.close()


@pytest.fixture
def place(field: Field, tmp_path: Path) -> Iterator[Make]:
    """Return what makes a desk and a runner with a model."""
    made: list[Place] = []

    def make(chat: Scripted | None = None, **more: object) -> Place:
        made.append(field.place(tmp_path, chat, **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for each in made:
        each.close()
