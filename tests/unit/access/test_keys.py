from pathlib import Path

import pytest

from appliance.access.desk import Access
from appliance.errors import Conflict, Forbidden, InvalidInput, NotFound, Unauthenticated
from tests.support.clock import FakeClock


def test_a_key_names_who_asks_and_remembers_its_last_use(access: Access, clock: FakeClock) -> None:
    secret = access.keys.create("ci")
    assert access.keys.all()[0].used_at is None
    clock.advance(60)
    assert access.keys.principal(secret).name == "ci"
    assert access.keys.all()[0].used_at == clock.now()


def test_a_revoked_key_is_dead_at_once(access: Access) -> None:
    secret = access.keys.create("ci")
    access.keys.revoke("ci")
    with pytest.raises(Unauthenticated):
        access.keys.principal(secret)
    with pytest.raises(NotFound):
        access.keys.revoke("ci")


def test_a_name_is_given_once_and_is_one(access: Access) -> None:
    access.keys.create("ci")
    with pytest.raises(Conflict):
        access.keys.create("ci")
    for name in ("", " ", "x" * 81, "a\nb"):
        with pytest.raises(InvalidInput):
            access.keys.create(name)


def test_a_key_may_do_no_more_than_it_was_made_for(access: Access) -> None:
    secret = access.keys.create("reader", permissions=frozenset({"read"}))
    reader = access.keys.principal(secret)
    reader.require("read")
    with pytest.raises(Forbidden, match="permission to manage"):
        reader.require("manage")


def test_the_command_line_finds_a_key_that_only_its_owner_can_read(access: Access, tmp_path: Path) -> None:
    path = tmp_path / "cli.key"
    access.keys.ensure_local(path)
    assert path.stat().st_mode & 0o777 == 0o600
    secret = path.read_text().strip()
    access.keys.principal(secret).require("manage")
    access.keys.ensure_local(path)
    assert path.read_text().strip() == secret, "a key that works stays"


@pytest.mark.parametrize("content", ["", "skellig_old\n", "é"])
def test_a_key_file_that_does_not_work_is_replaced_and_the_old_key_is_dead(
    access: Access, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "cli.key"
    access.keys.ensure_local(path)
    old = path.read_text().strip()
    path.write_text(content, encoding="utf-8")
    access.keys.ensure_local(path)
    assert access.keys.principal(path.read_text().strip()).kind == "key"
    with pytest.raises(Unauthenticated):
        access.keys.principal(old)
