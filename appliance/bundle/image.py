"""An image of podman's store as a file, with zstd layers and the same bytes each time; and files out of it."""

import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from appliance.base import proc
from appliance.base.proc import Finished
from appliance.bundle import archive
from appliance.errors import HostUnfit

_MINUTES: Final = 30
_MESSAGE: Final = re.compile(r'\bmsg="((?:[^"\\]|\\.)*)"')
_ELSEWHERE: Final = (
    "Build it with `make image`, and put `.ci/containers` before this command, for it lies in a storage of its own;"
    " or name an OCI archive."
)
_STORE: Final = ("CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "XDG_RUNTIME_DIR", "HOME")


def export(name: str, folder: Path, *, called: str, time: int, environ: Mapping[str, str] = os.environ) -> Path:
    """Write the image *name* of podman's store into *folder* as an OCI archive and return it; raise `HostUnfit`.

    Where it is loaded it is *called* so: an image without a name is the first that a host tidies away.
    """
    layout, out = folder / "image", folder / "image.oci.tar"
    argv = ("skopeo", "copy", "--quiet", "--dest-compress-format", "zstd", "--dest-compress-level", "9")
    ended = _run((*argv, f"containers-storage:{name}", f"oci:{layout}:{called}"), environ)
    if ended.code:
        raise HostUnfit(
            f"The image {name} cannot be read from podman's store: {_said(ended.stderr)}.",
            remedy=_ELSEWHERE,
            image=name,
        )
    archive.pack(layout, out, time=time)
    return out


def take(name: str, paths: Mapping[str, str], folder: Path, *, environ: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Copy what the image *name* has at *paths*, each to its own name in *folder*; return where they are now.

    Nothing of the image runs. A path that it does not have is left out; raise `HostUnfit` if it cannot be opened at all.
    """
    created = _run(("podman", "create", "--network=none", name, "/none"), environ)
    container = created.stdout.decode(errors="replace").strip()
    if created.code or not container.isalnum():
        raise HostUnfit(f"podman cannot open the image {name}: {_said(created.stderr)}.", remedy=_ELSEWHERE, image=name)
    try:
        return {
            kind: folder / kind
            for kind, path in paths.items()
            if _run(("podman", "cp", f"{container}:{path}", str(folder / kind)), environ).code == 0
        }
    finally:
        _run(("podman", "rm", "--force", container), environ)


def _said(stderr: bytes) -> str:
    """Return why a program failed, from the last line of what it said: the message alone where the line is a log's."""
    last = stderr.decode(errors="replace").strip().rpartition("\n")[2]
    message = _MESSAGE.search(last)
    said = re.sub(r"\\(.)", r"\1", message[1]) if message else last
    return textwrap.shorten(said, 300, placeholder="…").rstrip(".")


def _run(argv: Sequence[str], environ: Mapping[str, str]) -> Finished:
    store = {variable: environ[variable] for variable in _STORE if variable in environ}
    return proc.run(argv, timeout=60 * _MINUTES, env=store)
