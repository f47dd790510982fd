"""A tool's call taken apart: which commands it would run, which paths it would read or write, and whom it would talk to."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from appliance.contracts.safety import SafetyVerdict
from appliance.orchestrator.coordinators.safety.commands import judge_command, judge_words
from appliance.orchestrator.coordinators.safety.paths import Workspace
from appliance.orchestrator.coordinators.safety.programs import CHECKS, KNOWN
from appliance.orchestrator.coordinators.safety.verdicts import block, confirm
from appliance.orchestrator.coordinators.safety.words import LONGEST, Word, names
from appliance.orchestrator.coordinators.safety.wrappers import SHELLS, WRAPPERS

Kind = Literal["shell", "program", "network", "query", "files"]
_MOST_TEXTS: Final = 1_000
_DEEPEST: Final = 12
_SHELLISH: Final = names(
    """
    shell bash sh zsh exec execute run command commands cmd terminal console system subprocess process powershell
    script eval
    """
)
_TESTS: Final = frozenset({"test", "tests", "pytest"})
_WEB: Final = names(
    """
    web http https url urls browse browser download upload crawl scrape internet webhook email
    """
)
_QUERIES: Final = names(
    """
    search query ask find grep lookup definition definitions callers callees impact references
    """
)
_WRITES: Final = names(
    """
    write edit create delete remove move rename patch save append mkdir overwrite put replace insert update modify
    touch rmdir
    """
)
_REMOVES: Final = frozenset({"delete", "remove", "rmdir", "unlink", "clear", "wipe", "purge"})
_COMMAND_KEYS: Final = frozenset({"command", "commands", "cmd", "cmds", "script", "shell", "bash", "exec", "argv"})
_WORD_KEYS: Final = frozenset({"command", "cmd", "args", "arguments", "argv", "options", "flags", "subcommand"})
_MORE_KEYS: Final = frozenset({"args", "arguments"})
_PLACE_KEYS: Final = frozenset({"cwd", "workdir", "working_directory", "working_dir", "directory", "dir", "chdir"})
_VARIABLE_KEYS: Final = frozenset({"env", "environment", "environ", "env_vars", "variables"})
_ASIDE_KEYS: Final = frozenset({"description", "reason", "timeout", "timeout_s"}) | _PLACE_KEYS
_TEXT_KEYS: Final = names(
    """
    content contents text body query question pattern regex message prompt old new old_text new_text old_string
    new_string new_str old_str file_text insert_text snippet replacement description reason title comment summary
    note symbol name names words kind language
    """
)
_PROGRAMS: Final = (
    KNOWN | CHECKS | SHELLS | WRAPPERS.keys() | frozenset({"python", "python3", "perl", "ruby", "node", "php"})
)
_URL: Final = re.compile(r"\s*(?:https?|ftps?|ssh|git|wss?|s3|gs|ldap|smb)://", re.IGNORECASE)
_HIDES: Final = re.compile(r"[;&|`$<>\n]")


def judge_call(tool: str, arguments: object, workspace: Workspace) -> Iterator[SafetyVerdict]:
    """Yield verdicts on a call of *tool*; *arguments* may be a mapping, a list, a text, another value or None."""
    texts, kind = list(_texts(arguments)), _kind(tool)
    aside = _TEXT_KEYS if kind in {"files", "query"} else frozenset()
    if len(texts) > _MOST_TEXTS or sum(len(text) for key, text in texts if key not in aside) > LONGEST:
        yield block("the arguments are too many, too long or too deep to be judged")
        return
    if kind in {"shell", "program"}:
        yield from _surroundings(arguments, texts, workspace)
    if kind == "shell":
        yield from _shell(arguments, texts, workspace)
    elif kind == "program":
        yield from _program(tool, arguments, workspace)
    elif kind == "network":
        yield block(f"{tool[:80]} reaches for the network")
    else:
        yield from _values(tool, kind, texts, workspace)


def _kind(tool: str) -> Kind:
    base, words = _base(tool), _tokens(tool)
    if base in SHELLS or (not _SHELLISH.isdisjoint(words) and _TESTS.isdisjoint(words)):
        return "shell"
    if base in _PROGRAMS or base.startswith("mkfs"):
        return "program"
    if not _WEB.isdisjoint(words) or words == {"fetch"}:
        return "network"
    return "files" if _QUERIES.isdisjoint(words) else "query"


def _base(tool: str) -> str:
    return tool.strip().replace("\\", "/").rsplit("/", 1)[-1]


def _tokens(tool: str) -> set[str]:
    return {token.lower() for token in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", tool)}


def _texts(value: object, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every text in *value* behind the name that it has; what is nested too deep counts as one too long."""
    if depth > _DEEPEST:
        yield key, " " * (LONGEST + 1)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, str(name).lower(), depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _texts(inner, key, depth + 1)
    elif value is not None:
        yield key, value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _surroundings(arguments: object, texts: Sequence[tuple[str, str]], workspace: Workspace) -> Iterator[SafetyVerdict]:
    """Judge where a command is to run, as if it went there by itself, and which variables it is to have."""
    yield from (workspace.judge(text, "read") for key, text in texts if key in _PLACE_KEYS)
    given = arguments.items() if isinstance(arguments, Mapping) else ()
    for value in (value for key, value in given if str(key).lower() in _VARIABLE_KEYS):
        pairs = [f"{name}={each}" for name, each in value.items()] if isinstance(value, Mapping) else _listed(value)
        yield from _argv(["env", *pairs, "true"], workspace)


