"""What holds for every run: no socket leaves the machine, and where all tests were skipped nothing was proved."""

import gc
import importlib
import os
import sys
from collections.abc import Iterator

import pytest

_LONG = {"contract", "e2e", "faults", "integration"}
_LOOPBACK = {"127.0.0.1", "::1", "localhost", "", None}
_SENDING = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_ASKING = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyname_ex", "socket.gethostbyaddr"}


class NetworkRefused(AssertionError):
    """A test, or code under test, tried to reach beyond loopback."""


def pytest_configure() -> None:
    """Set what libraries read when they are loaded, before any test module loads one.

    The telemetry of onnxruntime begins with its import; and the threads of OpenBLAS spin while they wait for one another, so
    that small matrices take seconds of a busy machine: the programs of an index have one thread too.
    """
    os.environ |= {"ORT_DISABLE_TELEMETRY": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have each process of a whole run import a part of its own first: what one has compiled, the others find."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    root = session.config.rootpath
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for file in sorted(root.glob("tests/**/test_*.py"))[number::count]:
        importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take long, so that no process has to finish one of them alone at the end."""
    items.sort(key=lambda item: _LONG.isdisjoint(item.path.parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave what stays to the end out of every later search for garbage: five thousand tests are most of what there is."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Have a run fail that has skipped every test which it chose."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or session.exitstatus != pytest.ExitCode.OK or session.config.option.collectonly:
        return
    if reporter.stats.get("skipped") and not any(reporter.stats.get(kind) for kind in ("passed", "xfailed", "xpassed")):
        reporter.write_line("Nothing was proved: every test was skipped.", red=True)
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse every packet and name look-up of Python code beyond loopback.

    For native code and child processes ``make test`` runs in a network namespace that has nothing else, where it may.
    """
    guarding = True

    def guard(event: str, args: tuple[object, ...]) -> None:
        if not guarding or not (event in _SENDING or event in _ASKING):
            return
        where = args[1] if event in _SENDING else args[0]
        host = where[0] if isinstance(where, tuple) and where else where
        if isinstance(where, str | bytes) and event in _SENDING:
            return  # a unix socket
        text = host.decode() if isinstance(host, bytes) else host
        if text not in _LOOPBACK and not str(text).startswith("127."):
            raise NetworkRefused(f"{event} {text}")

    sys.addaudithook(guard)
    yield
    guarding = False  # a hook cannot be taken out
