"""The flags that every command understands."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Flags:
    """What stood before the command's name; None where the settings decide."""

    data: Path | None = None
    config: Path | None = None
