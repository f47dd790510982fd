"""A workshop of small bundles, and hosts that take them or do not."""

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, MetaFile, Snapshot, T, TargetFile, Targets, Timestamp

from appliance.bundle import build as building
from appliance.bundle import keys as signing
from appliance.bundle import layout, trust, verify
from appliance.bundle.apply import Applied, Shelf, free_bytes
from appliance.bundle.build import ModelSource, Recipe
from appliance.bundle.contents import Progress, unheard
from appliance.bundle.keys import Keys
from appliance.bundle.trust import Known, Trust
from appliance.bundle.verify import Bundle

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def oci_archive(path: Path, *, layer: bytes = b"layer", extra: Mapping[str, bytes] | None = None) -> Path:
    """Write an OCI archive of one image that has *layer* and the members *extra*."""
    config = json.dumps({"architecture": "amd64", "os": "linux", "layer": _sha256(layer)}).encode()
    manifest = json.dumps({"config": {"digest": f"sha256:{_sha256(config)}"}, "layers": []}).encode()
    index = json.dumps({"schemaVersion": 2, "manifests": [{"digest": f"sha256:{_sha256(manifest)}"}]}).encode()
    blobs = {f"blobs/sha256/{_sha256(blob)}": blob for blob in (config, manifest, layer)}
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in {"index.json": index, **blobs, **(extra or {})}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


class Workshop:
    """Where bundles are built, with keys of its own."""

    def __init__(self, root: Path, *, threshold: int = 1, count: int = 1) -> None:
        self.root = root
        root.mkdir(parents=True)
        self.keys_at = root / "keys"
        self.keys = signing.make(self.keys_at, threshold=threshold, count=count, now=NOON)
        self.image = oci_archive(root / "image.oci.tar", layer=bytes(range(256)) * 400)
        self.notes = root / "notes.md"
        self.notes.write_text("What is new.\n")

    def rotate(self, *, threshold: int = 1, count: int = 1) -> None:
        self.keys = signing.rotate(self.keys_at, threshold=threshold, count=count, now=NOON)

    def model(self, content: bytes = b"GGUF" * 1000) -> ModelSource:
        path = self.root / "weights.gguf"
        path.write_bytes(content)
        return ModelSource("small", "Apache-2.0", ((path, _sha256(content)),))

    def bundle(
        self, version: str = "1.0.0", *, built: datetime = NOON, keys: Keys | None = None, name: str = "", **recipe: object
    ) -> Path:
        out = self.root / (name or f"bundle-{version}")
        if "models" not in recipe:
            recipe["models"] = (self.model(),)
        chosen = {"trees": {"release-notes.md": self.notes}, "largest": 65_536} | recipe
        made = Recipe(version=version, built=built, schema=4, image=self.image, **chosen)  # type: ignore[arg-type]
        building.build(out, made, keys=self.keys)
        if keys:  # which no builder takes unless they are right
            self.resign(out, lambda *_: None, keys=keys)
        return out

    def stillborn(self) -> Path:
        """Return a bundle that had expired when it was built, which no builder makes."""
        out = self.bundle(name="stillborn")

        def age(*signed: Targets | Snapshot | Timestamp) -> None:
            for each in signed:
                each.expires = NOON - DAY

        self.resign(out, age)
        return out

    def resign(
        self, folder: Path, change: Callable[[Targets, Snapshot, Timestamp], None], *, keys: Keys | None = None
    ) -> None:
        """Change the metadata of a bundle and sign it again, with this workshop's keys if no others are given."""
        signers = (keys or self.keys).signers
        targets: Metadata[Targets] = Metadata.from_file(str(folder / "metadata" / "targets.json"))
        snapshot: Metadata[Snapshot] = Metadata.from_file(str(folder / "metadata" / "snapshot.json"))
        timestamp: Metadata[Timestamp] = Metadata.from_file(str(folder / "metadata" / "timestamp.json"))
        change(targets.signed, snapshot.signed, timestamp.signed)
        snapshot.signed.meta["targets.json"] = self._written(folder, "targets", targets, signers)
        timestamp.signed.snapshot_meta = self._written(folder, "snapshot", snapshot, signers)
        self._written(folder, "timestamp", timestamp, signers)

    def smuggle(self, folder: Path, image: Path) -> None:
        """Put another image into a bundle whose image is one part, as only whoever holds the keys can."""
        path, manifest = f"{layout.PAYLOAD}/{layout.IMAGE}", folder / layout.MANIFEST
        data, document = image.read_bytes(), json.loads(manifest.read_bytes())
        document["image"] |= {"sha256": _sha256(data), "size": len(data)}
        (folder / path).write_bytes(data)
        manifest.write_text(json.dumps(document))

        def listed(targets: Targets, *others: object) -> None:
            del others
            for name in (path, layout.MANIFEST):
                content = (folder / name).read_bytes()
                targets.targets[name] = TargetFile(len(content), {"sha256": _sha256(content)}, name)

        self.resign(folder, listed)

    @staticmethod
    def _written(folder: Path, role: str, metadata: Metadata[T], signers: Mapping[str, Sequence[CryptoSigner]]) -> MetaFile:
        metadata.signatures.clear()
        for signer in signers[role]:
            metadata.sign(signer, append=True)
        data = metadata.to_bytes()
        (folder / "metadata" / f"{role}.json").write_bytes(data)
        return MetaFile(metadata.signed.version, len(data), {"sha256": _sha256(data)})


class Host:
    """A host that trusts one minisign key, and keeps what it takes."""

    def __init__(self, root: Path, workshop: Workshop, *, free: Callable[[Path], int] = free_bytes) -> None:
        self.root = root
        self.key = workshop.keys.minisigner.key
        self.trust = Trust(root / "trust")
        self.shelf = Shelf(root / "bundles", trust=self.trust, free=free)

    def known(self, folder: Path) -> Known:
        return self.trust.known() or trust.first(folder, key=self.key, carried=None)

    def verify(self, folder: Path, *, now: datetime = NOON, strict: bool = False, current: str | None = None) -> Bundle:
        return verify.verify(folder, self.known(folder), now=now, strict=strict, current=current)

    def apply(self, folder: Path, *, now: datetime = NOON, progress: Progress = unheard) -> Applied:
        return self.shelf.apply(folder, first=lambda running: self._first(folder, running), now=now, progress=progress)

    def _first(self, folder: Path, running: str | None) -> Known:
        return trust.first(folder, key=self.key, carried=None, running=running)

    def forget(self) -> None:
        """Lose what is remembered of whom to trust."""
        shutil.rmtree(self.trust.folder)

    def content(self) -> dict[str, str]:
        """Return everything that the host holds but the lock: each path with its digest, or where a link points."""
        return dict(self._content())

    def _content(self) -> Iterator[tuple[str, str]]:
        for path in sorted(self.root.rglob("*")) if self.root.exists() else ():
            if path.is_symlink():
                yield str(path.relative_to(self.root)), str(path.readlink())
            elif path.is_file() and path.name != ".lock":
                yield str(path.relative_to(self.root)), _sha256(path.read_bytes())


def copied(folder: Path, to: Path) -> Path:
    """Return a copy of a bundle that a test may spoil."""
    shutil.copytree(folder, to)
    return to


def flip(path: Path, position: int, *, bit: int = 0) -> None:
    """Flip one bit of a file in its place."""
    with path.open("r+b") as file:
        file.seek(position)
        (old,) = file.read(1)
        file.seek(position)
        file.write(bytes([old ^ (1 << bit)]))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
