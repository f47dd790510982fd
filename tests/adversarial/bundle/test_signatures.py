"""Who signed it: tables of keys, and each way in which they do not suffice."""

from pathlib import Path

import pytest
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata

from appliance.bundle import trust
from appliance.bundle.keys import Keys
from appliance.errors import BadSignature, MalformedMetadata, TooFewSignatures, WrongKey
from tests.support.bundles import DAY, NOON, Host, Workshop, copied, flip

TABLES = [(1, 1), (2, 3), (3, 5)]
ROLES = ["targets", "snapshot", "timestamp"]


@pytest.fixture(scope="module", params=TABLES, ids=lambda table: f"{table[0]}-of-{table[1]}")
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    threshold, count = request.param
    return Workshop(tmp_path_factory.mktemp("table") / "shop", threshold=threshold, count=count)


def needed(shop: Workshop) -> int:
    return Metadata.from_bytes(shop.keys.roots[0]).signed.roles["targets"].threshold


def with_signers(keys: Keys, role: str, signers: list[CryptoSigner]) -> Keys:
    return Keys(keys.roots, {**keys.signers, role: signers}, keys.minisigner)


@pytest.mark.parametrize("role", ROLES)
def test_as_many_keys_as_must_sign_suffice(table: Workshop, tmp_path: Path, role: str) -> None:
    few = list(table.keys.signers[role])[: needed(table)]
    folder = table.bundle(name=f"enough-{role}", keys=with_signers(table.keys, role, few))
    assert Host(tmp_path / "host", table).verify(folder).manifest.version == "1.0.0"


@pytest.mark.parametrize("role", ROLES)
def test_one_key_fewer_is_too_few(table: Workshop, tmp_path: Path, role: str) -> None:
    few = list(table.keys.signers[role])[: needed(table) - 1]
    folder = table.bundle(name=f"few-{role}", keys=with_signers(table.keys, role, few))
    host = Host(tmp_path / "host", table)
    with pytest.raises(TooFewSignatures, match=rf"{role}\.json is signed by {len(few)} of the {len(few) + 1} keys"):
        host.apply(folder)
    assert host.content() == {}


@pytest.mark.parametrize("role", ROLES)
def test_a_key_that_nobody_trusts_is_the_wrong_one(table: Workshop, tmp_path: Path, role: str) -> None:
    strange = [*table.keys.signers[role], CryptoSigner.generate_ed25519()]
    folder = table.bundle(name=f"strange-{role}", keys=with_signers(table.keys, role, strange))
    with pytest.raises(WrongKey, match=rf"{role}\.json is signed by the key [0-9a-f]+, which is not trusted for it"):
        Host(tmp_path / "host", table).apply(folder)


def test_the_keys_of_one_role_do_not_sign_for_another(table: Workshop, tmp_path: Path) -> None:
    folder = table.bundle(name="swapped", keys=with_signers(table.keys, "targets", list(table.keys.signers["snapshot"])))
    with pytest.raises(WrongKey, match=r"targets\.json"):
        Host(tmp_path / "host", table).apply(folder)


def test_one_key_that_signs_often_counts_once(table: Workshop, tmp_path: Path) -> None:
    """Metadata names each signature by its key; a second one of the same key is not metadata at all."""
    folder = copied(table.bundle(name="once"), tmp_path / "often")
    path = folder / "metadata" / "timestamp.json"
    head, found, tail = path.read_bytes().partition(b'"signatures":[')
    signature = tail[: tail.index(b"}") + 1]
    path.write_bytes(head + found + signature + b"," + tail)
    with pytest.raises(MalformedMetadata, match=r"timestamp\.json is not metadata"):
        Host(tmp_path / "host", table).apply(folder)


