from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from appliance.codeintel.query.regex import exactly
from appliance.codeintel.store import text as text_module
from appliance.codeintel.store.text import TextIndex, Unpacked, held_texts, text_file, text_files, write_text
from appliance.errors import Cancelled, StoreCorrupt
from appliance.ids import BlobId

_LONG = "".join(f"line {n} of a long text that fills more than one block\n" for n in range(3_000))
_TEXTS = {
    "a": "first\nsecond needle\n",
    "empty": "",
    "long": _LONG,
    "tail": "needle\n\nneedle here\n",
    "wide": "x" * 70_000 + "\nneedle\n",
}


def _write(folder: Path, texts: dict[str, str]) -> None:
    write_text(text_file(folder), [(BlobId(blob), text) for blob, text in texts.items()], check=lambda: None)


def _index(folder: Path, blobs: Iterable[str]) -> TextIndex:
    return TextIndex(folder, [BlobId(blob) for blob in blobs], unpacked=Unpacked())


def _found(index: TextIndex, literal: str, *, wanted: set[int] | None = None) -> list[tuple[int, int]]:
    expression = exactly(literal, any_case=False)
    mask = np.array([wanted is None or number in wanted for number in range(len(index))], dtype=np.bool_)
    blocks = index.search(expression.need, lambda block: (start for start, _ in expression.lines(block)), wanted=mask)
    return [pair for block in blocks for pair in block]


def _truth(texts: dict[str, str], literal: str) -> list[tuple[int, int]]:
    return [
        (number, line)
        for number, text in enumerate(texts.values())
        for line, content in enumerate(text.split("\n"), start=1)
        if literal in content
    ]


@pytest.mark.parametrize("literal", ["needle", "line 2999 of", "of a long", "first", "nowhere", "xxxx", "e"])
def test_every_line_is_found_with_its_text_and_number_wherever_blocks_were_cut(tmp_path: Path, literal: str) -> None:
    _write(tmp_path, _TEXTS)
    assert _found(_index(tmp_path, _TEXTS), literal) == _truth(_TEXTS, literal)


def test_a_line_comes_back_as_it_was_written(tmp_path: Path) -> None:
    _write(tmp_path, _TEXTS)
    index = _index(tmp_path, _TEXTS)
    for number, text in enumerate(_TEXTS.values()):
        lines = text.split("\n")[:-1]
        for line in {1, 2, 3, 611, 1500, 3000} & set(range(1, len(lines) + 1)):
            assert index.lines(number, line, line) == lines[line - 1 : line]
        if lines:
            assert index.lines(number, 1, len(lines)) == lines
            assert index.lines(number, len(lines) // 2 + 1, len(lines)) == lines[len(lines) // 2 :]


def test_only_wanted_texts_are_looked_at(tmp_path: Path) -> None:
    _write(tmp_path, _TEXTS)
    assert {text for text, _ in _found(_index(tmp_path, _TEXTS), "needle", wanted={0, 3})} == {0, 3}


def test_what_a_later_state_adds_is_read_with_what_was_there(tmp_path: Path) -> None:
    """An edit writes the texts of its few blobs, and nothing anew of the others."""
    _write(tmp_path, {"a": _TEXTS["a"], "gone": "needle of old\n"})
    before = text_files(tmp_path)[0].read_bytes()
    _write(tmp_path, {"new": "a new needle\n"})
    index = _index(tmp_path, ["new", "a"])
    assert index.of_file.tolist() == [2, 0]
    assert _found(index, "needle", wanted=set(index.of_file.tolist())) == [(0, 2), (2, 1)]
    assert text_files(tmp_path)[0].read_bytes() == before
    assert held_texts(text_files(tmp_path)[1]) == ("new",)


def test_a_blob_without_a_text_is_known_as_such(tmp_path: Path) -> None:
    _write(tmp_path, {"a": "one\n"})
    assert _index(tmp_path, ["a", "lost"]).of_file.tolist() == [0, -1]
    assert _index(tmp_path / "nowhere", ["a"]).of_file.tolist() == [-1]


@pytest.mark.parametrize("texts", [{}, {"empty": ""}])
def test_an_index_of_no_text_finds_nothing(tmp_path: Path, texts: dict[str, str]) -> None:
    _write(tmp_path, texts)
    assert _found(_index(tmp_path, texts), "needle") == []


def test_many_blocks_need_many_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are numbered in 16 bits: a large repository has more than one set of lists."""
    monkeypatch.setattr(text_module, "MOST_BLOCKS", 2)
    texts = {f"t{n}": f"needle {n}\n" + "pad of some length\n" * 2_000 for n in range(6)}
    _write(tmp_path, texts)
    assert _found(_index(tmp_path, texts), "needle") == [(n, 1) for n in range(6)]


@pytest.mark.parametrize("damage", [lambda data: data[:100], lambda _: b"", lambda data: data[:-3] + b"\xff\xff\xff"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: object) -> None:
    _write(tmp_path, _TEXTS)
    path = text_files(tmp_path)[0]
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreCorrupt, match="text-0"):
        _index(tmp_path, _TEXTS)


def test_a_damaged_block_is_named_when_it_is_read(tmp_path: Path) -> None:
    _write(tmp_path, _TEXTS)
    path = text_files(tmp_path)[0]
    path.write_bytes(bytes(40) + path.read_bytes()[40:])
    with pytest.raises(StoreCorrupt, match="damaged"):
        _found(_index(tmp_path, _TEXTS), "first")


def test_writing_stops_when_it_is_told_to(tmp_path: Path) -> None:
    def stop() -> None:
        raise Cancelled("Enough.")

    with pytest.raises(Cancelled):
        write_text(text_file(tmp_path), [(BlobId("a"), "one\n")], check=stop)
