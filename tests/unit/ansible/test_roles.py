"""Claims about the roles as they are written: every variable has its words, and every volume its label."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from jinja2 import Environment, FileSystemLoader

ANSIBLE: Final = Path(__file__).resolve().parents[3] / "ansible"
ROLES: Final = sorted(path.name for path in (ANSIBLE / "roles").iterdir() if path.is_dir())
_MADE: Final = re.compile(r"^ +(skellig_\w+):|register: (skellig_\w+)", flags=re.MULTILINE)


def sources(role: str) -> Iterator[str]:
    for folder in ("tasks", "templates", "handlers"):
        for path in sorted((ANSIBLE / "roles" / role / folder).glob("*")):
            yield path.read_text()


def asked(role: str) -> set[str]:
    """Return the variables that a role reads and neither it nor a role before it makes."""
    made = {name for other in ROLES for text in sources(other) for pair in _MADE.findall(text) for name in pair if name}
    for other in ROLES:
        inner = ANSIBLE / "roles" / other / "vars" / "main.yml"
        made |= set(re.findall(r"^(skellig_\w+):", inner.read_text(), flags=re.MULTILINE)) if inner.exists() else set()
    read = {name for text in sources(role) for name in re.findall(r"\bskellig_[a-z_]+", text)}
    return read - made - {"skellig_host", "skellig_now"}


@pytest.mark.parametrize("role", ROLES)
def test_every_variable_that_a_role_reads_is_in_its_argument_specs_and_in_the_readme(role: str) -> None:
    specs = (ANSIBLE / "roles" / role / "meta" / "argument_specs.yml").read_text()
    readme = (ANSIBLE / "README.md").read_text()
    wanted = asked(role)
    assert wanted
    assert {name for name in wanted if f"      {name}:" not in specs} == set()
    assert {name for name in wanted if f"| `{name}` |" not in readme} == set()


def own_variables(text: str) -> Iterator[str]:
    """Give the names of the variables that tasks have for themselves."""
    inside = ""
    for line in text.splitlines():
        if begun := re.match(r"( +)vars:", line):
            inside = begun[1] + "  "
        elif inside and (named := re.match(rf"{inside}(skellig_\w+):", line)):
            yield named[1]
        elif not line.startswith(inside):
            inside = ""


def test_no_task_registers_what_another_has_as_a_variable_of_its_own() -> None:
    """What is registered stays, and goes before the variable: an image that was to be kept was removed so."""
    texts = [text for role in ROLES for text in sources(role)]
    registered = {name for text in texts for name in re.findall(r"register: (skellig_\w+)", text)}
    own = {name for text in texts for name in own_variables(text)}
    assert "skellig_kept" in own
    assert registered & own == set()


def test_every_volume_has_a_label_for_selinux() -> None:
    """Without one an enforcing host cannot read a single file of it."""
    unit = (ANSIBLE / "roles" / "appliance" / "templates" / "skellig.container.j2").read_text()
    volumes = re.findall(r"^Volume=.*$", unit, flags=re.MULTILINE)
    assert len(volumes) == 5
    assert not [volume for volume in volumes if not re.search(r":(ro,)?Z$", volume)]


def test_no_image_is_ever_pulled() -> None:
    unit = (ANSIBLE / "roles" / "appliance" / "templates" / "skellig.container.j2").read_text()
    assert "\nPull=never\n" in unit
    assert "\nNetwork=none\n" in unit
    assert not [text for role in ROLES for text in sources(role) if re.search(r"podman, pull|podman pull", text)]


def test_only_modules_of_ansible_core_are_used() -> None:
    """So that no collection has to be carried, licensed and kept up to date."""
    files = [*ANSIBLE.glob("playbooks/*.yml"), *ANSIBLE.glob("roles/*/tasks/*.yml"), *ANSIBLE.glob("roles/*/handlers/*.yml")]
    found = {
        name for path in files for name in re.findall(r"^ +(?:- )?(\w+\.\w+\.\w+):", path.read_text(), flags=re.MULTILINE)
    }
    assert found
    assert not {name for name in found if not name.startswith("ansible.builtin.")}


def rendered(settings: object) -> dict[str, object]:
    """Return what the settings' file says as the appliance reads it; Ansible's own filter is JSON's."""
    templates = FileSystemLoader(ANSIBLE / "roles" / "appliance" / "templates")
    environment = Environment(loader=templates, trim_blocks=True, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - TOML
    environment.filters["to_json"] = json.dumps
    return tomllib.loads(environment.get_template("skellig.toml.j2").render(ansible_managed="", skellig_settings=settings))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gpu": "auto", "chat": {"threads": 4, "model": "a b"}, "log": {"level": "info"}},
        {"chat": {"deep": {"er": {"list": [1, "a", [2.5, True], {"x": "y"}], "none": {}}}, "empty": []}},
        {"name": 'quote " back \\ slash \n line \t tab \x7f delete \x01', "emoji": "\U0001f600 \u00e9", "a.b c": 1},
    ],
    ids=["none", "plain", "nested", "text"],
)
def test_settings_are_written_as_toml_that_says_the_same(settings: dict[str, object]) -> None:
    assert rendered(settings) == settings


def test_a_setting_of_nothing_is_left_out() -> None:
    """So the default holds, as with an empty variable."""
    assert rendered({"gpu": None, "chat": {"threads": None, "slots": 2}, "log": None}) == {"chat": {"slots": 2}}
    assert rendered(None) == {}


def test_a_name_that_is_no_text_is_written_as_text() -> None:
    """Whoever wrote it hears from the appliance that there is no such setting."""
    assert rendered({1: "a", "chat": {2: "b", "slots": 2}}) == {"1": "a", "chat": {"2": "b", "slots": 2}}
