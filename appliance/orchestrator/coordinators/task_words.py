"""What a message is made of, as numbers: the words, pairs of words and pieces of words in it, and its form."""

import re
import unicodedata
import zlib
from collections.abc import Iterator
from typing import Final

BUCKETS: Final = 1 << 14  # for words; two features that share one are taken for the same
FORMS: Final = 64  # buckets after those, for the form
_LONGEST: Final = 1000  # of a message, what is read: it says early what it wants
_FORM: Final = 0.4  # of a message, what each side of its form counts for
_PIECES: Final = range(2, 5)  # letters
_TOKEN: Final = re.compile(r"`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|\S+")
_NAME: Final = re.compile(r"[a-z0-9][A-Z]|\w_\w|\w\.\w|\w::\w|\w/\w|\w\(|^[A-Z][A-Z0-9_]{2,}$")
_FILE: Final = re.compile(r"\w\.[a-z]{1,4}$")
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|\d+|[^\w\s]")
_AND: Final = re.compile(r",|\band\b")


def features(message: str) -> dict[int, float]:
    """Return how much of each feature is in *message*; names of code count by their form as well."""
    text = "".join(each for each in unicodedata.normalize("NFKD", message[:_LONGEST]) if not unicodedata.combining(each))
    told = [word.lower() for word in _WORD.findall(_TOKEN.sub(_form_of_name, text))]
    words = {*told, *_WORD.findall(text.lower())}
    pairs = {f"{one} {two}" for one, two in zip(["^", *told], [*told, "$"], strict=True)}
    pieces = {piece for word in words for piece in _pieces(f" {word} ")}
    found: dict[int, float] = {}
    for kind, values in (("word", words), ("pair", pairs), ("piece", pieces)):
        share = 0.5 * max(len(values), 1) ** -0.25  # of many, each says less
        for value in values:
            bucket = zlib.crc32(f"{kind} {value}".encode(errors="replace")) % BUCKETS
            found[bucket] = found.get(bucket, 0.0) + share
    return found | {BUCKETS + zlib.crc32(each.encode()) % FORMS: _FORM for each in _form(message[:_LONGEST].strip())}


def _form_of_name(token: re.Match[str]) -> str:
    word = token[0]
    bare = word.rstrip(".,:;?!")
    if word[0] in '`"':
        return "xname"
    if not _NAME.search(bare):
        return word
    form = "xcall" if bare.endswith(")") else "xfile" if _FILE.search(bare) else "xpath" if "/" in bare else "xname"
    return f"{form} {word[len(bare) :]}"


def _pieces(word: str) -> Iterator[str]:
    return (word[at : at + size] for size in _PIECES for at in range(len(word) - size + 1))


def _form(text: str) -> Iterator[str]:
    yield f"length {min(int(len(text.split()) ** 0.5), 7)}"
    yield f"lines {min(text.count(chr(10)), 4)}"
    yield f"asks {text.endswith('?')}"
    yield f"names {min(sum(_NAME.search(word) is not None for word in text.split()), 3)}"
    yield f"parts {min(len(_AND.findall(text)), 4)}"
