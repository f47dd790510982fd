"""What a host remembers of the bundles that it took: whom it trusts, and the newest that it has seen."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from appliance.base.durable import make_directory, write_file
from appliance.bundle import layout, minisign
from appliance.bundle.layout import order
from appliance.errors import InvalidInput, StoreCorrupt, WrongKey

_FILE: Final = "trust.json"
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Known:
    """Whom to trust and what was seen last.

    *root*, *timestamp* and *snapshot* are the metadata of the last bundle that was taken (*timestamp* and *snapshot* are
    empty where none was); *version* is the highest taken, *time* the latest at which one was built.
    """

    root: bytes
    timestamp: bytes = b""
    snapshot: bytes = b""
    version: str = ""
    time: datetime = _BEGINNING

    def seen(self, version: str) -> "Known":
        """Return this with *version* as the highest, if it is higher."""
        newer = not self.version or order(version) > order(self.version)
        return replace(self, version=version) if newer else self


class Trust:
    """The folder in which a host remembers; everything is in one file, so that it changes at once or not at all."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / _FILE

    def known(self) -> Known | None:
        """Return what is remembered, or None where nothing is yet; raise `StoreCorrupt` where it cannot be read."""
        try:
            found = json.loads(self._file.read_bytes())
            return Known(
                root=found["root"].encode(),
                timestamp=found["timestamp"].encode(),
                snapshot=found["snapshot"].encode(),
                version=layout.check_version(found["version"]),
                time=datetime.fromisoformat(found["time"]),
            )
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError, InvalidInput) as exc:
            raise StoreCorrupt(
                f"{self._file} cannot be read.",
                remedy="Restore it from a backup; or remove it, and trust the next bundle anew by its minisign key.",
                path=str(self._file),
            ) from exc

    def remember(self, known: Known) -> None:
        """Remember *known*, durably; nothing is written where it is what is remembered already."""
        document = {
            "root": known.root.decode(),
            "timestamp": known.timestamp.decode(),
            "snapshot": known.snapshot.decode(),
            "version": known.version,
            "time": known.time.isoformat(),
        }
        data = json.dumps(document, indent=1).encode()
        make_directory(self._file.parent, mode=0o755, choose="with --trust")
        if not self._file.is_file() or self._file.read_bytes() != data:
            write_file(self._file, data, mode=0o644)


def first(bundle: Path, *, key: minisign.PublicKey | None, carried: bytes | None) -> Known:
    """Return whom a host trusts that knows nothing yet.

    That is the root which *bundle* holds, if *key* signed it; without a key the one that the installer *carried*, which
    minisign vouched for before the installer ran. Raise `WrongKey` where there is neither.
    """
    if key is not None:
        root = _read(bundle / layout.FIRST_ROOT)
        minisign.check(root, _read(bundle / f"{layout.FIRST_ROOT}{layout.SIGNATURE}"), key=key, name=layout.FIRST_ROOT)
        return Known(root)
    if carried is not None:
        return Known(carried)
    raise WrongKey(
        "This host trusts no key for bundles yet.",
        remedy="Give the public key of whoever built it with --key, or name the folder of trust with --trust.",
    )


def claimed(bundle: Path) -> Known:
    """Return whom *bundle* itself asks to be trusted: enough to say what it claims to be, and to trust nothing."""
    return Known(_read(bundle / layout.FIRST_ROOT))


def _read(path: Path) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise WrongKey(f"The bundle has no {path.name}, so that no key can vouch for it.", remedy="Copy the bundle again.")
    with path.open("rb") as file:
        return file.read(1 << 20)
