"""Claims about up, down, status, doctor and model where nothing runs: one sentence, and the way on."""

import re
import socket
from collections.abc import Iterator

import pytest

from appliance.base import durable
from appliance.base.paths import DataPaths
from appliance.cli import place
from appliance.config import Web
from appliance.inference import hardware
from appliance.inference.catalog import Catalog
from tests.support.models import SMOL
from tests.unit.cli.conftest import Line
from tests.unit.cli.test_planning import LARGE, MINILM, installed, machine

WITHOUT_MODELS = '[chat]\nmodel = "none"\n[embed]\nmodel = "none"\n'


@pytest.fixture
def taken(line: Line) -> Iterator[int]:
    """Take a port, and let the settings name it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (line.data / "skellig.toml").write_text(f"{WITHOUT_MODELS}[web]\nport = {port}\n")
        yield port


def test_up_on_a_taken_port_names_who_has_it(line: Line, taken: int) -> None:
    ran = line("up")
    assert ran.status == 4
    assert f"Port {taken} is taken by " in ran.err


def test_up_on_a_data_directory_that_cannot_be_made_says_so(line: Line) -> None:
    (line.data / "file").touch()
    inner = Line(line.data / "file" / "data", line._capture)
    (line.data / "skellig.toml").write_text(WITHOUT_MODELS)
    ran = inner("--config", str(line.data / "skellig.toml"), "up")
    assert ran.status == 9
    assert "cannot be created" in ran.err
    assert "--data" in ran.err


def test_up_on_a_data_directory_in_use_is_refused(line: Line) -> None:
    with durable.exclusive(DataPaths(line.data).lock, what="it"):
        ran = line("up")
    assert ran.status == 4
    assert "Another process holds the data directory" in ran.err


def test_up_without_models_says_which_to_pull_and_how_to_go_without(line: Line) -> None:
    (line.data / "skellig.toml").write_text("[web]\nport = 17898\n")
    ran = line("up")
    assert ran.status == 3
    assert "skellig model pull" in ran.err
    assert "set embed.model to `none`" in ran.err
    assert not (line.data / "run" / "supervisord.conf").exists()


def test_down_where_nothing_runs_is_content(line: Line) -> None:
    ran = line("down")
    assert (ran.status, ran.out) == (0, "Nothing was running.\n")
    assert line("down", "--json").json() == {"stopped": 0}


def test_status_where_nothing_runs_is_true_and_not_0(line: Line) -> None:
    installed(DataPaths(line.data).models, MINILM)
    ran = line("status")
    assert ran.status == 8
    assert "Skellig is down" in ran.out
    assert "skellig up" in ran.out
    assert MINILM in ran.out
    shown = line("status", "--json").json()
    assert isinstance(shown, dict)
    assert (shown["state"], shown["models"]) == ("down", [MINILM])


def test_status_tells_why_no_chat_model_runs_although_one_is_wanted(line: Line) -> None:
    where = place.of(Web(port=17897), chat="none", embed="none", without="No model made for answers is in the store.")
    DataPaths(line.data).run.mkdir()
    place.write(where, paths=DataPaths(line.data))
    assert where.without in line("status").out
    assert line("status", "--json").json()["without"] == where.without  # type: ignore[index]


@pytest.mark.parametrize(
    ("here", "without", "said"),
    [
        ((), "", f"{LARGE} is not in the store, so answers are evidence without prose."),
        ((LARGE,), "No model is here.", "What runs was started without one."),
    ],
)
def test_doctor_tells_of_answers_without_prose_and_what_would_change_that(
    line: Line, monkeypatch: pytest.MonkeyPatch, here: tuple[str, ...], without: str, said: str
) -> None:
    monkeypatch.setattr(hardware, "probe", machine)
    (line.data / "skellig.toml").write_text('[embed]\nmodel = "none"\n[web]\nport = 17896\n')
    installed(DataPaths(line.data).models, *here)
    DataPaths(line.data).run.mkdir()
    place.write(place.of(Web(port=17896), chat="none", embed="none", without=without), paths=DataPaths(line.data))
    found = {item["name"]: item["verdict"] for item in line("doctor", "--json").json()}  # type: ignore[attr-defined]
    assert found["chat model"]["state"] == "degraded"
    assert said in found["chat model"]["detail"]
    assert ("skellig model pull" in found["chat model"]["remedy"]) == (not here)


def test_doctor_examines_everything_and_fails_with_remedies(line: Line, taken: int) -> None:
    del taken
    (line.data / "skellig.toml").write_text((line.data / "skellig.toml").read_text().replace('"none"', f'"{MINILM}"', 2))
    ran = line("doctor", "--json")
    assert ran.status == 9
    found = {item["name"]: item["verdict"] for item in ran.json()}  # type: ignore[attr-defined]
    assert set(found) == {
        "settings", "processor", "memory", "system", "git", "open files", "data directory", "sandbox", "free space",
        "database", "chat model", "embedder", "address", "appliance",
    }  # fmt: skip
    assert found["embedder"]["state"] == "failed"
    assert "skellig model pull" in found["embedder"]["remedy"]
    assert "is taken by" in found["address"]["detail"]
    assert found["appliance"]["state"] == "off"


def test_doctor_says_what_a_platform_engineer_asks_for(line: Line) -> None:
    (line.data / "skellig.toml").write_text(f"{WITHOUT_MODELS}[web]\nport = 17899\n")
    found = {item["name"]: item["verdict"]["detail"] for item in line("doctor", "--json").json()}  # type: ignore[attr-defined]
    said = {
        "settings": r"data, web\.port, chat\.model, embed\.model set",
        "processor": r"^\w+(, with AVX2)?, \d+ cores?\.$",
        "memory": r"of \d+\.\d GB are free",
        "system": r"Skellig \S+, Python 3\.\d+\.\d+, Linux \S+, user \d+",
        "git": r"git version \d",
        "free space": rf"\d+\.\d GB free at {line.data}",
        "address": r"http://127\.0\.0\.1:17899 is free",
    }
    assert not {name: found[name] for name, pattern in said.items() if not re.search(pattern, found[name])}


def test_doctor_goes_on_where_a_setting_is_wrong(line: Line) -> None:
    (line.data / "skellig.toml").write_text(f"{WITHOUT_MODELS}[web]\nprot = 17899\n")
    ran = line("doctor", "--json")
    found = {item["name"]: item["verdict"] for item in ran.json()}  # type: ignore[attr-defined]
    assert ran.status == 9
    assert found["settings"]["state"] == "failed"
    assert "web.port" in found["settings"]["remedy"]
    assert found["git"]["state"] == "ok"


UNUSABLE = [("up",), ("up", "--foreground"), ("down",), ("status",), ("repo", "list"), ("search", "x"), ("ask", "x")]


@pytest.mark.parametrize("argv", UNUSABLE, ids=" ".join)
def test_a_data_directory_that_is_none_costs_no_command_its_sentence(line: Line, argv: tuple[str, ...]) -> None:
    (line.data / "file").touch()
    (line.data / "skellig.toml").write_text(WITHOUT_MODELS)
    inner = Line(line.data / "file", line._capture)
    ran = inner("--config", str(line.data / "skellig.toml"), *argv)
    assert ran.status in {8, 9}
    assert "of its own" not in ran.err
    assert ran.err.count("\n") == (argv != ("status",))


def test_up_on_a_socket_that_cannot_be_is_refused_before_anything_starts(line: Line) -> None:
    """A name that depends on where a command is called would be another one for each."""
    for path in ("web.sock", "run/web.sock", f"/tmp/{'x' * 110}.sock"):  # noqa: S108 - nothing is written there
        (line.data / "skellig.toml").write_text(f'{WITHOUT_MODELS}[web]\nsocket = "{path}"\n')
        ran = line("up")
        assert ran.status == 9
        assert "web.socket is no absolute path of at most 107 bytes" in ran.err


def test_up_with_a_context_that_the_model_does_not_have_is_refused(line: Line) -> None:
    installed(DataPaths(line.data).models, SMOL)
    (line.data / "skellig.toml").write_text(f'[chat]\nmodel = "{SMOL}"\ncontext = 9000\n[embed]\nmodel = "none"\n')
    ran = line("up")
    assert ran.status == 2
    assert f"{SMOL} has a context of 8,192 tokens, and chat.context asks for 9,000. Lower chat.context" in ran.err


def test_doctor_finds_a_damaged_database(line: Line) -> None:
    (line.data / "global.db").write_bytes(b"this is no database" * 100)
    found = {item["name"]: item["verdict"] for item in line("doctor", "--json").json()}  # type: ignore[attr-defined]
    assert found["database"]["state"] == "failed"


def test_models_are_listed_with_what_they_take(line: Line) -> None:
    installed(DataPaths(line.data).models, MINILM)
    rows = {row["name"]: row for row in line("model", "list", "--json").json()}  # type: ignore[attr-defined]
    assert set(rows) == {model.name for model in Catalog.load().models}
    assert rows[MINILM]["installed"]
    assert not rows[LARGE]["installed"]
    assert "1.1 GB" in line("model", "list").out


def test_a_file_that_is_not_in_the_catalogue_is_not_taken(line: Line) -> None:
    (line.data / "evil.onnx").write_bytes(b"\0" * 5000)
    ran = line("model", "import", str(line.data / "evil.onnx"))
    assert ran.status == 7
    assert "not in the catalogue" in ran.err


def test_a_model_whose_bytes_are_wrong_fails_to_verify(line: Line) -> None:
    installed(DataPaths(line.data).models, MINILM)
    ran = line("model", "verify", MINILM)
    assert ran.status == 7
    assert "[digest_mismatch]" in ran.err


def test_a_model_that_nobody_knows_is_not_found(line: Line) -> None:
    ran = line("model", "pull", "gpt-9")
    assert ran.status == 3
    assert "skellig model list" in ran.err


def test_a_folder_without_the_model_is_not_found_and_nothing_is_half_there(line: Line) -> None:
    (line.data / "empty").mkdir()
    ran = line("model", "import", str(line.data / "empty"))
    assert ran.status == 3
    assert not [path for path in (line.data / "models").rglob("*") if path.is_file() and path.suffix in {".onnx", ".gguf"}]
