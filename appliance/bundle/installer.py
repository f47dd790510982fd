"""The installer that a bundle carries: one file that a bare host's python3 runs, with all that it needs inside."""

import io
import zipfile
from importlib.metadata import files
from pathlib import Path, PurePosixPath
from typing import Final

from appliance.errors import HostUnfit

_LIBRARIES: Final = ("click", "securesystemslib", "tuf", "urllib3")
_OURS: Final = (
    "__init__.py",
    "errors.py",
    "base/__init__.py",
    "base/durable.py",
    *(f"bundle/{name}.py" for name in ("__init__", "apply", "archive", "contents", "layout", "metadata", "minisign")),
    *(f"bundle/{name}.py" for name in ("stage", "trust", "verify")),
    "cli/__init__.py",
    "cli/carry.py",
    "cli/exits.py",
)
# A host's own cryptography may be old or broken, and the installer is to behave alike everywhere: it brings its own.
_MAIN: Final = b"""import sys

if sys.version_info < (3, 11):
    sys.exit("error: The installer needs Python 3.11 or later, and this is %d.%d. [host_unfit]" % sys.version_info[:2])

sys.modules["cryptography"] = None

from pkgutil import get_data

from appliance.cli.carry import main

main(carried=get_data("skellig_carried", "root.json"))
"""
_SHEBANG: Final = b"#!/usr/bin/env python3\n"
_DATE: Final = (1980, 1, 1, 0, 0, 0)


def make(root: bytes) -> bytes:
    """Return the installer that trusts *root* on a host which trusts nothing yet; the same bytes for the same inputs."""
    held = {"__main__.py": _MAIN, "skellig_carried/__init__.py": b"", "skellig_carried/root.json": root}
    package = Path(__file__).resolve().parents[1]
    held |= {f"appliance/{name}": (package / name).read_bytes() for name in _OURS}
    for library in _LIBRARIES:
        held |= _library(library)
    out = io.BytesIO()
    out.write(_SHEBANG)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(held.items()):
            archive.writestr(zipfile.ZipInfo(name, _DATE), data, zipfile.ZIP_DEFLATED, 9)
    return out.getvalue()


def _library(name: str) -> dict[str, bytes]:
    """Return the sources and the licences of an installed library; a zip needs a file for each package that has none."""
    found = {
        str(path): Path(str(path.locate())).read_bytes()
        for path in files(name) or ()
        if path.suffix == ".py" or "licenses" in path.parts
    }
    if f"{name}/__init__.py" not in found:
        raise HostUnfit(f"The library {name} is not installed as files.", remedy="Install Skellig with pip.")
    packages = {parent for path in found if path.endswith(".py") for parent in PurePosixPath(path).parents[:-1]}
    return {f"{package}/__init__.py": b"" for package in packages} | found
