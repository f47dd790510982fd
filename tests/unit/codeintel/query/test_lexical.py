import itertools
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest

from appliance.codeintel.facts import texts
from appliance.codeintel.parse.tokens import by_word, tokenize
from appliance.codeintel.parse.words import Words
from appliance.codeintel.store.arrays import read_arrays
from appliance.codeintel.store.inverting import Inverter
from appliance.codeintel.store.lexical import FileWords, LexicalIndex, LexicalWriter
from appliance.codeintel.store.postings import Postings
from appliance.errors import StoreCorrupt
from tests.support.postings import postings_of
from tests.support.ranked import best_chunks, best_files

File = tuple[str, list[tuple[str, str]]]  # path, and text and names of each chunk


def _index(folder: Path, *files: File) -> LexicalIndex:
    writer, of_file = LexicalWriter(folder / "lexical"), list[int]()
    for number, (path, chunks) in enumerate(files):
        words = Words()
        for text, names in chunks:
            words.add(text, names)
        writer.add(FileWords(number, len(of_file), list(by_word(path)), words.table(), words.texts(), words.names()))
        of_file += [number] * len(chunks)
    writer.finish()
    return LexicalIndex.open(folder / "lexical", np.array(of_file, dtype=np.int32))


def _chunk(text: str, *, names: str = "", path: str = "a.py") -> File:
    return path, [(text, names)]


def test_a_chunk_that_defines_the_word_beats_one_that_uses_it(tmp_path: Path) -> None:
    index = _index(
        tmp_path, _chunk("call retry here"), _chunk("call retry here", names="retry"), _chunk("something else there")
    )
    ids, scores = best_chunks(index, ["retri"], 10)
    assert ids.tolist() == [1, 0]
    assert scores[0] > scores[1] > 0


def test_a_word_of_the_path_counts_for_the_file_and_all_its_chunks(tmp_path: Path) -> None:
    index = _index(tmp_path, _chunk("x y"), ("net/socket.py", [("x y", ""), ("z", "")]))
    assert best_chunks(index, ["socket"], 10)[0].tolist() == [1, 2]
    assert best_files(index, ["socket"], 10)[0].tolist() == [1]


def test_a_file_is_found_by_words_of_different_chunks(tmp_path: Path) -> None:
    index = _index(tmp_path, ("a", [("alpha", ""), ("beta", "")]), ("b", [("alpha", ""), ("x", "")]))
    assert best_files(index, ["alpha", "beta"], 10)[0].tolist() == [0, 1]


def test_a_chunk_without_any_of_the_words_scores_nothing(tmp_path: Path) -> None:
    index = _index(tmp_path, _chunk("alpha"), _chunk("beta"))
    scored = index.scored(["alpha"])
    assert (scored.chunks > 0).tolist() == (scored.files > 0).tolist() == [True, False]


def test_phrases_must_all_stand_as_they_are(tmp_path: Path) -> None:
    index = _index(tmp_path, _chunk("read the only file"), _chunk("a read only file"), _chunk("read only x"))
    assert index.holding([["read", "onli"]]).tolist() == [1, 2]
    assert index.holding([["read", "onli"], ["fil"]]).tolist() == [1]
    assert index.holding([["onli", "read"]]).tolist() == []


def test_unknown_words_find_nothing(tmp_path: Path) -> None:
    index = _index(tmp_path, _chunk("alpha"))
    assert len(best_chunks(index, ["omega"], 10)[0]) == len(index.holding([["omega"]])) == 0


def test_an_index_of_nothing_finds_nothing(tmp_path: Path) -> None:
    index = _index(tmp_path)
    assert len(best_chunks(index, ["alpha"], 10)[0]) == len(index.holding([["alpha", "beta"]])) == 0
    assert index.rarity(["alpha"]).tolist() == [0]


def test_a_field_keeps_its_own_words_alone(tmp_path: Path) -> None:
    _index(tmp_path, _chunk("alpha beta", names="gamma", path="delta"))
    words, names, path = (Postings(tmp_path / "lexical", name) for name in ("words", "names", "path"))
    assert words.frequencies(["alpha", "beta", "gamma", "delta"]).tolist() == [1, 1, 0, 0]
    assert names.frequencies(["alpha", "gamma"]).tolist() == path.frequencies(["alpha", "delta"]).tolist() == [0, 1]
    assert b"alpha" in (tmp_path / "lexical" / "words-0").read_bytes()
    assert b"alpha" not in (tmp_path / "lexical" / "names-0").read_bytes()


