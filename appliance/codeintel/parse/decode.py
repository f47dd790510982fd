"""From bytes to text with exact line numbers: UTF-8, UTF-16 with a byte order mark, else Latin-1, which is never wrong."""

import codecs
from dataclasses import dataclass

from appliance.codeintel.facts import Encoding


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
        if "\r" not in self.text:
            return lines
        return [line.removesuffix("\r") for line in lines]

    def plain(self) -> str:
        """Return the lines, each with a line feed at its end and no carriage return before that."""
        text = self.text if self.text.endswith("\n") or not self.text else f"{self.text}\n"
        return text.replace("\r\n", "\n") if "\r" in text else text


def decode(content: bytes) -> Decoded:
    """Return the text of *content*, whatever it is: not one byte of a file that is not UTF-8 is lost."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return Decoded(content.decode("utf-16", "replace"), "utf-16")
    try:
        return Decoded(content.removeprefix(codecs.BOM_UTF8).decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return Decoded(content.decode("latin-1"), "latin-1")
