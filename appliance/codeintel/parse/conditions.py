"""Conditions of a compiler that tear definitions apart: what stands under the first of each is read, the rest is not."""

import re
from typing import Final

_DIRECTIVE: Final = re.compile(rb"[ \t]*#[ \t]*(if|elif|else|endif)\b")
_BLANK: Final = re.compile(rb"[^\r\n]")


def first_branches(source: bytes) -> bytes:
    """Return *source*, as long as it was, with blanks for its conditions and for every branch of them but the first."""
    kept: list[bytes] = []
    hidden: list[bool] = []  # for each condition around, whether the branch at hand is hidden
    for line in source.splitlines(keepends=True):
        found = _DIRECTIVE.match(line)
        word = found[1] if found is not None else b""
        if word == b"if":
            hidden.append(False)
        elif hidden and word == b"endif":
            hidden.pop()
        elif hidden and word:
            hidden[-1] = True
        kept.append(_BLANK.sub(b" ", line) if word or any(hidden) else line)
    return b"".join(kept)
