"""An image of podman's store as a file: zstd layers, and the same bytes each time."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from appliance.base import proc
from appliance.bundle import archive
from appliance.errors import HostUnfit

_MINUTES: Final = 30
_STORE: Final = ("CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "XDG_RUNTIME_DIR", "HOME")


def export(name: str, folder: Path, *, called: str, time: int, environ: Mapping[str, str] = os.environ) -> Path:
    """Write the image *name* of podman's store into *folder* as an OCI archive and return it; raise `HostUnfit`.

    Where it is loaded it is *called* so: an image without a name is the first that a host tidies away.
    """
    layout, out = folder / "image", folder / "image.oci.tar"
    argv = ("skopeo", "copy", "--quiet", "--dest-compress-format", "zstd", "--dest-compress-level", "9")
    store = {variable: environ[variable] for variable in _STORE if variable in environ}
    ended = proc.run((*argv, f"containers-storage:{name}", f"oci:{layout}:{called}"), timeout=60 * _MINUTES, env=store)
    if ended.code:
        said = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2][-300:]
        raise HostUnfit(
            f"The image {name} cannot be read from podman's store: {said}",
            remedy="`podman images` shows what is there; build it, or name an OCI archive.",
            image=name,
        )
    archive.pack(layout, out, time=time)
    return out
