"""What git says when it cannot read a repository elsewhere, as one of our errors with the next step."""

import re
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.source.address import Address, Remote
from appliance.errors import (
    ApplianceError,
    AuthFailed,
    CertificateUnknown,
    HostKeyUnknown,
    HostUnfit,
    MalformedContent,
    NotFound,
    Unreachable,
    Unsupported,
)

# The first that git's words fit counts.
_SAID: Final[tuple[tuple[str, type[ApplianceError], str, str], ...]] = (
    (
        r"cannot run ssh|ssh: not found|no user exists for uid",
        HostUnfit,
        "There is no ssh on this machine, or none that runs as this user.",
        "Install openssh-client and give this user a line in /etc/passwd, or use https or a bundle file.",
    ),
    (
        r"host key verification failed|no .{1,40} host key is known",
        HostKeyUnknown,
        "The host key of {host} is not among the known ones, or has changed.",
        "Compare it on another way, then put it into the file of --known-hosts.",
    ),
    (
        r"certificate|unable to get local issuer",
        CertificateUnknown,
        "The certificate of {host} is not trusted, not for that name, or has expired.",
        "Name the file of the site's certificate authority with --ca-file.",
    ),
    (
        r"permission denied \(|authentication fail|could not read (?:username|password)|returned error: 40[13]",
        AuthFailed,
        "{host} does not let us read the repository.",
        "Give a key (--key-file) or a login (--credentials-file) that may read it.",
    ),
    (
        r"redirect|returned error: 30\d",
        Unsupported,
        "{host} sends us to another address, and redirects are not followed.",
        "Give the address that the repository has now.",
    ),
    (
        r"returned error: 404|repository .{0,300}not found|does not appear to be a git repository|no such file",
        NotFound,
        "{host} has no repository at this address, or does not show it.",
        "Check the path.",
    ),
    (
        r"resolve|not known|refused|timed out|no route|unreachable|connect|reset|closed|slow|error: 5\d\d|early eof|hung up",
        Unreachable,
        "{host} cannot be reached, or broke off.",
        "Look whether it is up, and whether this machine or container has a network to it.",
    ),
)
_SHALLOW: Final = re.compile(r"prerequisite|did not send all necessary|shallow", re.IGNORECASE)


def fault_of(address: Address, said: bytes) -> ApplianceError:
    """Return the error for what git *said* last of *address*."""
    text = said.decode("utf-8", "replace")
    if not isinstance(address, Remote):
        return _of_bundle(str(address), text)
    for words, kind, sentence, remedy in _SAID:
        if re.search(words, text, re.IGNORECASE):
            return kind(sentence.format(host=address.host), remedy=remedy, host=address.host)
    return MalformedContent(
        f"Git could not fetch from {address.host}: {_line(text)}", remedy="Look at the repository there."
    )


def _of_bundle(path: str, text: str) -> ApplianceError:
    if _SHALLOW.search(text):
        return MalformedContent(
            f"The bundle {display(path)} holds a part of the history alone.",
            remedy="Make one of all of it: `git bundle create FILE --all`, in a clone that is not shallow.",
        )
    return MalformedContent(
        f"The bundle {display(path)} is cut off, damaged or none at all.",
        remedy="Copy it again; `git bundle verify` says more. What was indexed of the former one stays.",
    )


def _line(text: str) -> str:
    lines = [line for line in re.split(r"[\r\n]", text) if line.startswith(("fatal:", "error:"))] or ["it says nothing"]
    return display(lines[0].partition(": ")[2] or lines[0])[:200] + "."
