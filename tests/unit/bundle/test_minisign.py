"""Claims about minisign's format, beside minisign itself where it is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from appliance.bundle import minisign
from appliance.bundle.minisign import PublicKey
from appliance.errors import BadSignature, InvalidInput, WrongKey

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = PublicKey.of(PRIVATE.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))
DATA = b"an installer"
SIGNATURE = minisign.sign(DATA, comment="skellig 1.0", key=KEY, signer=PRIVATE.sign)

needs_minisign = pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is not installed")


def run(*argv: str | Path, cwd: Path) -> int:
    return subprocess.run(
        ["minisign", *argv], cwd=cwd, capture_output=True, check=False, stdin=subprocess.DEVNULL
    ).returncode


def test_a_signature_gives_its_trusted_comment() -> None:
    assert minisign.check(DATA, SIGNATURE, key=KEY, name="x") == "skellig 1.0"


@needs_minisign
def test_minisign_believes_our_signature_and_not_of_other_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(DATA)
    (tmp_path / "x.minisig").write_bytes(SIGNATURE)
    (tmp_path / "key.pub").write_bytes(KEY.encode())
    assert run("-V", "-P", KEY.line, "-m", "x", cwd=tmp_path) == 0
    assert run("-V", "-p", "key.pub", "-m", "x", cwd=tmp_path) == 0
    (tmp_path / "x").write_bytes(DATA + b"!")
    assert run("-V", "-P", KEY.line, "-m", "x", cwd=tmp_path) != 0


@needs_minisign
def test_we_believe_a_signature_of_minisign(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(DATA)
    assert run("-G", "-W", "-p", "key.pub", "-s", "key.sec", cwd=tmp_path) == 0
    assert run("-S", "-H", "-s", "key.sec", "-t", "by minisign", "-m", "x", cwd=tmp_path) == 0
    key = PublicKey.parse((tmp_path / "key.pub").read_text())
    assert minisign.check(DATA, (tmp_path / "x.minisig").read_bytes(), key=key, name="x") == "by minisign"


def test_no_bit_below_the_untrusted_comment_may_change() -> None:
    passed = []
    for position in range(SIGNATURE.index(b"\n") + 1, len(SIGNATURE)):
        for bit in range(8):
            changed = bytearray(SIGNATURE)
            changed[position] ^= 1 << bit
            try:
                minisign.check(DATA, bytes(changed), key=KEY, name="x")
            except BadSignature:
                continue
            passed.append((position, bit))
    assert not passed


def test_another_key_is_named_as_such() -> None:
    other = PublicKey.of(b"k" * 32)
    with pytest.raises(WrongKey, match=KEY.identity[::-1].hex().upper()):
        minisign.check(DATA, SIGNATURE, key=other, name="x")


def test_a_key_that_borrows_the_identity_of_another_is_refused() -> None:
    forged = Ed25519PrivateKey.from_private_bytes(bytes(32))
    signature = minisign.sign(DATA, comment="", key=KEY, signer=forged.sign)
    with pytest.raises(BadSignature, match="x is not what was signed"):
        minisign.check(DATA, signature, key=KEY, name="x")


@pytest.mark.parametrize("text", ["", "RW", "x" * 56, KEY.line[:-4], KEY.encode().decode() * 2, "RX" + KEY.line[2:]])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        PublicKey.parse(text)


def test_a_public_key_is_read_from_its_line_and_from_its_file() -> None:
    assert PublicKey.parse(KEY.line) == PublicKey.parse(KEY.encode().decode()) == KEY
