"""Claims about search, ask and config: what people and programs read."""

from copy import deepcopy
from urllib.parse import parse_qs

import pytest

from appliance.config import names
from tests.support.scripted_http import Reply, ScriptedServer, events, problem
from tests.unit.cli.conftest import Line

FRESH = {
    "repo_name": "shop",
    "branch": "main",
    "commit": "c" * 40,
    "behind": 2,
    "dirty": True,
    "left_out": 1,
    "vectors": 0.5,
}
HIT = {
    "repo_name": "shop", "path": "shop/cart.py", "start_line": 3, "end_line": 9, "commit": "c" * 40, "symbol": "Cart.total",
    "kind": "method", "score": 0.91, "why": ["defines total"], "text": "def total(self):\n    return 1\n",
}  # fmt: skip
RESULTS = {
    "hits": [HIT], "total": 40, "truncated": True, "signals": ["lexical", "latent"], "freshness": [FRESH],
    "warnings": ["The embedder is not ready."], "timings": {"rank_ms": 10.0, "total_ms": 12.5},
}  # fmt: skip
EVIDENCE = {
    "n": 1, "repo_name": "shop", "path": "shop/cart.py", "start_line": 3, "end_line": 9, "commit": "c" * 40,
    "verified": True, "symbol": "Cart.total", "text": "def total(self):\n    return 1\n",
}  # fmt: skip
CARD = {
    "kind": "evidence", "evidence": [EVIDENCE], "sentences": [], "struck": [], "gate": None, "model": "",
    "freshness": [FRESH], "warnings": [], "timings": {"evidence_ms": 80.0},
}  # fmt: skip
SENTENCE = {"text": "It adds up the lines.", "cites": [1]}
STRUCK = {"text": "It calls frobnicate.", "reason": "frobnicate is nowhere in the evidence"}
WHOLE = CARD | {
    "kind": "prose", "sentences": [SENTENCE], "struck": [STRUCK], "gate": {"passed": True, "reason": ""},
    "model": "small", "timings": {"evidence_ms": 80.0, "total_ms": 9500.0},
}  # fmt: skip


