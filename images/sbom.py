"""Prints the bill of materials of the image, in CycloneDX 1.6: each Python distribution and each Debian package in it.

What is found must be what was asked for: every line of the lock stands there at its version, and nothing beside it but our
own package and what was compiled for it. The same image gives the same bytes.
"""

import argparse
import json
import re
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

Component = dict[str, object]

_PIN = re.compile(r"^(?P<name>[a-z0-9._-]+)==(?P<version>\S+) \\\n +--hash=sha256:(?P<digest>[0-9a-f]{64})$", re.MULTILINE)
_UNPINNED = {"llama-cpp-python", "skellig"}  # built by us: the one from its pinned source, the other from this one
_DEBIAN_FEWEST = 60


def main(argv: list[str]) -> int:
    """Print the document; return 1, with a sentence, where something is missing or nobody asked for it."""
    parser = argparse.ArgumentParser(description="Print the image's bill of materials.")
    parser.add_argument("--locks", type=Path, required=True, help="the lock that was installed")
    parser.add_argument("--packages", type=Path, required=True, help="dpkg's status file")
    parser.add_argument("--site", type=Path, action="append", required=True, help="a folder of distributions")
    asked = parser.parse_args(argv)
    pins = {found["name"]: (found["version"], found["digest"]) for found in _PIN.finditer(asked.locks.read_text())}
    wheels = {name_of(found): found for found in distributions(path=[str(site) for site in asked.site])}
    packages = list(debian(asked.packages.read_text()))
    wrong = list(differences(pins, wheels))
    if len(packages) < _DEBIAN_FEWEST:
        wrong.append(f"dpkg lists {len(packages)} packages")
    if wrong:
        sys.stderr.write(f"error: The image is not what its lock says: {'; '.join(wrong)}.\n")
        return 1
    parts = [python(found, digest=pins.get(name, ("", ""))[1]) for name, found in sorted(wheels.items())]
    json.dump(document(wheels["skellig"].version, parts + packages), sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
    return 0


def name_of(found: Distribution) -> str:
    """Return the normalized name."""
    return re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower()


def differences(pins: dict[str, tuple[str, str]], wheels: dict[str, Distribution]) -> Iterator[str]:
    """Yield what is in one of lock and image, and not, or not at the same version, in the other."""
    for name, (version, _) in pins.items():
        if name not in wheels:
            yield f"{name} is not installed"
        elif wheels[name].version != version:
            yield f"{name} is {wheels[name].version}, not {version}"
    yield from (f"{name} is in no lock" for name in wheels.keys() - pins.keys() - _UNPINNED)
    yield from (f"{name} is not installed" for name in _UNPINNED - wheels.keys())


def python(found: Distribution, *, digest: str) -> Component:
    """Return the component of an installed distribution; *digest* is the one of its wheel, where that was pinned."""
    name, version = name_of(found), found.version
    component: Component = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "purl": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
    }
    if digest:
        component["hashes"] = [{"alg": "SHA-256", "content": digest}]
    if licence := licence_of(found):
        component["licenses"] = [licence]
    return component


def licence_of(found: Distribution) -> dict[str, object] | None:
    """Return what the distribution says of its licence: an expression, or else a name."""
    said = found.metadata
    if "License-Expression" in said:
        return {"expression": said["License-Expression"]}
    classified = [line.rpartition(" :: ")[2] for line in said.get_all("Classifier", []) if line.startswith("License ::")]
    named = " / ".join(classified) or "".join(said.get_all("License", [])).strip().partition("\n")[0]
    return {"license": {"name": named}} if named else None


def debian(status: str) -> Iterator[Component]:
    """Yield a component for each package that dpkg's *status* calls installed."""
    for stanza in status.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and not line.startswith(" "))
        if fields.get("Status") != "install ok installed":
            continue
        name, version = fields["Package"], fields["Version"]
        ref = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={fields['Architecture']}"
        yield {"type": "library", "bom-ref": ref, "purl": ref, "name": name, "version": version}


def document(version: str, components: list[Component]) -> dict[str, object]:
    """Return the whole; its serial number follows from its content."""
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(components, sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": {"type": "container", "bom-ref": "skellig", "name": "skellig", "version": version}},
        "components": sorted(components, key=lambda component: str(component["bom-ref"])),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
