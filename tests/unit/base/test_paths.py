from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.base.paths import DataPaths, contained, display
from appliance.errors import UnsafePath
from appliance.ids import ProjectId, new_id


@pytest.mark.parametrize("path", ["", "/etc/passwd", "..", "a/../b", "a//b", "./a", "a/.", "a\0b", "../../x"])
def test_a_path_that_is_not_plainly_relative_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(UnsafePath):
        contained(tmp_path, path)


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc")
    with pytest.raises(UnsafePath):
        contained(tmp_path, "out/passwd")


def test_a_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert contained(tmp_path, "link/file") == tmp_path / "link" / "file"


def test_a_project_id_cannot_name_another_folder(tmp_path: Path) -> None:
    with pytest.raises(UnsafePath):
        DataPaths(tmp_path).project(ProjectId("../models"))


def test_bytes_that_are_not_utf8_are_shown_as_escapes() -> None:
    assert display(b"a\xff\n\xe2\x80\xae.py".decode(errors="surrogateescape")) == "a\\xff\\n\\u202e.py"


@given(st.binary(max_size=40))
def test_what_is_shown_can_always_be_encoded_and_printed(raw: bytes) -> None:
    shown = display(raw.decode(errors="surrogateescape"))
    assert shown.encode().decode().isprintable()


def test_ids_of_one_kind_differ_and_say_their_kind() -> None:
    ids = {new_id("job") for _ in range(1000)}
    assert len(ids) == 1000
    assert all(i.startswith("job_") for i in ids)
