import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.codeintel.reading import MAX_CHARACTERS, AnswerReader, Finished, Fragment, Part, Verdict
from appliance.errors import MalformedContent

printable = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "))


def read(pieces: list[str]) -> tuple[AnswerReader, list[Part]]:
    reader = AnswerReader()
    return reader, [part for piece in pieces for part in reader.feed(piece)]


def finished(parts: list[Part]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Finished)]


@given(
    enough=st.booleans(),
    sentences=st.lists(printable, max_size=4),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 1]),
    data=st.data(),
)
def test_any_cut_gives_what_the_whole_text_says(
    *, enough: bool, sentences: list[str], ascii_only: bool, indent: int | None, data: st.DataObject
) -> None:
    text = json.dumps({"enough_evidence": enough, "sentences": sentences}, ensure_ascii=ascii_only, indent=indent)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    reader, parts = read(pieces)
    assert parts[0] == Verdict(enough)
    assert finished(parts) == sentences
    assert "".join(p.text for p in parts if isinstance(p, Fragment)) == "".join(sentences)
    assert reader.complete
    assert reader.unfinished == ""


def test_every_single_character_cut_of_an_escaped_sentence_gives_the_same() -> None:
    text = json.dumps({"enough_evidence": True, "sentences": ['a "b" \\ \U0001f600 é', "c\nd"]})
    _, parts = read(list(text))
    assert finished(parts) == ['a "b" \\ \U0001f600 é', "c d"]


def test_the_verdict_is_known_before_any_sentence() -> None:
    reader = AnswerReader()
    assert reader.feed('{"enough_evidence": ') == []
    assert reader.feed("fal") == []
    assert reader.feed("se") == [Verdict(enough=False)]


@pytest.mark.parametrize(
    ("text", "awaited"),
    [
        ("{", False),
        ('{"enough_evidence"', False),
        ('{"enough_evidence":', True),
        ('{"enough_evidence": ', True),
        ('{"enough_evidence": t', False),
    ],
)
def test_the_verdict_is_awaited_from_the_colon_to_its_first_letter(text: str, *, awaited: bool) -> None:
    """The probability of the verdict is that of the token which begins it."""
    reader = AnswerReader()
    reader.feed(text)
    assert reader.at_verdict is awaited


def test_a_sentence_that_never_ends_is_kept_apart() -> None:
    reader, parts = read(['{"enough_evidence": true, "sentences": ["One.", "Tw'])
    assert finished(parts) == ["One."]
    assert reader.unfinished == "Tw"
    assert not reader.complete


def test_half_a_surrogate_pair_is_shown_as_a_replacement_character() -> None:
    _, parts = read(['{"enough_evidence": true, "sentences": ["x\\ud83dy\\udc00\\n"]}'])
    assert finished(parts) == ["x\ufffdy\ufffd "]


def test_terminal_escapes_are_made_harmless() -> None:
    _, parts = read(['{"enough_evidence": true, "sentences": ["\\u001b[2J\x1b[31m"]}'])
    assert finished(parts) == [" [2J [31m"]


@pytest.mark.parametrize(
    "text",
    [
        "Sure! Here is",
        '{"sentences": []}',
        '{"enough_evidence": maybe',
        '{"enough_evidence": true, "sentences": [1]}',
        '{"enough_evidence": true, "sentences": ["a" "b"]}',
        '{"enough_evidence": true, "sentences": ["a",]}',
        '{"enough_evidence": true, "sentences": ["\\x41"]}',
        '{"enough_evidence": true, "sentences": ["\\u00zz"]}',
        '{"enough_evidence": true, "sentences": [] ,',
    ],
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(MalformedContent):
        read([text])


def test_endless_output_is_refused() -> None:
    """A constrained engine cannot do this; a broken one can."""
    with pytest.raises(MalformedContent):
        read(['{"enough_evidence": true, "sentences": ["', *["x" * 1000] * (MAX_CHARACTERS // 1000 + 1)])


def test_what_follows_the_answer_is_ignored() -> None:
    reader, parts = read(['{"enough_evidence": true, "sentences": []}', "\n\nthanks"])
    assert parts == [Verdict(enough=True)]
    assert reader.complete
