"""One-time tokens: the first login of a fresh appliance, without any default password."""

import sqlite3
from typing import Final

from appliance.access.secret import digest, new_secret
from appliance.base import log
from appliance.base.clock import Clock
from appliance.base.sqlite import Guarded
from appliance.errors import Unauthenticated

_audit = log.get("audit")

LIFETIME_S: Final = 24 * 3600.0

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS access_tokens (
    digest TEXT PRIMARY KEY,
    created_at REAL NOT NULL,
    used_at REAL
) WITHOUT ROWID;
"""


class OneTimeTokens:
    """Tokens that let one login happen, within a day. *conn* is theirs alone."""

    def __init__(self, conn: sqlite3.Connection, *, clock: Clock) -> None:
        self._db = Guarded(conn)
        self._clock = clock

    def issue(self) -> str:
        """Return a new token: it is stored as a digest only and cannot be shown again."""
        token = new_secret()
        now = self._clock.now()
        with self._db.write() as conn:
            conn.execute("DELETE FROM access_tokens WHERE used_at IS NOT NULL OR created_at < ?", (now - LIFETIME_S,))
            conn.execute("INSERT INTO access_tokens (digest, created_at) VALUES (?, ?)", (digest(token), now))
        _audit.info("token.issued")
        return token

    def redeem(self, token: str) -> None:
        """Use up *token*; raise `Unauthenticated` if it is unknown, used or older than a day."""
        now = self._clock.now()
        with self._db.write() as conn:
            used = conn.execute(
                "UPDATE access_tokens SET used_at = ? WHERE digest = ? AND used_at IS NULL AND created_at BETWEEN ? AND ?",
                (now, digest(token), now - LIFETIME_S, now + 60),
            ).rowcount
        if not used:
            raise Unauthenticated(
                "This token is not valid: it is unknown, used, or older than a day.",
                remedy="`skellig up` prints a new one.",
            )

    def close(self) -> None:
        """Close the connection."""
        self._db.close()
