"""From bytes to text with exact line numbers: UTF-8, UTF-16 with a byte order mark, else Latin-1, which is never wrong."""

import codecs
from dataclasses import dataclass

from appliance.codeintel.facts import Encoding

_ASCII = bytes(range(128))


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text. Lines end with a line feed and nothing else; a carriage return before it is part of that end."""

    text: str
    encoding: Encoding

    def lines(self) -> list[str]:
        """Return the lines, line 1 first, without their ends."""
        lines = self.text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        return [line.removesuffix("\r") for line in lines]


def decode(content: bytes) -> Decoded:
    """Return the text of *content*, whatever it is.

    UTF-8 with a few bad bytes stays UTF-8, with U+FFFD for each; it is Latin-1 when bad bytes outnumber good characters.
    """
    if content.startswith(codecs.BOM_UTF8):
        content = content[3:]
    elif content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16", "replace")
        return Decoded(text, "utf-16")
    try:
        return Decoded(content.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _not_utf8(content)


def _not_utf8(content: bytes) -> Decoded:
    text = content.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    ascii_count = len(content) - len(content.translate(None, _ASCII))
    good = len(text) - bad - ascii_count
    if good > bad:
        return Decoded(text, "utf-8")
    return Decoded(content.decode("latin-1"), "latin-1")
