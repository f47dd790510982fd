"""From a location that an administrator gave to a source."""

import os
from pathlib import Path

from appliance.base import mounts
from appliance.base.clock import Clock, SystemClock
from appliance.codeintel.source import view
from appliance.codeintel.source.address import Address, Remote
from appliance.codeintel.source.base import Source
from appliance.codeintel.source.fetching import NAME as FETCHED
from appliance.codeintel.source.filters import most_bytes
from appliance.codeintel.source.folder import FolderSource
from appliance.codeintel.source.git import GitSource
from appliance.config import Index
from appliance.errors import InvalidInput, NotFound


def is_fetched(location: Address) -> bool:
    """Return whether what is at *location* is read from a mirror of ours: on another machine, or in a bundle file."""
    return isinstance(location, Remote) or (location.suffix == ".bundle" and not location.is_dir())


def stamp_of(location: Address) -> str:
    """Return what tells apart two bundle files at *location*; "" for anything else.

    Raise `NotFound` when it is gone, `InvalidInput` when it may not be looked at.
    """
    if isinstance(location, Remote):
        return ""
    try:
        status = location.stat()
    except FileNotFoundError as exc:
        remedy = "Put it back, or remove the repository; its index stays until then."
        raise NotFound(f"{location} does not exist any more.", remedy=remedy) from exc
    except OSError as exc:
        raise InvalidInput(f"{location} cannot be read: {exc.strerror}.") from exc
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


def open_source(location: Address, *, mirror: Path, limits: Index, clock: Clock | None = None) -> Source:
    """Return the source at *location*: a work tree, linked work tree, bare repository or plain folder, or what was fetched.

    *mirror* is a folder of ours for this one source, made when needed. Raise `NotFound` when nothing is there,
    `InvalidInput` for a file, a folder that may not be read or that the kernel makes up, or a plain one that *mirror* is in,
    `MalformedContent` for a broken repository, `UnsafePath` for one that leads to another repository's files.
    """
    if is_fetched(location):
        fetched = mirror / FETCHED
        directory = view.find(fetched) if (fetched / "HEAD").is_file() else None
        if directory is None:
            raise NotFound(
                f"{location} was not fetched yet.", remedy="Wait for its index job; `skellig repo list` shows it."
            )
        return GitSource(directory, mirror=mirror, max_bytes=most_bytes(limits), mask=limits.mask_secrets)
    if isinstance(location, Remote) or not location.is_absolute():
        raise InvalidInput(f"{location} is not an absolute path.", remedy=f"Give {Path.cwd() / str(location)}.")
    try:
        location.stat()
    except FileNotFoundError as exc:
        raise NotFound(f"{location} does not exist.", remedy="Check the path, and that it is mounted here.") from exc
    except (OSError, ValueError) as exc:
        raise InvalidInput(f"{location} cannot be read: {getattr(exc, 'strerror', exc)}.") from exc
    if not location.is_dir():
        raise InvalidInput(f"{location} is not a folder.", remedy="Give the folder that holds the code.")
    if not os.access(location, os.R_OK | os.X_OK):
        raise InvalidInput(f"{location} may not be read.", remedy="Let the account that runs Skellig read it.")
    refuse_made_up(location)
    directory = view.find(location)
    if directory is not None:
        return GitSource(directory, mirror=mirror, max_bytes=most_bytes(limits), mask=limits.mask_secrets)
    if mirror.resolve().is_relative_to(location.resolve()):
        raise InvalidInput(
            f"{location} holds the appliance's own data, and would change with every index of it.",
            remedy="Give the folders in it that hold code.",
        )
    return FolderSource(
        location, mirror=mirror, max_bytes=most_bytes(limits), clock=clock or SystemClock(), mask=limits.mask_secrets
    )


def refuse_made_up(location: Path) -> None:
    """Raise `InvalidInput` if *location* leads to where the kernel makes up what is in it, such as ``/proc``."""
    if kind := mounts.made_up_at(location):
        raise InvalidInput(
            f"{location} is on a file system of the kind {kind}: the kernel makes up what is in it.",
            remedy="Give a folder that holds code.",
        )
