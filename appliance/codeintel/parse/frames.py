"""What travels between the pool and its children: length-prefixed msgpack on pipes."""

import os
import struct
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from appliance.codeintel.facts import BlobFacts, BlobTask, Packed, pack_facts
from appliance.codeintel.parse.added import AddedLanguage, Languages

LENGTH: Final = struct.Struct("<I")
READY: Final = b"\x00ready"


class Work(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A task as it travels: a path is bytes here, because msgpack's strings are UTF-8.

    ``flow``: what is wanted is the blob's flow and not its facts. ``problem``: do without its syntax. ``deaths`` counts the
    processes that died while they were at it.
    """

    blob: str
    path: bytes
    content: bytes
    secrets: tuple[tuple[int, str], ...] = ()
    problem: str = ""
    deaths: int = 0
    flow: bool = False

    @classmethod
    def of(cls, task: BlobTask, *, flow: bool) -> "Work":
        """Return *task* ready to travel."""
        return cls(task.blob, os.fsencode(task.path), task.content, task.secrets, flow=flow)

    def after_death(self, problem: str) -> "Work":
        """Return what to do next: once more, because a process may die of something else, and then by lines."""
        deaths = self.deaths + 1
        again = deaths < 2 and problem != "parse-timeout"
        return msgspec.structs.replace(self, problem="" if again else problem, deaths=deaths)


_encoder = msgspec.msgpack.Encoder()
_work = msgspec.msgpack.Decoder(list[Work])
_packed = msgspec.msgpack.Decoder(Packed)
_languages = msgspec.msgpack.Decoder(list[AddedLanguage])


def frame(body: bytes) -> bytes:
    """Return *body* with its length before it."""
    return LENGTH.pack(len(body)) + body


def encode_languages(languages: Languages) -> bytes:
    """Return the frame that tells a child, once, which *languages* there are beside those that are built in."""
    return frame(_encoder.encode(list(languages.added.values())))


def decode_languages(body: bytes) -> Languages:
    """Return what a child was told."""
    return Languages.of(_languages.decode(body))


def encode_batch(batch: Sequence[Work]) -> bytes:
    """Return the frame that asks for the facts of *batch*."""
    return frame(_encoder.encode(batch))


def decode_batch(body: bytes) -> list[Work]:
    """Return what a child was asked for."""
    return _work.decode(body)


def encode_facts(facts: BlobFacts) -> bytes:
    """Return a child's answer to one task: packed where there are most processes to do it."""
    return _encoder.encode(pack_facts(facts))


def decode_packed(body: bytes) -> Packed:
    """Return what `encode_facts` packed."""
    return _packed.decode(body)


def read_frame(read: Callable[[int], bytes]) -> bytes | None:
    """Return the next body that *read* gives, None at the end of the stream."""
    head = read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    body = read(size)
    return body if len(body) == size else None
