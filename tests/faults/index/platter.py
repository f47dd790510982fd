"""What of the files that a traced program wrote would outlive a power cut, moment by moment.

Read from the system calls as strace tells them. The file system is taken at its word and no further: a file's bytes are
durable once it was synced after they were written, its name once its folder was, and both after a ``syncfs``.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_WRITES = {"write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate", "fallocate", "copy_file_range", "sendfile"}
_NAMES = {"openat", "link", "linkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "unlink", "unlinkat", "rmdir"}
_SYNCS = {"fsync", "fdatasync", "syncfs"}
CALLS = ",".join(sorted(_WRITES | _NAMES | _SYNCS))
_LINE = re.compile(r"(\d+) +(?:(\w+)\((.*?)(?:\) += (-?\d+).*| <unfinished \.\.\.>)|<\.\.\. \w+ resumed>.*\) += (-?\d+).*)$")
_OPENED = re.compile(r"\d+<(/[^>]*)>")
_QUOTED = re.compile(r'(?:\w+<(/[^>]*)>, )?"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Commit:
    """A page that was written to a database's log, and what was not durable at that moment."""

    page: str
    at_risk: frozenset[str]


@dataclass(slots=True)
class Platter:
    """What is not durable yet, with the number of the call that made it so: the bytes of files, and names in folders."""

    _bytes: dict[str, int] = field(default_factory=dict)
    _names: dict[str, int] = field(default_factory=dict)
    _made: set[str] = field(default_factory=set)  # names that there are: to open one of them again makes none
    _begun: dict[str, tuple[str, str, int]] = field(default_factory=dict)  # by thread: call, arguments, number

    def commits(self, trace: Iterable[str], *, log: str) -> Iterator[Commit]:
        """Go through *trace* and yield each page that is written to the file *log*."""
        for number, line in enumerate(trace):
            match = _LINE.match(line)
            if match is None:
                continue
            thread, call, arguments, result, resumed = match.groups()
            if call is None:
                if thread in self._begun:
                    self._ended(*self._begun.pop(thread), result=int(resumed))
                continue
            if call in _WRITES and (opened := _OPENED.match(arguments)):
                if opened[1] == log:
                    yield Commit(arguments, frozenset(self._bytes | self._names))
                self._bytes[opened[1]] = number
            if result is None:
                self._begun[thread] = (call, arguments, number)
            else:
                self._ended(call, arguments, number, result=int(result))

    def _ended(self, call: str, arguments: str, number: int, *, result: int) -> None:
        if result < 0:
            return
        if call in _SYNCS and (opened := _OPENED.match(arguments)):
            self._synced(opened[1], whole=call == "syncfs", before=number)
        elif call in _NAMES and (call != "openat" or "O_CREAT" in arguments):
            self._named(call, [posixpath.join(*found) for found in _QUOTED.findall(arguments)], number)

    def _synced(self, path: str, *, whole: bool, before: int) -> None:
        """Let go of what was at risk *before*: what is written while it syncs stays so."""
        self._bytes = {each: at for each, at in self._bytes.items() if at > before or not (whole or each == path)}
        self._names = {
            each: at for each, at in self._names.items() if at > before or not (whole or posixpath.dirname(each) == path)
        }

    def _named(self, call: str, paths: list[str], number: int) -> None:
        """Note a new name; a name that is taken back is no loss, and what is renamed keeps what it risks."""
        if call.startswith(("unlink", "rmdir")):
            self._made.discard(paths[0])
            self._names.pop(paths[0], None)
            self._bytes.pop(paths[0], None)
            return
        if call.startswith("rename"):
            for risks in (self._names, self._bytes):
                for each in [each for each in risks if each == paths[0] or each.startswith(f"{paths[0]}/")]:
                    risks[paths[1] + each.removeprefix(paths[0])] = risks.pop(each)
        if call.startswith("link") and paths[0] in self._bytes:
            self._bytes[paths[1]] = self._bytes[paths[0]]
        if call != "openat" or paths[0] not in self._made:
            self._made.add(paths[-1])
            self._names[paths[-1]] = number
