"""Structured logs on standard error: JSON lines for machines, one readable line for terminals."""

import logging
import sys
from typing import Literal, TextIO

import structlog

Logger = structlog.stdlib.BoundLogger
Level = Literal["debug", "info", "warning", "error"]


def get(name: str) -> Logger:
    """Return the logger called *name*. Events are ``noun.verb``, values are keywords; file contents never go in."""
    return structlog.stdlib.get_logger(name)


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
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=level.upper(), format="%(message)s", stream=target, force=True)
    logging.getLogger("httpx2").setLevel("WARNING")
