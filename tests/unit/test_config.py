from pathlib import Path

import pytest

from appliance import config
from appliance.errors import InvalidInput


def load(
    tmp_path: Path, *, file: str | None = None, env: dict[str, str] | None = None, flags: dict[str, object] | None = None
) -> config.Loaded:
    path = None
    if file is not None:
        path = tmp_path / "skellig.toml"
        path.write_text(file)
    return config.load(environ={"HOME": str(tmp_path), **(env or {})}, flags=flags, file=path)


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    file = "[web]\nport = 1001\nhost = '127.0.0.2'\n[chat]\nmodel = 'x'"
    loaded = load(
        tmp_path, file=file, env={"SKELLIG_WEB__PORT": "1002", "SKELLIG_CHAT__MODEL": "y"}, flags={"web.port": 1003}
    )
    assert (loaded.settings.web.port, loaded.origins["web.port"]) == (1003, "flag")
    assert (loaded.settings.chat.model, loaded.origins["chat.model"]) == ("y", "env")
    assert (loaded.settings.web.host, loaded.origins["web.host"]) == ("127.0.0.2", "file")
    assert (loaded.settings.log.level, loaded.origins["log.level"]) == ("info", "default")


def test_every_setting_has_an_origin_and_a_description(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert list(loaded.origins) == config.names()
    assert set(loaded.origins.values()) == {"default"}


def test_switches_of_the_test_suite_are_no_settings(tmp_path: Path) -> None:
    """They may be exported for the whole shell, in which `skellig` and `make test` run too."""
    switches = {f"SKELLIG_TEST_{name}": "1" for name in ("MODELS", "ROUNDS", "FILES", "REPO", "SCREENSHOTS")}
    assert load(tmp_path, env=switches).settings == load(tmp_path).settings


def test_an_empty_variable_sets_nothing(tmp_path: Path) -> None:
    """Files of variables often name all of them; an empty data directory would be wherever a command is called."""
    empty = dict.fromkeys(("SKELLIG_DATA", "SKELLIG_WEB__PORT", "SKELLIG_WEB__SOCKET", "SKELLIG_CONFIG", "SKELLIG_X"), "")
    assert load(tmp_path, env=empty) == load(tmp_path)


@pytest.mark.parametrize(
    ("file", "env", "says"),
    [
        ("[web]\nprot = 1", {}, r"web\.prot \(from file\)"),
        (None, {"SKELLIG_WEB__PORT": "many"}, r"web\.port \(from env\)"),
        (None, {"SKELLIG_NONSENSE": "1"}, r"nonsense \(from env\)"),
        ("web = 3\n", {"SKELLIG_WEB__PORT": "4"}, r"web \(from file\)\. There are web\.host, "),
        ("[web.port]\nx = 3\n", {"SKELLIG_WEB__PORT": "4"}, r"web\.port\.x \(from file\)"),
        ("[web\n", {}, "not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_where_it_stands(
    file: str | None, env: dict[str, str], says: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=says):
        load(tmp_path, file=file, env=env)


def test_everything_that_is_wrong_is_told_at_once_and_the_rest_is_as_it_was_set(tmp_path: Path) -> None:
    (file := tmp_path / "skellig.toml").write_text("[web]\nprot = 1\nport = 0\nhost = '127.0.0.2'\n")
    environ = {"HOME": str(tmp_path), "SKELLIG_CHAT__SLOTS": "many", "SKELLIG_CHAT__MODEL": "none"}
    found = config.examine(environ=environ, file=file)
    assert {fault.name for fault in found.faults} == {"web.prot", "web.port", "chat.slots"}
    settings = found.loaded.settings
    assert (settings.web.host, settings.web.port, settings.chat.model) == ("127.0.0.2", 7878, "none")
    with pytest.raises(InvalidInput) as caught:
        found.require()
    assert all(fault.message in str(caught.value) and fault.remedy in str(caught.value) for fault in found.faults)


def test_a_file_that_was_asked_for_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        load(tmp_path, env={"SKELLIG_CONFIG": str(tmp_path / "missing.toml")})


def test_data_lives_with_the_user_where_the_system_has_no_place() -> None:
    assert config.default_data({"HOME": "/home/ann"}) in {Path("/home/ann/.local/share/skellig"), Path("/var/lib/skellig")}


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        load(tmp_path).settings.web.port = 1  # type: ignore[misc]


def test_no_plugin_is_enabled_unless_the_settings_name_it(tmp_path: Path) -> None:
    named = load(tmp_path, file="[plugins]\nenabled = ['glossary', 'team']").settings.plugins.enabled
    by_environment = load(tmp_path, env={"SKELLIG_PLUGINS__ENABLED": "glossary, team"}).settings.plugins.enabled
    assert (load(tmp_path).settings.plugins.enabled, named, by_environment) == ((), ("glossary", "team"), named)
