from collections.abc import Callable

import pytest

from appliance.codeintel.query.querylang import Filter, ParsedQuery, parse, path_matches, plain
from appliance.errors import InvalidInput, LimitExceeded


def test_filters_are_taken_out_of_the_words() -> None:
    query = parse("retry path:src/ lang:py after")
    assert query.text == "retry after"
    assert query.filters == (Filter("path", "src/"), Filter("lang", "python"))


def test_a_minus_turns_a_filter_round() -> None:
    assert parse("retry -path:tests").filters == (Filter("path", "tests", negative=True),)


def test_a_filter_value_in_quotes_may_hold_spaces() -> None:
    assert parse('retry path:"my docs/"').filters == (Filter("path", "my docs/"),)


def test_a_quoted_phrase_must_stand_as_it_is() -> None:
    assert parse('open "read only" file').phrases == (("read", "onli"),)


def test_an_unknown_filter_is_refused_with_the_names_of_those_that_exist() -> None:
    with pytest.raises(InvalidInput, match=r"no filter file:.*repo:, path:, lang:, symbol:"):
        parse("file:a.py retry")


def test_a_filter_without_a_value_is_refused() -> None:
    with pytest.raises(InvalidInput, match="path: has no value"):
        parse("path: retry")


@pytest.mark.parametrize("query", ["", "   ", '""', "path:src/", "!!! ??"])
def test_a_query_without_words_is_refused(query: str) -> None:
    with pytest.raises(InvalidInput, match="no words"):
        parse(query)


@pytest.mark.parametrize(("read", "most"), [(parse, 1_000), (plain, 4_000)])
def test_a_query_and_a_question_over_their_limits_are_refused(read: Callable[[str], ParsedQuery], most: int) -> None:
    assert read("word " * (most // 5)).tokens
    with pytest.raises(LimitExceeded, match=f"{most:,}"):
        read("a" * (most + 1))


@pytest.mark.parametrize("query", ["std::vector", "http://host/path", "TypeError: cannot read", "a::b c"])
def test_colons_of_code_are_no_filters(query: str) -> None:
    assert parse(query).filters == ()


def test_a_question_has_no_filters_and_no_phrases() -> None:
    query = plain('what does node:fs do with "x"?')
    assert (query.filters, query.phrases) == ((), ())


@pytest.mark.parametrize("query", ["Client", "retry_after", "Client.stream", "std::move", "foo()", "Client stream_all"])
def test_a_lone_name_asks_for_a_symbol(query: str) -> None:
    assert parse(query).style == "symbol"


@pytest.mark.parametrize("query", ["how are retries counted", "json request binding", "what calls Client.stream"])
def test_several_words_are_prose(query: str) -> None:
    assert parse(query).style == "prose"


def test_names_are_found_inside_prose() -> None:
    assert parse("how ClientSession frees a pool_slot").names == ("ClientSession", "pool_slot")


def test_a_pasted_file_asks_for_a_few_names_only() -> None:
    assert len(parse(" ".join(f"name_{n}" for n in range(100))).names) == 16


def test_a_symbol_filter_alone_asks_for_that_symbol() -> None:
    query = parse("symbol:Client.stream")
    assert (query.style, query.names) == ("symbol", ("Client.stream",))


@pytest.mark.parametrize(
    ("path", "value", "passes"),
    [
        ("src/http/client.py", "src/", True),
        ("src/http/client.py", "http", True),
        ("src/http/client.py", "/http", False),
        ("src/http/client.py", "*.py", True),
        ("src/http/client.py", "src/*.py", True),
        ("src/http/client.py", "client.*", True),
        ("src/http/client.py", "*.go", False),
    ],
)
def test_paths_match_by_part_or_by_pattern(path: str, value: str, *, passes: bool) -> None:
    assert path_matches(path, [Filter("path", value)]) is passes


def test_a_negative_path_wins_over_a_positive_one() -> None:
    filters = [Filter("path", "src/"), Filter("path", "test", negative=True)]
    assert path_matches("src/a.py", filters)
    assert not path_matches("src/test/a.py", filters)
