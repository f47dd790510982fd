from collections.abc import Collection

import pytest

from appliance.codeintel.results import Sentence, Struck
from appliance.codeintel.support import Ground, identifiers, judge, share

STORE = Ground.of(
    1,
    "def verify(self, name):\n    if digest != wanted:\n        raise DigestMismatch(name)\n    return verdict",
    "inference/store.py",
    "ModelStore.verify",
)
POOL = Ground.of(
    2, "def restart(self, role):\n    self.stop(role)\n    self.start(role)\n    self.wait_ready(role)", "inference/pool.py"
)
GROUNDS = (STORE, POOL)
RARE = 3.0


def weigh(tokens: Collection[str]) -> dict[str, float]:
    common = {"the", "is", "in", "a", "by", "to", "of", "and"}
    return {token: RARE for token in tokens if token not in common}


def judged(sentence: str, question: str = "Where is a digest verified?") -> Sentence | Struck:
    return judge(sentence, question=question, grounds=GROUNDS, weigh=weigh)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is in `ModelStore.verify`.", ["ModelStore.verify"]),
        ("calls write_file() when getUser fails", ["write_file", "getUser"]),
        ("HTTPServer reads it from store.py", ["HTTPServer", "store.py"]),
        ("the `digest` is compared", ["digest"]),
        ("run() is called", ["run"]),
        ("See appliance/base/paths.py for that.", ["appliance/base/paths.py"]),
        ("Plain words, e.g. these and/or those, are not names.", []),
        ("It ends. Then it starts. HTTP and JSON are words.", []),
        ("It returns `None` or `true`.", []),
        ("a sha256 digest", ["sha256"]),
        ("uses Client::stream", ["Client::stream"]),
    ],
)
def test_an_identifier_is_told_from_a_word_by_its_look(text: str, expected: list[str]) -> None:
    assert identifiers(text) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "The digest is verified by `hashlib.sha256`.",
        "The method check_digest raises DigestMismatch.",
        "ModelStore.validate verifies the digest.",
        "verifyAll() compares the digest.",
    ],
)
def test_a_name_found_nowhere_in_the_evidence_strikes_the_sentence(sentence: str) -> None:
    """It can only come from what the model knows from elsewhere, or makes up."""
    result = judged(sentence)
    assert isinstance(result, Struck)
    assert "nowhere" in result.reason
    assert result.text == sentence


def test_a_name_from_the_question_does_not_strike() -> None:
    result = judged("The method check_digest would verify the digest.", question="Does check_digest verify it?")
    assert isinstance(result, Sentence)


def test_a_name_in_a_block_s_path_or_symbol_does_not_strike() -> None:
    assert isinstance(judged("ModelStore.verify in store.py verifies the digest."), Sentence)


def test_the_plural_of_a_name_and_another_case_do_not_strike() -> None:
    assert isinstance(judged("`verify` raises `DIGESTMISMATCH`, one of the DigestMismatchs."), Sentence)


@pytest.mark.parametrize("end", ["", ",", " with", " and:", ";"])
def test_a_sentence_that_breaks_off_is_struck(end: str) -> None:
    assert judged(f"The digest is verified by the method verify{end}") == Struck(
        f"The digest is verified by the method verify{end}", "It breaks off before its end."
    )


@pytest.mark.parametrize("end", [".", "!", "?", ".)", '."', " in `verify`", " (see verify)"])
def test_a_sentence_may_end_in_a_mark_or_in_what_it_closes(end: str) -> None:
    assert isinstance(judged(f"The digest is verified by the method verify{end}"), Sentence)


def test_a_sentence_without_support_is_struck() -> None:
    result = judged("Kubernetes schedules containers over several nodes.")
    assert isinstance(result, Struck)
    assert "support" in result.reason


def test_a_sentence_is_linked_to_the_block_with_its_words() -> None:
    assert judged("The digest is verified in `ModelStore.verify`.") == Sentence(
        "The digest is verified in `ModelStore.verify`.", (1,), "model"
    )
    restarted = judged("To restart a role it is stopped and then started.")
    assert isinstance(restarted, Sentence)
    assert restarted.cites == (2,)


def test_a_sentence_that_names_a_file_is_linked_to_the_lines_of_that_file() -> None:
    """The parts of its path stand in the other block too."""
    grounds = (
        Ground.of(1, "func (c *Context) Bind(obj any) error { binding.JSON.Go(json, obj) }", "context.go"),
        Ground.of(2, "func (jsonBinding) Bind(req *http.Request, obj any) error { return decode(req) }", "binding/json.go"),
    )
    found = judge("It is defined in the `binding/json.go` file.", question="q", grounds=grounds, weigh=weigh)
    assert isinstance(found, Sentence)
    assert found.cites == (2,)


def test_a_sentence_that_names_things_of_two_blocks_is_linked_to_both() -> None:
    result = judged("`ModelStore.verify` compares the digest before wait_ready is called.")
    assert isinstance(result, Sentence)
    assert set(result.cites) == {1, 2}


def test_two_points_a_name_outweigh_a_single_common_word() -> None:
    block = Ground.of(1, "return start_engine")
    other = Ground.of(2, "engine")
    result = judge("`start_engine` starts an engine.", question="", grounds=(other, block), weigh=weigh)
    assert isinstance(result, Sentence)
    assert result.cites == (1,)


def test_the_share_is_that_of_the_best_block_and_not_of_all_together() -> None:
    assert share("digest restart", GROUNDS, weigh=weigh) == pytest.approx(0.5)
    assert share("digest verdict", GROUNDS, weigh=weigh) == pytest.approx(1.0)
    assert share("digest", (), weigh=weigh) == 0.0
    assert share("the of", GROUNDS, weigh=weigh) == 0.0
