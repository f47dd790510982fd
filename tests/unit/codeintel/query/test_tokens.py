from hypothesis import given
from hypothesis import strategies as st

from appliance.codeintel.parse.tokens import compounds, query_tokens, stem, tokenize

_WORDS = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12)


def test_one_name_in_three_conventions_shares_all_of_its_tokens() -> None:
    assert set(query_tokens("retryAfter")) == set(query_tokens("retry_after")) == set(query_tokens("RETRY_AFTER"))


def test_a_name_is_kept_whole_beside_its_parts() -> None:
    assert query_tokens("getHTTPServer") == ["get", "http", "server", "gethttpserver"]


def test_digits_part_a_name() -> None:
    assert query_tokens("utf8decode") == ["utf", "8", "decod", "utf8decode"]


def test_forms_of_one_word_come_out_alike() -> None:
    assert len({stem(word) for word in ("parse", "parses", "parsed", "parsing")}) == 1
    assert stem("retries") == stem("retry")
    assert stem("running") == stem("run")


def test_stopwords_are_kept() -> None:
    assert query_tokens("if it is not in for") == ["if", "it", "is", "not", "in", "for"]


def test_long_numbers_and_encoded_data_are_dropped() -> None:
    assert query_tokens(f"8080 123456789 {'a1' * 100}") == ["8080"]


def test_words_outside_ascii_are_kept_in_one_piece() -> None:
    assert query_tokens("Überfluß_漢字") == ["überfluß", "漢字", "überfluß漢字"]


@given(st.text())
def test_any_text_gives_plain_lower_case_tokens_joined_by_single_spaces(text: str) -> None:
    tokens = tokenize(text).split(" ") if tokenize(text) else []
    assert all(token and not any(c.isspace() for c in token) for token in tokens)
    assert query_tokens(text) == tokens


@given(st.text(), st.text())
def test_a_text_has_the_tokens_of_its_lines_in_order(first: str, second: str) -> None:
    assert query_tokens(f"{first}\n{second}") == query_tokens(first) + query_tokens(second)


@given(st.lists(_WORDS, min_size=1, max_size=6))
def test_camel_case_and_snake_case_never_differ(words: list[str]) -> None:
    """A query is written in one convention and the code in another."""
    camel = "".join(word.capitalize() for word in words)
    joined = "".join(words)
    if all(len(word) > 1 for word in words):  # single letters run together in capitals
        assert query_tokens(camel) == query_tokens("_".join(words))
    assert joined in query_tokens("_".join(words)) or len(words) == 1


def test_neighbouring_words_are_also_looked_for_as_one() -> None:
    assert compounds("thread pools and a work queue of type adapters") == [
        "threadpools", "threadpool", "workqueue", "typeadapters", "typeadapter"
    ]  # fmt: skip


def test_words_that_join_others_and_very_short_ones_are_no_part_of_a_compound() -> None:
    assert compounds("is it in the io of a b") == []
