import copy
from collections.abc import ItemsView, Iterator

import numpy as np
import pytest

from appliance.codeintel.query.draft import MAX_LISTED, Code, StructureAnswer
from appliance.codeintel.query.structure import answer
from appliance.codeintel.questions import classify
from appliance.codeintel.store.files import Files
from appliance.ids import BlobId
from tests.support.shop import Shop


def ask(shop: Shop, question: str, *, name: str = "shop") -> StructureAnswer | None:
    query = classify(question)
    assert query is not None
    repo = shop.registry.repo(name)
    return answer(query, code=[Code(shop.generations.published(repo.id), repo.name)])


def said(shop: Shop, question: str, *, name: str = "shop") -> list[str]:
    found = ask(shop, question, name=name)
    assert found is not None
    assert all(1 <= n <= len(found.places) for sentence in found.sentences for n in sentence.cites)
    assert all(sentence.cites for sentence in found.sentences)
    return [sentence.text for sentence in found.sentences]


def test_a_class_is_found_by_its_name(shop: Shop) -> None:
    assert said(shop, "Where is EnginePool defined?") == ["`EnginePool` is defined in shop/pool.py:4 (class)."]


def test_a_method_is_found_by_its_qualified_name_and_belongs_to_its_class(shop: Shop) -> None:
    (sentence,) = said(shop, "where is EnginePool.restart defined")
    assert sentence == "`EnginePool.restart` is defined in shop/pool.py:11 (method of `EnginePool`)."


def test_a_name_may_be_qualified_by_its_module(shop: Shop) -> None:
    assert len(said(shop, "where is shop.util.text.verify defined")) == 1
    assert len(said(shop, "where is shop.store.ModelStore.verify defined")) == 1


def test_every_definition_of_a_name_is_listed(shop: Shop) -> None:
    places = {sentence.split(" is defined in ")[1].split(":")[0] for sentence in said(shop, "Where is verify defined?")}
    assert places == {"shop/store.py", "shop/util/text.py"}


def test_a_go_type_and_its_method_are_found(shop: Shop) -> None:
    assert said(shop, "where is the Server struct")[0].startswith("`Server` is defined in cmd/server/main.go:6 ")
    assert "cmd/server/main.go:11" in said(shop, "where is Server.Serve defined")[0]


@pytest.mark.parametrize(
    "question",
    [
        "Where is ModelShelf defined?",
        "where is catalogue defined",
        "what is in shop/shelf",
        "signature of Nothing",
        "X methods",
    ],
)
def test_what_does_not_exist_is_no_question_of_structure(shop: Shop, question: str) -> None:
    assert ask(shop, question) is None


def test_an_ordinary_word_does_not_match_a_mere_variable(shop: Shop) -> None:
    """``root`` is a class variable here; "where is root defined" more likely means something else."""
    assert ask(shop, "where is root defined") is None


def test_a_file_lists_what_it_defines_at_the_top(shop: Shop) -> None:
    sentences = said(shop, "What does shop/store.py define?")
    assert sentences[0].startswith("shop/store.py (")
    assert [sentence.split("`")[1] for sentence in sentences[1:]] == ["DigestMismatch", "digest_of", "ModelStore"]


@pytest.mark.parametrize("name", ["store.py", "shop.store", "shop/store", "./shop/store.py"])
def test_a_file_may_be_named_by_its_end_or_as_a_module(shop: Shop, name: str) -> None:
    assert said(shop, f"what is in {name}")[0].startswith("shop/store.py (")


def test_a_folder_lists_its_files_and_folders(shop: Shop) -> None:
    sentences = said(shop, "What is in the package shop?")
    assert sentences[0] == "shop/ holds 3 files and 1 folder (util/)."
    assert "store.py defines `DigestMismatch`, `digest_of`, `ModelStore`." in sentences


def test_a_folder_of_folders_only_is_listed_too(shop: Shop) -> None:
    assert said(shop, "what is in cmd")[0] == "cmd/ holds 1 folder (server/)."


def test_a_class_lists_its_methods(shop: Shop) -> None:
    sentences = said(shop, "What methods does ModelStore have?")
    assert sentences[0].startswith("`ModelStore` (class, shop/store.py:")
    assert [sentence.split("`")[1] for sentence in sentences[1:]] == ["__init__", "verify", "path"]


def test_what_is_in_a_class_is_its_members(shop: Shop) -> None:
    assert any("`restart`" in sentence for sentence in said(shop, "what is in EnginePool"))


def test_a_signature_is_given_as_written(shop: Shop) -> None:
    (sentence,) = said(shop, "signature of shorten")
    assert "def shorten(text, width=80)" in sentence
    assert "shop/util/text.py:11" in sentence


def test_a_long_list_is_cut_and_says_so(shop: Shop) -> None:
    found = ask(shop, "where is `same` defined", name="corners")
    assert found is not None
    assert len(found.sentences) == MAX_LISTED
    assert found.warnings == (f"{MAX_LISTED} of 17 definitions of `same` are listed.",)


def test_tests_come_after_the_code_that_they_test(shop: Shop) -> None:
    sentences = said(shop, "where is Thing defined", name="corners")
    places = [sentence.split(" in ")[1].split(":")[0] for sentence in sentences]
    assert places == ["same/thing.py", "same/tests/test_thing.py"]


def test_a_place_shows_at_most_forty_lines(shop: Shop) -> None:
    found = ask(shop, "where is Big defined", name="corners")
    assert found is not None
    assert (found.places[0].start_line, found.places[0].end_line) == (1, 40)


def test_of_a_folder_and_files_of_one_name_the_nearest_are_listed_and_the_others_named(shop: Shop) -> None:
    found = ask(shop, "what is in lib.dup", name="corners")
    assert found is not None
    heads = [sentence.text.split(" ")[0] for sentence in found.sentences if "(" in sentence.text or "holds" in sentence.text]
    assert heads == ["lib/dup/", "deep/lib/dup.py"]
    assert found.warnings == ("`lib.dup` can also mean 1 place more: deep/down/lib/dup.py.",)


class Walked(dict[str, int]):
    """Counts how often somebody goes through all of it."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()

    def items(self) -> ItemsView[str, int]:  # type: ignore[override]  # the type of a dict's own has no name
        self.walks += 1
        return super().items()


@pytest.mark.parametrize("question", ["What is in index.js?", "What is in part7?", "What is in part?", "What is in src?"])
def test_the_paths_are_gone_through_a_few_times_however_many_places_a_name_can_mean(shop: Shop, question: str) -> None:
    whole = shop.generations.published(shop.registry.repo("shop").id)
    paths = [f"src/part{number}/part/{name}.js" for number in range(300) for name in ("index", "other")]
    numbers, walked = np.zeros(len(paths) + 1, dtype=np.int32), Walked({path: number for number, path in enumerate(paths)})
    flags, alive = numbers.astype(np.uint8), np.ones(len(paths), dtype=np.bool_)
    many = copy.copy(whole)
    blobs, symbols = [BlobId("b")] * len(paths), numbers.astype(np.int64)
    many.files = Files(paths, blobs, [], [], [], flags, numbers, numbers, symbols, numbers, alive, walked)
    walked.walks = 0
    query = classify(question)
    assert query is not None
    assert answer(query, code=[Code(many, "shop")]) is not None
    assert walked.walks <= 5
