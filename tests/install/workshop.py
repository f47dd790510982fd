"""Bundles for the tests: signed by keys of their own, of the real image or of a small one that stands in for it."""

import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support import podman
from tests.support.models import store_root

ROOT: Final = podman.ROOT
_APPLIANCE: Final = """#!/bin/sh
# Stands in for the appliance: reads its settings, tells its version, keeps a log in its data, says when it is ready, drains
# at SIGTERM. It knows no setting with "wrong" in it, and is never ready with one that has "never".
data=/var/lib/skellig run=/run/skellig
says() {
    while read -r line; do case $line in *"$1"*) return 0 ;; esac; done </etc/skellig/skellig.toml
    return 1
}
if [ "$1" = config ]; then
    if says wrong; then echo "error: There is no setting chat.wrong (from file). [invalid_input]" >&2; exit 2; fi
    exit 0
fi
trap 'echo "$VERSION drained" >>$data/log; rm -f $run/ready; exit 0' TERM
rm -f $run/ready
[ -e $data/log ] || echo a-token >$data/first-token
echo "$VERSION started" >>$data/log || exit 1
[ -n "$BROKEN" ] || says never || echo "$VERSION" >$run/ready
while :; do sleep 0.2; done
"""
_HEALTHCHECK: Final = "#!/bin/sh\ntest -e /run/skellig/ready\n"
_APPLETS: Final = ("cat", "ls", "rm", "sh", "sleep", "test")


def stand_in(place: Path, *, fake_host: str, version: str, broken: bool = False) -> str:
    """Return a small image that keeps the run contract, made of the fake host's busybox; a *broken* one is never ready."""
    tree = place / f"{version}.tar"
    name = f"localhost/skellig-stand-in:{version}"  # never the name of the real one, which lies in the same storage
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
    return name


def relabelled(image: str, *, version: str) -> str:
    """Return the name of an image like *image* that has another label, and so an id of its own, as a next version would."""
    made = podman.run("create", "--network=none", image)
    try:
        name = f"localhost/skellig-next:{version}"
        podman.run("commit", "--quiet", "--format=oci", f"--change=LABEL version={version}", made, name, seconds=600)
    finally:
        podman.run("rm", made)
    return name


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

    def build(self, version: str, *, image: str, models: Sequence[str] = ()) -> Path:
        """Return the folder of a bundle of *version* with *image*, out of podman's storage, and *models*."""
        folder = self.place / f"{version}-{len(models)}"
        chosen = [f"--store={store_root()}", *(f"--model={name}" for name in models)]
        skellig("bundle", "build", f"--image={image}", f"--version={version}", f"--keys={self.keys}", *chosen, folder)
        return folder


def skellig(*argv: str | Path) -> str:
    """Return what the command prints; raise `AssertionError` with its own words when it fails."""
    command = [ROOT / ".ci" / "containers", sys.executable, "-m", "appliance", *argv]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"skellig {' '.join(map(str, argv))}: {ended.stderr}"
    return ended.stdout


def image_of(bundle: Path) -> str:
    """Return the id of the image that a bundle claims to hold."""
    manifest = json.loads((bundle / "targets" / "bundle.json").read_text())
    return str(manifest["image"]["id"]).removeprefix("sha256:")
