"""Programs that run another one: what they would run, told from their arguments."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from appliance.orchestrator.coordinators.safety.words import Word

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"})
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
UNSEEN: Final = Word("", computed=True)  # an argument that comes from elsewhere


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How to find the wrapped command: options that take a value, words to pass over, and whether it is one text.

    *fed*: arguments come from its input. *text*: the words are put together and parsed once more.
    """

    valued: frozenset[str] = frozenset()
    skipped: int = 0
    fed: bool = False
    text: bool = False


WRAPPERS: Final[Mapping[str, Wrapper]] = {
    "env": Wrapper(frozenset({"-u", "--unset", "-C", "--chdir"})),
    "sudo": Wrapper(frozenset({"-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-U", "-D", "-R", "--user", "--group"})),
    "doas": Wrapper(frozenset({"-u", "-C"})),
    "timeout": Wrapper(frozenset({"-s", "-k", "--signal", "--kill-after"}), skipped=1),
    "nohup": Wrapper(),
    "nice": Wrapper(frozenset({"-n", "--adjustment"})),
    "ionice": Wrapper(frozenset({"-c", "-n", "-p", "--class", "--classdata"})),
    "chrt": Wrapper(skipped=1),
    "taskset": Wrapper(skipped=1),
    "stdbuf": Wrapper(frozenset({"-i", "-o", "-e"})),
    "setsid": Wrapper(),
    "time": Wrapper(frozenset({"-f", "-o"})),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "exec": Wrapper(frozenset({"-a"})),
    "xargs": Wrapper(
        frozenset({"-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--delimiter"}),
        fed=True,
    ),
    "parallel": Wrapper(frozenset({"-j", "--jobs", "-a"}), fed=True, text=True),
    "watch": Wrapper(frozenset({"-n", "--interval"}), text=True),
    "eval": Wrapper(text=True),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "flock": Wrapper(frozenset({"-w", "-E", "--timeout"}), skipped=1),
    "strace": Wrapper(frozenset({"-e", "-o", "-p", "-s", "-P"})),
    "catchsegv": Wrapper(),
    "unshare": Wrapper(),
    "fakeroot": Wrapper(),
    "chronic": Wrapper(),
    "trap": Wrapper(text=True),
}  # fmt: skip


def wrapped(wrapper: Wrapper, words: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """Return the words of the command that *words*, a wrapper with its arguments, would run, and assignments before it.

    An option that the table does not know counts as one without a value: then its value looks like an unknown program.
    """
    at, skipped, assigned = 1, wrapper.skipped, []
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
        elif text.startswith("-") and len(text) > 1:
            at += 2 if text in wrapper.valued else 1
        elif _ASSIGNMENT.match(text):
            assigned.append(words[at])
            at += 1
        elif skipped:
            skipped -= 1
            at += 1
        else:
            break
    inner = list(words[at:])
    return ([*inner, UNSEEN] if wrapper.fed and inner else inner), assigned


def option_value(words: Sequence[Word], *, short: str, long: str = "", joined: bool = False) -> Word | None:
    """Return the value of an option, alone (``-c X``), among others (``-lc X``) or joined (``--command=X``).

    *joined*: it may also stand right behind its letter (``-SX``).
    """
    for at, word in enumerate(words[1:], start=1):
        text = word.text
        if text == "--":
            return None
        if long and text.startswith(f"{long}="):
            return Word(text[len(long) + 1 :], word.computed)
        if joined and text.startswith(f"-{short}") and len(text) > 2:
            return Word(text[2:], word.computed)
        grouped = text[:1] == "-" and text[:2] != "--" and short in text
        if grouped or (long and text == long):
            return words[at + 1] if at + 1 < len(words) else None
    return None


def first_operand(words: Sequence[Word]) -> Word | None:
    """Return the first argument that is no option."""
    return next((word for word in words[1:] if word.computed or not word.text.startswith("-")), None)


def split_assignments(words: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """Return the assignments that a simple command begins with, and the rest."""
    at = 0
    while at < len(words) and _ASSIGNMENT.match(words[at].text):
        at += 1
    return list(words[:at]), list(words[at:])
