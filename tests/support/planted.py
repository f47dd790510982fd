"""Secrets made up while the tests run, so that no scanner trips over a file of ours, and what only looks like one."""

import base64
import json
import random
import string
import uuid
from collections.abc import Mapping

_DRAW = random.Random(20)  # noqa: S311 - nothing here is secret
_ALPHANUMERIC = string.ascii_letters + string.digits


def letters(count: int, alphabet: str = _ALPHANUMERIC) -> str:
    """Return *count* characters, a digit and a letter among them."""
    return "".join(_DRAW.choice(alphabet) for _ in range(count - 2)) + "q7"


def _part(values: Mapping[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def pem(lines: int = 12, *, kind: str = "RSA PRIVATE KEY") -> str:
    """Return a private key in the form of PEM, without its last line end."""
    body = "\n".join(letters(64, _ALPHANUMERIC + "+/") for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"


AWS_KEY = "AKIA" + "".join(_DRAW.choice(string.ascii_uppercase + "234567") for _ in range(16))
JWT = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part({'sub': letters(12)})}.{letters(43)}"
GITHUB = "ghp_" + letters(36)
SLACK = "xoxb-" + letters(12, string.digits) + "-" + letters(24)
PASSWORD = letters(14)
IN_ADDRESS = letters(12)
CONNECTION = letters(11)
IN_ENV = letters(32)
BEARER = letters(40)
PEM = pem()
UUID = str(uuid.UUID(int=_DRAW.getrandbits(128), version=4))
COMMIT = "".join(_DRAW.choice("0123456789abcdef") for _ in range(40))

SECRETS = (AWS_KEY, JWT, GITHUB, SLACK, PASSWORD, IN_ADDRESS, CONNECTION, IN_ENV, BEARER, *PEM.split("\n")[1:-1])
LOOK_ALIKES = (UUID, COMMIT)

SETTINGS = f'''"""Settings that nobody should have committed."""

REGION = "eu-west-1"
ACCESS = "{AWS_KEY}"  # after the key
SESSION = "{JWT}"
REQUEST_ID = "{UUID}"
token = "{UUID}"
COMMIT_SHA = "{COMMIT}"


def connect_{GITHUB[4:10]}(address="postgres://app:{IN_ADDRESS}@db.internal:5432/app"):
    """Connect with {GITHUB}, as {SLACK} does."""
    password = "{PASSWORD}"
    return address, password, {{"Authorization": "Bearer {BEARER}"}}


KEY = """
{PEM}
"""
DSN = "Server=db;Database=app;User Id=app;Password={CONNECTION};"
'''
ENV = f"DEBUG=1\nAPI_KEY={IN_ENV}\n"
FILES: dict[str, str | bytes] = {
    "src/settings.py": SETTINGS,
    "src/plain.py": "def plain():\n    return 1\n",
    ".env": ENV,
    "deploy/.env.production": ENV,
    ".env.example": "API_KEY=\n",
    "keys/id_rsa": PEM + "\n",
    "keys/server.pem": PEM + "\n",
    "wide.txt": f"\ufeffkey = {AWS_KEY}\nafter\n".encode("utf-16-le"),
}