def test_a_file_without_chunks_is_found_by_nothing_but_its_path(tmp_path: Path) -> None:
    index = _index(tmp_path, ("empty.py", []), _chunk("alpha", path="b.py"))
    assert best_chunks(index, ["alpha"], 10)[0].tolist() == [0]
    assert best_files(index, ["alpha"], 10)[0].tolist() == [1]
    assert best_files(index, ["empti"], 10)[0].tolist() == [0]


def test_a_rare_word_weighs_more_than_a_common_one(tmp_path: Path) -> None:
    index = _index(tmp_path, *(_chunk(f"common {'seldom' if n == 0 else ''}") for n in range(20)))
    rare, common, unknown = index.rarity(["seldom", "common", "unknown"])
    assert rare > common > unknown == 0


def test_scores_are_those_of_the_formula(tmp_path: Path) -> None:
    """BM25 with k1 1.2 and b 0.75, by hand, of three chunks of text alone."""
    texts = ["alpha alpha beta", "alpha gamma delta epsilon", "beta"]
    scores = _index(tmp_path, *(_chunk(text, path="") for text in texts)).scored(["alpha"]).chunks
    mean, rarity = (3 + 4 + 1) / 3, np.log1p((3 - 2 + 0.5) / (2 + 0.5))
    wanted = [
        rarity * 2.2 * times / (times + 1.2 * (0.25 + 0.75 * length / mean)) for times, length in ((2, 3), (1, 4), (0, 1))
    ]
    assert np.allclose(scores, wanted, atol=1e-6)


@pytest.mark.parametrize("most", [1, 40, 1_000_000])
def test_words_are_found_where_they_stand_whatever_the_segments(tmp_path: Path, most: int) -> None:
    draw = np.random.default_rng(5)
    documents = [" ".join(draw.choice(["a", "b", "c", "é", "longer"], size)) for size in draw.integers(0, 9, 60)]
    held = postings_of(tmp_path, documents, most=most)
    assert (len(list(tmp_path.iterdir())) > 1) == (most < 1_000_000)
    assert held.lengths.tolist() == [len(text.split()) for text in documents]
    found = held.find(["é", "nowhere", "a"])
    places = [[(n, text.split().count(word)) for n, text in enumerate(documents) if word in text.split()] for word in "éa"]
    assert list(zip(found.documents.tolist(), found.times.tolist(), strict=True)) == places[0] + places[1]
    assert found.counts.tolist() == held.frequencies(["é", "nowhere", "a"]).tolist() == [len(places[0]), 0, len(places[1])]
    for phrase in itertools.product(["a", "b", "é"], ["c", "longer"]):
        assert held.holding(phrase).tolist() == [n for n, text in enumerate(documents) if " ".join(phrase) in text]
    holding = Counter(word for text in documents for word in set(text.split()))
    words, counts = held.vocabulary()
    assert dict(zip(words, counts.tolist(), strict=True)) == {word: n for word, n in holding.items() if n > 1}
    assert words == sorted(words)
    table = held.table(words).toarray()
    assert table.tolist() == [[text.split().count(word) for word in words] for text in documents]


def test_words_far_apart_in_a_long_document_are_found_side_by_side(tmp_path: Path) -> None:
    """Distances beyond what one number holds, and exactly at its end."""
    gaps = [0, 1, 253, 254, 255, 256, 509, 510, 511, 2_000]
    documents = [f"{'x ' * gap}one two {'y ' * gap}two {'z ' * gap}one two" for gap in gaps]
    held = postings_of(tmp_path, [*documents, "one x two", "two one"])
    assert held.holding(["one", "two"]).tolist() == list(range(len(gaps)))
    assert held.holding(["two", "one"]).tolist() == [0, len(gaps) + 1]
    assert held.find(["one"]).times.tolist() == [2.0] * len(gaps) + [1.0, 1.0]


def test_a_long_document_takes_room_by_its_words_and_not_by_their_square(tmp_path: Path) -> None:
    words = [f"w{n:06}" for n in range(100_000)]
    held = postings_of(tmp_path, [" ".join(words)])
    assert (tmp_path / "words-0").stat().st_size < 50 * len(words)
    assert held.holding(words[70_000:70_003]).tolist() == held.holding(words[-2:]).tolist() == [0]
    assert held.holding([words[1], words[70_000]]).tolist() == []


