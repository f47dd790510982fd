"""What can go wrong with a machine besides the answers of its tools."""


class OperatorError(Exception):
    """A failure of the machine itself; the sentence says what to do next."""


class SnapshotError(OperatorError, ValueError):
    """A snapshot cannot be written or read as one; the sentence names the place in it."""


class LogFault(OperatorError):
    """The turn log cannot be written or read."""


class LogVersion(LogFault):
    """The turn log was written by another version, or the file is something else."""


class LogDamaged(LogFault):
    """The turn log is not as it was written."""


class LogTaken(LogFault):
    """Another machine writes this log now, or one stands in it already."""


class NotText(TypeError, AttributeError):
    """`run` was given what is no text. It is both errors, as hosts of the public package may await the second."""
