"""What single programs do, by name: those that are known to read are let through, and what is not known is asked about."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from appliance.contracts.safety import SafetyVerdict
from appliance.orchestrator.coordinators.safety.git import judge_git
from appliance.orchestrator.coordinators.safety.paths import Use, Workspace
from appliance.orchestrator.coordinators.safety.verdicts import ALLOW, block, confirm, strictest, warn
from appliance.orchestrator.coordinators.safety.words import Word, names

READERS: Final = names(
    """
    ls dir cat head tail wc diff cmp comm file stat du df pwd test [ [[ realpath readlink which type whoami id uname
    nl tac rev sha1sum sha256sum sha512sum md5sum cksum column join paste fold od hexdump strings locale nproc uptime
    free expr zcat bzcat xzcat
    """
)
_HARMLESS: Final = names("true false : sleep seq exit return break continue wait shift basename dirname tr unset")
WRITERS: Final = names(
    """
    mkdir touch cp mv ln tee install rmdir truncate patch split csplit rm unlink chmod chown chgrp
    """
)
NETWORK: Final = names(
    """
    curl wget nc ncat netcat telnet ssh scp sftp ftp tftp socat nmap dig nslookup host ping ping6 traceroute
    tracepath whois aria2c axel lynx links w3m http https httpie xh gh glab hub aws gcloud az kubectl helm terraform
    rclone s3cmd mosh openssl ssh-keyscan ssh-copy-id mail sendmail mutt swaks smbclient rsh rlogin rcp vncviewer
    tor proxychains proxychains4 mysql psql redis-cli mongo mongosh hg svn
    """
)
SYSTEM: Final = names(
    """
    dd fdisk sfdisk cfdisk parted wipefs shred blkdiscard mount umount shutdown reboot halt poweroff init telinit
    systemctl service chroot pivot_root insmod rmmod modprobe iptables ip6tables nft sysctl swapon swapoff useradd
    userdel usermod groupadd passwd chpasswd visudo su crontab at batch docker podman buildah nsenter setcap setfacl
    chattr killall pkill kexec losetup cryptsetup lvremove vgremove pvremove zfs zpool btrfs ifconfig ip route
    hostnamectl timedatectl update-alternatives dpkg rpm apt apt-get aptitude dnf yum apk pacman zypper snap flatpak
    brew pip pip3 pipx npx uvx gem cpan easy_install conda mamba
    """
)
CHECKS: Final = names(
    """
    pytest py.test unittest tox nox mypy ruff flake8 pylint black isort pyright tsc eslint prettier jest vitest
    mocha rspec ctest
    """
)
_BUILDERS: Final[Mapping[str, frozenset[str]]] = {
    "make": frozenset({"test", "tests", "check", "lint"}),
    "npm": frozenset({"test", "t"}),
    "yarn": frozenset({"test"}),
    "pnpm": frozenset({"test"}),
    "cargo": frozenset({"test", "check", "clippy", "build", "fmt"}),
    "go": frozenset({"test", "vet", "build", "fmt", "list"}),
    "mvn": frozenset({"test", "-v"}),
    "gradle": frozenset({"test"}),
    "dotnet": frozenset({"test", "build"}),
}
_FETCHES: Final = names(
    """
    install i ci add update upgrade publish exec get mod fetch deploy login dlx create init audit restore nuget
    generate
    """
)
_REDIRECTS: Final = ("-f", "-C", "--eval", "-exec", "--manifest-path", "-toolexec", "-vettool", "--config")
_JOINED: Final = re.compile(r"\.{0,2}[/~].*")  # a path right behind the letters of an option
_SED_RUNS: Final = re.compile(
    r"(?:^|[;{}\d$/,]\s*)e(?:\s|$)|/[gIimMp\d]*e[gIimMp\d]*(?:$|[;}\s])|(?:^|[;}\d\s/])[wrR]\s+\S|/[gIimp\d]*w\s"
)
_AWK_RUNS: Final = re.compile(r"system\s*\(|\||getline|@load|@include|/inet/")


def judge_program(program: str, words: Sequence[Word], workspace: Workspace) -> SafetyVerdict:  # noqa: PLR0911 - as the groups of programs
    """Return the verdict on one program, known by its *program* name, with its arguments in *words*."""
    special = _SPECIAL.get(program)
    if special is not None:
        return strictest(special(program, words, workspace))
    if program in NETWORK:
        return block(f"{program} reaches for the network")
    if program in SYSTEM or program.startswith("mkfs"):
        return block(f"{program} changes the machine")
    if program in CHECKS:
        return strictest((warn(f"{program} runs code of the repository"), *judge_paths(words[1:], workspace, "read")))
    if program in _BUILDERS:
        return _builder(program, words)
    if program in READERS:
        return strictest(judge_paths(words[1:], workspace, "read"))
    return confirm(f"{program[:80]} is not known")


def judge_paths(words: Sequence[Word], workspace: Workspace, use: Use, *, skip: int = 0) -> Iterator[SafetyVerdict]:
    """Yield verdicts on the arguments as paths, also those in options (``--file=X``); *skip* operands are none."""
    for word in words:
        text = word.text
        if word.computed:
            yield (
                block("writes to a place that is only known when it runs")
                if use == "write"
                else confirm("reads from a place that is only known when it runs")
            )
        if text.startswith("-") and not text.startswith("--"):
            found = _JOINED.search(text)
            text = found[0] if found is not None else ""
        elif text.startswith("--"):
            text = text.partition("=")[2]
        elif skip:
            skip -= 1
            continue
        for part in {text, text.partition("=")[2]} - {""}:
            yield workspace.judge(part, use)


def _builder(program: str, words: Sequence[Word]) -> SafetyVerdict:
    target = next((word.text for word in words[1:] if not word.text.startswith("-")), "")
    odd = any(word.computed or "=" in word.text or word.text.startswith(_REDIRECTS) for word in words[1:])
    if program != "make" and target in _FETCHES:
        return block(f"{program} {target} reaches for the network")
    if target in _BUILDERS[program] and not odd:
        return warn(f"{program} runs code of the repository")
    return confirm(f"{program} {target[:40]} runs code")


def _remove(program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    flags = "".join(w.text[1:] for w in words[1:] if w.text.startswith("-") and not w.text.startswith("--"))
    long = {w.text for w in words[1:] if w.text.startswith("--")}
    recursive = "r" in flags or "R" in flags or "--recursive" in long
    if "--no-preserve-root" in long:
        yield block("removes the root of the file system")
    operands = [word for word in words[1:] if not word.text.startswith("-") or word.text == "-"]
    for word in operands:
        if word.computed and recursive:
            yield block("removes folders that are only known when it runs")
        elif not word.computed and workspace.is_whole(word.text):
            yield block("removes all of the workspace")
    yield from (workspace.judge(word.text, "write") for word in operands if word.text)
    yield confirm(f"{program} removes files")


def _write(program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    if program in {"chmod", "chown", "chgrp"}:
        yield from judge_paths(words[1:], workspace, "write", skip=1)
        yield confirm(f"{program} changes who may do what")
        return
    yield from judge_paths(words[1:], workspace, "write")
    if any(word.text.startswith("--filter") for word in words[1:]):
        yield block(f"{program} runs another program")
    if program == "truncate":
        yield confirm("truncate empties files")
    if program in {"mv", "ln", "patch"}:
        yield warn(f"{program} changes files")


def _kill(_program: str, words: Sequence[Word], _workspace: Workspace) -> Iterator[SafetyVerdict]:
    texts = [word.text for word in words[1:]]
    everyone = texts[:1] in (["0"], ["1"]) or not {"-1", "0", "1"}.isdisjoint(texts[1:])
    yield block("stops every process") if everyone else confirm("stops a process")


def _find(_program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    for at, word in enumerate(words[1:], start=1):
        if word.text.startswith("-"):
            if word.text in {"-fprint", "-fprint0", "-fls", "-fprintf"} and at + 1 < len(words):
                yield workspace.judge(words[at + 1].text, "write")
            continue
        if at == 1 or not words[at - 1].text.startswith("-"):
            yield from judge_paths([word], workspace, "read")
    texts = [word.text for word in words]
    if "-delete" in texts:
        filtered = any(text in {"-name", "-iname", "-path", "-ipath", "-regex"} for text in texts)
        yield confirm("find removes files") if filtered else block("find removes everything that it finds")


def _sed(_program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    texts = [word.text for word in words[1:]]
    if any(text.startswith(("-f", "--file")) for text in texts):
        yield confirm("sed runs a script")
    in_place = any(text.startswith(("-i", "--in-place")) or re.fullmatch(r"-[nErsuz]*i\S*", text) for text in texts)
    if any(_SED_RUNS.search(text) for text in texts):
        yield block("sed runs commands or reaches other files")
    operands = [word for word in words[1:] if not word.text.startswith("-")]
    yield from judge_paths(operands, workspace, "write" if in_place else "read", skip=1)
    if in_place:
        yield warn("sed changes files in place")


def _awk(program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    if any(word.computed or _AWK_RUNS.search(word.text) for word in words[1:]):
        yield block(f"{program} runs commands or reaches other files")
    if any(re.search(r">|ENVIRON", word.text) for word in words[1:]):
        yield confirm(f"{program} may write a file")
    if any(word.text.startswith(("-f", "--file", "-i", "-l", "-E")) for word in words[1:]):
        yield confirm(f"{program} runs a script")
    yield from judge_paths([word for word in words[1:] if not word.text.startswith("-")], workspace, "read", skip=1)


def _sort(_program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    writes = any(re.match(r"-[a-zA-Z]*o|--output|--compress|-T|--temp", word.text) for word in words[1:])
    yield from judge_paths(words[1:], workspace, "write" if writes else "read")
    if any(word.text.startswith("--compress") for word in words[1:]):
        yield block("sort runs another program")


def _archive(program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    texts = [word.text for word in words[1:]]
    if any(
        re.match(
            r"--(?:to-command|checkpoint-action|use-compress-program|rsh-command|info-script)|-I|-F|-TT|--unzip-command|-P",
            t,
        )
        for t in texts
    ):
        yield block(f"{program} runs another program, or leaves its folder")
    lists = program == "tar" and texts and re.fullmatch(r"-?[vzjJ]*t[vzjJ]*f?|--list", texts[0]) is not None
    yield from judge_paths(
        words[1:],
        workspace,
        "read" if lists else "write",
        skip=int(program == "tar" and bool(texts) and not texts[0].startswith("-")),
    )
    if not lists:
        yield confirm(f"{program} writes many files")


def _grep(program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    if any(re.match(r"--(?:pre|hostname-bin|search-zip|pager)", word.text) for word in words[1:]):
        yield block(f"{program} runs another program")
    named = any(re.fullmatch(r"-[a-zA-Z]*[ef]|--(?:regexp|file)(?:=.*)?", word.text) for word in words[1:])
    yield from judge_paths(words[1:], workspace, "read", skip=0 if named else 1)


def _rsync(_program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    if any(":" in word.text or word.text.startswith(("-e", "--rsh", "--delete")) for word in words[1:]):
        yield block("rsync reaches for another machine, or deletes")
    yield from judge_paths(words[1:], workspace, "write")
    yield confirm("rsync writes many files")


def _source(program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    yield from judge_paths(words[1:], workspace, "read")
    yield confirm(f"{program} runs a script")


def _environment(program: str, _words: Sequence[Word], _workspace: Workspace) -> Iterator[SafetyVerdict]:
    yield confirm(f"{program} may show secrets")


def _git(_program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    yield from judge_git(words, workspace)


def _enter(_program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    if all(word.text in {"-", "--", "-L", "-P"} for word in words[1:]):
        yield confirm("leaves the workspace")
    yield from judge_paths(words[1:], workspace, "read")


def _tell(_program: str, words: Sequence[Word], _workspace: Workspace) -> Iterator[SafetyVerdict]:
    if any(word.computed for word in words[1:]):
        yield warn("shows what is only known when it runs")


def _query(program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    if any(re.search(r"env|load|input|-i|--in-?place|-f", word.text, re.IGNORECASE) for word in words[1:]):
        yield confirm(f"{program} may show the environment, or write a file")
    yield from judge_paths(words[1:], workspace, "read", skip=1)


def _second_writes(program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    yield from judge_paths(words[1:], workspace, "write" if program == "tree" or len(words) > 2 else "read")


def _cut(_program: str, words: Sequence[Word], workspace: Workspace) -> Iterator[SafetyVerdict]:
    yield from judge_paths([word for word in words[1:] if word.text not in {"/", "-d/"}], workspace, "read")


def _variable(program: str, words: Sequence[Word], _workspace: Workspace) -> Iterator[SafetyVerdict]:
    if any(word.text.startswith(("-v", "-s", "--set")) for word in words[1:]):
        yield confirm(f"{program} sets something")


def _nothing(_program: str, _words: Sequence[Word], _workspace: Workspace) -> Iterator[SafetyVerdict]:
    yield ALLOW


_Judge = Callable[[str, Sequence[Word], Workspace], Iterator[SafetyVerdict]]
_SPECIAL: Final[Mapping[str, _Judge]] = {
    **dict.fromkeys(("rm", "unlink", "rmdir"), _remove),
    **dict.fromkeys(WRITERS - {"rm", "unlink", "rmdir"}, _write),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("tar", "unzip", "zip", "gzip", "gunzip", "bzip2", "xz", "7z", "cpio", "ar"), _archive),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"), _grep),
    **dict.fromkeys(("source", "."), _source),
    **dict.fromkeys(("printenv", "history", "ps", "lsof", "declare", "export", "set"), _environment),
    **dict.fromkeys(("jq", "yq"), _query),
    **dict.fromkeys(("uniq", "xxd", "tree"), _second_writes),
    **dict.fromkeys(("printf", "date"), _variable),
    **dict.fromkeys(_HARMLESS, _nothing),
    "cd": _enter,
    "cut": _cut,
    "echo": _tell,
    "kill": _kill,
    "find": _find,
    "sed": _sed,
    "sort": _sort,
    "rsync": _rsync,
    "git": _git,
}  # fmt: skip

KNOWN: Final = READERS | WRITERS | NETWORK | SYSTEM | frozenset(_SPECIAL) | frozenset(_BUILDERS)
"""The programs that something is known of."""
