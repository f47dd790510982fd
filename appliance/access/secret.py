"""Secrets that are shown once: made with 256 bits, kept as a digest."""

import hashlib
import hmac
import secrets


def new_secret(prefix: str = "") -> str:
    """Return *prefix* and 43 random URL-safe characters."""
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return what is stored of *secret*. A fast hash is enough: nobody guesses 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def proof(stored: str, challenge: str) -> str:
    """Return what only somebody who knows a secret, or its digest *stored*, can answer to *challenge*; it tells neither."""
    return hmac.new(stored.encode(), f"skellig identity {challenge}".encode(), "sha256").hexdigest()
