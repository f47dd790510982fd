"""Bundles for the tests: signed by keys of their own, of the real image or of a small one that stands in for it."""

import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support import podman

ROOT: Final = podman.ROOT
_APPLIANCE: Final = """#!/bin/sh
# Stands in for the appliance: tells its version, keeps a log in its data, says when it is ready, drains at SIGTERM.
data=/var/lib/skellig run=/run/skellig
trap 'echo "$VERSION drained" >>$data/log; rm -f $run/ready; exit 0' TERM
rm -f $run/ready
[ -e $data/log ] || echo a-token >$data/first-token
echo "$VERSION started" >>$data/log
[ -n "$BROKEN" ] || echo "$VERSION" >$run/ready
while :; do sleep 0.2; done
"""
_HEALTHCHECK: Final = "#!/bin/sh\ntest -e /run/skellig/ready\n"
_APPLETS: Final = ("cat", "ls", "rm", "sh", "sleep", "test")


def stand_in(place: Path, *, fake_host: str, version: str, broken: bool = False) -> Path:
    """Return an archive of a small image that keeps the run contract, of the fake host's busybox; or never gets ready."""
    tree = place / f"{version}.tar"
    name = f"localhost/skellig:{version}"
    with tarfile.open(tree, "w") as made:
        for folder in ("bin", "tmp", "etc/skellig", "run/skellig", "srv/models", "srv/repos", "var/lib/skellig"):
            _add(made, folder, kind=tarfile.DIRTYPE)
        _add(made, "bin/busybox", content=_busybox(place, fake_host))
        for applet in _APPLETS:
            _add(made, f"bin/{applet}", kind=tarfile.SYMTYPE)
        _add(made, "bin/skellig", content=_APPLIANCE.encode())
        _add(made, "usr/libexec/skellig/healthcheck", content=_HEALTHCHECK.encode())
    changes = [f"--change=ENV VERSION={version}", '--change=ENTRYPOINT ["/bin/skellig"]']
    changes += ["--change=ENV BROKEN=yes"] if broken else []
    podman.run("import", "--quiet", *changes, tree, name)
    return saved(name, place / f"{version}.oci.tar")


def saved(image: str, archive: Path) -> Path:
    """Return *archive*, which holds *image* from now on."""
    archive.unlink(missing_ok=True)
    podman.run("save", "--quiet", "--format=oci-archive", f"--output={archive}", image)
    return archive


def relabelled(image: str, archive: Path, *, version: str) -> Path:
    """Return *archive*, which holds *image* under another label, as a next version with an id of its own."""
    made = podman.run("create", "--network=none", image)
    try:
        name = f"localhost/skellig:{version}"
        podman.run("commit", "--quiet", "--format=oci", f"--change=LABEL version={version}", made, name)
    finally:
        podman.run("rm", made)
    return saved(name, archive)


def _busybox(place: Path, fake_host: str) -> bytes:
    made = podman.run("create", "--network=none", fake_host)
    try:
        podman.run("cp", f"{made}:/usr/bin/busybox", place / "busybox")
    finally:
        podman.run("rm", made)
    return (place / "busybox").read_bytes()


def _add(made: tarfile.TarFile, name: str, *, content: bytes = b"", kind: bytes = tarfile.REGTYPE) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size, entry.mode, entry.linkname = kind, len(content), 0o755, "busybox"
    made.addfile(entry, io.BytesIO(content))


@dataclass(frozen=True)
class Workshop:
    """The maker's side: keys, and bundles signed with them."""

    place: Path

    @property
    def key(self) -> str:
        """The public key, for hosts."""
        return (self.keys / "minisign.pub").read_text().splitlines()[1]

    @property
    def keys(self) -> Path:
        """Where the keys are, made when they are first asked for."""
        folder = self.place / "keys"
        if not folder.exists():
            skellig("bundle", "keys", folder)
        return folder

    def build(self, version: str, *, image: Path | str, models: Mapping[str, Path] | None = None) -> Path:
        """Return the folder of a bundle of *version* with the image of an archive and models out of their stores."""
        folder = self.place / version
        chosen = [word for name, store in (models or {}).items() for word in (f"--model={name}", f"--store={store}")]
        skellig("bundle", "build", f"--image={image}", f"--version={version}", f"--keys={self.keys}", *chosen, folder)
        return folder


def skellig(*argv: str | Path) -> str:
    """Return what the command prints; raise `AssertionError` with its own words when it fails."""
    command = [sys.executable, "-m", "appliance", *argv]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"skellig {' '.join(map(str, argv))}: {ended.stderr}"
    return ended.stdout


def image_of(bundle: Path) -> str:
    """Return the id of the image that a bundle claims to hold."""
    manifest = json.loads((bundle / "targets" / "bundle.json").read_text())
    return str(manifest["image"]["id"]).removeprefix("sha256:")
