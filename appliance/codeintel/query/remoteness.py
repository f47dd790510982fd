"""How far a file is from being the one that people work on, for when there are several copies."""

from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.generation import Generation


def remoteness(generation: Generation) -> npt.NDArray[np.int64]:
    """Return for each file of *generation* how far it is: vendored ones are farthest, then examples, then tests."""
    return _REMOTE[generation.files.flags]


def remoteness_of(generation: Generation, file: int) -> int:
    """Return `remoteness` of one file."""
    return int(_REMOTE[generation.files.flags[file]])


def _remote(flags: int) -> int:
    return 4 * bool(flags & FileFlags.VENDORED) + 2 * bool(flags & FileFlags.EXAMPLE) + bool(flags & FileFlags.TEST)


_REMOTE: Final = np.array([_remote(flags) for flags in range(256)], dtype=np.int64)
