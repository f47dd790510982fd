"""The program that tries a grammar. What the grammar prints is no verdict; what it does to this process is one."""

import hashlib
import os
import signal
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Final

import msgspec

from appliance.base.proc import ChildLimits
from appliance.codeintel.parse.added import AddedLanguage
from appliance.codeintel.parse.added_grammar import added_grammar
from appliance.codeintel.parse.trial import Verdict
from appliance.errors import InvalidInput

_LIMITS: Final = ChildLimits(memory=2 << 30, cpu_seconds=10, file_size=0)
_SAMPLE: Final = b"a (b) { c = 1; }\n"


def main() -> None:
    """Read a language, try its grammar and say the verdict."""
    said = os.dup(1)
    os.dup2(2, 1)
    _LIMITS.apply()
    language = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=AddedLanguage)
    try:
        verdict = Verdict(build=_tried(language))
    except InvalidInput as exc:
        verdict = Verdict(message=exc.message, remedy=exc.remedy)
    except Exception as exc:  # noqa: BLE001 - the outermost loop of a trial: whatever the grammar raises is told
        verdict = Verdict(message=f"The grammar of {language.name} raised {type(exc).__name__}: {exc}.")
    os.write(said, msgspec.msgpack.encode(verdict))
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)  # with whatever the grammar left running


def _tried(language: AddedLanguage) -> str:
    """Return what tells the grammar of *language* from its other builds."""
    before = frozenset(sys.modules)
    grammar = added_grammar(language)
    for sample in (b"", _SAMPLE):
        grammar.captures(grammar.root(sample))
    module = language.grammar.partition(":")[0]
    files = {getattr(sys.modules[name], "__file__", None) or "" for name in (frozenset(sys.modules) - before) | {module}}
    own = getattr(sys.modules[module], "__file__", None)
    digest = hashlib.sha256()
    for file in sorted(files):
        if file.endswith(tuple(EXTENSION_SUFFIXES)) or file == own:
            digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
