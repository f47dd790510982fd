"""What may be read and written, told from a path's text alone: nothing is looked up on the disk."""

import fnmatch
import posixpath
import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import unquote

from appliance.contracts.safety import SafetyVerdict
from appliance.orchestrator.coordinators.safety.verdicts import ALLOW, block, confirm

Use = Literal["read", "write"]
_HARMLESS: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "-", ""})
_SECRET_FOLDERS: Final = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".azure", ".password-store"})
_SECRET_NAMES: Final = (
    "id_rsa*", "id_ed25519*", "id_ecdsa*", "id_dsa*", ".netrc", ".git-credentials", ".pgpass", ".npmrc", ".pypirc",
    "authorized_keys", "known_hosts", "shadow", "shadow-", "gshadow", "sudoers", "*.p12", "*.pfx", "*.kdbx",
    ".bash_history", ".zsh_history",
)  # fmt: skip
_SECRET_PLACES: Final = (
    "/etc/passwd",
    "/etc/ssl/private",
    "/etc/ssh",
    "/etc/sudoers.d",
    "/root",
    "/run/secrets",
    "/var/run/secrets",
)
_KERNEL: Final = re.compile(
    r"^/(?:proc/(?:\d+|self|thread-self|\*)/(?:environ|mem|maps|fd|root|cwd)|proc/kcore|dev/k?mem|sys/)"
)
_KEPT_LOGINS: Final = re.compile(r"(?:^|/)(?:\.docker/config\.json$|\.config/gcloud(?:/|$))")
_REMOTES: Final = re.compile(r"(?:^|/)\.git/config$")  # addresses may have credentials in them
_QUIETLY_SECRET: Final = re.compile(
    r"(?:^|/)(?:\.env(?:\.(?!example$|sample$|template$|dist$).*)?|[^/]*\.(?:pem|key)"
    r"|(?:secrets?|credentials?)(?:\.(?:json|ya?ml|toml|ini|env|txt|csv))?)$",
    re.IGNORECASE,
)
_HOOKS: Final = re.compile(r"(?:^|/)\.git/(?!info/exclude$|COMMIT_EDITMSG$)")


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where work is done: an absolute path, or "" where only relative paths can be inside."""

    root: str = ""

    def judge(self, path: str, use: Use) -> SafetyVerdict:  # noqa: PLR0911 - a verdict for each reason
        """Return what is to be said of reading or writing *path*, which is relative to the workspace if it is not absolute.

        Outside writes are refused, outside reads left to a person; what holds secrets is refused for both, wherever it is.
        """
        plain = _plain(path)
        if plain in _HARMLESS:
            return ALLOW
        if "\0" in path:
            return block("a path has a NUL in it")
        within = plain.removeprefix(f"{self.root.rstrip('/')}/") if self.root else plain
        if _is_secret(within) or _is_secret(posixpath.normpath(within)):
            return block(f"{_shown(path)} may hold secrets")
        if self._is_outside(plain):
            return block(f"writes outside the workspace: {_shown(path)}") if use == "write" else _outside_read(path)
        if use == "write" and _HOOKS.search(plain):
            return block(f"writes what git runs or keeps: {_shown(path)}")
        if _REMOTES.search(within) or _QUIETLY_SECRET.search(within):
            return confirm(f"{_shown(path)} may hold secrets")
        return ALLOW

    def is_whole(self, path: str) -> bool:
        """Say whether *path* is the whole workspace, or all that is in it."""
        plain = posixpath.normpath(_plain(path))
        return plain in {".", "*", "./*", ".*", "./.*", "**"} or plain.rstrip("/*") == self.root.rstrip("/")

    def _is_outside(self, plain: str) -> bool:
        if plain.startswith("~"):
            return True
        if not plain.startswith("/"):
            return ".." in plain.split("/")  # a link on the way would make it lead anywhere
        root = self.root.rstrip("/")
        inside = bool(root) and (plain == root or plain.startswith(f"{root}/"))
        return not inside or ".." in plain.split("/")


def _outside_read(path: str) -> SafetyVerdict:
    if path.startswith("/dev/"):
        return block(f"reads a device: {_shown(path)}")
    return confirm(f"reads outside the workspace: {_shown(path)}")


def _is_secret(plain: str) -> bool:
    parts = [part.lower() for part in plain.split("/") if part]
    name = parts[-1] if parts else ""
    return (
        not _SECRET_FOLDERS.isdisjoint(parts)
        or any(fnmatch.fnmatchcase(name, pattern) for pattern in _SECRET_NAMES)
        or any(plain == place or plain.startswith(f"{place}/") for place in _SECRET_PLACES)
        or _KERNEL.match(plain) is not None
        or _KEPT_LOGINS.search(plain) is not None
    )


def _plain(path: str) -> str:
    """Return *path* as it will be meant: without a scheme, escapes, backslashes and doubled slashes."""
    text = path.strip().removeprefix("file://")
    text = unquote(text) if "%" in text else text
    text = text.replace("\\", "/")
    return re.sub(r"/(?:\.?/)+", "/", text)


def _shown(path: str) -> str:
    text = ascii(path)[1:-1]
    return text if len(text) <= 80 else f"{text[:80]}…"
