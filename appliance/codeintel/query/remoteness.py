"""How far a file is from being the one that people work on, for when there are several copies."""

import numpy as np
import numpy.typing as npt

from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.generation import Generation


def remoteness(generation: Generation) -> npt.NDArray[np.int64]:
    """Return for each file of *generation* how far it is: vendored ones are farthest, then examples, then tests."""
    flags = generation.files.flags.astype(np.int64)
    return 4 * ((flags & FileFlags.VENDORED) > 0) + 2 * ((flags & FileFlags.EXAMPLE) > 0) + ((flags & FileFlags.TEST) > 0)
