"""Keys, tokens and passwords in files: found by their published forms, and masked before anybody sees the text.

A mask has the width of what it covers, character by character, so that lines and columns stay what they are. What only looks
like a secret (an id, a digest, a placeholder, a name) stays. Expressions are RE2's: a file cannot make them run for ever.
"""

import codecs
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

import re2

SECRETS_VERSION: Final = 3
"""Raise it when other secrets are found: whatever was kept of files with secrets is made anew."""

_STAR: Final = b"*"
_LEAST_BITS: Final = 3.0  # of entropy a character, for a value that only its name makes a secret
_STRONG_BITS: Final = 3.5  # for one without quotes, which may be code
_LEAST_LENGTH: Final = 8
_STRONG_LENGTH: Final = 20
_HEAD: Final = 1_000  # bytes in which a file that is a private key says so
_BEFORE: Final = 80  # bytes before a value that may name it
_LONGEST_KEY: Final = 20_000  # bytes in which the end of a private key is looked for
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# Kind, and the form in which its issuer publishes it.
_FORMS: Final = (
    ("aws-key", rb"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z2-7]{16}\b"),
    ("github-token", rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
    ("gitlab-token", rb"\bgl(?:pat|rt|dt|ptt|soat|cbt|ft|imt|agent)-[A-Za-z0-9_-]{20,}"),
    ("slack-token", rb"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("slack-token", rb"hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{20,}"),
    ("webhook", rb"discord(?:app)?\.com/api/webhooks/[0-9]{15,20}/[\w-]{60,}"),
    ("appliance-key", rb"\bskellig_[\w-]{43}"),
    ("stripe-key", rb"\b(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}"),
    ("google-key", rb"\bAIza[0-9A-Za-z_-]{35}|\bGOCSPX-[0-9A-Za-z_-]{28}|\bya29\.[0-9A-Za-z_-]{30,}"),
    (
        "model-api-key",
        rb"\bsk-(?:ant-|proj-|svcacct-|admin-|or-)?[A-Za-z0-9]*[0-9][A-Za-z0-9_-]{24,}|\bhf_[A-Za-z0-9]{34}\b",
    ),
    ("package-token", rb"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}|\brubygems_[a-f0-9]{48}\b"),
    ("mail-key", rb"\bSG\.[\w-]{22}\.[\w-]{43}\b|\bkey-[0-9a-f]{32}\b|\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}\b"),
    ("cloud-token", rb"\bdo[oprt]_v1_[a-f0-9]{64}\b|\bhv[sb]\.[A-Za-z0-9_-]{24,}|\bdapi[a-f0-9]{32}\b|\bSK[0-9a-f]{32}\b"),
    ("shop-token", rb"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    ("azure-key", rb"(?i:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,88}={0,2}"),
    ("telegram-token", rb"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    ("age-key", rb"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    ("jwt", rb"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{8,}"),
)
_WORD: Final = rb"(?i:pass(?:word|wd|phrase)?|pwd|secret|token|(?:api|access|private|auth)[_-]?key|credentials?)"
_NAME: Final = _WORD + rb"[\w.-]{0,24}"
_BESIDE: Final = rb"(?i:server|data source|host|user id|uid|username|database)\s?="
_LOGIN: Final = (  # a login among the arguments of a command
    rb"(?:\s(?:-u|--user)\s{1,4}[\"']?[\w.@-]{1,64}:|\b(?:sshpass|login|mysql(?:dump|admin)?)\s(?:[^\n|;&]{0,80}\s)?-p\s?)([^\s\"'$:-][^\s\"']{7,})"
)
# Where what stands before a value says that it is a secret: a name, the value in quotes or, as settings have it, without; an
# address; a header; a connection string. The one group of each is the value.
_QUOTED, _BARE = "password-or-token", "password-or-token in settings"
_NAMED: Final = (
    (_QUOTED, _NAME + rb"[\"']?\]?\s{0,4}(?::=|=>|[:=])\s{0,4}[bru]?[\"'`]([^\"'`\s]{6,})[\"'`]"),
    (_QUOTED, rb"(?:[?&]|\s--)[\w.-]{0,40}" + _WORD + rb"[= ]([^\s\"'`&<>(){},;]{8,})"),
    (
        _QUOTED,
        rb"(?:<[\w:.-]{0,40}" + _NAME + rb">|(?i:set|with)\w{0,20}" + _WORD + rb"\([\"'])([^\"'<>\s]{8,})(?:</|[\"']\))",
    ),
    (_QUOTED, _LOGIN),
    (
        _QUOTED,
        rb"\bvariable\s{1,4}\"[\w-]{0,60}"
        + _WORD
        + rb"[\w-]{0,40}\"\s{0,4}\{[^{}]{0,400}\bdefault\s{0,4}=\s{0,4}\"([^\"\s]{6,})\"",
    ),
    (
        _BARE,
        rb"(?m:^)\s{0,40}(?:export\s|-\s|ENV\s|ARG\s)?[\w.-]{0,40}"
        + _NAME
        + rb"(?:\s{0,4}[:=]\s{0,4}|\s)([\w+/~-]{20,}={0,2})\s{0,4}(?m:$)",
    ),
    ("password-in-address", rb"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:@/\"'<>]{0,64}:([^\s@/\"'<>]{3,})@[\w\[]"),
    (
        "authorization",
        rb"(?i:authorization)[\"']?\]?\s{0,4}[:=,]\s{0,4}[\"'`]?(?i:bearer|basic|token)\s{1,4}([A-Za-z0-9._~+/-]{16,}={0,2})",
    ),
    ("connection-string", _BESIDE + rb"[^;\"'\n]+;(?:[^\"'\n]*;)?\s?(?i:password|pwd)\s?=\s?([^;\"'\s]{4,})"),
    ("connection-string", rb"(?i:password|pwd)\s?=\s?([^;\"'\s]{4,});[^\"'\n]*" + _BESIDE),
    ("package-token", rb"_authToken\s?=\s?([\w-]{16,})"),
)
_BEGIN: Final = rb"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[0-9]:"
# A manifest of Kubernetes that is a secret, and in it the blocks of values: in the first form they are base64.
_MANIFEST: Final = rb"(?m:^)kind:\s{1,4}[\"']?Secret[\"']?[ \t]{0,4}\r?(?m:$)"
_BLOCK: Final = rb"(?m:^)(?:data|(stringData)):[ \t]{0,4}\r?\n((?:(?:[ \t]+[^\n]*)?\r?\n)*(?:[ \t]+[^\n]*)?)"
_CODED: Final = rb"(?m:^)[ \t]+(?:[\"']?[\w.-]+[\"']?:[ \t]+)?[\"']?([A-Za-z0-9+/]{4,}={0,2})[\"']?[ \t]*\r?(?m:$)"
_PLAIN: Final = rb"(?m:^)[ \t]+[\"']?[\w.-]+[\"']?:[ \t]+[\"']?([^\s\"'|>&*#][^\s\"']{3,})[\"']?[ \t]*\r?(?m:$)"
_PLACEHOLDER: Final = re.compile(
    rb"[*.x_#-]+|[<{$%@].*|.*(?:\$\{|\{\{|%\().*|(?:your|my|the|some|test|dummy|fake|example|sample|change|insert|redacted|none|null"
    rb"|true|false|placeholder|todo)(?:[-_. ].*)?|.*(?:example|placeholder|changeme|change-me|your[-_]|xxxx|\.\.\.).*"
    rb"|pass(?:word|wd|phrase)?[0-9]{0,2}|secret|token|pwd",
    re.IGNORECASE | re.DOTALL,
)
_ID: Final = re.compile(rb"\{?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?")
_DIGEST: Final = re.compile(
    rb"(?:(?:md5|sha-?\d+)[:=-])?(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{56}|[0-9a-fA-F]{64}|[0-9a-fA-F]{96}|[0-9a-fA-F]{128})"
)
_OF_DIGESTS: Final = re.compile(rb"hash|digest|sha\d|md5|checksum|commit|revision|etag|fingerprint|integrity", re.IGNORECASE)
_WORDS: Final = re.compile(rb"[A-Za-z]+(?:[-_. /:][A-Za-z]+)*")  # a name, a path or a phrase, and nobody's key
_CODE: Final = re.compile(rb"[A-Za-z_][\w.]*[\[(].*|[\w.-]*/[\w./-]*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_SECRET_NAMES: Final = re.compile(
    r"\.env(?:\.(?!example$|sample$|template$|dist$|tmpl$|defaults?$)[\w.-]+)?|[\w.-]+\.env|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?"
    r"|\.netrc|_netrc|\.pgpass|\.git-credentials|\.htpasswd|\.dockercfg|[\w.-]+\.(?:p12|pfx|jks|keystore|kdbx|ppk|agekey)"
    r"|secring\.(?:gpg|pgp)|credentials\.(?:json|csv)|client_secret[\w.-]*\.json|terraform\.tfstate(?:\.backup)?",
    re.IGNORECASE,
)
_SECRET_PLACES: Final = frozenset({".aws/credentials", ".docker/config.json", ".kube/config"})


def policy_of(*, masked: bool) -> str:
    """Return what tells apart indexes that were made with secrets masked, with secrets left, and by older rules."""
    return f"{'masked' if masked else 'open'}-{SECRETS_VERSION}"


def is_masked(policy: str) -> bool:
    """Return whether *policy* has secrets masked."""
    return policy.startswith("masked-")


class Secret(NamedTuple):
    """What kind of secret stands in which line. What it is, is not said."""

    line: int
    kind: str


class _Span(NamedTuple):
    start: int
    end: int
    kind: str


def is_secret_file(path: str) -> bool:
    """Return whether the file at *path* is one that people keep secrets in, by its name."""
    folder, _, name = path.rpartition("/")
    return _SECRET_NAMES.fullmatch(name) is not None or f"{folder.rpartition('/')[2]}/{name}" in _SECRET_PLACES


def is_private_key(content: bytes) -> bool:
    """Return whether *content* is nothing but a private key."""
    return _KEY.match(content[:_HEAD].lstrip()) is not None


def masked(content: bytes) -> tuple[bytes, tuple[Secret, ...]]:
    """Return *content* with a mask over each secret in it, and what they were, in the order of lines."""
    if content.startswith(_UTF16):
        text, secrets = _masked(content.decode("utf-16", "replace").encode())  # as whoever reads it decodes it too
        order = "utf-16-le" if content.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
        return (content[:2] + text.decode().encode(order) if secrets else content), secrets
    return _masked(content)


def _masked(content: bytes) -> tuple[bytes, tuple[Secret, ...]]:
    if _ANY.search(content) is None:  # nearly always: one pass instead of nine
        return content, ()
    spans = _merged(sorted([*_formed(content), *_named(content), *_keys(content), *_manifests(content)]))
    if not spans:
        return content, ()
    pieces, secrets, at, line = list[bytes](), list[Secret](), 0, 1
    for span in spans:
        line += content.count(b"\n", at, span.start)
        secrets.append(Secret(line, span.kind))
        covered = content[span.start : span.end]
        pieces += [content[at : span.start], _mask(covered)]
        line += covered.count(b"\n")
        at = span.end
    return b"".join([*pieces, content[at:]]), tuple(secrets)


def _mask(covered: bytes) -> bytes:
    """Return a star for each character of *covered*; ends of lines stay."""
    try:
        text = covered.decode()
    except UnicodeDecodeError:
        text = covered.decode("latin-1")
    return b"".join(character.encode() if character in "\r\n" else _STAR for character in text)


def _formed(content: bytes) -> Iterator[_Span]:
    for found in _FORM.finditer(content):
        start, end = found.span()
        kind = next((kind for kind, form in _EACH_FORM if form.fullmatch(content, start, end)), "token")
        value = content[start:end]
        if kind == "azure-key":
            start += value.index(b"=") + 1
        if not _PLACEHOLDER.fullmatch(value) and _bits(value) >= _LEAST_BITS - 0.5:
            yield _Span(start, end, kind)


def _named(content: bytes) -> Iterator[_Span]:
    for kind, form in _EACH_NAMED:
        for found in form.finditer(content):
            start, end = found.span(1)
            before = content[max(0, start - _BEFORE) : start].rpartition(b"\n")[2]
            if _is_secret(content[start:end], kind, before=before):
                yield _Span(start, end, _QUOTED if kind == _BARE else kind)


def _is_secret(value: bytes, kind: str, *, before: bytes) -> bool:
    """Tell a secret from what stands beside such a name without being one."""
    if _PLACEHOLDER.fullmatch(value) or _ID.fullmatch(value):
        return False
    if kind not in {_QUOTED, _BARE}:
        return True
    if _WORDS.fullmatch(value) or _CODE.fullmatch(value) or (_DIGEST.fullmatch(value) and _OF_DIGESTS.search(before)):
        return False
    mixed = any(48 <= byte < 58 for byte in value) and any(byte >= 65 for byte in value)
    if kind == _QUOTED:
        return len(value) >= _LEAST_LENGTH and _bits(value) >= _LEAST_BITS and (mixed or not value.isalnum())
    return mixed and len(value) >= _STRONG_LENGTH and _bits(value) >= _STRONG_BITS


def _keys(content: bytes) -> Iterator[_Span]:
    """Yield what stands between the first and the last line of each private key."""
    at = 0
    while (found := _KEY.search(content, at)) is not None:
        start = found.end()
        end = content.find(b"-----END", start, start + _LONGEST_KEY)
        body = content[start : end if end >= 0 else min(len(content), start + _LONGEST_KEY)]
        if end < 0:
            body = body[: _KEY_BODY.match(body).end()]
        at = start + len(body)
        if _KEY_LINE.search(body):
            yield _Span(start, at, "private-key")


def _manifests(content: bytes) -> Iterator[_Span]:
    """Yield the values of each manifest that says that it is a secret."""
    at = 0
    for text in re.split(rb"(?m)^(?=---)", content):
        for block in _EACH_BLOCK.finditer(text) if _IS_MANIFEST.search(text) else ():
            start, end = block.span(2)
            for found in (_IS_CODED if block[1] is None else _IS_PLAIN).finditer(text, start, end):
                if not _PLACEHOLDER.fullmatch(found[1]):
                    yield _Span(at + found.start(1), at + found.end(1), "kubernetes-secret")
        at += len(text)


def _merged(spans: list[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for span in spans:
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _bits(value: bytes) -> float:
    """Return the entropy of *value* in bits a character."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts) if value else 0.0


def _compiled(form: bytes) -> "re2._Regexp":
    options = re2.Options()
    options.encoding, options.log_errors = re2.Options.Encoding.LATIN1, False
    return re2.compile(form, options)


def _loose(form: bytes) -> bytes:
    """Return a form that fits all that *form* does: to count is most of an automaton, and here nothing needs it."""
    return re.sub(rb"\{1,\d+\}", b"+", re.sub(rb"\{0,\d+\}", b"*", form))


_EACH_FORM: Final = tuple((kind, _compiled(form)) for kind, form in _FORMS)
_FORM: Final = _compiled(b"|".join(b"(?:%s)" % form for _, form in _FORMS))
_EACH_NAMED: Final = tuple((kind, _compiled(form)) for kind, form in _NAMED)
_KEY: Final = _compiled(_BEGIN)
_ANY: Final = _compiled(
    b"|".join(b"(?:%s)" % _loose(form) for form in [*(form for _, form in (*_FORMS, *_NAMED)), _BEGIN, _MANIFEST])
)
_IS_MANIFEST: Final = _compiled(_MANIFEST)
_EACH_BLOCK: Final = _compiled(_BLOCK)
_IS_CODED: Final = _compiled(_CODED)
_IS_PLAIN: Final = _compiled(_PLAIN)
_KEY_LINE: Final = _compiled(rb"[A-Za-z0-9+/]{24}")
_KEY_BODY: Final = _compiled(rb"(?:[\s\"'+,\\A-Za-z0-9/=:.-]*\n)*[\s\"'+,\\A-Za-z0-9/=]*")
