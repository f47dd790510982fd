"""What stands in ``$'…'``, in which bash lets signs be written by letter or number."""

from typing import Final

from appliance.errors import MalformedContent

_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_HEX: Final = "0123456789abcdefABCDEF"
_NUMBERED: Final = {"x": 2, "u": 4, "U": 8}  # letters that digits of base 16 follow, at most so many


def ansi_text(text: str, at: int) -> tuple[str, int]:
    """Return what is quoted in *text* from *at* on, and where it ends; raise `MalformedContent` if it does not."""
    parts: list[str] = []
    while at < len(text) and text[at] != "'":
        if text[at] != "\\":
            parts.append(text[at])
            at += 1
            continue
        sign = text[at + 1 : at + 2]
        digits, length = _digits(text, at + 1)
        parts.append(chr(min(int(digits, 16 if sign in _NUMBERED else 8), 0x10FFFF)) if digits else _LETTERS.get(sign, sign))
        at += length
    if at >= len(text):
        raise MalformedContent("A quote is not closed.")
    return "".join(parts), at + 1


def _digits(text: str, at: int) -> tuple[str, int]:
    """Return the digits of the escape whose letter or first digit stands at *at*, and how long the whole escape is."""
    letter = text[at : at + 1]
    start, most, allowed = (at + 1, _NUMBERED[letter], _HEX) if letter in _NUMBERED else (at, 3, _HEX[:8])
    end = start
    while end < len(text) and end - start < most and text[end] in allowed:
        end += 1
    return (text[start:end], end - at + 1) if end > start else ("", 2)
