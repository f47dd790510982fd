"""Minisign's keys and signatures: what a bare host checks before it runs the installer."""

import base64
import binascii
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import Signature, SSlibKey

from appliance.errors import BadSignature, InvalidInput, WrongKey

_KEY_KIND: Final = b"Ed"
_HASHED: Final = b"ED"
_UNTRUSTED: Final = "untrusted comment: "
_TRUSTED: Final = "trusted comment: "
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The public half of a key pair: an identity of 8 bytes and an Ed25519 key of 32."""

    identity: bytes
    key: bytes

    @staticmethod
    def of(key: bytes) -> "PublicKey":
        """Return the public key for the raw Ed25519 key *key*; its identity follows from it."""
        return PublicKey(hashlib.blake2b(key, digest_size=8).digest(), key)

    @staticmethod
    def parse(text: str) -> "PublicKey":
        """Read a key as ``minisign.pub`` or the option ``-P`` has it; raise `InvalidInput`."""
        lines = [line for line in text.strip().splitlines() if not line.startswith(_UNTRUSTED.rstrip())]
        raw = _decoded(lines[0]) if len(lines) == 1 else b""
        if len(raw) != 42 or raw[:2] != _KEY_KIND:
            raise InvalidInput("This is not a minisign public key.", remedy="It is one line that begins with RW.")
        return PublicKey(raw[2:10], raw[10:])

    @property
    def line(self) -> str:
        """The key as the option ``-P`` takes it."""
        return base64.b64encode(_KEY_KIND + self.identity + self.key).decode()

    def encode(self) -> bytes:
        """Return the key as a file of minisign."""
        return f"{_UNTRUSTED}minisign public key {self.identity[::-1].hex().upper()}\n{self.line}\n".encode()


def sign(data: bytes, *, comment: str, key: PublicKey, signer: Callable[[bytes], bytes]) -> bytes:
    """Return the signature file of *data* with the trusted *comment*; *signer* makes raw Ed25519 signatures."""
    signature = signer(hashlib.blake2b(data).digest())
    whole = signer(signature + comment.encode())
    lines = (
        f"{_UNTRUSTED}signature of a Skellig bundle",
        base64.b64encode(_HASHED + key.identity + signature).decode(),
        f"{_TRUSTED}{comment}",
        base64.b64encode(whole).decode(),
    )
    return "".join(f"{line}\n" for line in lines).encode()


def check(data: bytes, signature: bytes, *, key: PublicKey, name: str) -> str:
    """Return the trusted comment of *signature* if *key* made it over *data*; raise `WrongKey` or `BadSignature`."""
    try:
        untrusted, first, comment, second, nothing = signature.decode().split("\n")
    except ValueError as exc:
        raise _malformed(name) from exc
    raw, whole = _decoded(first), _decoded(second)
    if (
        nothing
        or len(raw) != 74
        or len(whole) != 64
        or not untrusted.startswith(_UNTRUSTED)
        or not comment.startswith(_TRUSTED)
    ):
        raise _malformed(name)
    if raw[:2] != _HASHED:
        raise _malformed(name)
    if raw[2:10] != key.identity:
        raise WrongKey(
            f"{name} is signed by the key {raw[2:10][::-1].hex().upper()}, not by {key.identity[::-1].hex().upper()}.",
            remedy="Get the public key from whoever built the bundle, by another way than the bundle.",
            file=name,
        )
    said = comment.removeprefix(_TRUSTED)
    for signed, over in ((raw[10:], hashlib.blake2b(data).digest()), (whole, raw[10:] + said.encode())):
        if not _holds(key.key, signed, over):
            raise BadSignature(
                f"{name} is not what was signed.", remedy="Get the bundle again; do not run its installer.", file=name
            )
    return said


def is_canonical(signature: bytes) -> bool:
    """Return whether the Ed25519 *signature* is spelt in its one way: its number is below the order of the group.

    Not every library asks for that, and the same signature under another number would make two files out of one.
    """
    return len(signature) == 64 and int.from_bytes(signature[32:], "little") < _ORDER


def _holds(key: bytes, signature: bytes, data: bytes) -> bool:
    if not is_canonical(signature):
        return False
    public = SSlibKey("minisign", "ed25519", "ed25519", {"public": key.hex()})
    try:
        public.verify_signature(Signature("minisign", signature.hex()), data)
    except UnverifiedSignatureError:
        return False
    return True


def _decoded(line: str) -> bytes:
    try:
        raw = base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return raw if base64.b64encode(raw).decode() == line else b""


def _malformed(name: str) -> BadSignature:
    return BadSignature(f"The signature of {name} is not one of minisign.", remedy="Get the bundle again.", file=name)
