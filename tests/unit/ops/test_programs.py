"""Claims about the generated supervisor configuration."""

from pathlib import Path

import pytest

from appliance.base.paths import DataPaths
from appliance.errors import HostUnfit, InvalidInput
from appliance.ops.programs import Program, RunFiles, render

GOLDEN = """\
; Written by `skellig up`; changes are lost at the next start.
[supervisord]
identifier=skellig
umask=077
directory=/srv/a 50%% b/run
pidfile=/srv/a 50%% b/run/supervisord.pid
logfile=/srv/a 50%% b/logs/supervisord.log
logfile_maxbytes=5MB
logfile_backups=2
environment=DO_NOT_TRACK="1",GOMP_SPINCOUNT="0",HF_HUB_OFFLINE="1",OMP_WAIT_POLICY="passive",OPENBLAS_NUM_THREADS="1",\
ORT_DISABLE_TELEMETRY="1",PYTHONUNBUFFERED="1",TRANSFORMERS_OFFLINE="1",VLLM_NO_USAGE_STATS="1"

[unix_http_server]
file=/srv/a 50%% b/run/supervisor.sock
chmod=0600

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[program:web]
command='/srv/a 50%% b/python' -m appliance web
priority=10
autostart=true
autorestart=unexpected
exitcodes=0
startsecs=3
startretries=10
stopwaitsecs=30
stopasgroup=true
killasgroup=true
redirect_stderr=true
stdout_logfile=/srv/a 50%% b/logs/web.log
stdout_logfile_maxbytes=5MB
stdout_logfile_backups=3
"""


def files(root: str) -> RunFiles:
    return RunFiles(DataPaths(Path(root)))


def test_the_configuration_is_the_golden_one() -> None:
    """Read it as an administrator would: names with spaces are quoted for the command, percent signs doubled."""
    web = Program("web", ("/srv/a 50% b/python", "-m", "appliance", "web"), settle=3, retries=10, grace=30, priority=10)
    assert render([web], files=files("/srv/a 50% b")) == GOLDEN


@pytest.mark.parametrize("name", ["/srv/a ;b", "/srv/a #b", "/srv/a\nb"])
def test_a_directory_that_the_configuration_cannot_hold_is_refused(name: str) -> None:
    """Left in, the rest of the name would be read as a comment or as another setting."""
    with pytest.raises(InvalidInput):
        render([], files=files(name))


def test_a_directory_too_long_for_sockets_is_refused_before_anything_starts() -> None:
    with pytest.raises(HostUnfit, match="unix sockets"):
        render([], files=files("/srv/" + "x" * 80))
