"""What a host remembers of the bundles that it took: whom it trusts, and the newest that it has seen."""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tuf.api.metadata import Metadata, Root, Snapshot, Timestamp
from tuf.api.serialization import DeserializationError

from appliance.base.durable import exclusive, make_directory, write_file
from appliance.bundle import contents, layout, minisign
from appliance.bundle.layout import order
from appliance.errors import HostUnfit, InvalidInput, StoreCorrupt, UnsafePath, WrongKey, of_system

_FILE: Final = "trust.json"
_DAMAGED: Final = (DeserializationError, InvalidInput, UnsafePath)
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Known:
    """Whom to trust and what was seen last.

    *root*, *timestamp* and *snapshot* are the metadata of the last bundle that was taken (*timestamp* and *snapshot* are
    empty where none was); *version* is the highest taken, *time* the latest at which one was built. *taken* has the
    `identity` of the bundle that each version was taken from which may run again.
    """

    root: bytes
    timestamp: bytes = b""
    snapshot: bytes = b""
    version: str = ""
    time: datetime = _BEGINNING
    taken: Mapping[str, str] = field(default_factory=dict)

    def seen(self, version: str) -> "Known":
        """Return this with *version* as taken from the last bundle, and as the highest if it is higher."""
        newer = not self.version or order(version) > order(self.version)
        taken = {**self.taken, version: identity(self.snapshot)}
        return replace(self, version=version if newer else self.version, taken=taken)

    def keeping(self, versions: Collection[str]) -> "Known":
        """Return this without what was *taken* beside *versions*."""
        return replace(self, taken={version: bundle for version, bundle in self.taken.items() if version in versions})

    def went_back_to(self, snapshot: bytes, *, current: str | None) -> bool:
        """Whether the host runs *current* out of the very bundle of *snapshot*, having taken a newer one since."""
        return current is not None and snapshot != self.snapshot and self.taken.get(current) == identity(snapshot)

    def rooted(self) -> "Known":
        """Return whom to trust alone: what a host holds a bundle to that cannot take it back."""
        return Known(self.root)


def identity(snapshot: bytes) -> str:
    """Return what tells one signed content from another: the digest of the *snapshot* that vouches for it."""
    return hashlib.sha256(snapshot).hexdigest()


class Trust:
    """The folder in which a host remembers; everything is in one file, so that it changes at once or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / _FILE

    def known(self) -> Known | None:
        """Return what is remembered, or None where nothing is yet; raise `StoreCorrupt` where it cannot be read."""
        try:
            with contents.opened(self._file) as file:
                return _decoded(file.read())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, *_DAMAGED) as exc:
            if isinstance(exc, OSError) and (known := of_system(exc, str(self._file))):
                raise known from exc
            raise StoreCorrupt(
                f"{self._file} cannot be read.",
                remedy="Restore it from a backup; or remove it, and trust the next bundle anew by its minisign key.",
                path=str(self._file),
            ) from exc

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others from remembering for the length of the block, wherever they stage; raise `Conflict` where one is."""
        own_folder(self.folder, choose="with --trust")
        remedy = "Wait until the other has ended, then try again."
        with exclusive(self.folder / ".lock", what=f"the trust in {self.folder}", remedy=remedy):
            for left in self.folder.glob(f".{_FILE}.*.tmp"):
                left.unlink()
            yield

    def remember(self, known: Known) -> None:
        """Remember *known*, durably; nothing is written where it is what is remembered already."""
        document = {
            "root": known.root.decode(),
            "timestamp": known.timestamp.decode(),
            "snapshot": known.snapshot.decode(),
            "version": known.version,
            "time": known.time.isoformat(),
            "taken": dict(known.taken),
        }
        data = json.dumps(document, indent=1).encode()
        own_folder(self.folder, choose="with --trust")
        if not self._file.is_file() or self._file.read_bytes() != data:
            write_file(self._file, data, mode=0o644)


def own_folder(path: Path, *, choose: str) -> None:
    """Have the folder *path*, for all to read; raise `HostUnfit` where this user may not, saying that root may."""
    try:
        make_directory(path, mode=0o755, choose=choose)
    except HostUnfit as exc:
        if os.geteuid() == 0:
            raise
        raise HostUnfit(exc.message, remedy=f"Run this as root (sudo), or choose another {choose}.", path=str(path)) from exc


def _decoded(data: bytes) -> Known:
    found = json.loads(data)
    known = Known(
        root=found["root"].encode(),
        timestamp=found["timestamp"].encode(),
        snapshot=found["snapshot"].encode(),
        version=layout.check_version(found["version"]),
        time=datetime.fromisoformat(found["time"]),
        taken={layout.check_version(version): str(bundle) for version, bundle in found.get("taken", {}).items()},
    )
    if known.time.tzinfo is None:
        raise ValueError("a time without a zone")
    for kind, part in ((Root, known.root), (Timestamp, known.timestamp), (Snapshot, known.snapshot)):
        if (part or kind is Root) and not isinstance(Metadata.from_bytes(part).signed, kind):
            raise TypeError(f"this is no {kind.type}")
    return known


def first(bundle: Path, *, key: minisign.PublicKey | None, carried: bytes | None, running: str | None = None) -> Known:
    """Return whom a host trusts that remembers nothing.

    That is the root which *bundle* holds, if *key* signed it; without a key the one that the installer *carried*, which
    minisign vouched for before the installer ran. A host where the version *running* runs has lost what it knew: there only
    a key that is given anew suffices, and no lower version. Raise `WrongKey` where none vouches.
    """
    if key is not None:
        root = _read(bundle, layout.FIRST_ROOT)
        minisign.check(root, _read(bundle, f"{layout.FIRST_ROOT}{layout.SIGNATURE}"), key=key, name=layout.FIRST_ROOT)
        return Known(root, version=running or "")
    if running is not None:
        raise WrongKey(
            f"Version {running} runs here, and the folder of trust does not remember whom this host trusts.",
            remedy="Name the right folder with --trust; if it is lost, give the builder's public key with --key.",
        )
    if carried is not None:
        return Known(carried)
    raise WrongKey(
        "This host trusts no key for bundles yet.",
        remedy="Give the public key of whoever built it with --key, or name the folder of trust with --trust.",
    )


def claimed(bundle: Path) -> Known:
    """Return whom *bundle* itself asks to be trusted: enough to say what it claims to be, and to trust nothing."""
    return Known(_read(bundle, layout.FIRST_ROOT))


def _read(bundle: Path, name: str) -> bytes:
    contents.check_folder(bundle)
    try:
        with contents.opened(bundle / name) as file:
            return file.read(1 << 20)
    except (FileNotFoundError, NotADirectoryError, UnsafePath) as exc:
        said = f"{bundle} has no {name}, so that no key can vouch for it."
        raise WrongKey(said, remedy="If it is a bundle, copy it again.", file=name) from exc
