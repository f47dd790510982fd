"""Where the folder of a command may lie."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from appliance.base import sandbox
from appliance.errors import HostUnfit


@pytest.mark.parametrize("where", ["/dev/shm", "/tmp", "/var/tmp"])  # noqa: S108 - the places that are tried
def test_a_command_s_folder_may_lie_where_the_sandbox_puts_something_of_its_own(where: str) -> None:
    """Else its namespaces, one of the walls, would be missing there."""
    with TemporaryDirectory(dir=where) as made:
        work = Path(made, "work")
        work.mkdir()
        try:
            done = sandbox.run(["sh", "-c", "echo made > made"], folder=work, aside=Path(made, "aside"))
        except HostUnfit as exc:
            pytest.skip(f"no sandbox: {exc.message}")
        assert (done.code, (work / "made").read_text()) == (0, "made\n")
    assert not [each for each in done.confinement.lacking if "furnished" in each]
