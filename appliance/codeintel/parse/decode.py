"""From bytes to text with exact line numbers: UTF-8, UTF-16 with a byte order mark, else what the bytes look most like."""

import codecs
import re
from dataclasses import dataclass
from typing import Final

from appliance.codeintel.facts import Encoding

_BAD: Final = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}  # what Python reads bytes as that are no UTF-8
_ASCII: Final = bytes(range(0x80))
_PAIR: Final = re.compile(rb"[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc]")  # a character of Shift JIS
_WORD: Final = re.compile(rb"[\xa3\xa8\xb3\xb8\xc0-\xff]{3,}")  # of no ASCII letter: Latin ones are hardly ever so
_OFTEN: Final = "\u043e\u0435\u0430\u0438\u043d\u0442\u0441"  # letters that more than half of a Russian text consists of
_CYRILLIC: Final[tuple[Encoding, ...]] = ("cp1251", "koi8-r")
_ENOUGH: Final = 0.3


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
    """Return the text of *content*, whatever it is: not one byte of a file that is not UTF-16 is lost."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _of_two_bytes(content)
    body = content.removeprefix(codecs.BOM_UTF8)
    try:
        return Decoded(body.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _mended(body, marked=body is not content) or _guessed(content)


def _of_two_bytes(content: bytes) -> Decoded:
    try:
        return Decoded(content.decode("utf-16"), "utf-16")
    except UnicodeDecodeError:
        return Decoded(content.decode("utf-16", "replace"), "damaged utf-16")


def _mended(body: bytes, *, marked: bool) -> Decoded | None:
    """Return *body* as UTF-8 if it is *marked* so, or more of it is UTF-8 beyond ASCII than not: the rest is Latin-1."""
    text = body.decode("utf-8", "surrogateescape")
    bad = (len(text.encode("utf-8", "surrogatepass")) - len(body)) // 2  # each takes three bytes
    good = len(text) - len(text.encode("ascii", "ignore")) - bad
    return Decoded(text.translate(_BAD), "damaged utf-8") if marked or good > bad else None


def _guessed(content: bytes) -> Decoded:
    encoding = _likeliest(content)
    try:
        return Decoded(content.decode("cp932" if encoding == "shift-jis" else encoding), encoding)
    except UnicodeDecodeError:
        return Decoded(content.decode("latin-1"), "latin-1")  # which is never wrong


def _likeliest(content: bytes) -> Encoding:
    """Return what the bytes of *content* that are no ASCII look most like: Japanese pairs, Russian letters, or neither."""
    beyond = len(content.translate(None, _ASCII))
    pairs: list[bytes] = _PAIR.findall(content)
    in_pairs = sum(1 + (pair[1] > 0x7F) for pair in pairs)
    japanese = sum(pair[0] < 0xA0 and (pair[1] > 0x7F or pair[0] < 0x84) for pair in pairs)  # elsewhere controls, quotes
    if japanese > 1 and 2 * japanese >= len(pairs) + beyond - in_pairs:
        return "shift-jis"
    letters = b"".join(_WORD.findall(content))
    often = {name: len(letters) - len(letters.translate(None, _OFTEN.encode(name))) for name in _CYRILLIC}
    likeliest = max(_CYRILLIC, key=lambda name: often[name])
    russian = 2 * len(letters) >= beyond and often[likeliest] >= _ENOUGH * len(letters)
    return likeliest if russian else "latin-1"
