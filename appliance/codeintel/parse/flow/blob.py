"""One blob, and how values move through it."""

from appliance.codeintel.facts import BlobTask
from appliance.codeintel.flow import pack_flow
from appliance.codeintel.parse.decode import decode
from appliance.codeintel.parse.flow.languages import FRONT_ENDS
from appliance.codeintel.parse.grammars import grammar
from appliance.codeintel.parse.languages import LOOKED_AT, language_of
from appliance.codeintel.parse.text import SourceText
from appliance.errors import MalformedContent


def flow(task: BlobTask) -> bytes:
    """Return the packed flow of *task*'s content; nothing if its language is not followed or its tree cannot be used."""
    text = SourceText(decode(task.content).text)
    language = language_of(task.path, text.source[:LOOKED_AT])
    front_end = FRONT_ENDS.get(language)
    if front_end is None:
        return b""
    try:
        return pack_flow(front_end(grammar(language).root(text.source), text.source))
    except MalformedContent:
        return b""
