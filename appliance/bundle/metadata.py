"""The verdict on a bundle's metadata: python-tuf's rules over a folder, and that no byte of it is without meaning.

Time is what signed bundles said, never this machine's clock: the reference that expiry is held to is the latest time at
which a bundle was built that this host took (docs/adr/0008).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from securesystemslib.exceptions import UnverifiedSignatureError
from tuf.api import exceptions as tuf
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, T, Targets, Timestamp
from tuf.api.serialization import DeserializationError, SerializationError
from tuf.ngclient._internal.trusted_metadata_set import TrustedMetadataSet
from tuf.ngclient.config import EnvelopeType

from appliance.bundle import minisign
from appliance.bundle.contents import opened, reading
from appliance.bundle.layout import METADATA, Entry, named, safe_path
from appliance.bundle.trust import Known
from appliance.errors import (
    BadSignature,
    DigestMismatch,
    ExtraFile,
    MalformedMetadata,
    MetadataExpired,
    MissingPart,
    RollbackRefused,
    TooFewSignatures,
    TrustError,
    WrongKey,
)

_ROOT = re.compile(rf"{METADATA}/([1-9][0-9]{{0,3}})\.root\.json")
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})+")
_ROLES: Final = ("timestamp", "snapshot", "targets")
_LARGEST: Final[Mapping[str, int]] = {"root": 512_000, "timestamp": 16_384, "snapshot": 65_536, "targets": 32_000_000}
_MOST_ROOTS: Final = 256
_AGAIN: Final = "Get the bundle again from where it was built."


@dataclass(frozen=True, slots=True)
class Judged:
    """Metadata that holds: every signed file but the metadata itself, when each role expires, and what to remember.

    *mends* tells that nothing is to be: it is that of the version which runs, and a newer one was taken before.
    """

    entries: dict[str, Entry]
    expires: Mapping[str, datetime]
    root: bytes
    timestamp: bytes
    snapshot: bytes
    names: Sequence[str]
    mends: bool


def judge(folder: Path, found: Mapping[str, int], known: Known, *, current: str | None = None) -> Judged:
    """Return what the metadata of *folder* signs, whose files are *found*, if it holds against *known*.

    On a host that went back to *current*, that of the very bundle which *current* was taken from may be older than what was
    taken since; the keys that are trusted now must vouch for it too. Raise the leaf of `TrustError` that says why it does
    not hold.
    """
    names = _names(found)
    raw = {name: _read(folder, name, found[name]) for name in names}
    if mends := known.went_back_to(raw[names[-2]], current=current):
        known = known.rooted()
    anchor = _parse(Root, known.root, "the trusted root")
    roots = list(_chain([(name, raw[name]) for name in names[:-3]], anchor=(anchor, known.root)))
    root = roots[-1] if roots[-1].signed.version > anchor.signed.version else anchor
    with _told("the trusted root"):
        trusted = TrustedMetadataSet(known.root, EnvelopeType.METADATA)
    trusted.reference_time = known.time
    for newer, name in zip(roots, names, strict=False):
        if newer.signed.version > anchor.signed.version:
            with _told(name):
                trusted.update_root(raw[name])
    timestamp, snapshot, targets = (raw[name] for name in names[-3:])
    _take_timestamp(trusted, timestamp, known=known, root=root.signed)
    _check_vouched(trusted.timestamp.snapshot_meta, snapshot, names[-2])
    _take_snapshot(trusted, snapshot, known=known, root=root.signed)
    _check_vouched(trusted.snapshot.meta["targets.json"], targets, names[-1])
    _signed_by(_parse(Targets, targets, names[-1]), names[-1], [(root.signed, "targets")])
    with _told(names[-1]):
        trusted.update_targets(targets)
    expires = {role: trusted[role].expires for role in ("root", *_ROLES)}
    rooted = raw[names[len(roots) - 1]] if root is not anchor else known.root
    return Judged(_entries(trusted.targets), expires, rooted, timestamp, snapshot, names, mends)


def _names(found: Mapping[str, int]) -> list[str]:
    """Return the metadata files of a bundle in the order in which they vouch for each other."""
    here = {path for path in found if path.startswith(f"{METADATA}/")}
    roots = {int(match[1]) for path in here if (match := _ROOT.fullmatch(path))}
    if max(roots, default=1) > _MOST_ROOTS:
        raise MalformedMetadata(f"The bundle has more than {_MOST_ROOTS} roots.", remedy=_AGAIN)
    wanted = [f"{METADATA}/{number}.root.json" for number in range(1, max(roots, default=1) + 1)]
    wanted += [f"{METADATA}/{role}.json" for role in _ROLES]
    if missing := set(wanted) - here:
        raise MissingPart(f"The bundle lacks {named(list(missing))}.", remedy=_AGAIN, file=min(missing))
    if extra := here - set(wanted):
        raise ExtraFile(f"The bundle has {named(list(extra))}, which nobody signed.", remedy="Remove it.", file=min(extra))
    return wanted


def _read(folder: Path, name: str, size: int) -> bytes:
    role = name.removesuffix(".json").rpartition("/")[2].rpartition(".")[2]
    if size > _LARGEST[role]:
        raise MalformedMetadata(f"{name} has {size:,} bytes; {_LARGEST[role]:,} are the most.", remedy=_AGAIN, file=name)
    with reading(name), opened(folder / name) as file:
        return file.read(size + 1)


def _parse(kind: type[T], data: bytes, name: str) -> Metadata[T]:
    """Return the metadata that *data* is, byte for byte: nothing may stand in it that a signature does not cover."""
    try:
        parsed: Metadata[T] = Metadata.from_bytes(data)
        spelt = parsed.to_bytes()
    except (DeserializationError, SerializationError) as exc:
        raise MalformedMetadata(f"{name} is not metadata.", remedy=_AGAIN, file=name) from exc
    if not all(isinstance(text, str) for keyid, made in parsed.signatures.items() for text in (keyid, made.signature)):
        raise MalformedMetadata(f"{name} is not metadata.", remedy=_AGAIN, file=name)
    if not isinstance(parsed.signed, kind):
        raise MalformedMetadata(f"{name} is metadata of the kind {parsed.signed.type!r}.", remedy=_AGAIN, file=name)
    if spelt != data or parsed.unrecognized_fields or parsed.signed.unrecognized_fields:
        raise MalformedMetadata(f"{name} is not written as it was signed.", remedy=_AGAIN, file=name)
    return parsed


def _chain(raw: Sequence[tuple[str, bytes]], *, anchor: tuple[Metadata[Root], bytes]) -> Iterator[Metadata[Root]]:
    """Give every root of the bundle; each is signed by itself and by the one before, and one may be the trusted one."""
    before: Metadata[Root] | None = None
    for number, (name, data) in enumerate(raw, start=1):
        root = _parse(Root, data, name)
        if root.signed.version != number or root.signed.consistent_snapshot:
            raise MalformedMetadata(f"{name} says that it is version {root.signed.version}.", remedy=_AGAIN, file=name)
        by = [(root.signed, "root"), *([(before.signed, "root")] if before else [])]
        _signed_by(root, name, by)
        if number == anchor[0].signed.version and data != anchor[1]:
            raise WrongKey(
                f"{name} is not the root that this host trusts: the bundle was signed with other keys.",
                remedy="Ask whoever built it; trust other keys only if you know why they are others.",
                file=name,
            )
        before = root
        yield root


def _signed_by(metadata: Metadata[T], name: str, by: Sequence[tuple[Root, str]]) -> None:
    """Raise unless each signature is by a key of *by* and right, and each of *by* has as many as it must have."""
    try:
        data = metadata.signed_bytes
    except SerializationError as exc:
        raise MalformedMetadata(f"{name} holds what cannot be signed.", remedy=_AGAIN, file=name) from exc
    for keyid, signature in metadata.signatures.items():
        signers = [root.keys[keyid] for root, role in by if keyid in root.roles[role].keyids and keyid in root.keys]
        if not signers:
            raise WrongKey(f"{name} is signed by the key {named([keyid[:16]])}, which is not trusted for it.", file=name)
        raw = bytes.fromhex(signature.signature) if _HEX.fullmatch(signature.signature) else b""
        if not minisign.is_canonical(raw) or signature.unrecognized_fields:
            raise BadSignature(f"{name} is not what was signed.", remedy=_AGAIN, file=name)
        for key in signers:
            try:
                key.verify_signature(signature, data)
            except UnverifiedSignatureError as exc:
                raise BadSignature(f"{name} is not what was signed.", remedy=_AGAIN, file=name) from exc
    for root, role in by:
        needed, there = root.roles[role].threshold, len(set(root.roles[role].keyids) & set(metadata.signatures))
        if there < needed:
            raise TooFewSignatures(
                f"{name} is signed by {there} of the {needed} keys that must have signed it.", remedy=_AGAIN, file=name
            )


def _take_timestamp(trusted: TrustedMetadataSet, data: bytes, *, known: Known, root: Root) -> None:
    name = f"{METADATA}/timestamp.json"
    parsed = _parse(Timestamp, data, name)
    _signed_by(parsed, name, [(root, "timestamp")])
    _pinned(parsed.signed.snapshot_meta, name)
    if known.timestamp:
        with suppress(tuf.RepositoryError):  # keys that were changed since do not vouch for it: it is then no witness
            trusted.update_timestamp(known.timestamp)
    try:
        with _told(name):
            trusted.update_timestamp(data)
    except tuf.EqualVersionNumberError:
        if data != known.timestamp:
            raise RollbackRefused(
                "The bundle has the serial number of the one taken last, and is another.", remedy=_AGAIN, file=name
            ) from None


def _take_snapshot(trusted: TrustedMetadataSet, data: bytes, *, known: Known, root: Root) -> None:
    name = f"{METADATA}/snapshot.json"
    parsed = _parse(Snapshot, data, name)
    _signed_by(parsed, name, [(root, "snapshot")])
    if list(parsed.signed.meta) != ["targets.json"]:
        raise MalformedMetadata(f"{name} names other metadata than targets.json.", remedy=_AGAIN, file=name)
    _pinned(parsed.signed.meta["targets.json"], name)
    if known.snapshot and data != known.snapshot:
        with suppress(tuf.RepositoryError):
            trusted.update_snapshot(known.snapshot, trusted=True)
    with _told(name):
        trusted.update_snapshot(data)


def _pinned(meta: MetaFile, name: str) -> None:
    if meta.length is None or list(meta.hashes or ()) != ["sha256"]:
        raise MalformedMetadata(f"{name} does not give the size and the sha256 of what it vouches for.", file=name)


def _check_vouched(meta: MetaFile, data: bytes, name: str) -> None:
    """Raise `DigestMismatch` unless *data* is what *meta* vouches for: what nobody signed is not even parsed."""
    with _told(name):
        meta.verify_length_and_hashes(data)


def _entries(targets: Targets) -> dict[str, Entry]:
    if targets.delegations is not None:
        raise MalformedMetadata(f"{METADATA}/targets.json delegates, which a bundle never does.")
    found = {}
    for path, target in targets.targets.items():
        if list(target.hashes) != ["sha256"] or target.length < 0:
            raise MalformedMetadata(f"{METADATA}/targets.json does not give the sha256 of {path!a}.")
        found[safe_path(path)] = Entry(target.hashes["sha256"], target.length)
    return found


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Turn python-tuf's errors about the file *name* into ours, but that for the version which is trusted already."""
    try:
        yield
    except tuf.EqualVersionNumberError:
        raise
    except tuf.RepositoryError as exc:
        raise _ours(exc, name) from exc


def _ours(exc: tuf.RepositoryError, name: str) -> TrustError:
    if isinstance(exc, tuf.ExpiredMetadataError):
        return MetadataExpired(
            f"{name} had expired before the newest bundle that this host took was built.",
            remedy="Get a newer bundle.",
            file=name,
        )
    if isinstance(exc, tuf.BadVersionNumberError):
        return RollbackRefused(
            f"{name} is older than that of a bundle which this host took.",
            remedy="Get a newer bundle; to go back to the version that ran before, use `bundle rollback`.",
            file=name,
        )
    if isinstance(exc, tuf.LengthOrHashMismatchError):
        return DigestMismatch(f"{name} is not of the same bundle as what vouches for it.", remedy=_AGAIN, file=name)
    if isinstance(exc, tuf.UnsignedMetadataError):
        return TooFewSignatures(f"{name} is signed by too few keys.", remedy=_AGAIN, file=name)
    return MalformedMetadata(f"{name} does not hold: {exc}.", remedy=_AGAIN, file=name)
