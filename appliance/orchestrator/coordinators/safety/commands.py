"""A command line judged: every command in it, unwrapped, the strictest verdict first. It says no to what it cannot read."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from appliance.contracts.safety import SafetyVerdict
from appliance.errors import MalformedContent
from appliance.orchestrator.coordinators.safety.paths import Workspace
from appliance.orchestrator.coordinators.safety.programs import judge_paths, judge_program
from appliance.orchestrator.coordinators.safety.verdicts import block, confirm
from appliance.orchestrator.coordinators.safety.words import Redirect, Simple, Word, script_of
from appliance.orchestrator.coordinators.safety.wrappers import (
    SHELLS,
    WRAPPERS,
    first_operand,
    option_value,
    split_assignments,
    wrapped,
)

_DEEPEST: Final = 8  # wrappers and substitutions in each other
_KEYWORDS: Final = frozenset(
    {"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "fi", "done", "esac", "coproc"}
)
_ANNOUNCED: Final = frozenset({"for", "case", "select"})  # what follows on the line are words, no command
_INTERPRETERS: Final = re.compile(
    r"^(?:python[\d.]*|pypy3?|perl[\d.]*|ruby[\d.]*|node(?:js)?|deno|bun|php[\d.]*|lua[\d.]*|Rscript|osascript|tclsh|guile|pwsh|powershell)$"
)
_ODD: Final = frozenset({"strace", "unshare", "fakeroot"})
_PATTERN: Final = re.compile(r"[*?\[{$~]")  # of a program's name: which one that is depends on the disk
_CODE_OPTIONS: Final = frozenset({"-c", "-e", "-E", "-r", "--eval", "-p", "--print", "-Command"})
_HARM: Final = re.compile(
    r"system|popen|subprocess|spawn|exec|rmtree|remove|unlink|rmdir|removedirs|truncate|rename|chmod|chown|socket|urllib|requests"
    r"|https?|ftp|__import__|importlib|base64|b64|eval|compile|ctypes|fork|kill|os\.|open\s*\(|write|environ|`|%x|qx|child_process"
    r"|fs\.|require|fetch|Net::|LWP|IO\.|\brm\b",
    re.IGNORECASE,
)
_REACHING: Final = frozenset(
    {"pip", "ensurepip", "http", "smtpd", "ftplib", "urllib", "webbrowser", "telnetlib", "shutil", "venv", "pdb", "code"}
)
_LOADS: Final = frozenset(
    {
        "PATH", "BASH_ENV", "ENV", "IFS", "PROMPT_COMMAND", "SHELL", "PAGER", "EDITOR", "VISUAL", "BROWSER", "PYTHONSTARTUP",
        "PYTHONPATH", "PERL5OPT", "PERL5LIB", "RUBYOPT", "NODE_OPTIONS", "GCONV_PATH", "LESSOPEN", "HOME",
    }
)  # fmt: skip


def judge_command(text: str, workspace: Workspace, *, depth: int = 0) -> Iterator[SafetyVerdict]:
    """Yield a verdict on each part of the command line *text*."""
    if depth > _DEEPEST:
        yield block("commands are wrapped in each other too deep to be judged")
        return
    try:
        script = script_of(text)
    except MalformedContent as exc:
        yield block(f"a command cannot be read: {exc.message}")
        return
    if script.functions:
        yield block("defines a function, so that what runs is not what is read")
    for command in script.commands:
        yield from _judge_simple(command, workspace, depth=depth)


def judge_words(
    words: Sequence[Word], workspace: Workspace, *, depth: int = 0, piped: bool = False
) -> Iterator[SafetyVerdict]:
    """Yield verdicts on a program with its arguments, and on whatever it would run."""
    if depth > _DEEPEST:
        yield block("commands are wrapped in each other too deep to be judged")
        return
    assigned, rest = split_assignments(words)
    yield from _judge_assignments(assigned)
    if not rest:
        return
    program = rest[0].text.replace("\\", "/").rsplit("/", 1)[-1]
    if rest[0].computed or not program or (_PATTERN.search(rest[0].text) and program not in {"[", "[["}):
        yield block("which program runs is only known when it runs")
    elif program in SHELLS:
        yield from _judge_shell(rest, workspace, depth=depth, piped=piped)
    elif program in WRAPPERS:
        yield from _judge_wrapper(program, rest, workspace, depth=depth, piped=piped)
    elif program == "find":
        yield judge_program("find", rest, workspace)
        inside = all(_is_inside(word, workspace) for word in _starts(rest))
        for inner in _executed(rest, inside=inside):
            yield from judge_words(inner, workspace, depth=depth + 1)
    elif _INTERPRETERS.match(program):
        yield from _judge_interpreter(program, rest, workspace, piped=piped)
    else:
        plain = "/" not in rest[0].text or rest[0].text.startswith(
            ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/")
        )
        yield judge_program(program, rest, workspace) if plain else confirm(f"runs a program by its path: {program}")


def _judge_simple(command: Simple, workspace: Workspace, *, depth: int) -> Iterator[SafetyVerdict]:
    words = command.words
    while words and words[0].text in _KEYWORDS:
        words = words[1:]
    for redirect in command.redirects:
        yield from _judge_redirect(redirect, words, workspace, depth=depth)
    if words and words[0].text in _ANNOUNCED:
        return
    fed = any(redirect.operator in {"<", "<<<", "<<", "<>"} for redirect in command.redirects)
    yield from judge_words(words, workspace, depth=depth, piped=command.piped or fed)


def _judge_redirect(
    redirect: Redirect, words: Sequence[Word], workspace: Workspace, *, depth: int
) -> Iterator[SafetyVerdict]:
    target, operator = redirect.target, redirect.operator
    if operator in {">&", "<&"} and (target.text.isdigit() or target.text == "-"):
        return
    if operator in {"<<", "<<<"}:
        if words and words[0].text.rsplit("/", 1)[-1] in SHELLS:
            yield from judge_command(target.text, workspace, depth=depth + 1)
        return
    if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
        yield block("opens a network connection")
    elif target.computed:
        yield block("writes to, or reads from, a place that is only known when it runs")
    else:
        yield workspace.judge(target.text, "read" if operator in {"<", "<&"} else "write")


def _judge_assignments(assigned: Sequence[Word]) -> Iterator[SafetyVerdict]:
    for word in assigned:
        name = word.text.split("=", 1)[0].rstrip("+")
        if name in _LOADS or name.startswith(("LD_", "DYLD_", "GIT_", "BASH_FUNC")):
            yield block(f"sets {name}, which changes what programs run")


def _judge_shell(words: Sequence[Word], workspace: Workspace, *, depth: int, piped: bool) -> Iterator[SafetyVerdict]:
    code = option_value(words, short="c", long="--command")
    script = first_operand(words)
    if code is not None:
        if code.computed:
            yield block("what a shell runs is only known when it runs")
        yield from judge_command(code.text, workspace, depth=depth + 1)
    elif (
        script is None
        or script.text in {"-", "/dev/stdin"}
        or (piped and any(w.text[:1] == "-" and "s" in w.text for w in words[1:]))
    ):
        yield block("a shell runs whatever comes to it") if piped else confirm("opens a shell")
    elif script.computed:
        yield block("what a shell runs is only known when it runs")
    else:
        yield workspace.judge(script.text, "read")
        yield confirm(f"runs a script: {script.text[:80]}")


def _judge_wrapper(
    program: str, words: Sequence[Word], workspace: Workspace, *, depth: int, piped: bool
) -> Iterator[SafetyVerdict]:
    wrapper = WRAPPERS[program]
    if program in {"sudo", "doas"}:
        yield block("asks for the rights of another user")
    split = option_value(words, short="S", long="--split-string", joined=True) if program == "env" else None
    called = option_value(words, short="c", long="--command") if program == "flock" else None
    for text in (split, called):
        if text is not None:
            yield from judge_command(text.text, workspace, depth=depth + 1)
    inner, assigned = wrapped(wrapper, words)
    yield from _judge_assignments(assigned)
    own = words[1 : len(words) - len(inner) + (wrapper.fed and bool(inner))]
    yield from judge_paths([word for word in own if word not in assigned], workspace, "write")
    if program in _ODD:
        yield confirm(f"{program} changes how what it runs is run")
    if wrapper.text:
        if any(word.computed for word in inner):
            yield block("what runs is only known when it runs")
        yield from judge_command(" ".join(word.text for word in inner), workspace, depth=depth + 1)
    elif inner:
        yield from judge_words(inner, workspace, depth=depth + 1, piped=piped or wrapper.fed)
    elif program == "env":
        yield confirm("shows the environment, which may hold secrets")


def _judge_interpreter(program: str, words: Sequence[Word], workspace: Workspace, *, piped: bool) -> Iterator[SafetyVerdict]:
    texts = [word.text for word in words[1:]]
    if program.startswith("python") and texts[:2] in (["-m", "pytest"], ["-m", "unittest"], ["-m", "mypy"], ["-m", "ruff"]):
        yield judge_program(texts[1], words[2:], workspace)
        return
    if texts in (["--version"], ["-V"], ["-v"]):
        return
    if "-m" in texts[:-1] and texts[texts.index("-m") + 1].split(".")[0] in _REACHING:
        yield block(f"{program} runs a module that reaches for the network or changes the machine")
        return
    for at, text in enumerate(texts):
        if (
            text in _CODE_OPTIONS
            or (text.startswith(("-c", "-e")) and len(text) > 2)
            or re.fullmatch(r"-[a-zA-Z]*[ce]", text)
        ):
            code = " ".join(texts[at:])
            harm = _HARM.search(code) or any(word.computed for word in words)
            yield block(f"{program} runs code that reaches outside of it") if harm else confirm(f"{program} runs code")
            return
    script = first_operand(words)
    if script is None or script.text == "-":
        yield block(f"{program} runs whatever comes to it") if piped else confirm(f"opens {program}")
    else:
        yield workspace.judge(script.text, "read")
        yield confirm(f"{program} runs {script.text[:80]}")


def _starts(words: Sequence[Word]) -> list[Word]:
    """Return where a ``find`` begins to look; it follows no links unless it is told to."""
    starts = []
    for word in words[1:]:
        if word.text in {"-L", "-H", "-follow"}:
            return [Word("", computed=True)]
        if word.text.startswith(("-", "(", "!")):
            break
        starts.append(word)
    return starts


def _is_inside(word: Word, workspace: Workspace) -> bool:
    return not word.computed and workspace.judge(word.text, "read").action == "allow"


def _executed(words: Sequence[Word], *, inside: bool) -> Iterator[list[Word]]:
    """Yield the commands that the actions of ``find`` run; *inside*: on what is in the workspace."""
    found = Word("./found") if inside else Word("", computed=True)
    texts = [word.text for word in words]
    for at, text in enumerate(texts):
        if text in {"-exec", "-execdir", "-ok", "-okdir"}:
            end = next((i for i in range(at + 1, len(texts)) if texts[i] in {";", "+"}), len(texts))
            yield [found if "{}" in word.text else word for word in words[at + 1 : end]]
