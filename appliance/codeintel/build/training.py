"""Trains the latent space of a generation; when there is much to train on, as a program of its own."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from appliance.base import proc
from appliance.codeintel.build import programs
from appliance.codeintel.store.latent import train_latent
from appliance.errors import StorageFault

_PROGRAM = "appliance.codeintel.build.training"
_BESIDE = 4 << 20  # bytes of text: from here on a process beside the lexical build pays
_TEXTS = "texts.spool"

T = TypeVar("T")


def texts_file(folder: Path) -> Path:
    """Return where the search tokens of every chunk stand while the generation in *folder* is made, one line a chunk."""
    return folder / _TEXTS


class Training:
    """One training. Close it in any case: that ends its process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._child: subprocess.Popen[bytes] | None = None

    def after(self, items: Iterable[T]) -> Iterator[T]:
        """Yield *items*; once the last is drawn all texts are there, and a large training begins beside what follows."""
        yield from items
        if texts_file(self._folder).stat().st_size >= _BESIDE:
            self._child = programs.start(_PROGRAM, str(self._folder))

    def finish(self) -> None:
        """Return when the space stands in its folder; raise `StorageFault` if the process failed."""
        if self._child is None:
            train(self._folder)
        elif self._child.wait():
            raise StorageFault(
                f"The latent space was not trained (status {self._child.returncode}).", path=str(self._folder)
            )

    def close(self) -> None:
        """End the process, if it still runs."""
        if self._child is not None:
            proc.end_group(self._child, grace=0)


def train(folder: Path) -> None:
    """Train on the texts in *folder*."""
    train_latent(folder / "latent", _texts(texts_file(folder)))


def _texts(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as spool:
        for line in spool:
            yield line[:-1]


if __name__ == "__main__":
    programs.end_with_parent()
    train(Path(sys.argv[1]))
