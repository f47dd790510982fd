"""A bundle examined: what it is, whether it is what was signed, and what this host is to remember of it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from appliance.bundle import contents, layout, metadata, trust
from appliance.bundle.contents import Progress
from appliance.bundle.layout import Entry, Manifest, order
from appliance.bundle.trust import Known
from appliance.errors import MalformedMetadata, MetadataExpired, RollbackRefused

_LONGEST_MANIFEST: Final = 4 << 20
_WARNED: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle whose signatures hold and whose files are those that were signed, by name and size.

    *entries* are the signed files but the metadata, by their path in the bundle; *identity* tells this content from others;
    *known* is what a host that takes this bundle is to remember; *mends* tells that it is the one which runs already, on a
    host that went back to it; *warnings* are sentences for whoever runs this.
    """

    folder: Path
    manifest: Manifest
    entries: dict[str, Entry]
    identity: str
    known: Known
    mends: bool
    expires: datetime
    warnings: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes of all signed files."""
        return sum(entry.size for entry in self.entries.values())

    @property
    def payload(self) -> dict[str, Entry]:
        """The signed files that a host keeps, by their path in the payload."""
        prefix = f"{layout.PAYLOAD}/"
        return {path.removeprefix(prefix): entry for path, entry in self.entries.items() if path.startswith(prefix)}


def examine(folder: Path, known: Known, *, now: datetime, strict: bool = False, current: str | None = None) -> Bundle:
    """Return the bundle in *folder* if it holds against *known*, before its payload is read.

    The very bundle that *current*, the version which runs, was taken from holds also where a newer one was taken since.
    What is past its date by *now* is told in the warnings, and refused only if *strict*: a host without a network may have
    any clock. Raise the leaf of `TrustError` that says what does not hold.
    """
    found = contents.listing(folder)
    judged = metadata.judge(folder, found, known, current=current)
    signed = {path: size for path, size in found.items() if path not in set(judged.names)}
    contents.compare(signed, judged.entries)
    manifest = _manifest(folder, judged.entries)
    if not judged.mends:
        _check_version(manifest.version, known.version)
    role, expires = min(judged.expires.items(), key=lambda pair: pair[1])
    if expires <= manifest.built:
        raise MetadataExpired(f"The {role} metadata had expired when the bundle was built.", remedy="Get a newer bundle.")
    warnings = _warnings(expires, now=now)
    if strict and expires <= now:
        raise MetadataExpired(
            f"By this machine's clock, {warnings[0]}", remedy="Get a newer bundle, or set the clock right."
        )
    seen = known
    if not judged.mends:
        time = max(known.time, manifest.built)
        last = Known(judged.root, judged.timestamp, judged.snapshot, known.version, time, known.taken)
        seen = last.seen(manifest.version)
    identity = trust.identity(judged.snapshot)
    return Bundle(folder, manifest, dict(judged.entries), identity, seen, judged.mends, expires, warnings)


def verify(
    folder: Path,
    known: Known,
    *,
    now: datetime,
    strict: bool = False,
    current: str | None = None,
    progress: Progress = contents.unheard,
) -> Bundle:
    """Return the bundle in *folder* if it holds as in `examine`, to the last byte; else raise the narrowest `TrustError`."""
    bundle = examine(folder, known, now=now, strict=strict, current=current)
    contents.check(folder, bundle.entries, progress=progress)
    return bundle


def _check_version(version: str, highest: str) -> None:
    if highest and version != highest and order(version) <= order(highest):
        raise RollbackRefused(
            f"The bundle is version {version}, and this host has taken {highest}.",
            remedy="To go back to the version that ran before, use `bundle rollback`.",
            version=version,
        )


def _manifest(folder: Path, entries: dict[str, Entry]) -> Manifest:
    entry = entries.get(layout.MANIFEST)
    if entry is None or entry.size > _LONGEST_MANIFEST:
        raise MalformedMetadata(f"The bundle has no {layout.MANIFEST}, or a very large one.", file=layout.MANIFEST)
    manifest = Manifest.decode(b"".join(map(bytes, contents.pieces(folder, layout.MANIFEST, entry))))
    for whole in manifest.wholes():
        parts = [entries.get(f"{layout.PAYLOAD}/{part}") for part in whole.parts]
        if sum(part.size if part else 0 for part in parts) != whole.size or None in parts:
            raise MalformedMetadata(f"The parts of {whole.path} are not those that were signed.", file=layout.MANIFEST)
    return manifest


def _warnings(expires: datetime, *, now: datetime) -> tuple[str, ...]:
    day = f"{expires.astimezone(UTC):%Y-%m-%d}"
    if expires <= now:
        return (f"this bundle expired on {day}: ask whether there is a newer one.",)
    if expires - now <= _WARNED:
        return (f"this bundle expires on {day}: ask for a newer one.",)
    return ()
