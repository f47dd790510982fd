"""Container images as OCI archives: which image is inside, and a packing that depends on its content alone."""

import hashlib
import json
import tarfile
from pathlib import Path
from typing import Final

from appliance.errors import MalformedContent, UnsafePath

_MOST_MEMBERS: Final = 10_000
_LARGEST_DOCUMENT: Final = 8 << 20


def image_id(path: Path) -> str:
    """Return the ID of the one image in the OCI archive *path*: the digest of its configuration, with ``sha256:``.

    Raise `UnsafePath` for a member that is a link or would leave its folder, `MalformedContent` for what is no such archive.
    """
    try:
        with tarfile.open(path, "r:") as archive:
            members = _members(archive, path.name)
            index = json.loads(_document(archive, members, "index.json"))
            (only,) = index["manifests"]
            manifest = json.loads(_document(archive, members, _blob(only["digest"])))
            config: str = manifest["config"]["digest"]
            content = _document(archive, members, _blob(config))
    except (tarfile.TarError, EOFError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise MalformedContent(
            f"{path.name} is not an OCI archive with one image.",
            remedy="Make one with `skopeo copy` or `podman save --format oci-archive`.",
            file=path.name,
        ) from exc
    if hashlib.sha256(content).hexdigest() != config.removeprefix("sha256:"):
        raise MalformedContent(f"The configuration of the image in {path.name} is not what its name says.", file=path.name)
    return config


def pack(folder: Path, out: Path, *, time: int) -> None:
    """Write the files of *folder* into the archive *out*, the same bytes for the same content; *time* is each one's date."""
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            member = tarfile.TarInfo(str(path.relative_to(folder)))
            member.mtime = time
            if path.is_dir():
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
                continue
            member.size, member.mode = path.stat().st_size, 0o644
            with path.open("rb") as file:
                archive.addfile(member, file)


def _members(archive: tarfile.TarFile, name: str) -> dict[str, tarfile.TarInfo]:
    found: dict[str, tarfile.TarInfo] = {}
    for member in archive:
        if not (member.isreg() or member.isdir()) or member.name.startswith("/") or ".." in member.name.split("/"):
            raise UnsafePath(f"{name} has the member {member.name!a}, which is a link or leaves its folder.", file=name)
        found[member.name.removeprefix("./")] = member
        if len(found) > _MOST_MEMBERS:
            raise MalformedContent(f"{name} has more than {_MOST_MEMBERS:,} members.", file=name)
    return found


def _blob(digest: str) -> str:
    kind, _, value = digest.partition(":")
    if kind != "sha256" or len(value) != 64 or not value.isalnum():
        raise ValueError(f"{digest!r} is not a sha256")
    return f"blobs/sha256/{value}"


def _document(archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo], name: str) -> bytes:
    member = members[name]
    file = archive.extractfile(member)
    if file is None or member.size > _LARGEST_DOCUMENT:
        raise ValueError(f"{name} is no document")
    return file.read()
