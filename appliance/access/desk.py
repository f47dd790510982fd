"""The front desk: login, logout, and who a request comes from."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from appliance.access import keys, sessions, tokens
from appliance.access.keys import Keys
from appliance.access.principal import Principal
from appliance.access.sessions import Sessions
from appliance.access.throttle import Throttle
from appliance.access.tokens import OneTimeTokens
from appliance.base import log
from appliance.base.clock import Clock
from appliance.errors import Unauthenticated

_audit = log.get("audit")

SCHEMA: Final = tokens.SCHEMA + sessions.SCHEMA + keys.SCHEMA
ADMINISTRATOR: Final = "administrator"


class Access:
    """One-time tokens, sessions and keys behind one brake. *connect* opens the global database once for each.

    *token_file* is where `skellig up` leaves its token: it is taken away once that one was used.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], *, clock: Clock, token_file: Path | None = None) -> None:
        self._token_file = token_file
        self.tokens = OneTimeTokens(connect(), clock=clock)
        self.sessions = Sessions(connect(), clock=clock)
        self.keys = Keys(connect(), clock=clock)
        self._throttle = Throttle(clock=clock)

    def login(self, token: str, *, address: str) -> str:
        """Redeem the one-time *token* and return the secret of a new session.

        Raise `Unauthenticated`, or `Throttled` when *address* failed too often.
        """
        self._throttle.check(address)
        try:
            self.tokens.redeem(token)
        except Unauthenticated:
            self._throttle.failed(address)
            _audit.warning("login.refused", address=address)
            raise
        self._throttle.succeeded(address)
        self._put_away(token)
        _audit.info("login.granted", name=ADMINISTRATOR, address=address)
        return self.sessions.open(ADMINISTRATOR)

    def logout(self, secret: str, *, address: str) -> None:
        """End the session."""
        self.sessions.end(secret)
        _audit.info("logout", address=address)

    def authenticate(self, *, session: str | None, bearer: str | None, address: str) -> Principal:
        """Return who sent these credentials, the key first; raise `Unauthenticated` or `Throttled`."""
        if bearer is not None:
            return self._by_key(bearer, address=address)
        if session is not None:
            return self.sessions.principal(session)
        raise Unauthenticated("You are not logged in.", remedy="Log in, or send an API key as `Authorization: Bearer`.")

    def close(self) -> None:
        """Close the connections."""
        self.tokens.close()
        self.sessions.close()
        self.keys.close()

    def _put_away(self, token: str) -> None:
        if self._token_file is None:
            return
        try:
            if self._token_file.read_text(encoding="utf-8").strip() == token:
                self._token_file.unlink()
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError) as exc:  # it is used up: what is left is no secret any more
            _audit.warning("token.file_left", reason=str(exc))

    def _by_key(self, secret: str, *, address: str) -> Principal:
        try:
            return self.keys.principal(secret)
        except Unauthenticated:
            guesser = f"key {address}"  # apart from logins: a program with an old key locks no person out
            self._throttle.check(guesser)
            self._throttle.failed(guesser)
            _audit.warning("key.refused", address=address)
            raise
