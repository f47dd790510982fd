"""How git reaches one repository on another machine: one protocol, one host, the files that its settings name, no prompt.

What is secret goes through a file that only we can read and that lives as long as one command: never through arguments,
addresses, the log or the environment.
"""

import base64
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from appliance.base import proc
from appliance.codeintel.repo_settings import RepoSettings
from appliance.codeintel.source.address import Address, Remote
from appliance.codeintel.source.gitchild import environment
from appliance.errors import AuthFailed, InvalidInput, Unsupported

ASIDE: Final = ".access-"  # how the folder begins that holds what is secret for the time of one command
_SMALL: Final = 64_000
_CONNECT_S: Final = 15
_CONFIG: Final = """[core]
	hooksPath = /dev/null
	fsmonitor = false
	askPass =
[gc]
	auto = 0
[maintenance]
	auto = false
[credential]
	helper =
[transfer]
	bundleURI = false
	unpackLimit = 1
[fetch]
	recurseSubmodules = false
	writeCommitGraph = false
[submodule]
	recurse = false
[http]
	followRedirects = false
	proxy =
	sslVerify = true
	lowSpeedLimit = 100
	lowSpeedTime = 30
"""


@contextmanager
def reached(address: Address, settings: RepoSettings, *, git_dir: Path, under: Path) -> Iterator[dict[str, str]]:
    """Yield the environment in which git reaches *address* and nothing else, for a command on *git_dir*.

    What it needs stands in a folder in *under* until the end of the block. Raise `InvalidInput` for a file of the settings
    that cannot be read, `Unsupported` for a key with a passphrase.
    """
    with TemporaryDirectory(prefix=ASIDE, dir=under) as aside:
        config = Path(aside) / "config"
        variables = environment(git_dir) | {
            "GIT_CONFIG_GLOBAL": str(config),
            "GIT_ALLOW_PROTOCOL": address.scheme if isinstance(address, Remote) else "file",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS_REQUIRE": "never",
            "GIT_SSH_VARIANT": "ssh",
        }
        lines = _CONFIG
        if isinstance(address, Remote) and address.scheme == "ssh":
            variables["GIT_SSH_COMMAND"] = _ssh(settings)
        elif isinstance(address, Remote):
            lines += _http(address, settings)
        config.touch(mode=0o600)
        config.write_text(lines, encoding="utf-8", errors="surrogateescape")
        yield variables


def _ssh(settings: RepoSettings) -> str:
    """Return the ssh command: it asks nobody, trusts the pinned host keys alone and offers one key at most."""
    key, known = settings.key_file, settings.known_hosts
    if not known:
        raise InvalidInput(
            "The host keys of the server are not known.",
            remedy="Name a file that holds them with --known-hosts; `ssh-keyscan HOST` prints them: compare them.",
        )
    _readable(Path(known), what="known hosts")
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": known,
        "GlobalKnownHostsFile": "/dev/null",
        "UpdateHostKeys": "no",
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "IdentityFile": key or "none",
        "PreferredAuthentications": "publickey",
        "ConnectTimeout": str(_CONNECT_S),
        "ServerAliveInterval": "15",
        "ServerAliveCountMax": "2",
        "PermitLocalCommand": "no",
        "ClearAllForwardings": "yes",
        "ForwardAgent": "no",
        "ProxyCommand": "none",
        "RequestTTY": "no",
        "LogLevel": "ERROR",
    }
    if key:
        _check_key(Path(key))
    spelled = [f"{name}={_quoted(value) if name.endswith('File') else value}" for name, value in options.items()]
    return shlex.join(["ssh", "-F", "/dev/null", *(part for each in spelled for part in ("-o", each))])


def _check_key(key: Path) -> None:
    _readable(key, what="the key")
    if key.stat().st_mode & 0o077:
        raise InvalidInput(f"The key file {key} may be read by others, and ssh refuses it.", remedy=f"chmod 600 {key}")
    argv = ("ssh-keygen", "-y", "-P", "", "-f", str(key))
    done = proc.run(argv, timeout=10)
    said = done.stderr.decode("utf-8", "replace")
    if done.code and "passphrase" in said:
        raise Unsupported(
            f"The key {key} has a passphrase, and nobody is there to type it.",
            remedy="Give a deploy key without one that may only read this repository.",
        )
    if done.code:
        raise AuthFailed(f"The file {key} holds no private key that ssh can use.", remedy="Give another with --key-file.")


def _http(remote: Remote, settings: RepoSettings) -> str:
    lines = ""
    if settings.ca_file:
        _readable(Path(settings.ca_file), what="the certificates")
        lines += f"\tsslCAInfo = {_config_value(settings.ca_file)}\n"
    if settings.credentials_file:
        login = _readable(Path(settings.credentials_file), what="the login").strip()
        if login.count(b"\n") or b":" not in login:
            raise InvalidInput(
                f"{settings.credentials_file} does not hold one line user:token.", remedy="Write it so; mode 600 is best."
            )
        root = f"{remote.scheme}://{remote.url.split('/')[2]}/"
        header = base64.b64encode(login).decode("ascii")
        lines += f'[http "{root}"]\n\textraHeader = Authorization: Basic {header}\n'
    return lines


def _readable(path: Path, *, what: str) -> bytes:
    """Return the content of a small regular file that the settings name."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            return file.read(_SMALL)
    except OSError as exc:
        raise InvalidInput(
            f"The file {path} with {what} cannot be read: {exc.strerror}.",
            remedy="Let the account that runs Skellig read it, or name another.",
        ) from exc


def _quoted(path: str) -> str:
    return f'"{path}"' if path != "none" else path


def _config_value(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
