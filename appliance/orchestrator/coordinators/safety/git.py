"""What git's commands do to a repository, and to whom they talk."""

from collections.abc import Iterator, Sequence
from typing import Final

from appliance.contracts.safety import SafetyVerdict
from appliance.orchestrator.coordinators.safety.paths import Workspace
from appliance.orchestrator.coordinators.safety.verdicts import ALLOW, block, confirm, warn
from appliance.orchestrator.coordinators.safety.words import Word, names

_READS: Final = names(
    """
    status log diff show blame annotate shortlog rev-parse rev-list ls-files ls-tree cat-file grep describe name-rev
    merge-base for-each-ref show-ref whatchanged range-diff cherry count-objects diff-tree diff-index diff-files
    check-ignore check-attr version var verify-commit verify-tag
    """
)
_NETWORK: Final = names(
    """
    push pull fetch clone ls-remote remote-http send-pack fetch-pack request-pull svn p4 send-email imap-send
    """
)
_LOSES: Final = names(
    """
    filter-branch filter-repo update-ref gc prune repack replace fast-import reflog symbolic-ref read-tree
    """
)
_VALUED: Final = frozenset({"-C", "--git-dir", "--work-tree", "--namespace"})
_RUNS: Final = (
    "--ext-diff",
    "--textconv",
    "--filters",
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--open-files-in-pager",
    "--output",
)
_FORCED: Final = ("--force", "--delete", "--hard", "--prune", "--merge", "--keep", "--discard-changes")


def judge_git(words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    """Yield verdicts on a call of git, whose arguments are *words* behind the first."""
    at = 1
    while at < len(words) and words[at].text.startswith("-"):
        option = words[at].text.partition("=")[0]
        if option in {"-c", "--config-env", "--exec-path"}:
            yield block("sets what git runs")
        if option in _VALUED:
            value = words[at].text.partition("=")[2] or (words[at + 1].text if at + 1 < len(words) else "")
            yield workspace.judge(value, "write")
        at += 2 if words[at].text in {*_VALUED, "-c", "--config-env"} else 1
    if at >= len(words):
        return
    command, rest = words[at].text, [word.text for word in words[at + 1 :]]
    if words[at].computed or any(word.computed for word in words[at + 1 :]):
        yield confirm("what git is to do is only known when it runs")
    if any(_is_option(text, _RUNS) for text in rest) or (command == "grep" and any(text.startswith("-O") for text in rest)):
        yield block("has git run another program, or write a file")
    yield _judge(command, rest)
    yield from (workspace.judge(text, "read") for text in rest if text.startswith(("/", "~")) or "../" in text)


def _judge(command: str, rest: Sequence[str]) -> SafetyVerdict:  # noqa: PLR0911 - a verdict for each kind of command
    if command in _READS:
        return ALLOW
    if command in _NETWORK or (command in {"submodule", "lfs", "subtree"} and rest[:1] != ["status"]):
        return block(f"git {command} reaches for the network")
    if command == "remote":
        return ALLOW if not rest or rest[0] in {"-v", "show", "get-url"} else block("changes where git pushes to")
    if command == "config":
        reads = bool(rest) and rest[0] in {"--get", "--list", "-l", "--get-all", "--get-regexp", "get", "list"}
        return ALLOW if reads else block("sets what git runs")
    if command in {"branch", "tag"}:
        return _names(command, rest)
    if command == "stash" and rest[:1] in (["list"], ["show"]):
        return ALLOW
    if command == "add":
        return warn("git add stages changes")
    if command in _LOSES or command == "clean" or _loses(command, rest):
        return block(f"git {command} loses work")
    return confirm(f"git {command[:40]} changes the repository")


def _names(command: str, rest: Sequence[str]) -> SafetyVerdict:
    if _is_forced(rest, "dDfM"):
        return block(f"git {command} removes a name")
    lists = all(text.startswith("-") for text in rest) or rest[:1] in (["-l"], ["--list"], ["--contains"])
    return ALLOW if lists else confirm(f"git {command} makes a name")


def _loses(command: str, rest: Sequence[str]) -> bool:
    if command in {"reset", "checkout", "switch", "restore", "stash", "worktree", "rm"} and _is_forced(rest, "fC"):
        return True
    if command == "checkout":
        return "." in rest or "--" in rest or any(text.startswith("./") for text in rest)
    if command == "restore":
        return "." in rest and "--staged" not in rest
    return command == "stash" and rest[:1] in (["drop"], ["clear"])


def _is_forced(rest: Sequence[str], letters: str) -> bool:
    grouped = any(text[:1] == "-" and text[:2] != "--" and not set(letters).isdisjoint(text) for text in rest)
    return grouped or any(_is_option(text, _FORCED) for text in rest)


def _is_option(text: str, options: Sequence[str]) -> bool:
    """Say whether *text* is one of the long *options*, which git lets one shorten."""
    name = text.partition("=")[0]
    return len(name) > 3 and name.startswith("--") and any(option.startswith(name) for option in options)
