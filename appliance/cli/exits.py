"""How a command ends: one sentence on standard error, and a status that scripts can tell apart."""

import contextlib
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from typing import Final

import click

from appliance import errors
from appliance.errors import ApplianceError

STATUSES: Final[Mapping[type[ApplianceError], int]] = {
    errors.ApplianceError: 1,
    errors.CallerError: 2,
    errors.NotFound: 3,
    errors.Conflict: 4,
    errors.AccessError: 5,
    errors.ContentError: 6,
    errors.TrustError: 7,
    errors.Unavailable: 8,
    errors.Cancelled: 130,
    errors.HostUnfit: 9,
    errors.RemoteError: 11,
    errors.StorageFault: 10,
}
"""The exit status of each error; one that is not here has its nearest ancestor's. 2 is also what click uses for usage."""

_INTERRUPTED: Final = 130


def status_of(error: ApplianceError) -> int:
    """Return the exit status of *error*."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def guarded(command: click.Group, argv: Sequence[str], *, name: str = "skellig") -> int:
    """Run *command* as *name* and return the exit status; whatever goes wrong is said in one line on standard error."""
    try:
        status = command.main(list(argv), prog_name=name, standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        return _INTERRUPTED
    except click.ClickException as exc:
        exc.show()
        return exc.exit_code
    except ApplianceError as exc:
        click.echo(sentence(exc), err=True)
        return status_of(exc)
    except BrokenPipeError:
        _print_no_more()  # whoever read our output has seen enough
        return 0
    except Exception as exc:  # noqa: BLE001 - the outermost loop of a command
        known = _of_system(exc)
        if isinstance(exc, OSError) and exc.filename is None:
            _print_no_more()
        ours = f"error: Skellig made an error of its own ({type(exc).__name__})."
        click.echo(sentence(known) if known else f"{ours} {_record()} [internal]", err=True)
        return status_of(known) if known else 1
    return status if isinstance(status, int) else 0


def _print_no_more() -> None:
    """Send what is still to be printed nowhere, so that the end of the process does not fail of it once more."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def sentence(error: ApplianceError) -> str:
    """Return *error* as people read it: what happened, the next step, the stable code."""
    return f"error: {error} [{error.code}]"


def _of_system(exc: Exception) -> ApplianceError | None:
    if not isinstance(exc, OSError):
        return None
    if not isinstance(exc.filename, str | bytes | os.PathLike):
        known = errors.of_system(exc, "what was to be written")
        return known if isinstance(known, errors.StorageFault) else None
    return errors.of_system(exc, os.fsdecode(exc.filename).encode(errors="backslashreplace").decode())


def _record() -> str:
    if "SUPERVISOR_ENABLED" in os.environ:
        traceback.print_exc()
        return "The details stand above this line."
    with contextlib.suppress(OSError):
        fd, name = tempfile.mkstemp(prefix="skellig-error-", suffix=".log")
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
            traceback.print_exc(file=file)
        return f"The details are in {name}."
    return "Nothing could be written about it."
