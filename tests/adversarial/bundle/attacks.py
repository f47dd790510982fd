"""Attacks on a bundle, each by the name that the trust table has it under."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from securesystemslib.signer import CryptoSigner

from appliance.bundle import trust
from appliance.bundle.keys import Keys
from tests.support.bundles import DAY, NOON, Host, Workshop, copied, flip, oci_archive


class Scene:
    """A builder with 2-of-3 keys, a stranger, a host, and a bundle of 1.0.0 to spoil."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.shop = Workshop(root / "shop", threshold=2, count=3)
        self.host = Host(root / "host", self.shop)
        self.good = self.shop.bundle("1.0.0")

    def spoilt(self) -> Path:
        return copied(self.good, self.root / "spoilt")

    def later(self, version: str, days: int = 1) -> Path:
        return self.shop.bundle(version, built=NOON + days * DAY)

    def signed(self, role: str, signers: list[CryptoSigner]) -> Path:
        keys = self.shop.keys
        return self.shop.bundle(name="forged", keys=Keys(keys.roots, {**keys.signers, role: signers}, keys.minisigner))

    def metadata(self, role: str, old: bytes, new: bytes) -> Path:
        folder = self.spoilt()
        path = folder / "metadata" / f"{role}.json"
        data = path.read_bytes()
        assert old in data
        path.write_bytes(data.replace(old, new, 1))
        return folder


def _wrong_builder(scene: Scene) -> None:
    scene.host.apply(scene.good)
    scene.host.apply(Workshop(scene.root / "stranger").bundle("9.0.0", built=NOON + 9 * DAY))


def _wrong_first_key(scene: Scene) -> None:
    scene.host.key = Workshop(scene.root / "stranger").keys.minisigner.key
    scene.host.apply(scene.good)


def _too_few(scene: Scene) -> None:
    scene.host.apply(scene.signed("targets", list(scene.shop.keys.signers["targets"])[:1]))


def _unknown_key(scene: Scene) -> None:
    scene.host.apply(scene.signed("snapshot", [*scene.shop.keys.signers["snapshot"], CryptoSigner.generate_ed25519()]))


def _other_role(scene: Scene) -> None:
    scene.host.apply(scene.signed("targets", list(scene.shop.keys.signers["snapshot"])))


def _threshold(scene: Scene) -> None:
    scene.host.apply(scene.metadata("1.root", b'"threshold":2', b'"threshold":1'))


def _root_bit(scene: Scene) -> None:
    folder = scene.spoilt()
    path = folder / "metadata" / "1.root.json"
    flip(path, path.read_bytes().index(b'"sig":"') + 9)
    scene.host.apply(folder)


def _number(scene: Scene) -> None:
    scene.host.apply(scene.metadata("timestamp", b'"version":17', b'"version":18'))


def _spelling(scene: Scene) -> None:
    scene.host.apply(scene.metadata("timestamp", b'"_type":"timestamp",', b'"_type": "timestamp",'))


def _other_number(scene: Scene) -> None:
    signature = json.loads((scene.good / "metadata" / "timestamp.json").read_bytes())["signatures"][0]["sig"]
    raw = bytes.fromhex(signature)
    number = int.from_bytes(raw[32:], "little") + 2**252 + 27742317777372353535851937790883648493
    other = (raw[:32] + number.to_bytes(32, "little")).hex()
    scene.host.apply(scene.metadata("timestamp", signature.encode(), other.encode()))


def _many_roots(scene: Scene) -> None:
    folder = scene.spoilt()
    for number in range(2, 258):
        (folder / "metadata" / f"{number}.root.json").touch()
    scene.host.apply(folder)


def _payload_bit(scene: Scene) -> None:
    folder = scene.spoilt()
    flip(folder / "targets" / "release-notes.md", 3)
    scene.host.apply(folder)


def _cut(scene: Scene) -> None:
    folder = scene.spoilt()
    os.truncate(folder / "targets" / "release-notes.md", 5)
    scene.host.apply(folder)


def _part(scene: Scene) -> None:
    folder = scene.spoilt()
    next((folder / "targets" / "image").glob("*part-002*")).unlink()
    scene.host.apply(folder)


def _extra(scene: Scene) -> None:
    folder = scene.spoilt()
    (folder / "targets" / "run.sh").write_text("x")
    scene.host.apply(folder)


def _link(scene: Scene) -> None:
    folder = scene.spoilt()
    (folder / "README").unlink()
    (folder / "README").symlink_to("/etc/hostname")
    scene.host.apply(folder)


def _endless_payload(scene: Scene) -> None:
    folder = scene.spoilt()
    os.truncate(folder / "targets" / "release-notes.md", 1 << 40)
    scene.host.apply(folder)


def _endless_metadata(scene: Scene) -> None:
    folder = scene.spoilt()
    os.truncate(folder / "metadata" / "timestamp.json", 1 << 40)
    scene.host.apply(folder)


def _nested(scene: Scene) -> None:
    folder = scene.spoilt()
    (folder / "metadata" / "timestamp.json").write_bytes(b"[" * 10_000)
    scene.host.apply(folder)


def _older(scene: Scene) -> None:
    scene.host.apply(scene.later("2.0.0"))
    scene.host.apply(scene.good)


