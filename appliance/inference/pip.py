"""Fetches one wheel with the user's own pip and its configuration. No registry is named here."""

import sys
from collections.abc import Mapping
from pathlib import Path

from appliance.base import proc
from appliance.errors import HostUnfit, NotFound, Unavailable

_TIMEOUT_S = 3600.0
_PASSED_PREFIXES = ("PIP_",)
_PASSED = frozenset({
    "HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "NETRC",
})  # fmt: skip
_NOT_THERE = ("No matching distribution", "Could not find a version")


class PipDownload:
    """``pip download``, as the user has set it up: *environ* carries its configuration, and proxies if there are any."""

    def __init__(self, environ: Mapping[str, str], *, python: Path | None = None) -> None:
        self._env = {n: v for n, v in environ.items() if n in _PASSED or n.startswith(_PASSED_PREFIXES)}
        self._python = python or Path(sys.executable)

    def fetch(self, requirement: str, *, into: Path) -> Path:
        """Download the wheel of exactly *requirement* and return its path; it is neither installed nor imported.

        Raise `NotFound` when there is none, `Unavailable` when pip cannot reach its registry or fails otherwise.
        """
        options = [
            "--no-deps",
            "--only-binary=:all:",
            "--no-input",
            "--no-cache-dir",
            "--disable-pip-version-check",
            "--quiet",
        ]
        argv = [str(self._python), "-m", "pip", "download", *options, "--dest", str(into), requirement]
        ended = proc.run(argv, timeout=_TIMEOUT_S, env=self._env, max_output=8 << 20)
        said = ended.stderr.decode("utf-8", "replace")
        if ended.code == 0:
            wheel = next(iter(into.glob("*.whl")), None)
            if wheel is not None:
                return wheel
            raise NotFound(f"pip fetched no wheel for {requirement}.", requirement=requirement)
        if "No module named pip" in said:
            raise HostUnfit(
                f"{self._python} has no pip, which fetches package wheels.",
                remedy="Install it (python -m ensurepip), or name a folder with the files.",
            )
        if any(phrase in said for phrase in _NOT_THERE):
            raise NotFound(f"pip finds no wheel for {requirement}.", requirement=requirement)
        reason = next((line for line in reversed(said.splitlines()) if line.startswith("ERROR")), "it gave no reason")
        raise Unavailable(
            f"pip could not fetch {requirement}: {reason[:300]}",
            remedy="Check pip's configuration (pip config list), or name a folder with the files.",
            requirement=requirement,
        )
