"""What a mission looks at closer: the method that a question means, all of it, and what its author says of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.contracts.chat import ChatRequest
from tests.support.missioned import Field, Place, Scripted, answer_of, reads, replies
from tests.support.repos import make_repo
from tests.support.shop import Shop

_LINES = "".join(f"        self.drawn.append({n})\n" for n in range(30))
_BARS = f'''class Bar:
    """A bar that fills."""

    def __init__(self, total):
        self.total = total
        self.drawn = []

    def refresh(self, percent):
        """Draw the bar anew.

{"".join(f"        Argument {n} is told here." + chr(10) for n in range(40))}        """
        blank(percent)
{_LINES}        last(percent)


# Wipes the line, so that nothing of it stays in sight.
# It knows no width.
def blank(percent):
    return percent


def last(percent):
    return percent
'''
_CAPTION = "The bar draws itself anew with `blank` and `last`."


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    """Index a repository with a class whose method is longer than a place shows."""
    made = Field.__new__(Field)
    made.folder = tmp_path_factory.mktemp("closer")
    made.shop = Shop(made.folder)
    made.repo = made.shop.add(make_repo(made.folder, {"bars.py": _BARS}, name="bars"))
    made.shop.graph(made.repo)
    yield made
    made.close()


def told(bars: Field, folder: Path, goal: str, chat: Scripted | None = None) -> list[str]:
    """Return the sentences of a mission for *goal*."""
    place = Place(bars, folder / "missions.db", chat)
    try:
        return [sentence.text for sentence in answer_of(place.done(goal)).sentences]
    finally:
        place.close()


def test_of_a_class_the_method_is_looked_at_that_the_question_speaks_of(bars: Field, tmp_path: Path) -> None:
    """The first method of a class is how it is made, which is seldom what somebody asks."""
    sentences = told(bars, tmp_path, "How does Bar refresh itself?")
    assert "`Bar.refresh` says of itself: “Draw the bar anew.”" in sentences
    assert not any("__init__" in sentence for sentence in sentences)


def test_a_model_reads_of_a_long_definition_what_it_does(bars: Field, tmp_path: Path) -> None:
    """What an author says of it may be longer than what a place shows; then a model saw none of its code."""
    seen: list[ChatRequest] = []
    answers = replies(_CAPTION)

    def reply(request: ChatRequest) -> str:
        seen.append(request)
        return answers(request)

    told(bars, tmp_path, "How does Bar.refresh draw the bar?", Scripted(reply))
    asked = [request.messages[-1].content for request in seen if reads(request)]
    assert any("blank(percent)" in prompt and "last(percent)" in prompt for prompt in asked)


def test_calls_that_are_asked_for_are_not_told_again_in_their_order(bars: Field, tmp_path: Path) -> None:
    goal = "How does Bar.refresh draw the bar? What does Bar.refresh call?"
    sentences = told(bars, tmp_path, goal)
    assert any(sentence.startswith("`Bar.refresh`") and " calls " in sentence for sentence in sentences)
    assert not any("calls, in this order" in sentence for sentence in sentences)


def test_what_stands_above_a_definition_is_quoted_where_it_stands(bars: Field, tmp_path: Path) -> None:
    sentences = told(bars, tmp_path, "How does `blank` wipe the line?")
    assert "`blank` says of itself: “Wipes the line, so that nothing of it stays in sight.”" in sentences
