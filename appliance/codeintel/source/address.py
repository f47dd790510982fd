"""Where a repository is: a path of this machine, or an address that an administrator gave. No other is ever contacted."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from appliance.base.paths import display
from appliance.errors import InvalidInput

Scheme = Literal["ssh", "https", "http"]

_HOST: Final = r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?|\[[0-9A-Fa-f:]{2,45}\])"
_USER: Final = r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})@)?"
_PATH: Final = r"[^\x00-\x20\x7f\\?#]{1,2000}"
_URL: Final = re.compile(rf"(?P<scheme>ssh|https?)://{_USER}{_HOST}(?::(?P<port>[0-9]{{1,5}}))?/(?!/){_PATH}")
_SCP: Final = re.compile(rf"{_USER}{_HOST}:(?!/?/)(?!-){_PATH}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_REMEMBERED: Final = 1_000  # addresses: each search reads some
_LOCAL: Final = frozenset({"", "localhost"})


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository on another machine: what git is told, without any password."""

    scheme: Scheme
    host: str
    url: str

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.url.rstrip("/").rpartition("/")[2].rpartition(":")[2]


Address = Path | Remote


@functools.lru_cache(maxsize=_REMEMBERED)
def address_of(text: str) -> Address:
    """Return what *text* names: a path, ``file://…``, ``ssh://…``, ``user@host:path``, ``https://…`` or ``http://…``.

    Raise `InvalidInput` for any other protocol, and for a password in an address.
    """
    if text.startswith("file://"):
        parts = urlsplit(text)
        if parts.netloc not in _LOCAL:
            raise InvalidInput(f"{display(text[:200])} is on another machine.", remedy="Give its path, or its ssh address.")
        return Path(unquote(parts.path, errors="surrogateescape"))
    if match := _URL.fullmatch(text):
        if match["scheme"] != "ssh" and match["user"]:
            raise _with_password()
        return Remote(match["scheme"], match["host"].strip("[]"), text)  # type: ignore[arg-type]  # one of the three
    if "://" not in text and not text.startswith(("/", ".")) and (match := _SCP.fullmatch(text)) and match["user"]:
        return Remote("ssh", match["host"].strip("[]"), text)
    if _SCHEME.match(text) and not text.startswith("/"):
        if "@" in text and text.startswith(("http://", "https://", "ssh://")):
            raise _with_password()
        shown = display(text.partition(":")[0][:40])
        raise InvalidInput(
            f"Repositories are not read by {shown!r}, or this is no address of one.",
            remedy="Give a path of this machine, ssh://user@host/path, user@host:path or https://host/path.",
        )
    return Path(text)


def _with_password() -> InvalidInput:
    return InvalidInput(
        "An address holds no login: it would be seen by others.",
        remedy="Name a file that holds user:token with --credentials-file, or for ssh a key file with --key-file.",
    )
