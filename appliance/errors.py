"""Every error that Skellig raises on purpose.

ApplianceError
├── CallerError            the request can be mended by whoever made it
│   ├── InvalidInput
│   ├── NotFound
│   ├── Conflict
│   │   ├── Stale
│   │   └── StaleSnapshotError
│   └── LimitExceeded
│       ├── PromptTooLong
│       └── BudgetExhausted
├── AccessError            who is asking, and may they
│   ├── Unauthenticated
│   └── Forbidden
│       ├── WrongHost
│       ├── WrongOrigin
│       ├── NotGranted
│       ├── Blocked
│       ├── ApprovalRequired
│       └── ApprovalRejected
├── ContentError           foreign content is refused; the job goes on
│   ├── UnsafePath
│   └── MalformedContent
├── TrustError             never retried, always audited
│   ├── BadSignature
│   │   ├── WrongKey
│   │   └── TooFewSignatures
│   ├── DigestMismatch
│   ├── MissingPart
│   ├── ExtraFile
│   ├── MalformedMetadata
│   ├── RollbackRefused
│   └── MetadataExpired
├── Unavailable            may be retried
│   ├── EngineUnavailable
│   ├── StoreBusy
│   ├── Throttled
│   ├── DeadlineExceeded
│   ├── Unreachable
│   └── Cancelled
├── RemoteError            a repository on another machine cannot be had as it is set up
│   ├── AuthFailed
│   ├── HostKeyUnknown
│   ├── CertificateUnknown
│   └── Unsupported
├── HostUnfit              this machine or its configuration cannot carry what was asked
├── ToolFailed             a tool broke in a way that it has no error for
├── StepFailed             what an author gave a graph or a workflow to run broke
└── StorageFault           the disk, not the request
    ├── DiskFull
    └── StoreCorrupt

HTTP statuses and exit codes are tables at the edges (`appliance.web.problems`, `appliance.cli.exits`).
"""

import errno
from typing import ClassVar, Final

_FULL: Final = {errno.ENOSPC, errno.EDQUOT}
_BROKEN: Final = {errno.EIO, errno.EROFS}
_NOT_OURS: Final = {errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}


