"""The keys that sign bundles: made once, kept by whoever builds, never inside a bundle."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from securesystemslib.signer import CryptoSigner, SSlibKey
from tuf.api.metadata import Metadata, Role, Root
from tuf.api.serialization import DeserializationError

from appliance.base.durable import make_directory, storage_errors, sync_directory
from appliance.bundle import minisign
from appliance.errors import Conflict, InvalidInput, MalformedContent, NotFound

ROLES: Final = ("root", "targets", "snapshot", "timestamp")
_MINISIGN: Final = "minisign"
_MOST: Final = 99
_ROOT: Final = re.compile(r"([1-9][0-9]{0,3})\.root\.json")
_BACK: Final = "Bring the folder of keys back as it was made."
_ROOT_LASTS: Final = timedelta(days=3653)


@dataclass(frozen=True, slots=True)
class Minisigner:
    """The key that signs the installer and the first root."""

    key: minisign.PublicKey
    private: Ed25519PrivateKey

    def sign(self, data: bytes, *, comment: str) -> bytes:
        """Return minisign's signature file of *data*."""
        return minisign.sign(data, comment=comment, key=self.key, signer=self.private.sign)


@dataclass(frozen=True, slots=True)
class Keys:
    """What is in a folder of keys: every root so far, oldest first, and who signs for each role now."""

    roots: Sequence[bytes]
    signers: Mapping[str, Sequence[CryptoSigner]]
    minisigner: Minisigner


