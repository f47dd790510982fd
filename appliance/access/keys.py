"""API keys: for programs, named, revocable, kept as digests."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from appliance.access.principal import EVERYTHING, Permission, Principal
from appliance.access.secret import digest, new_secret, proof
from appliance.base import durable, log
from appliance.base.clock import Clock
from appliance.base.sqlite import Guarded
from appliance.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from appliance.ids import new_id

_audit = log.get("audit")

PREFIX: Final = "skellig_"  # secret scanners find it
_TOUCH_S: Final = 300.0
_LONGEST_NAME: Final = 80
_LOCAL: Final = "command line"

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS access_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL UNIQUE,
    permissions TEXT NOT NULL,
    created_at REAL NOT NULL,
    used_at REAL
);
"""


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key; its secret is not."""

    id: str
    name: str
    permissions: frozenset[Permission]
    created_at: float
    used_at: float | None


class Keys:
    """The appliance's API keys. *conn* is theirs alone."""

    def __init__(self, conn: sqlite3.Connection, *, clock: Clock) -> None:
        self._db = Guarded(conn)
        self._clock = clock

    def create(self, name: str, *, permissions: frozenset[Permission] = EVERYTHING) -> str:
        """Return the secret of a new key; raise `Conflict` if the name is taken, `InvalidInput` if it is none."""
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InvalidInput(f"A key's name has 1 to {_LONGEST_NAME} printable characters.")
        secret = new_secret(PREFIX)
        with self._db.write() as conn:
            if conn.execute("SELECT 1 FROM access_keys WHERE name = ?", (name,)).fetchone():
                raise Conflict(f"There is a key named {name!r} already.", remedy="Revoke it first, or take another name.")
            self._insert(conn, name, secret, permissions)
        _audit.info("key.created", name=name, permissions=sorted(permissions))
        return secret

    def all(self) -> Sequence[Key]:
        """Return every key, oldest first."""
        with self._db.read() as conn:
            return [_key(row) for row in conn.execute("SELECT * FROM access_keys ORDER BY created_at, id")]

    def revoke(self, key: str) -> None:
        """Delete the key with that id or name: on return nobody can use it. Raise `NotFound`."""
        with self._db.write() as conn:
            if not conn.execute("DELETE FROM access_keys WHERE id = ?1 OR name = ?1", (key,)).rowcount:
                raise NotFound(f"There is no key {key!r}.")
        _audit.info("key.revoked", key=key)

    def principal(self, secret: str) -> Principal:
        """Return whose key *secret* is; raise `Unauthenticated` if it is nobody's."""
        now = self._clock.now()
        with self._db.read() as conn:
            row = conn.execute("SELECT * FROM access_keys WHERE digest = ?", (digest(secret),)).fetchone()
        if row is None:
            raise Unauthenticated(
                "The API key is not valid.",
                remedy="The command line's own stands in `run/cli.key` below the data directory.",
            )
        if row["used_at"] is None or abs(now - row["used_at"]) > _TOUCH_S:
            with self._db.write() as conn:
                conn.execute("UPDATE access_keys SET used_at = ? WHERE id = ?", (now, row["id"]))
        key = _key(row)
        return Principal("key", key.name, key.permissions)

    def ensure_local(self, path: Path) -> None:
        """Make *path*, readable by its owner alone, hold a valid key for the command line on this machine."""
        try:
            self.principal(path.read_text(encoding="ascii").strip())
        except (FileNotFoundError, UnicodeDecodeError, Unauthenticated):
            secret = new_secret(PREFIX)
            with self._db.write() as conn:
                conn.execute("DELETE FROM access_keys WHERE name = ?", (_LOCAL,))
                self._insert(conn, _LOCAL, secret, EVERYTHING)
            durable.write_file(path, f"{secret}\n".encode("ascii"))
            _audit.info("key.created", name=_LOCAL, permissions=sorted(EVERYTHING))

    def proof(self, challenge: str) -> str:
        """Return the proof that we know the command line's key; raise `NotFound` before there is one."""
        with self._db.read() as conn:
            row = conn.execute("SELECT digest FROM access_keys WHERE name = ?", (_LOCAL,)).fetchone()
        if row is None:
            raise NotFound("There is no key for the command line yet.", remedy="Try again in a moment.")
        return proof(row["digest"], challenge)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _insert(self, conn: sqlite3.Connection, name: str, secret: str, permissions: frozenset[Permission]) -> None:
        conn.execute(
            "INSERT INTO access_keys (id, name, digest, permissions, created_at) VALUES (?, ?, ?, ?, ?)",
            (new_id("key"), name, digest(secret), " ".join(sorted(permissions)), self._clock.now()),
        )


def _key(row: sqlite3.Row) -> Key:
    permissions = frozenset(cast("list[Permission]", row["permissions"].split()))
    return Key(row["id"], row["name"], permissions, row["created_at"], row["used_at"])
