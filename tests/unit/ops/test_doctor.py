"""Claims about the doctor's examinations."""

import sqlite3
from contextlib import closing
from pathlib import Path

from appliance.base.paths import DataPaths
from appliance.base.sandbox import LAYERS, Policy
from appliance.errors import HostUnfit
from appliance.ops import doctor
from appliance.ops.doctor import Examination
from appliance.ops.health import Checked, Verdict


def refuse() -> Verdict:
    raise HostUnfit("The processor is too old.", remedy="Use another machine.")


def test_an_examination_that_raises_has_failed_with_its_remedy_and_the_rest_goes_on() -> None:
    found = list(doctor.examine([Examination("processor", refuse), Examination("git", doctor.git)]))
    assert found[0] == Checked("processor", Verdict("failed", "The processor is too old.", "Use another machine."))
    assert found[1].verdict.state == "ok"


def test_what_the_system_refuses_is_a_finding_and_the_rest_goes_on() -> None:
    def denied() -> Verdict:
        raise PermissionError(13, "Permission denied", "/var/lib/skellig/run")

    def lost() -> Verdict:
        raise FileNotFoundError(2, "No such file or directory", "/proc/version")

    found = list(doctor.examine([Examination("a", denied), Examination("b", lost), Examination("git", doctor.git)]))
    assert found[0].verdict.detail == "/var/lib/skellig/run cannot be used: Permission denied."
    assert "user who runs the appliance" in found[0].verdict.remedy
    assert found[1].verdict == Verdict("failed", "/proc/version: No such file or directory.")
    assert found[2].verdict.state == "ok"


def test_a_run_directory_that_others_may_read_is_told(tmp_path: Path) -> None:
    """The command line's key lies there."""
    paths = DataPaths(tmp_path)
    paths.run.mkdir(mode=0o755)
    paths.run.chmod(0o755)
    found = doctor.data_directory(paths)
    assert (found.state, found.remedy) == ("degraded", f"chmod go= {paths.run}")


def test_the_sandbox_is_tried_and_its_layers_named(tmp_path: Path) -> None:
    found = doctor.confined(DataPaths(tmp_path), policy=Policy())
    assert (
        ("seccomp" in found.detail) if found.state == "ok" else ("Agents run no commands." in found.detail and found.remedy)
    )
    assert list((tmp_path / "scratch" / "commands").iterdir()) == []


def test_the_sandbox_is_tried_as_the_settings_want_it(tmp_path: Path) -> None:
    """A machine that confines by the defaults may not have a layer that is needed here: then no command starts."""
    found = doctor.confined(DataPaths(tmp_path), policy=Policy(use=frozenset({"landlock", "seccomp"}), needs=LAYERS))
    assert (found.state, "Agents run no commands." in found.detail) == ("degraded", True)


def test_a_sound_database_is_told_from_a_damaged_one(tmp_path: Path) -> None:
    paths = DataPaths(tmp_path)
    with closing(sqlite3.connect(paths.global_db)) as conn:
        conn.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (randomblob(50000));")
    assert doctor.database(paths).state == "ok"
    pages = bytearray(paths.global_db.read_bytes())
    pages[4096:4200] = bytes(range(104))
    paths.global_db.write_bytes(pages)
    assert [checked.verdict.state for checked in doctor.examine([Examination("d", lambda: doctor.database(paths))])] == [
        "failed"
    ]


def test_no_database_yet_is_no_fault(tmp_path: Path) -> None:
    assert doctor.database(DataPaths(tmp_path)).state == "off"


def test_examining_a_directory_that_is_not_there_yet_asks_the_one_above(tmp_path: Path) -> None:
    assert "GB free" in doctor.free_space(DataPaths(tmp_path / "not" / "yet")).detail