def _older_after_return(scene: Scene) -> None:
    for version, days in (("2.0.0", 1), ("3.0.0", 2)):
        scene.host.apply(scene.later(version, days))
    scene.host.shelf.rollback()
    scene.host.apply(scene.good)


def _mend_by_old_keys(scene: Scene) -> None:
    scene.host.apply(scene.good)
    scene.shop.rotate(threshold=2, count=3)
    scene.host.apply(scene.later("2.0.0"))
    scene.host.shelf.rollback()
    scene.host.apply(scene.good)


def _older_version(scene: Scene) -> None:
    scene.host.apply(scene.later("2.0.0"))
    scene.host.apply(scene.later("1.5.0", days=9))


def _mixed(scene: Scene) -> None:
    folder = scene.spoilt()
    shutil.copy(scene.later("2.0.0") / "metadata" / "targets.json", folder / "metadata" / "targets.json")
    scene.host.apply(folder)


def _twin(scene: Scene) -> None:
    scene.host.apply(scene.good)
    scene.host.apply(scene.later("1.1.0", days=0))


def _twin_name(scene: Scene) -> None:
    scene.host.apply(scene.good)
    scene.host.apply(scene.later("1.0"))


def _stranger_after_loss(scene: Scene) -> None:
    scene.host.apply(scene.good)
    scene.host.forget()
    stranger = Workshop(scene.root / "stranger")
    bundle, root = stranger.bundle("9.0.0"), stranger.keys.roots[0]
    scene.host.shelf.apply(
        bundle, first=lambda running: trust.first(bundle, key=None, carried=root, running=running), now=NOON
    )


def _older_after_loss(scene: Scene) -> None:
    scene.host.apply(scene.later("2.0.0"))
    scene.host.forget()
    scene.host.apply(scene.good)


def _spoilt_when_kept(scene: Scene) -> None:
    scene.host.apply(scene.good)
    scene.host.apply(scene.later("2.0.0"))
    flip(scene.host.root / "bundles" / "1.0.0" / "release-notes.md", 3)
    scene.host.shelf.rollback()


def _added_when_kept(scene: Scene) -> None:
    scene.host.apply(scene.good)
    (scene.host.root / "bundles" / "1.0.0" / "installer" / "run.sh").write_text("x")
    scene.host.shelf.check()


def _expired(scene: Scene) -> None:
    scene.host.apply(scene.shop.stillborn())


def _frozen(scene: Scene) -> None:
    scene.host.verify(scene.good, now=NOON + 400 * DAY, strict=True)


def _escaping_path(scene: Scene) -> None:
    folder = scene.spoilt()
    scene.shop.resign(folder, lambda targets, *_: targets.targets.update({"../x": targets.targets.pop("README")}))
    scene.host.apply(folder)


def _escaping_member(scene: Scene) -> None:
    folder = scene.shop.bundle(name="hostile", largest=1 << 30)
    scene.shop.smuggle(folder, oci_archive(scene.root / "hostile.tar", extra={"../x": b"x"}))
    scene.host.apply(folder)


def _other_image(scene: Scene) -> None:
    folder = scene.shop.bundle(name="hostile", largest=1 << 30)
    scene.shop.smuggle(folder, oci_archive(scene.root / "hostile.tar", layer=b"another"))
    scene.host.apply(folder)


ATTACKS: Final[dict[str, Callable[[Scene], None]]] = {
    "a bundle of another builder": _wrong_builder,
    "a first bundle, and another minisign key": _wrong_first_key,
    "1 signature where 2 of 3 keys must sign": _too_few,
    "one more signature, by an unknown key": _unknown_key,
    "signed with the keys of another role": _other_role,
    "a lower threshold in the root": _threshold,
    "a flipped bit in a signature of the root": _root_bit,
    "a higher number in the timestamp": _number,
    "a blank where no blank was": _spelling,
    "a signature under another number": _other_number,
    "more roots than a builder makes": _many_roots,
    "a flipped bit in the payload": _payload_bit,
    "a payload file cut short": _cut,
    "a part taken away": _part,
    "a file added": _extra,
    "a link in place of a file": _link,
    "a payload file without end": _endless_payload,
    "metadata without end": _endless_metadata,
    "10,000 brackets as metadata": _nested,
    "an older bundle, replayed": _older,
    "an older bundle, where the host went back to another": _older_after_return,
    "the bundle of what runs, where the host went back to it and keys were changed": _mend_by_old_keys,
    "an older version, built later": _older_version,
    "metadata of two bundles, mixed": _mixed,
    "two bundles of the same second": _twin,
    "the same version under another name": _twin_name,
    "a stranger's bundle, where the folder of trust was lost": _stranger_after_loss,
    "an older version, where the folder of trust was lost": _older_after_loss,
    "a kept version that was changed, and a way back to it": _spoilt_when_kept,
    "a file added to the version that runs, and a check": _added_when_kept,
    "expired when it was built": _expired,
    "expired, with `--strict-expiry`": _frozen,
    "a signed path that leads outside": _escaping_path,
    "a signed image with a member outside its folder": _escaping_member,
    "a signed image that is not the one named": _other_image,
}
