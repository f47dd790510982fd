"""Files that nobody signed, that are gone, that are none, or that never end."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from appliance.errors import (
    DigestMismatch,
    ExtraFile,
    HostUnfit,
    MalformedMetadata,
    MissingPart,
    NotFound,
    TrustError,
    UnsafePath,
)
from tests.support.bundles import Host, Workshop, copied, flip, oci_archive


def part(folder: Path, number: int) -> Path:
    (found,) = (folder / "targets" / "image").glob(f"*.part-{number:03}-*")
    return found


@pytest.mark.parametrize(
    "path",
    [
        "extra",
        "targets/extra",
        "targets/image/.hidden",
        "installer/run.sh",
        "metadata/5.root.json",
        "metadata/role.json",
        "a/b/c",
    ],
)
def test_a_file_that_nobody_signed_is_refused_by_name(host: Host, spoilt: Path, path: str) -> None:
    (spoilt / path).parent.mkdir(parents=True, exist_ok=True)
    (spoilt / path).write_text("x")
    with pytest.raises(TrustError, match=r"nobody signed|lacks") as told:
        host.apply(spoilt)
    assert type(told.value) is (MissingPart if path == "metadata/5.root.json" else ExtraFile)
    assert host.content() == {}


def test_a_folder_with_nothing_in_it_is_refused(host: Host, spoilt: Path) -> None:
    (spoilt / "targets" / "empty").mkdir()
    with pytest.raises(ExtraFile, match="The bundle has targets/empty/, which nobody signed"):
        host.apply(spoilt)


@pytest.mark.parametrize("folder", ["metadata", "installer", "targets", "targets/image", "targets/models"])
def test_a_folder_whose_files_are_gone_is_told_by_what_is_missing(
    host: Host, bundle: Path, spoilt: Path, folder: str
) -> None:
    """As a copy leaves it that broke off: to remove the folder, as of one that nobody signed, would mend nothing."""
    host.apply(bundle)
    for path in [path for path in (spoilt / folder).rglob("*") if path.is_file()]:
        path.unlink()
    with pytest.raises(
        MissingPart, match=f"The bundle lacks {folder}/.*Copy the bundle again|lacks metadata/.*Get the bundle"
    ):
        host.apply(spoilt)


@pytest.mark.parametrize(
    "path", ["README", "targets/bundle.json", "installer/root.json", "installer/skellig-bundle.pyz.minisig"]
)
def test_a_file_that_is_gone_is_named(host: Host, bundle: Path, spoilt: Path, path: str) -> None:
    host.apply(bundle)
    (spoilt / path).unlink()
    with pytest.raises(MissingPart, match=f"The bundle lacks {path}") as told:
        host.verify(spoilt)
    assert told.value.context["file"] == path


@pytest.mark.parametrize("role", ["1.root", "timestamp", "snapshot", "targets"])
def test_metadata_that_is_gone_is_named(host: Host, spoilt: Path, role: str) -> None:
    (spoilt / "metadata" / f"{role}.json").unlink()
    with pytest.raises(MissingPart, match=f"metadata/{role}"):
        host.apply(spoilt)


def test_a_missing_part_and_a_broken_part_are_named_by_their_number(host: Host, spoilt: Path) -> None:
    second = part(spoilt, 2)
    data = second.read_bytes()
    second.unlink()
    with pytest.raises(MissingPart, match=r"image\.oci\.tar\.part-002-of-\d{3}"):
        host.apply(spoilt)
    second.write_bytes(data)
    flip(second, len(data) - 1)
    with pytest.raises(DigestMismatch, match=r"image\.oci\.tar\.part-002-of-\d{3} is not what was signed"):
        host.apply(spoilt)
    assert host.content() == {}


def test_parts_of_another_cut_beside_the_right_ones_are_refused(host: Host, workshop: Workshop, spoilt: Path) -> None:
    """The same image cut smaller into the same folder: old and new parts must not mix."""
    smaller = workshop.bundle("1.0.0", name="smaller", largest=30_000)
    stale = sorted((smaller / "targets" / "image").iterdir())
    for path in stale:
        shutil.copy(path, spoilt / "targets" / "image" / path.name)
    with pytest.raises(ExtraFile, match=stale[0].name):
        host.apply(spoilt)


def test_parts_that_changed_places_are_refused(host: Host, spoilt: Path, tmp_path: Path) -> None:
    first, second = part(spoilt, 1), part(spoilt, 2)
    first.rename(tmp_path / "aside")
    second.rename(first)
    (tmp_path / "aside").rename(second)
    with pytest.raises(DigestMismatch, match=r"part-00[12]"):
        host.apply(spoilt)


def test_parts_may_arrive_in_any_order_and_are_asked_for_until_all_are_there(
    host: Host, bundle: Path, tmp_path: Path
) -> None:
    arriving = copied(bundle, tmp_path / "arriving")
    held = {path.name: path.read_bytes() for path in sorted((arriving / "targets" / "image").iterdir(), reverse=True)}
    for name in held:
        (arriving / "targets" / "image" / name).unlink()
    (arriving / "targets" / "image").rmdir()
    for name, data in held.items():
        with pytest.raises(MissingPart):
            host.apply(arriving)
        (arriving / "targets" / "image").mkdir(exist_ok=True)
        (arriving / "targets" / "image" / name).write_bytes(data)
    assert host.apply(arriving).changed


@pytest.mark.parametrize("where", ["README", "targets/bundle.json", "metadata/timestamp.json", "targets/image", "installer"])
def test_a_link_is_refused_wherever_it_stands(host: Host, spoilt: Path, tmp_path: Path, where: str) -> None:
    (spoilt / where).rename(tmp_path / "elsewhere")
    (spoilt / where).symlink_to(tmp_path / "elsewhere")
    with pytest.raises((UnsafePath, TrustError)) as told:
        host.verify(spoilt)
    assert "installer" in where or type(told.value) is UnsafePath


def test_the_bundle_itself_may_not_be_a_link(host: Host, bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(bundle)
    with pytest.raises(NotFound, match="There is no bundle"):
        host.apply(tmp_path / "link")


def test_a_pipe_and_a_socket_are_refused_and_not_waited_for(host: Host, spoilt: Path) -> None:
    os.mkfifo(spoilt / "targets" / "pipe")
    with pytest.raises(UnsafePath, match="targets/pipe"):
        host.apply(spoilt)
    (spoilt / "targets" / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(spoilt / "s"))
        with pytest.raises(UnsafePath, match="s is a link or a device"):
            host.apply(spoilt)


def test_folders_without_end_are_refused(host: Host, spoilt: Path) -> None:
    deep = spoilt / Path(*["d"] * 60)
    deep.mkdir(parents=True)
    with pytest.raises(UnsafePath, match="more than 32 deep"):
        host.apply(spoilt)


@pytest.mark.parametrize("name", ["1.root", "timestamp", "snapshot", "targets"])
def test_metadata_without_end_is_refused_before_it_is_read(host: Host, spoilt: Path, name: str) -> None:
    with (spoilt / "metadata" / f"{name}.json").open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(MalformedMetadata, match=r"has 1,099,511,627,776 bytes; [0-9,]+ are the most"):
        host.apply(spoilt)


def test_a_payload_without_end_is_refused_before_it_is_read(host: Host, spoilt: Path) -> None:
    with part(spoilt, 1).open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(DigestMismatch, match="has 1,099,511,627,776 bytes, and 65,536 were signed"):
        host.apply(spoilt)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[" * 20_000, b"\xff\xfe", b'{"signed":1,"signatures":[]}', b"null", b"1e999"]
)
@pytest.mark.parametrize("name", ["1.root", "timestamp"])
def test_what_is_no_metadata_is_refused_by_name(host: Host, bundle: Path, spoilt: Path, name: str, data: bytes) -> None:
    host.apply(bundle)
    (spoilt / "metadata" / f"{name}.json").write_bytes(data)
    with pytest.raises(MalformedMetadata, match=rf"metadata/{name}\.json|metadata/1\.root\.json"):
        host.apply(spoilt)


def test_a_signed_path_that_leads_outside_is_refused(host: Host, workshop: Workshop, spoilt: Path) -> None:
    """Even whoever holds the keys writes only below the folder of a version."""

    def outside(*signed: object) -> None:
        targets = signed[0].targets  # type: ignore[attr-defined]
        targets["../evil"] = targets.pop("README")

    workshop.resign(spoilt, outside)
    with pytest.raises(MalformedMetadata, match="is not a path that a bundle may hold"):
        host.apply(spoilt)


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil"])
def test_a_signed_image_with_members_that_leave_their_folder_is_refused(
    host: Host, workshop: Workshop, tmp_path: Path, name: str
) -> None:
    folder = workshop.bundle(name=f"hostile-{tmp_path.name}", largest=1 << 30)
    workshop.smuggle(folder, oci_archive(tmp_path / "image.tar", extra={name: b"x"}))
    with pytest.raises(UnsafePath, match="is a link or leaves its folder"):
        host.apply(folder)
    assert host.content() == {}


def test_an_image_that_is_not_the_one_that_was_named_is_refused(host: Host, workshop: Workshop, tmp_path: Path) -> None:
    folder = workshop.bundle(name="other-image", largest=1 << 30)
    workshop.smuggle(folder, oci_archive(tmp_path / "image.tar", layer=b"another"))
    with pytest.raises(DigestMismatch, match=r"The image is sha256:[0-9a-f]{64}, and sha256:[0-9a-f]{64} was signed"):
        host.apply(folder)
    assert host.content() == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_named(host: Host, spoilt: Path) -> None:
    (spoilt / "targets" / "image").chmod(0)
    try:
        with pytest.raises(HostUnfit, match=r"targets/image/ cannot be used"):
            host.apply(spoilt)
    finally:
        (spoilt / "targets" / "image").chmod(0o755)