def make(folder: Path, *, threshold: int, count: int, now: datetime) -> Keys:
    """Make *count* keys for each role, of which *threshold* must sign, and a minisign key pair; return them.

    The folder and every key in it can be read by its owner alone. Raise `Conflict` if the folder has keys already: none is
    ever overwritten.
    """
    _check_table(threshold, count)
    make_directory(folder, choose="for DIR")
    if any(folder.iterdir()):
        raise Conflict(
            f"{folder} is not empty.", remedy="Keys are never overwritten: name another folder.", path=str(folder)
        )
    folder.chmod(0o700)
    private = Ed25519PrivateKey.generate()
    public = minisign.PublicKey.of(_public(private))
    _write(folder / f"{_MINISIGN}.pem", private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    _write(folder / f"{_MINISIGN}.pub", public.encode(), mode=0o644)
    _add_root(folder, version=1, threshold=threshold, count=count, now=now)
    sync_directory(folder)
    return load(folder)


def rotate(folder: Path, *, threshold: int, count: int, now: datetime) -> Keys:
    """Make new keys for each role and a root that the old ones vouch for; return them. Hosts follow with the next bundle.

    The old private keys stay: a bundle carries every root, so that a host which has seen none of them follows too.
    """
    _check_table(threshold, count)
    old = load(folder)
    _add_root(folder, version=len(old.roots) + 1, threshold=threshold, count=count, now=now, by=old.signers["root"])
    sync_directory(folder)
    return load(folder)


def load(folder: Path) -> Keys:
    """Return the keys in *folder*; raise `NotFound` where fewer are there than must sign, or `MalformedContent`."""
    paths = _roots(folder)
    if not paths:
        raise NotFound(f"{folder} has no keys.", remedy="Make them with `skellig bundle keys`.", path=str(folder))
    roots = [(path, _read(path)) for path in paths]
    newest = [_root(path, data, number) for number, (path, data) in enumerate(roots, start=1)][-1]
    signers = {role: _signers(folder, newest, role) for role in ROLES}
    return Keys([data for _, data in roots], signers, _minisigner(folder))


def exposed(folder: Path) -> list[Path]:
    """Return what of a folder of keys others than its owner can read or change."""
    return [path for path in (folder, *sorted(folder.glob("*.pem"))) if path.stat().st_mode & 0o077]


def _check_table(threshold: int, count: int) -> None:
    if not 1 <= threshold <= count <= _MOST:
        raise InvalidInput(f"{threshold} of {count} keys is not possible: the threshold is 1 to the number of keys.")


def _roots(folder: Path) -> list[Path]:
    """Return the roots from 1 on; raise `MalformedContent` where one between is gone."""
    numbers = {int(found[1]) for path in folder.glob("*.root.json") if (found := _ROOT.fullmatch(path.name))}
    paths = [folder / f"{number}.root.json" for number in range(1, max(numbers, default=0) + 1)]
    if len(numbers) < len(paths):
        gone = next(path for number, path in enumerate(paths, start=1) if number not in numbers)
        raise MalformedContent(
            f"{gone} is gone.", remedy="Bring it back: a bundle carries every root, and hosts follow one after the other."
        )
    return paths


def _root(path: Path, data: bytes, number: int) -> Root:
    try:
        root: Metadata[Root] = Metadata.from_bytes(data)
    except DeserializationError as exc:
        raise MalformedContent(f"{path} is not a root.", remedy=_BACK, path=str(path)) from exc
    if not isinstance(root.signed, Root) or root.signed.version != number:
        raise MalformedContent(f"{path} is not root {number}.", remedy=_BACK, path=str(path))
    return root.signed


def _minisigner(folder: Path) -> Minisigner:
    private = _private(folder / f"{_MINISIGN}.pem")
    public = minisign.PublicKey.of(_public(private))
    path = folder / f"{_MINISIGN}.pub"
    if public != minisign.PublicKey.parse(_read(path).decode(errors="replace")):
        raise MalformedContent(f"{_MINISIGN}.pem is not the private key of {path}.", remedy=_BACK, path=str(path))
    return Minisigner(public, private)


def _public(private: Ed25519PrivateKey) -> bytes:
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def _add_root(
    folder: Path, *, version: int, threshold: int, count: int, now: datetime, by: Sequence[CryptoSigner] = ()
) -> None:
    made = {role: [CryptoSigner.generate_ed25519() for _ in range(count)] for role in ROLES}
    signers = [signer for role in ROLES for signer in made[role]]
    root = Root(
        version=version,
        expires=now.replace(microsecond=0) + _ROOT_LASTS,
        keys={signer.public_key.keyid: signer.public_key for signer in signers},
        roles={role: Role([signer.public_key.keyid for signer in made[role]], threshold) for role in ROLES},
        consistent_snapshot=False,
    )
    metadata = Metadata(root)
    for signer in (*made["root"], *by):
        metadata.sign(signer, append=True)
    for role in ROLES:
        for signer in made[role]:
            _write(_file(folder, role, signer.public_key.keyid), signer.private_bytes)
    _write(folder / f"{version}.root.json", metadata.to_bytes(), mode=0o644)


def _signers(folder: Path, root: Root, role: str) -> list[CryptoSigner]:
    found = []
    for keyid in root.roles[role].keyids:
        key, path = root.keys[keyid], _file(folder, role, keyid)
        if not isinstance(key, SSlibKey):
            raise MalformedContent(f"{folder} holds a root with keys that are not Ed25519.", path=str(folder))
        if not path.exists():
            continue
        private = _private(path)
        if _public(private).hex() != key.keyval["public"]:
            raise MalformedContent(f"{path} is not the key that its name says.", remedy=_BACK, path=str(path))
        found.append(CryptoSigner(private, key))
    if len(found) < (needed := root.roles[role].threshold):
        raise NotFound(
            f"{folder} has {len(found)} of the {needed} private keys that must sign for {role}.",
            remedy="Bring the others there for the time of the build.",
            path=str(folder),
        )
    return found


def _file(folder: Path, role: str, keyid: str) -> Path:
    return folder / f"{role}-{keyid[:16]}.pem"


def _private(path: Path) -> Ed25519PrivateKey:
    try:
        found = load_pem_private_key(_read(path), password=None)
    except (ValueError, TypeError) as exc:
        raise MalformedContent(f"{path} is not a private key.", path=str(path)) from exc
    if not isinstance(found, Ed25519PrivateKey):
        raise MalformedContent(f"{path} is not an Ed25519 key.", path=str(path))
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as exc:
        raise NotFound(f"The key {path} is not there.", remedy="Build where all keys are.", path=str(path)) from exc
    except OSError as exc:
        raise MalformedContent(f"{path} cannot be read: {exc.strerror}.", remedy=_BACK, path=str(path)) from exc


def _write(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    with storage_errors(path):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            with suppress(FileNotFoundError):
                path.unlink()
            raise
