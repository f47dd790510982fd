"""Sessions: opaque, kept as digests, ended on the server at once."""

import sqlite3
from typing import Final

from appliance.access.principal import EVERYTHING, Principal
from appliance.access.secret import digest, new_secret
from appliance.base.clock import Clock
from appliance.base.sqlite import Guarded
from appliance.errors import Unauthenticated

IDLE_S: Final = 12 * 3600.0
LIFETIME_S: Final = 7 * 24 * 3600.0

_TOUCH_S: Final = 300.0  # a session's use is written down this often, so that reading pages does not write
_CLOCK_SLACK_S: Final = 300.0

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS access_sessions (
    digest TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created_at REAL NOT NULL,
    seen_at REAL NOT NULL
) WITHOUT ROWID;
"""


class Sessions:
    """Logins that last: 12 hours after the last use, 7 days in all. *conn* is theirs alone."""

    def __init__(self, conn: sqlite3.Connection, *, clock: Clock) -> None:
        self._db = Guarded(conn)
        self._clock = clock

    def open(self, name: str) -> str:
        """Return the secret of a new session of *name*. It is new at each login, whatever the browser sent before."""
        secret = new_secret()
        now = self._clock.now()
        with self._db.write() as conn:
            conn.execute("DELETE FROM access_sessions WHERE seen_at < ? OR created_at < ?", (now - IDLE_S, now - LIFETIME_S))
            conn.execute("INSERT INTO access_sessions VALUES (?, ?, ?, ?)", (digest(secret), name, now, now))
        return secret

    def principal(self, secret: str) -> Principal:
        """Return whose session *secret* is, and prolong it; raise `Unauthenticated` if there is none.

        One that ran out is deleted when it is next seen, so that setting the clock back does not revive it.
        """
        key = digest(secret)
        now = self._clock.now()
        with self._db.read() as conn:
            row = conn.execute("SELECT * FROM access_sessions WHERE digest = ?", (key,)).fetchone()
        if row is None:
            raise Unauthenticated("You are not logged in, or the session has ended.", remedy="Log in again.")
        idle = now - row["seen_at"]
        if idle > IDLE_S or now - row["created_at"] > LIFETIME_S or idle < -_CLOCK_SLACK_S:
            self.end(secret)
            raise Unauthenticated("The session has run out.", remedy="Log in again.")
        if idle > _TOUCH_S:
            with self._db.write() as conn:
                conn.execute("UPDATE access_sessions SET seen_at = ? WHERE digest = ?", (now, key))
        return Principal("session", row["name"], EVERYTHING)

    def end(self, secret: str) -> None:
        """End the session: on return nobody can use it."""
        with self._db.write() as conn:
            conn.execute("DELETE FROM access_sessions WHERE digest = ?", (digest(secret),))

    def end_all(self) -> int:
        """End every session and return how many there were."""
        with self._db.write() as conn:
            return conn.execute("DELETE FROM access_sessions").rowcount

    def close(self) -> None:
        """Close the connection."""
        self._db.close()
