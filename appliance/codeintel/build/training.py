"""Trains the latent space of a generation; when there is much to train on, in a process beside the lexical build."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from appliance.base import proc
from appliance.codeintel.build import programs
from appliance.codeintel.store.latent import train_latent
from appliance.errors import StorageFault

_PROGRAM: Final = "appliance.codeintel.build.training"
_BESIDE: Final = 4 << 20  # bytes of text: from here on a process beside the lexical build pays
_TEXTS: Final = "texts.spool"  # search tokens of every chunk, a line each, while the generation is made
_END: Final = b"\0"  # the line after the last
_AT_ONCE: Final = 1 << 18  # bytes read
_WAIT_S: Final = 0.02  # until more is written


class Training:
    """The training of the space of the generation in *folder*. Close it in any case: that ends its process.

    It has a process once there are *beside* bytes of text, if there may be several *processes*.
    """

    def __init__(self, folder: Path, *, processes: int, beside: int = _BESIDE) -> None:
        self._folder = folder
        self._beside = beside if processes > 1 else sys.maxsize
        self._texts = (folder / _TEXTS).open("wb")
        self._child: subprocess.Popen[bytes] | None = None

    def add(self, text: str) -> None:
        """Take in the search tokens of the next chunk."""
        self._texts.write(text.encode() + b"\n")
        if self._child is None and self._texts.tell() >= self._beside:
            self._child = programs.start(_PROGRAM, str(self._folder))

    def finish(self) -> None:
        """Return when the space stands in its folder; raise `StorageFault` if the process failed."""
        self._texts.write(_END + b"\n")
        self._texts.close()
        if self._child is None:
            _train(self._folder)
        elif self._child.wait():
            raise StorageFault(
                f"The latent space was not trained (status {self._child.returncode}).", path=str(self._folder)
            )

    def close(self) -> None:
        """End the process, if it still runs, and remove the texts."""
        if self._child is not None:
            proc.end_group(self._child, grace=0)
        self._texts.close()
        (self._folder / _TEXTS).unlink(missing_ok=True)


def _train(folder: Path) -> None:
    train_latent(folder / "latent", _written(folder / _TEXTS))


def _written(path: Path) -> Iterator[str]:
    """Yield the texts in the file at *path* as they are written, to the last."""
    pending = b""
    with path.open("rb") as texts:
        while True:
            if not (data := texts.read(_AT_ONCE)):
                time.sleep(_WAIT_S)
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                if line == _END:
                    return
                yield line.decode()


if __name__ == "__main__":
    programs.end_with_parent()
    _train(Path(sys.argv[1]))
