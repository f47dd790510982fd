from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import pytest

from appliance.codeintel.citations import Place, Texts, cite, split_lines, verify
from appliance.codeintel.source.base import Source
from appliance.ids import BlobId, CommitId, RepoId
from tests.support.shop import FILES, Shop


@pytest.fixture
def texts(shop: Shop) -> Texts:
    repo = shop.registry.repo("shop")
    sources: Mapping[RepoId, Source] = {repo.id: shop.generations.source(repo.id)}
    return Texts(sources)


@pytest.fixture
def place(shop: Shop) -> Place:
    repo = shop.registry.repo("shop")
    generation = shop.generations.published(repo.id)
    number = generation.files.paths.index("shop/pool.py")
    return Place(repo.id, repo.name, generation.info.commit, "shop/pool.py", generation.files.blobs[number], 4, 6)


def verified(place: Place, texts: Texts) -> bool:
    spans, warnings = verify([place.span()], texts=texts)
    assert bool(warnings) is not spans[0].verified
    return spans[0].verified


def test_lines_that_stand_there_are_verified(place: Place, texts: Texts) -> None:
    assert verified(place, texts)


def test_the_last_line_of_the_file_is_verified_and_the_one_after_it_is_not(place: Place, texts: Texts) -> None:
    last = FILES["shop/pool.py"].count("\n")
    assert verified(replace(place, end_line=last), texts)
    assert not verified(replace(place, end_line=last + 1), texts)


@pytest.mark.parametrize(("start", "end"), [(0, 3), (5, 4), (-1, 1)])
def test_lines_that_cannot_be_are_not_verified(place: Place, texts: Texts, start: int, end: int) -> None:
    assert not verified(replace(place, start_line=start, end_line=end), texts)


def test_another_blob_than_the_one_at_that_path_is_not_verified(place: Place, texts: Texts) -> None:
    assert not verified(replace(place, path="shop/store.py"), texts)
    assert not verified(replace(place, blob=BlobId("0" * 40)), texts)


def test_a_path_that_is_not_in_the_commit_is_not_verified(place: Place, texts: Texts) -> None:
    assert not verified(replace(place, path="shop/nowhere.py"), texts)


def test_an_unknown_commit_is_not_verified(place: Place, texts: Texts) -> None:
    assert not verified(replace(place, commit=CommitId("1" * 40)), texts)


def test_a_repo_that_cannot_be_opened_is_not_verified_and_warned_of_once(place: Place) -> None:
    citations, warnings = cite([place, replace(place, start_line=5)], texts=Texts({}))
    assert [(c.span.verified, c.text) for c in citations] == [(False, ""), (False, "")]
    assert len(warnings) == 1
    assert "shop" in warnings[0]


class Counted:
    """A source that counts what it is asked; it knows nothing but to say where files stand, and to read them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.asked: list[str] = []

    def located(self, *, commit: CommitId, paths: Sequence[str]) -> Mapping[str, BlobId | None]:
        self.asked.append("located")
        return self._source.located(commit=commit, paths=paths)

    def blobs(self, blobs: Iterable[BlobId]) -> dict[BlobId, bytes]:
        self.asked.append("blobs")
        return self._source.blobs(blobs)


def test_a_page_of_citations_is_two_questions_to_git_and_the_next_one_of_the_same_files_one(
    shop: Shop, place: Place
) -> None:
    """Each question is a wait for another process: one by one, a page took a hundred of them."""
    source = Counted(shop.generations.source(place.repo))
    texts = Texts({place.repo: cast("Source", source)})
    files = shop.generations.published(place.repo).files
    places = [
        replace(place, path=path, blob=files.blobs[number], start_line=1, end_line=1)
        for path, number in files.by_path.items()
        if files.lines[number]
    ]
    for asked in (["located", "blobs"], ["located"]):
        citations, warnings = cite(places * 2, texts=texts)
        assert (source.asked, warnings) == (asked, [])
        assert all(each.span.verified for each in citations)
        source.asked.clear()


def test_citations_are_numbered_and_carry_their_lines(place: Place, texts: Texts) -> None:
    citations, warnings = cite([place, replace(place, start_line=1, end_line=1)], texts=texts)
    assert warnings == []
    assert [c.n for c in citations] == [1, 2]
    assert citations[0].text.startswith("class EnginePool:")
    assert citations[1].text == '"""Engines that are started, watched and restarted."""'


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", ()),
        (b"a", ("a",)),
        (b"a\n\n", ("a", "")),
        (b"a\r\nb\r\n", ("a", "b")),
        (b"a\x0cb\x1cc\xc2\x85d\n", ("a\x0cb\x1cc\x85d",)),
        ("é\nü".encode("latin-1"), ("é", "ü")),
        ("a\nb".encode("utf-16"), ("a", "b")),
    ],
)
def test_only_a_line_feed_ends_a_line(content: bytes, lines: tuple[str, ...]) -> None:
    """Otherwise lines would be counted in another way than git, editors and the parser count them."""
    assert split_lines(content) == lines
