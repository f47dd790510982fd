"""``python -m appliance.ops.keeper DATA [--foreground]``: holds the data directory's lock and is the supervisor.

The kernel drops the lock when the process dies, however it dies, so that a data directory is never locked by nobody. What an
earlier supervisor left running is ended before the first program starts.
"""

import os
import sys
from pathlib import Path

from supervisor import supervisord

from appliance.base import durable
from appliance.base.paths import DataPaths
from appliance.errors import ApplianceError
from appliance.ops import strays
from appliance.ops.programs import RunFiles


def main(argv: list[str]) -> int:
    """Supervise, in the background unless told otherwise; the configuration must stand. Return the exit status."""
    files = RunFiles(DataPaths(Path(argv[0])))
    try:
        with durable.exclusive(files.paths.lock, what=f"the data directory {files.paths.root}"):
            strays.end(strays.find(files), grace=10.0)
            for leftover in (files.socket, files.pid):
                leftover.unlink(missing_ok=True)
            supervisord.main(["-c", os.fspath(files.config), *(["-n"] if argv[1:] == ["--foreground"] else [])])
    except ApplianceError as exc:
        sys.stderr.write(f"error: {exc} [{exc.code}]\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