@pytest.mark.parametrize("tokens", [1, 13])
def test_a_segment_ends_sooner_where_every_word_is_another(tmp_path: Path, tokens: int) -> None:
    """What takes memory are words that did not stand before, by their search tokens, more than those that did."""
    most = 10_000
    inverter = Inverter(tmp_path, "words", places=True, most=most)
    for n in range(100):
        inverter.add(
            [" ".join(f"w{n}x{word}y{token}" for token in range(tokens)) for word in range(30)], np.arange(30), [30]
        )
    inverter.finish()
    sizes = [len(read_arrays(path)["first"]) - 1 for path in tmp_path.iterdir()]
    assert sum(sizes) == 3_000 * tokens
    assert max(sizes) <= most // 10 + 30 * tokens


@pytest.mark.parametrize("times", [255, 256, 65_535, 65_536])
def test_a_word_that_stands_very_often_in_one_document_counts_and_is_found_each_time(tmp_path: Path, times: int) -> None:
    held = postings_of(tmp_path, ["a b", "a " * times + "b", "b a a"])
    assert held.find(["a"]).times.tolist() == [1, times, 2]
    assert held.holding(["a", "a"]).tolist() == [1, 2]
    assert held.holding(["a", "b"]).tolist() == [0, 1]
    assert held.holding(["b", "a"]).tolist() == [2]


def test_more_documents_than_small_numbers_count_are_told_apart(tmp_path: Path) -> None:
    count = (1 << 16) + 10
    inverter = Inverter(tmp_path, "words", places=True)
    inverter.add(["alpha", "beta"], np.tile(np.array([0, 1], dtype=np.uint8), count), [2] * count)
    inverter.finish()
    held = Postings(tmp_path, "words")
    assert held.find(["beta"]).documents.tolist() == list(range(count))
    assert len(held.holding(["alpha", "beta"])) == count


@pytest.mark.parametrize("more", [0, 70_000])
def test_texts_come_back_as_they_went_in(more: int) -> None:
    """Also of more words than small numbers count."""
    words = Words()
    given = ["def retryAfter(x):", "", "retry_after = 0xffffffffffffffffff; größe", " ".join(f"w{n}" for n in range(more))]
    for text in given:
        words.add(text, text[:9])
    assert texts(words.texts(), words.table()) == list(map(tokenize, given))
    assert texts(words.names(), words.table()) == [tokenize(text[:9]) for text in given]


def test_a_folder_that_is_no_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreCorrupt, match="Index the repository again"):
        LexicalIndex.open(tmp_path, np.zeros(0, dtype=np.int32))


@pytest.mark.parametrize("damage", [b"", b"nothing", b"\x00" * 4_096])
def test_a_damaged_segment_is_refused(tmp_path: Path, damage: bytes) -> None:
    _index(tmp_path, _chunk("alpha"))
    (tmp_path / "lexical" / "names-0").write_bytes(damage)
    with pytest.raises(StoreCorrupt, match="Index the repository again"):
        LexicalIndex.open(tmp_path / "lexical", np.zeros(1, dtype=np.int32))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((0, kind) for kind in ("O", "O,O", "V0", "(9999,9999)u1", "|u1:", ">u4", "M8[s]", "", "<u4\n")),
        *((1, start) for start in (-8, 4, 1 << 40, 1 << 63, -(1 << 63))),
        *((2, count) for count in (-1, 0, 1, 1 << 40, (1 << 64) - 1)),
    ],
)
def test_a_segment_whose_table_tells_of_other_arrays_is_refused(tmp_path: Path, place: int, value: object) -> None:
    """Before one number of it is used."""
    postings_of(tmp_path, ["alpha beta " * 200, "beta gamma"])
    path = tmp_path / "words-0"
    whole = path.read_bytes()
    size = int.from_bytes(whole[-8:], "little")
    body, packed = whole[: -8 - size], whole[-8 - size : -8]
    for name in msgspec.msgpack.decode(packed).keys() - {"base", "lengths", "far", "far_at"}:
        table = msgspec.msgpack.decode(packed)
        table[name][place] = value
        said = msgspec.msgpack.encode(table)
        path.write_bytes(body + said + len(said).to_bytes(8, "little"))
        with pytest.raises(StoreCorrupt, match="Index the repository again"):
            Postings(tmp_path, "words")


def test_a_segment_that_is_lost_is_missed(tmp_path: Path) -> None:
    postings_of(tmp_path, ["alpha"] * 20, most=4)
    (tmp_path / "words-2").unlink()
    with pytest.raises(StoreCorrupt, match="not whole"):
        Postings(tmp_path, "words")
