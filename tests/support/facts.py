"""One blob parsed, and its facts as tests compare them."""

import textwrap

from appliance.codeintel.facts import BlobFacts, BlobTask
from appliance.codeintel.parse.blob import facts
from appliance.ids import BlobId


def parsed(path: str, source: str | bytes) -> BlobFacts:
    content = source if isinstance(source, bytes) else textwrap.dedent(source).lstrip("\n").encode()
    return facts(BlobTask(BlobId("0" * 40), path, content))


def names(found: BlobFacts) -> list[str]:
    return [symbol.qualname for symbol in found.symbols]


def calls(found: BlobFacts) -> set[tuple[str, str, str]]:
    """Receiver, name and the qualified name around each call."""
    owners = {-1: "", **{index: symbol.qualname for index, symbol in enumerate(found.symbols)}}
    return {(use.receiver, use.name, owners[use.enclosing]) for use in found.references if use.kind == "call"}
