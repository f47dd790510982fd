"""What the program that confines is ordered to do: written by who wants a command run, read once by that program."""

import json
from dataclasses import asdict, dataclass
from typing import Literal

Layer = Literal["landlock", "seccomp", "namespaces", "own-user"]
"""What holds a command in:

- ``landlock``: the kernel keeps it to the files that it was granted;
- ``seccomp``: a filter over system calls, which lets no socket be made;
- ``namespaces``: names of its own for files, processes and the network: what is outside is not there;
- ``own-user``: a user that owns nothing outside and counts its own processes; only where the appliance runs as root.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may use, with all that it starts. Bytes and seconds."""

    seconds: float = 120.0
    cpu_seconds: int = 120  # of one process
    memory: int = 2 << 30  # address space of one process, and resident memory of all together
    file_size: int = 256 << 20
    disk: int = 1 << 30  # in its folder and in its own temporary files, beyond what was there
    files: int = 100_000  # likewise
    open_files: int = 256  # of one process
    processes: int = 64  # threads count
    output: int = 1 << 20  # of both streams together


@dataclass(frozen=True, slots=True)
class Order:
    """One command, and how it is confined. Paths are absolute; ``private`` is a folder for this command alone."""

    command: tuple[str, ...]
    folder: str
    private: str
    readable: tuple[str, ...]
    environment: dict[str, str]
    use: tuple[Layer, ...]
    needs: tuple[Layer, ...]
    limits: Limits
    threads: int  # that the same user has already: the kernel counts them together

    @property
    def temporary(self) -> str:
        """Where the command keeps temporary files."""
        return f"{self.private}/temporary"

    @property
    def home(self) -> str:
        """Its home: an empty folder."""
        return f"{self.private}/home"

    def to_json(self) -> str:
        """Return it as text."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> "Order":
        """Return what `to_json` wrote."""
        raw = json.loads(text)
        lists = {name: tuple(raw[name]) for name in ("command", "readable", "use", "needs")}
        return cls(**{**raw, **lists, "limits": Limits(**raw["limits"])})
