"""Structured logs on standard error: JSON lines for machines, one readable line for terminals."""

import logging
import sys
from typing import Literal, TextIO

import structlog

Logger = structlog.stdlib.BoundLogger
Level = Literal["debug", "info", "warning", "error"]


def get(name: str) -> Logger:
    """Return the logger called *name*. Events are ``noun.verb``, values are keywords; file contents never go in.

    Standard output is the program's own: where nobody called `configure`, as in a script of somebody else, lines go to
    that program's `logging`, which by itself drops what is below a warning.
    """
    logger: Logger = structlog.wrap_logger(logging.getLogger(name), wrapper_class=structlog.stdlib.BoundLogger)
    return logger


def configure(*, level: Level, json: bool, stream: TextIO | None = None) -> None:
    """Send every log line of this process to *stream* (default: standard error). Called once, by a program's entry."""
    target = stream or sys.stderr
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if json else structlog.dev.ConsoleRenderer(colors=target.isatty())
    )
    structlog.configure(
        processors=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=level.upper(), format="%(message)s", stream=target, force=True)
    logging.getLogger("httpx2").setLevel("WARNING")
