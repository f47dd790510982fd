"""What runs: one `Program` a process, and the supervisord configuration that keeps them running."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.base.paths import DataPaths, display
from appliance.errors import HostUnfit, InvalidInput

# The engines' OpenMP must not spin beside an indexer on the same cores (0.55 instead of 13 tokens a second), a search's few
# milliseconds of matrix work must not wait for a second thread (its p95 doubles on a busy machine), and no library may look
# for a network that is not there.
ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "GOMP_SPINCOUNT": "0",
    "HF_HUB_OFFLINE": "1",
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_NUM_THREADS": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "PYTHONUNBUFFERED": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
SOCKET_LIMIT = 107
"""Bytes of a unix socket's path in Linux."""

_SOCKET_SLACK = len("/engine-embed.sock") + 8  # supervisord binds aside, with its process id as suffix


@dataclass(frozen=True, slots=True)
class Program:
    """One supervised process.

    It has started once it lived for *settle* seconds; *retries* deaths in a row before that make it failed, with one, two,
    three… seconds between them. It is killed when SIGTERM has not ended it after *grace* seconds.
    """

    name: str
    argv: tuple[str, ...]
    settle: int
    retries: int = 3
    grace: int = 20
    priority: int = 100  # lower starts first and stops last


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The supervisor's own files in the data directory."""

    paths: DataPaths

    @property
    def config(self) -> Path:
        """The generated configuration."""
        return self.paths.run / "supervisord.conf"

    @property
    def socket(self) -> Path:
        """Where the supervisor answers."""
        return self.paths.run / "supervisor.sock"

    @property
    def pid(self) -> Path:
        """Holds the supervisor's process id while it runs."""
        return self.paths.run / "supervisord.pid"

    def log(self, program: str) -> Path:
        """Return the file that takes everything *program* says."""
        return self.paths.logs / f"{program}.log"


def render(programs: Sequence[Program], *, files: RunFiles) -> str:
    """Return the configuration for *programs*; raise `InvalidInput` or `HostUnfit` for a directory it cannot hold."""
    _require_plain(files.paths.root)
    return "\n".join([_HEAD, *_supervisor(files), *(line for p in programs for line in _program(p, files=files))])


_HEAD = "; Written by `skellig up`; changes are lost at the next start."


def _supervisor(files: RunFiles) -> list[str]:
    environment = ",".join(f'{name}="{value}"' for name, value in sorted(ENVIRONMENT.items()))
    return [
        "[supervisord]",
        "identifier=skellig",
        "umask=077",
        f"directory={_value(files.paths.run)}",
        f"pidfile={_value(files.pid)}",
        f"logfile={_value(files.log('supervisord'))}",
        "logfile_maxbytes=5MB",
        "logfile_backups=2",
        f"environment={environment}",
        "",
        "[unix_http_server]",
        f"file={_value(files.socket)}",
        "chmod=0600",
        "",
        "[rpcinterface:supervisor]",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
        "",
    ]


def _program(program: Program, *, files: RunFiles) -> list[str]:
    return [
        f"[program:{program.name}]",
        f"command={_value(shlex.join(program.argv))}",
        f"priority={program.priority}",
        "autostart=true",
        "autorestart=unexpected",
        "exitcodes=0",
        f"startsecs={program.settle}",
        f"startretries={program.retries}",
        f"stopwaitsecs={program.grace}",
        "stopasgroup=true",
        "killasgroup=true",
        "redirect_stderr=true",
        f"stdout_logfile={_value(files.log(program.name))}",
        "stdout_logfile_maxbytes=5MB",
        "stdout_logfile_backups=3",
        "",
    ]


def _value(value: str | Path) -> str:
    return str(value).replace("%", "%%")


def _require_plain(root: Path) -> None:
    text = str(root)
    if not text.isprintable() or " ;" in text or " #" in text:
        raise InvalidInput(
            f"The data directory {display(text)!r} has characters in its name that a supervisor configuration cannot hold.",
            remedy="Choose another with --data or SKELLIG_DATA.",
        )
    room = SOCKET_LIMIT - _SOCKET_SLACK - len("/run")
    if len(text.encode()) > room:
        raise HostUnfit(
            f"The name of the data directory is longer than {room} bytes, so that its unix sockets cannot be bound.",
            remedy="Choose a shorter one with --data or SKELLIG_DATA.",
            path=text,
        )
