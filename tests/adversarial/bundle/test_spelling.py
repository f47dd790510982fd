"""One bundle has one spelling: what a library of signatures or of JSON would let pass as the same is refused."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from appliance.bundle import minisign, verify
from appliance.errors import TrustError
from tests.support.bundles import NOON, Host, Workshop, copied

DICE = Random()  # noqa: S311 - which places are tried is no secret
ORDER = 2**252 + 27742317777372353535851937790883648493
TRIES = 10
METADATA = ["1.root", "timestamp", "snapshot", "targets"]

# Run as the installer runs: with the library of signatures that it brings, and no other.
VERDICTS = """
import sys
sys.path.insert(0, sys.argv[1])
sys.modules["cryptography"] = None
from datetime import datetime, UTC
from pathlib import Path
from appliance.bundle import trust, verify
from appliance.bundle.minisign import PublicKey
from appliance.errors import ApplianceError
for folder in map(Path, sys.argv[3:]):
    try:
        verify.examine(folder, trust.first(folder, key=PublicKey.parse(sys.argv[2]), carried=None), now=datetime.now(UTC))
    except ApplianceError as exc:
        print(exc.code)
    else:
        print("taken")
"""


def others(signature: bytes) -> Iterator[bytes]:
    """Give the other numbers that are the same signature to whoever does not look at their size."""
    number = int.from_bytes(signature[32:], "little") + ORDER
    while number < 2**256:
        yield signature[:32] + number.to_bytes(32, "little")
        number += ORDER


def respelt(folder: Path, name: str) -> Iterator[None]:
    path = folder / name
    data = path.read_bytes()
    if name.endswith(".minisig"):
        old = base64.b64decode(data.splitlines()[1])
        spellings = [(base64.b64encode(old), base64.b64encode(old[:10] + new)) for new in others(old[10:])]
    else:
        sig = json.loads(data)["signatures"][0]["sig"]
        spellings = [(sig.encode(), new.hex().encode()) for new in others(bytes.fromhex(sig))]
    for old_text, new_text in DICE.sample(spellings, 3):
        path.write_bytes(data.replace(old_text, new_text))
        yield
    path.write_bytes(data)


def test_a_signature_under_another_number_is_refused_by_the_installer(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "shop")
    shop.rotate()
    good = shop.bundle()
    folders = [good]
    for name in [*(f"metadata/{role}.json" for role in ("1.root", "2.root", "timestamp")), "installer/root.json.minisig"]:
        spoilt = copied(good, tmp_path / f"spoilt-{len(folders)}")
        for _ in respelt(spoilt, name):
            folders.append(copied(spoilt, tmp_path / f"spelling-{len(folders)}"))
    installer, key = str(good / "installer" / "skellig-bundle.pyz"), shop.keys.minisigner.key.line
    command = [sys.executable, "-I", "-S", "-c", VERDICTS, installer, key, *map(str, folders)]
    ended = subprocess.run(command, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["taken"] + ["bad_signature"] * (len(folders) - 1)


def test_only_a_number_below_the_order_of_the_group_is_a_signature() -> None:
    right = bytes(32) + (ORDER - 1).to_bytes(32, "little")
    assert minisign.is_canonical(right)
    assert not any(map(minisign.is_canonical, [b"", right[:-1], right + b"\0", *others(right)]))
    assert not minisign.is_canonical(bytes(32) + ORDER.to_bytes(32, "little"))


def places(node: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


@pytest.mark.parametrize("role", METADATA)
def test_whatever_stands_anywhere_in_metadata_is_refused_and_never_an_error_of_ours(
    host: Host, spoilt: Path, role: str
) -> None:
    path = spoilt / "metadata" / f"{role}.json"
    data = path.read_bytes()
    known = host.known(spoilt)
    strange = [
        1.5,
        "\ud800",
        None,
        True,
        [],
        {},
        "x",
        -1,
        10**30,
        {"a": 1.5},
        ["\udfff"],
        "0001-01-01T00:00:00Z",
        {"\ud800": 1},
    ]
    where = list(places(json.loads(data)))
    for place in DICE.sample(where, min(TRIES, len(where))):
        for value in strange:
            document = json.loads(data)
            node = document
            for step in place[:-1]:
                node = node[step]
            if node[place[-1]] == value:
                continue
            node[place[-1]] = value
            path.write_bytes(json.dumps(document, separators=(",", ":"), sort_keys=True).encode())
            with pytest.raises(TrustError):
                verify.examine(spoilt, known, now=NOON)
