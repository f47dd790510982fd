"""The names of things, as types: mypy then keeps a repo's id from standing where a project's should."""

import secrets
from typing import NewType

ProjectId = NewType("ProjectId", str)
RepoId = NewType("RepoId", str)
GenerationId = NewType("GenerationId", str)
JobId = NewType("JobId", str)
MissionId = NewType("MissionId", str)
BlobId = NewType("BlobId", str)  # git's own object id, hex: 40 characters, or 64 in a sha256 repository
CommitId = NewType("CommitId", str)  # as BlobId

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no letter that reads as a digit


def new_id(prefix: str) -> str:
    """Return *prefix*, an underscore and 16 random characters (80 bits)."""
    return f"{prefix}_" + "".join(secrets.choice(_ALPHABET) for _ in range(16))
