"""What an engine on llama.cpp tells its child, apart from both so that only the child loads the library."""

from typing import Final

import msgspec

FAULT: Final = "fault: "  # begins the line that says why a child ends; the library may say more, before it or after it


class Parameters(msgspec.Struct, frozen=True):
    """What the parent decides. *socket* must end with ``.sock``: that is how llama.cpp knows a unix socket.

    With *dimensions* the model makes vectors, else it writes. *gpu* refuses to run without one.
    """

    model: str
    alias: str
    socket: str
    threads: int
    prompt_threads: int
    context: int
    slots: int
    parent: int
    dimensions: int = 0
    gpu: bool = False
