import pytest

from appliance.codeintel.questions import Intent, StructureQuery, classify

STRUCTURE: list[tuple[str, Intent, str]] = [
    ("Where is ModelStore defined?", "where", "ModelStore"),
    ("where is ModelStore.verify defined", "where", "ModelStore.verify"),
    ("Where is the `verify` method defined?", "where", "verify"),
    ("where are the class Client declared in this repo?", "where", "Client"),
    ("Where is the Client class?", "where", "Client"),
    ("where's open_source()", "where", "open_source"),
    ("where is open_source implemented?", "where", "open_source"),
    ("where do we define sync_file", "where", "sync_file"),
    ("Which file defines EnginePool?", "where", "EnginePool"),
    ("in which module is Deadline", "where", "Deadline"),
    ("definition of Budget.spend", "where", "Budget.spend"),
    ("show me the definition of connect", "where", "connect"),
    ("ModelStore definition", "where", "ModelStore"),
    ("connect declaration", "where", "connect"),
    ("class ModelStore", "where", "ModelStore"),
    ("def write_file", "where", "write_file"),
    ("go to Client::stream", "where", "Client::stream"),
    ("please find the function write_file", "where", "write_file"),
    ("who uses Console.get_style?", "references", "Console.get_style"),
    ("where is the constant RATE used in this project?", "references", "RATE"),
    ("show me all references to `connect`", "references", "connect"),
    ("Client.stream usages", "references", "Client.stream"),
    ("who changed ModelStore.verify?", "history", "ModelStore.verify"),
    ("when was the function `connect` last changed", "history", "connect"),
    ("history of Client", "history", "Client"),
    ("What is the signature of `Client.stream`?", "signature", "Client.stream"),
    ("signature of connect", "signature", "connect"),
    ("what parameters does open_source take?", "signature", "open_source"),
    ("parameters of write_file", "signature", "write_file"),
    ("write_file signature", "signature", "write_file"),
    ("which arguments does the function `run` accept", "signature", "run"),
    ("What methods does ModelStore have?", "members", "ModelStore"),
    ("what methods does class Budget define", "members", "Budget"),
    ("which fields are in Settings", "members", "Settings"),
    ("list the methods of the Client class", "members", "Client"),
    ("Client methods", "members", "Client"),
    ("Who calls ModelStore.verify?", "callers", "ModelStore.verify"),
    ("what calls the function open_source", "callers", "open_source"),
    ("which functions call connect", "callers", "connect"),
    ("where is sync_file called from", "callers", "sync_file"),
    ("list all callers of `connect`", "callers", "connect"),
    ("connect callers", "callers", "connect"),
    ("What does ModelStore.verify call?", "callees", "ModelStore.verify"),
    ("which functions does run call", "callees", "run"),
    ("show the callees of run", "callees", "run"),
    ("calls made by run", "callees", "run"),
    ("What breaks if I change ModelStore.verify?", "impact", "ModelStore.verify"),
    ("what depends on the function connect", "impact", "connect"),
    ("what is affected by a change of `connect`", "impact", "connect"),
    ("impact of changing Budget", "impact", "Budget"),
    ("connect impact", "impact", "connect"),
    ("What is in appliance/base?", "contents", "appliance/base"),
    ("what's in the base package", "contents", "base"),
    ("what is in the module appliance.base.paths?", "contents", "appliance.base.paths"),
    ("What does appliance/base/paths.py define?", "contents", "appliance/base/paths.py"),
    ("what does the file paths.py contain", "contents", "paths.py"),
    ("What functions are in paths.py?", "contents", "paths.py"),
    ("which classes does appliance/config.py define", "contents", "appliance/config.py"),
    ("list files in appliance/jobs/", "contents", "appliance/jobs/"),
    ("outline of src/lib.rs", "contents", "src/lib.rs"),
    ("show me all the symbols in the file client.go", "contents", "client.go"),
    ("contents of the folder tests/unit", "contents", "tests/unit"),
]

PROSE = [
    "Where is a model's digest verified?",
    "How does the pool restart an engine?",
    "where is retry policy implemented",
    "where is login handled",
    "where is authentication implemented",
    "where is the timeout",
    "Where does the worker get its jobs?",
    "where is it defined",
    "what is in it",
    "what is in a chunk?",
    "what does this do",
    "Why is synchronous=FULL used?",
    "who called the police",
    "What happens when the disk is full",
    "what methods are there to speed it up",
    "what are the parameters of good design",
    "type annotations",
    "class diagram",
    "explain ModelStore",
    "Where is Client defined and who calls it?",
    "",
    "???",
    "where is " + "x" * 400 + " defined",
]


@pytest.mark.parametrize(("question", "intent", "name"), STRUCTURE)
def test_a_question_of_structure_is_told_by_its_form(question: str, intent: Intent, name: str) -> None:
    found = classify(question)
    assert found is not None
    assert (found.intent, found.name) == (intent, name)


@pytest.mark.parametrize("question", PROSE)
def test_any_other_question_wants_prose(question: str) -> None:
    assert classify(question) is None


@pytest.mark.parametrize(
    ("question", "plain"),
    [
        ("where is connect defined", True),
        ("where is `connect` defined", False),
        ("where is Connect defined", False),
        ("where is connect_all defined", False),
        ("what is in base/paths", False),
    ],
)
def test_a_name_that_could_be_an_ordinary_word_is_marked_so(question: str, *, plain: bool) -> None:
    found = classify(question)
    assert found is not None
    assert found.plain is plain


def test_spaces_and_line_ends_do_not_matter() -> None:
    assert classify("  where   is\nClient  defined ?? ") == StructureQuery("where", "Client", plain=False)


@pytest.mark.parametrize(
    "question",
    [
        "How does Table.render reach Style.parse?",
        "path from Table.render to Style.parse",
        "the way from Table.render to `Style.parse`",
    ],
)
def test_a_way_has_a_start_and_an_end(question: str) -> None:
    assert classify(question) == StructureQuery("path", "Table.render", plain=False, other="Style.parse")


@pytest.mark.parametrize(
    "question", ["how does search reach its users", "how can it call home", "the way from here to there"]
)
def test_two_ordinary_words_are_no_way(question: str) -> None:
    assert classify(question) is None