class ApplianceError(Exception):
    """A failure with a stable code, one sentence for people, the next step, and context for machines."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str = "", **context: object) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.context = context

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()


class CallerError(ApplianceError):
    """The request can be mended by whoever made it."""

    code = "bad_request"


class InvalidInput(CallerError):
    """A value is not one of those that the call takes."""

    code = "invalid_input"


class NotFound(CallerError):
    """What the request names does not exist."""

    code = "not_found"


class Conflict(CallerError):
    """The request contradicts what exists or runs now."""

    code = "conflict"


class Stale(Conflict):
    """What is indexed is not as fresh as the request wants it; the sentence names each repository, and how it is."""

    code = "stale"
    retryable = True


class StaleSnapshotError(Conflict):
    """Something was decided on a state that has changed since; the context names what changed. Nothing was applied."""

    code = "stale_snapshot"
    retryable = True


class LimitExceeded(CallerError):
    """The request is larger than a stated limit; the context names the limit and the size."""

    code = "limit_exceeded"


class PromptTooLong(LimitExceeded):
    """The prompt does not fit the model; the context holds ``prompt_tokens``, ``limit`` and ``model``."""

    code = "prompt_too_long"


class BudgetExhausted(LimitExceeded):
    """A run has used what it was given of something; the context holds ``limit`` and ``what``."""

    code = "budget_exhausted"


class AccessError(ApplianceError):
    """Who is asking, and may they."""

    code = "access"


class Unauthenticated(AccessError):
    """Nobody that we know is asking."""

    code = "unauthenticated"


class Forbidden(AccessError):
    """Somebody that we know may not do this."""

    code = "forbidden"


class WrongHost(Forbidden):
    """The request names a host that is not this appliance, as one does whose own name was made to lead here."""

    code = "wrong_host"


class WrongOrigin(Forbidden):
    """The request was made by a page of another site."""

    code = "wrong_origin"


class NotGranted(Forbidden):
    """A run asked for a tool, an effect or a repository that it was not given."""

    code = "not_granted"


class Blocked(Forbidden):
    """A safety rule does not let this call be made."""

    code = "blocked"


class ApprovalRequired(Forbidden):
    """A person must say yes first, and has not been heard yet; the context holds ``approval``, its id."""

    code = "approval_required"


class ApprovalRejected(Forbidden):
    """A person said no, or nobody said anything in time; the context holds ``approval``, its id."""

    code = "approval_rejected"


class ContentError(ApplianceError):
    """Foreign content is refused; the job goes on without it."""

    code = "content"


class UnsafePath(ContentError):
    """A path would leave the folder that it belongs to."""

    code = "unsafe_path"


class MalformedContent(ContentError):
    """Content is not of the kind that it claims to be."""

    code = "malformed_content"


class TrustError(ApplianceError):
    """Something is not what was signed or catalogued. Never retried, always audited."""

    code = "trust"


class BadSignature(TrustError):
    """A signature is missing, wrong, or by an unknown key."""

    code = "bad_signature"


class WrongKey(BadSignature):
    """It was signed by a key that is not trusted for it."""

    code = "wrong_key"


class TooFewSignatures(BadSignature):
    """Fewer trusted keys signed it than must have."""

    code = "too_few_signatures"


class DigestMismatch(TrustError):
    """Bytes do not have the digest that they should have."""

    code = "digest_mismatch"


class MissingPart(TrustError):
    """Something that was signed is not there."""

    code = "missing_part"


class ExtraFile(TrustError):
    """Something is there that nobody signed."""

    code = "extra_file"


class MalformedMetadata(TrustError):
    """Trust metadata is not of the form that it must have."""

    code = "malformed_metadata"


class RollbackRefused(TrustError):
    """A version is older than one seen before."""

    code = "rollback_refused"


class MetadataExpired(TrustError):
    """Trust metadata is past its date."""

    code = "metadata_expired"


class Unavailable(ApplianceError):
    """Not now; the same request may succeed later."""

    code = "unavailable"
    retryable = True


class EngineUnavailable(Unavailable):
    """The engine for a role is not running, not ready, or broke off."""

    code = "engine_unavailable"


class StoreBusy(Unavailable):
    """A database stayed locked longer than its time-out."""

    code = "store_busy"


class Throttled(Unavailable):
    """Too many tries; the context holds ``retry_after`` in seconds."""

    code = "throttled"


class DeadlineExceeded(Unavailable):
    """Work did not end within the time that it was given."""

    code = "deadline_exceeded"


class Unreachable(Unavailable):
    """Another machine does not answer, or broke off."""

    code = "unreachable"


class Cancelled(Unavailable):
    """Somebody asked for this work to stop."""

    code = "cancelled"
    retryable = False


class RemoteError(ApplianceError):
    """A repository on another machine cannot be had as it is set up."""

    code = "remote"


class AuthFailed(RemoteError):
    """The other machine does not let us in with the key or login that we have."""

    code = "auth_failed"


class HostKeyUnknown(RemoteError):
    """The key of the other machine is not the one that was pinned, or none was."""

    code = "host_key_unknown"


class CertificateUnknown(RemoteError):
    """The certificate of the other machine is not by an authority that is trusted for it."""

    code = "certificate_unknown"


class Unsupported(RemoteError):
    """It would take what we do not do: type a passphrase, follow a redirect."""

    code = "unsupported"


class HostUnfit(ApplianceError):
    """This machine or its configuration cannot carry what was asked; the remedy says what would."""

    code = "host_unfit"


class ToolFailed(ApplianceError):
    """A tool broke in a way that it has no error for, or gave what is no output of a tool."""

    code = "tool_failed"


class StepFailed(ApplianceError):
    """What an author gave a graph or a workflow to run raised an error, its cause; the sentence names the step."""

    code = "step_failed"


class StorageFault(ApplianceError):
    """The disk, not the request."""

    code = "storage"


class DiskFull(StorageFault):
    """No space is left where the data lives; the context names the path and, where known, the bytes needed."""

    code = "disk_full"


class StoreCorrupt(StorageFault):
    """A store cannot be read as what it was written."""

    code = "store_corrupt"


def of_system(exc: OSError, path: str) -> StorageFault | HostUnfit | None:
    """Return the error that *exc* at *path* is, or None where neither the disk nor who owns what is the reason."""
    if exc.errno in _FULL:
        return DiskFull(f"No space is left for {path}.", remedy="Free space on that file system, then try again.", path=path)
    if exc.errno in _BROKEN:
        return StorageFault(f"The disk refused {path}: {exc.strerror}.", path=path)
    if exc.errno in _NOT_OURS:
        remedy = "Run this as the user who runs the appliance, or choose another folder: `--help` says how."
        return HostUnfit(f"{path} cannot be used: {exc.strerror}.", remedy=remedy, path=path)
    return None
