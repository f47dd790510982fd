"""Claims about how commands end."""

import errno
import os
import re
from pathlib import Path

import click
import pytest

from appliance import errors
from appliance.cli.exits import STATUSES, guarded, sentence, status_of
from appliance.errors import ApplianceError


def ending(error: BaseException) -> click.Group:
    """Return a command line whose one command ends with *error*."""

    @click.group()
    def group() -> None:
        """Hold one command."""

    @group.command()
    def end() -> None:
        raise error

    return group


def every(kind: type[ApplianceError] = ApplianceError) -> list[type[ApplianceError]]:
    return [kind, *(leaf for child in kind.__subclasses__() for leaf in every(child))]


@pytest.mark.parametrize("kind", every(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_other_than_0(kind: type[ApplianceError]) -> None:
    assert 0 < status_of(kind("It failed.")) < 256


def test_families_can_be_told_apart() -> None:
    assert len(set(STATUSES.values())) == len(STATUSES)


def test_an_error_is_one_sentence_with_remedy_and_code(capsys: pytest.CaptureFixture[str]) -> None:
    status = guarded(ending(errors.Conflict("Port 80 is taken.", remedy="Stop it.")), ["end"])
    assert (status, capsys.readouterr().err) == (4, "error: Port 80 is taken. Stop it. [conflict]\n")


def test_an_interrupt_ends_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(ending(KeyboardInterrupt()), ["end"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_an_error_of_our_own_making_is_one_line_and_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(ending(ZeroDivisionError("secret of a repository")), ["end"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "secret" not in said
    found = re.search(r"in (/\S+\.log)\.", said)
    assert found
    details = Path(found[1])
    assert "ZeroDivisionError" in details.read_text()
    details.unlink()


@pytest.mark.parametrize(
    ("number", "status"),
    [(errno.EACCES, 9), (errno.EPERM, 9), (errno.ENOTDIR, 9), (errno.ENOSPC, 10), (errno.EROFS, 10), (errno.EIO, 10)],
    ids=lambda number: errno.errorcode.get(number, ""),
)
def test_what_the_system_refuses_is_a_sentence_with_the_path(
    capsys: pytest.CaptureFixture[str], number: int, status: int
) -> None:
    assert guarded(ending(OSError(number, os.strerror(number), "/var/lib/skellig/run/\udcff")), ["end"]) == status
    said = capsys.readouterr().err
    assert "/var/lib/skellig/run/\\udcff" in said
    assert "of its own" not in said
    assert said.count("\n") == 1


def test_an_error_of_the_system_that_tells_of_our_own_fault_is_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(ending(FileNotFoundError(errno.ENOENT, "x", "/x")), ["end"]) == 1
    said = capsys.readouterr().err
    assert "of its own" in said
    Path(re.findall(r"in (/\S+\.log)\.", said)[0]).unlink()


def test_a_sentence_without_remedy_has_no_gap() -> None:
    assert sentence(errors.NotFound("It is gone.")) == "error: It is gone. [not_found]"