def test_search_shows_place_reason_and_what_it_rests_on(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/search"] = Reply(RESULTS)
    ran = line("search", "cart", "total")
    assert ran.status == 0
    for said in (
        "shop/cart.py:3-9", "Cart.total", "defines total", "1 of 40 (next: --offset 1), by lexical, latent, in 12 ms",
        "shop at main cccccccccc, 2 commits behind, dirty, 1 file left out, vectors 50%", "note: The embedder is not ready.",
    ):  # fmt: skip
        assert said in ran.out
    assert appliance.asked[0].query == "q=cart+total&project=default&limit=10&offset=0"


def test_what_could_not_be_asked_in_time_is_not_said_to_be_so(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/search"] = Reply(RESULTS | {"freshness": [FRESH | {"behind": None, "dirty": None}]})
    assert "shop at main cccccccccc, may be behind, may be dirty" in line("search", "cart").out


@pytest.mark.parametrize(
    "away", ["-path:test", "-lang:c", "-repo:old", "-branch:dev*", '-content:"a b"', "-/x h/", "->", "-hours:x"]
)
def test_what_a_query_takes_away_is_no_option(appliance: ScriptedServer, line: Line, away: str) -> None:
    appliance.replies["GET /api/v1/search"] = Reply(RESULTS)
    for argv in ((away, "cart"), ("cart", away), ("cart", "--limit", "3", away), (away, "--limit", "3", "--", "cart")):
        assert line("search", *argv).status == 0, argv
    assert {parse_qs(asked.query)["q"][0] for asked in appliance.asked} == {f"cart {away}"}
    assert [parse_qs(asked.query)["limit"] for asked in appliance.asked] == [["10"], ["10"], ["3"], ["3"]]


@pytest.mark.parametrize("argv", [("--limmit", "3"), ("-x",), ("--limit", "-3"), ("-path",)])
def test_an_option_that_there_is_not_is_refused_beside_a_query(line: Line, argv: tuple[str, ...]) -> None:
    assert line("search", "cart", *argv).status == 2


def test_a_commit_without_a_branch_is_called_head(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/search"] = Reply(RESULTS | {"freshness": [FRESH | {"branch": ""}]})
    assert "shop at HEAD cccccccccc" in line("search", "cart").out


def test_search_as_json_is_what_the_appliance_said(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/search"] = Reply(RESULTS)
    assert line("search", "--json", "x").json() == RESULTS


def test_an_empty_result_says_so(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/search"] = Reply(RESULTS | {"hits": [], "total": 0, "truncated": False})
    assert "Nothing fits." in line("search", "x").out


def test_an_answer_is_the_evidence_then_the_reading_then_what_was_struck(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["POST /api/v1/ask"] = events(
        ("evidence", CARD), ("token", {"text": "It"}), ("sentence", SENTENCE), ("struck", STRUCK), ("done", WHOLE)
    )
    ran = line("ask", "What", "is", "total?")
    assert ran.status == 0
    order = [
        "[1] shop/cart.py:3-9",
        "verified",
        "def total",
        "The model's reading",
        "It adds up the lines. [1]",
        "struck: frob",
    ]
    places = [ran.out.index(said) for said in order]
    assert places == sorted(places)
    assert "evidence 80 ms, total 9.5 s" in ran.out


def test_what_an_answer_lacks_or_waits_for_is_said_when_it_is_known_and_once(appliance: ScriptedServer, line: Line) -> None:
    stale = "The embedder is not ready."
    waits = "Waiting for the model: 2 questions are ahead."
    late = "The model broke off."
    card, whole = CARD | {"warnings": [stale, waits]}, WHOLE | {"warnings": [stale, late]}
    appliance.replies["POST /api/v1/ask"] = events(("evidence", card), ("sentence", SENTENCE), ("done", whole))
    out = line("ask", "?").out
    places = [out.index(text) for text in (f"note: {stale}", f"note: {waits}", "The model's reading", f"note: {late}")]
    assert places == sorted(places)
    assert out.count("note: ") == 3


def test_an_answer_never_calls_prose_verified(appliance: ScriptedServer, line: Line) -> None:
    """Only places are checked; a sentence may be wrong."""
    appliance.replies["POST /api/v1/ask"] = events(("evidence", CARD), ("sentence", SENTENCE), ("done", WHOLE))
    reading = line("ask", "?").out.partition("The model's reading")[2]
    assert "what it says is not" in reading
    assert "verified" not in reading


def test_a_weak_gate_is_told_in_words(appliance: ScriptedServer, line: Line) -> None:
    weak = CARD | {"gate": {"passed": False, "reason": "the evidence is weak"}}
    appliance.replies["POST /api/v1/ask"] = events(("evidence", CARD), ("done", weak))
    assert line("ask", "?").out.count("No prose: the evidence is weak") == 1


def test_an_answer_from_the_symbol_table_is_not_called_a_model_s(appliance: ScriptedServer, line: Line) -> None:
    card = CARD | {"kind": "structure"}
    whole = card | {"sentences": [SENTENCE]}
    appliance.replies["POST /api/v1/ask"] = events(("evidence", card), ("sentence", SENTENCE), ("done", whole))
    out = line("ask", "?").out
    assert "From the symbol table, exactly; no model was asked:\n  It adds up the lines. [1]" in out
    assert "The model's reading" not in out
    assert "No prose" not in out


def test_a_place_that_was_not_verified_is_marked(appliance: ScriptedServer, line: Line) -> None:
    card = deepcopy(CARD)
    card["evidence"] = [EVIDENCE | {"verified": False}]
    appliance.replies["POST /api/v1/ask"] = events(("evidence", card), ("done", card))
    assert "not verified" in line("ask", "?").out


def test_an_error_in_the_stream_ends_the_command_with_its_code(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["POST /api/v1/ask"] = events(
        ("evidence", CARD), ("error", problem("engine_unavailable", "The engine broke off.", "Ask again."))
    )
    ran = line("ask", "?")
    assert ran.status == 8
    assert ran.err == "error: The engine broke off. Ask again. [engine_unavailable]\n"


def test_a_stream_that_just_ends_is_an_error(appliance: ScriptedServer, line: Line) -> None:
    """A cut connection must never look like a complete answer."""
    appliance.replies["POST /api/v1/ask"] = events(("evidence", CARD), ("sentence", SENTENCE))
    ran = line("ask", "?")
    assert ran.status == 8
    assert "broke off" in ran.err


def test_no_prose_is_asked_for_as_such(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["POST /api/v1/ask"] = Reply(CARD)
    assert line("ask", "--no-prose", "--json", "?").json() == CARD
    assert b'"prose":false' in appliance.asked[0].body


def test_settings_show_value_and_origin(line: Line) -> None:
    (line.data / "skellig.toml").write_text("[web]\nport = 4711\n")
    shown = {row["name"]: row for row in line("config", "show", "--json").json()}  # type: ignore[attr-defined]
    assert (shown["web.port"]["value"], shown["web.port"]["origin"]) == (4711, "file")
    assert (shown["data"]["value"], shown["data"]["origin"]) == (str(line.data), "flag")
    assert shown["log.level"]["origin"] == "default"
    assert "4711" in line("config", "show").out


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SKELLIG_WEB__PROT", "1", "There is no setting web.prot (from env). There are web.port, "),
        ("SKELLIG_XYZZY", "1", "There is no setting xyzzy (from env). There are data, models_from, models_at, "),
        ("SKELLIG_CHAT", "x", "There is no setting chat (from env). There are chat.model, chat.engine, chat.threads, "),
        ("SKELLIG_WEB__PORT", "x", "Setting web.port (from env): Input should be a valid integer"),
    ],
)
def test_a_setting_that_is_refused_names_those_that_there_are(
    line: Line, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    ran = line("status")
    assert ran.status == 2
    assert said in ran.err
    assert "permitted" not in ran.err
    assert ("Mend or unset SKELLIG_WEB__PORT." in ran.err) == (name == "SKELLIG_WEB__PORT")


WRONG: dict[str, tuple[str, dict[str, str]]] = {
    "an unknown name": ("[web]\nprot = 1\n", {}),
    "an unknown table": ("[webb]\nport = 1\n", {}),
    "a table's name": ("web = 1\n", {}),
    "a value out of range": ("[web]\nport = 0\n", {}),
    "a value of another kind": ("[web]\nport = [1, 2]\n", {}),
    "no TOML": ("[web\n", {}),
    "a variable": ("", {"SKELLIG_WEB__PORT": "many"}),
    "a variable that is no text": ("", {"SKELLIG_LOG__LEVEL": "\udcff"}),
    "an unknown variable": ("", {"SKELLIG_LOG__LEVELL": "info"}),
    "several": ("[web]\nport = 0\nprot = 1\n", {"SKELLIG_LOG__FORMAT": "xml"}),
}


@pytest.mark.parametrize(("file", "environ"), WRONG.values(), ids=WRONG)
def test_all_settings_are_shown_with_what_is_wrong_marked(
    line: Line, monkeypatch: pytest.MonkeyPatch, file: str, environ: dict[str, str]
) -> None:
    """It is the command that people turn to when a setting is refused."""
    (line.data / "skellig.toml").write_text(file)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    ran = line("config", "show", "--json")
    rows = ran.json()
    assert isinstance(rows, list)
    assert [row["name"] for row in rows][: len(names())] == names()
    marked = [row for row in rows if row["error"]]
    assert marked
    assert (ran.status, "[invalid_input]" in ran.err) == (2, True)
    table = line("config", "show")
    assert table.status == 2
    assert table.out.count("not usable: ") == len(marked)
    for row in marked:
        assert row["error"] in ran.err
        assert row["remedy"] in ran.err
    assert all(f"\n{name} " in table.out for name in names())


def test_what_is_wrong_is_shown_as_it_was_given(line: Line) -> None:
    (line.data / "skellig.toml").write_text("[web]\nport = 70000\n")
    rows = {row["name"]: row for row in line("config", "show", "--json").json()}  # type: ignore[attr-defined]
    assert (rows["web.port"]["value"], rows["web.port"]["origin"]) == (70000, "file")


def test_the_value_of_a_name_that_does_not_exist_is_not_shown(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows what it is: it may be another program's secret."""
    monkeypatch.setenv("SKELLIG_TOKEN", "hunter2")
    ran = line("config", "show")
    assert "token" in ran.out
    assert "hunter2" not in ran.out + ran.err


@pytest.mark.parametrize("text", ["colour = 1\n", "[web]\nport = 0\n", "[web\n"])
def test_a_wrong_setting_ends_every_command_with_its_name(line: Line, text: str) -> None:
    (line.data / "skellig.toml").write_text(text)
    ran = line("status")
    assert ran.status == 2
    assert "[invalid_input]" in ran.err