def test_a_bundle_of_another_builder_is_signed_by_the_wrong_keys(table: Workshop, tmp_path: Path) -> None:
    host = Host(tmp_path / "host", table)
    host.apply(table.bundle(name="ours"))
    before = host.content()
    stranger = Workshop(tmp_path / "stranger", threshold=1, count=1)
    with pytest.raises(WrongKey, match=r"1\.root\.json is not the root that this host trusts"):
        host.apply(stranger.bundle("9.0.0", built=NOON + DAY))
    assert host.content() == before


@pytest.mark.parametrize(("threshold", "count"), TABLES)
def test_hosts_follow_when_keys_are_changed_also_those_that_missed_it(tmp_path: Path, threshold: int, count: int) -> None:
    table = Workshop(tmp_path / "shop", threshold=threshold, count=count)
    first, skipping = Host(tmp_path / "first", table), Host(tmp_path / "skipping", table)
    for host in (first, skipping):
        host.apply(table.bundle("1.0.0", name=f"before-{host.root.name}"))
    for version in (2, 3):
        table.rotate(threshold=version, count=version + 1)
        folder = table.bundle(f"{version}.0.0", built=NOON + version * DAY, name=f"rotated-{version}")
        assert first.apply(folder).changed
    assert skipping.apply(folder).changed
    assert Host(tmp_path / "new", table).apply(folder).changed


def test_a_new_root_that_the_old_keys_did_not_sign_is_refused(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "shop")
    host = Host(tmp_path / "host", shop)
    host.apply(shop.bundle("1.0.0"))
    shop.rotate()
    folder = shop.bundle("2.0.0", built=NOON + DAY)
    path = folder / "metadata" / "2.root.json"
    root = Metadata.from_bytes(path.read_bytes())
    root.signatures.pop(shop.keys.signers["root"][0].public_key.keyid)
    kept = dict(root.signatures)
    path.write_bytes(root.to_bytes())
    with pytest.raises(TooFewSignatures, match=r"2\.root\.json is signed by 0 of the 1 keys"):
        host.apply(folder)
    root.signatures.clear()
    root.sign(shop.keys.signers["root"][0])
    assert kept.keys() != root.signatures.keys()
    path.write_bytes(root.to_bytes())
    with pytest.raises(TooFewSignatures, match=r"2\.root\.json is signed by 0 of the 1 keys"):
        host.apply(folder)


def test_keys_that_were_changed_sign_no_more(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "shop")
    host = Host(tmp_path / "host", shop)
    stolen = shop.keys
    shop.rotate()
    host.apply(shop.bundle("1.0.0"))
    old = Keys(shop.keys.roots, stolen.signers, shop.keys.minisigner)
    with pytest.raises(WrongKey, match=r"timestamp\.json is signed by the key"):
        host.apply(shop.bundle("2.0.0", built=NOON + DAY, keys=old))


def test_a_first_root_that_the_key_did_not_sign_is_refused(host: Host, spoilt: Path, tmp_path: Path) -> None:
    stranger = Workshop(tmp_path / "stranger")
    host.key = stranger.keys.minisigner.key
    with pytest.raises(WrongKey, match=r"installer/root\.json is signed by the key"):
        host.apply(spoilt)
    assert host.content() == {}


def test_a_first_root_that_was_changed_is_refused(host: Host, spoilt: Path) -> None:
    flip(spoilt / "installer" / "root.json", 40)
    with pytest.raises(BadSignature, match=r"installer/root\.json is not what was signed"):
        host.apply(spoilt)


def test_a_host_without_any_key_says_how_it_gets_one(bundle: Path) -> None:
    with pytest.raises(WrongKey, match="Give the public key of whoever built it with --key"):
        trust.first(bundle, key=None, carried=None)


def test_the_threshold_of_a_root_cannot_be_lowered_in_passing(host: Host, workshop: Workshop, spoilt: Path) -> None:
    path = spoilt / "metadata" / "1.root.json"
    path.write_bytes(path.read_bytes().replace(b'"threshold":2', b'"threshold":1'))
    with pytest.raises(BadSignature, match=r"1\.root\.json is not what was signed"):
        host.apply(spoilt)
    assert workshop.keys.roots
