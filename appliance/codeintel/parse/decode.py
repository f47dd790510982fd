"""From bytes to text with exact line numbers: UTF-8, UTF-16 with a byte order mark, else what the bytes look most like."""

import codecs
import re
from collections.abc import Mapping
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
_DIFFERENT: Final = 3  # characters that are often there, for a text to be taken for one of a scheme
_COVERED: Final = 0.9  # of what is no ASCII


@dataclass(frozen=True, slots=True)
class _Scheme:
    """An encoding in characters of two bytes, by those that make up at least the share *enough* of any text in it."""

    encoding: Encoding
    pairs: re.Pattern[bytes]
    often: frozenset[bytes]
    enough: float


def _pairs(letters: str, codec: str) -> frozenset[bytes]:
    return frozenset(letter.encode(codec) for letter in letters)


_TWO_HIGH: Final = re.compile(rb"[\xa1-\xfe][\xa1-\xfe]")
_BIG5: Final = re.compile(rb"[\xa1-\xf9][\x40-\x7e\xa1-\xfe]")
_KANA: Final = "".join(map(chr, (*range(0x3041, 0x3094), *range(0x30A1, 0x30F7), 0x30FC)))
_KOREAN: Final = "이다는을에의가를고하은도한로지기사리니어서나대시해자수인아그들정스부있것과으음합입"
_CHINESE: Final = "的一是不了在有人中大上以要他用生到作地於出就分成可也能而子那得下自之年如果文件"
_SIMPLIFIED: Final = "这来个国我时为们对会过发后里数据"
_TRADITIONAL: Final = "這來個國我時為們對會過發後裡數據檔案"
_SCHEMES: Final = (
    _Scheme("euc-jp", _TWO_HIGH, _pairs(_KANA, "euc_jp"), 0.25),
    _Scheme("euc-kr", _TWO_HIGH, _pairs(_KOREAN, "euc_kr"), 0.2),
    _Scheme("gbk", _TWO_HIGH, _pairs(_CHINESE.replace("於", "于") + _SIMPLIFIED, "gb2312"), 0.1),
    _Scheme("big5", _BIG5, _pairs(_CHINESE + _TRADITIONAL, "big5"), 0.1),
)
_CODECS: Final[Mapping[Encoding, str]] = {  # those that know the most characters of each
    "shift-jis": "cp932", "euc-jp": "euc_jp", "euc-kr": "cp949", "gbk": "gb18030", "big5": "big5hkscs"
}  # fmt: skip


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
        return Decoded(content.decode(_CODECS.get(encoding, encoding)), encoding)
    except UnicodeDecodeError:
        return Decoded(content.decode("latin-1"), "latin-1")  # which is never wrong


def _likeliest(content: bytes) -> Encoding:
    """Return what the bytes of *content* that are no ASCII look most like: pairs, Russian letters, or neither."""
    beyond = len(content.translate(None, _ASCII))
    pairs: list[bytes] = _PAIR.findall(content)
    in_pairs = sum(1 + (pair[1] > 0x7F) for pair in pairs)
    japanese = sum(pair[0] < 0xA0 and (pair[1] > 0x7F or pair[0] < 0x84) for pair in pairs)  # elsewhere controls, quotes
    if japanese > 1 and 2 * japanese >= len(pairs) + beyond - in_pairs:
        return "shift-jis"
    if (found := _in_pairs(content, beyond)) is not None:
        return found
    letters = b"".join(_WORD.findall(content))
    often = {name: len(letters) - len(letters.translate(None, _OFTEN.encode(name))) for name in _CYRILLIC}
    likeliest = max(_CYRILLIC, key=lambda name: often[name])
    russian = 2 * len(letters) >= beyond and often[likeliest] >= _ENOUGH * len(letters)
    return likeliest if russian else "latin-1"


def _in_pairs(content: bytes, beyond: int) -> Encoding | None:
    """Return which scheme has most of its letters in *content*, of which *beyond* bytes are no ASCII, if one has enough."""
    best, most = None, 1.0
    for scheme in _SCHEMES:
        pairs: list[bytes] = scheme.pairs.findall(content)
        often = [pair for pair in pairs if pair in scheme.often]
        covered = sum(1 + (pair[1] > 0x7F) for pair in pairs) >= _COVERED * beyond
        if covered and len(set(often)) >= _DIFFERENT and len(often) >= most * scheme.enough * len(pairs):
            best, most = scheme.encoding, len(often) / (scheme.enough * len(pairs))
    return best