def _shell(arguments: object, texts: Sequence[tuple[str, str]], workspace: Workspace) -> Iterator[SafetyVerdict]:
    """Judge what a shell is given: one text is a command line, a list is a command with its arguments."""
    if not isinstance(arguments, Mapping):
        yield from _commands(arguments, workspace)
        return
    commands = [value for key, value in arguments.items() if str(key).lower() in _COMMAND_KEYS]
    more = next((value for key, value in arguments.items() if str(key).lower() in _MORE_KEYS), None)
    if more:
        commands = [[*_split(command), *_listed(more)] for command in commands] or [more]
    for command in commands:
        yield from _commands(command, workspace)
    aside = _COMMAND_KEYS | _MORE_KEYS | _ASIDE_KEYS if commands else _ASIDE_KEYS
    rest = (verdict for key, text in texts if key not in aside for verdict in judge_command(text, workspace))
    yield from (verdict for verdict in rest if not commands or verdict.action == "block")


def _commands(given: object, workspace: Workspace) -> Iterator[SafetyVerdict]:
    words = _listed(given)
    if len(words) > 1 and not re.search(r"\s", words[0].strip()):
        yield from _argv(["sh", *words] if words[0].startswith("-") else words, workspace)
    else:
        for text in words:
            yield from judge_command(text, workspace)


def _program(tool: str, arguments: object, workspace: Workspace) -> Iterator[SafetyVerdict]:
    """Judge a tool that is called like a program, whose arguments it is given."""
    base = _base(tool)
    if isinstance(arguments, str):
        own = re.match(rf"\s*{re.escape(base)}(?:\s|$)", arguments) is not None
        yield from judge_command(arguments if own else f"{base} {arguments}", workspace)
    else:
        words = list(_words(arguments))
        yield from _argv([base, *(words[1:] if words[:1] == [base] else words)], workspace)


def _words(arguments: object) -> Iterator[str]:
    """Yield arguments in the order in which they are given; ``{"force": true}`` is ``--force``, code is behind ``-c``."""
    if not isinstance(arguments, Mapping):
        yield from _listed(arguments)
        return
    for key, value in arguments.items():
        name = str(key).lower()
        if name in {"code", "source"}:
            yield from ("-c", *_listed(value))
        elif isinstance(value, bool):
            yield from ([f"-{key}" if len(name) == 1 else f"--{key}"] if value else ())
        elif isinstance(value, str) and name in _WORD_KEYS:
            yield from _split(value)
        elif value is not None:
            yield from _listed(value)


def _argv(words: Sequence[str], workspace: Workspace) -> Iterator[SafetyVerdict]:
    """Judge a command with its arguments, and refuse it also for what they would do if they were put together and parsed."""
    yield from judge_words([Word(word) for word in words], workspace)
    if any(_HIDES.search(word) for word in words):
        yield from (each for each in judge_command(" ".join(words), workspace) if each.action == "block" and _is_harm(each))


def _is_harm(verdict: SafetyVerdict) -> bool:
    return "cannot be read" not in verdict.reason and "only known when it runs" not in verdict.reason


def _values(tool: str, kind: Kind, texts: Iterable[tuple[str, str]], workspace: Workspace) -> Iterator[SafetyVerdict]:
    """Judge the values of a tool that is no program: those that are paths, addresses or commands by what they look like."""
    words = _tokens(tool)
    writes = not _WRITES.isdisjoint(words)
    for key, text in texts:
        if key in _COMMAND_KEYS:
            yield from judge_command(text, workspace)
        elif key in _TEXT_KEYS or (kind == "query" and not key):
            continue
        elif _URL.match(text):
            yield block("reaches for the network")
        elif "\n" not in text:
            sink = writes or bool(re.search(r"output|dest|target|^to$", key))
            yield workspace.judge(text, "write" if sink else "read")
            if not _REMOVES.isdisjoint(words):
                yield (
                    block("removes all of the workspace")
                    if workspace.is_whole(text)
                    else confirm(f"{tool[:80]} removes files")
                )


def _listed(value: object) -> list[str]:
    return [text for _, text in _texts(value)]


def _split(value: object) -> list[str]:
    if not isinstance(value, str):
        return _listed(value)
    try:
        return shlex.split(value)
    except ValueError:  # a quote is not closed: then it is one word, which no program is called
        return [value]
