"""Ends of statements that Kotlin leaves out before a brace on the same line, and that its grammar asks for."""

import re
from typing import Final

_BEFORE_BRACE: Final = re.compile(rb"[ \t](?=\}[ \t}]*\r?$)", re.MULTILINE)


def with_ends(source: bytes) -> bytes:
    """Return *source*, as long as it was, with a semicolon for the blank before each brace that ends a line."""
    return _BEFORE_BRACE.sub(b";", source)
