"""What somebody may have meant who wrote a name that nothing has: in milliseconds, of tens of thousands of names."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

import numpy as np
import numpy.typing as npt

MOST: Final = 5
_COMPARED: Final = 64  # letter by letter, which takes a thousand times as long as to count the pairs that they share
_LONGEST: Final = 400  # characters of a name that are looked at, from its end
_END: Final = "\0"  # between two names


def nearest(name: str, known: Sequence[str], *, least: float, most: int = MOST) -> list[str]:
    """Return what of *known* is most like *name*, best first: at most *most*, each like it by *least* or more, of 1."""
    wanted = name[-_LONGEST:].lower()
    matcher = SequenceMatcher(None, "", wanted, autojunk=False)
    likeness: dict[str, float] = {}
    for place in np.argsort(-_shared(wanted, known), kind="stable")[:_COMPARED].tolist():
        matcher.set_seq1(known[place][-_LONGEST:].lower())
        if (value := matcher.ratio()) >= least:
            likeness[known[place]] = value
    return sorted(likeness, key=lambda each: -likeness[each])[:most]


def _shared(wanted: str, known: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return for each of *known* how many of its pairs of letters *wanted* has as well, as a share of what both have."""
    plain = [each.replace(_END, "") for each in known] if _END in "".join(known) else known
    letters = _letters(_END.join(plain))
    ours = _letters(wanted.replace(_END, ""))
    in_wanted = np.zeros(1 << 16, dtype=np.bool_)
    in_wanted[_pairs(ours)] = True
    met = np.cumsum(in_wanted[_pairs(letters)], dtype=np.int32)
    ends = np.append(np.flatnonzero(letters == 0), len(letters))
    counts = np.diff(met[np.maximum(ends - 2, 0)], prepend=0) if len(met) else np.zeros(len(ends))
    share: npt.NDArray[np.float64] = 2 * counts / (len(ours) + np.diff(ends, prepend=-1))
    return share[: len(known)]


def _letters(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode(errors="replace").lower(), dtype=np.uint8)


def _pairs(letters: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    wide = letters.astype(np.uint16)
    return wide[:-1] << np.uint16(8) | wide[1:]
