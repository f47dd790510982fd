"""A trial of a grammar, in a process of its own: to load one is to run native code of somebody else's, which may crash."""

import signal
import sys
from pathlib import Path
from typing import Final

import msgspec

from appliance.base import proc
from appliance.base.paths import display
from appliance.codeintel.parse.added import AddedLanguage
from appliance.errors import DeadlineExceeded, InvalidInput, LimitExceeded

SECONDS: Final = 10.0

_PROGRAM: Final = "appliance.codeintel.parse.trial_child"
_ROOT: Final = Path(__file__).parents[3]
_MOST_SAID: Final = 100_000
_SHOWN: Final = 600
_REMEDY: Final = "Install a build of the grammar that is made for this machine, or disable the plugin."


class Verdict(msgspec.Struct):
    """What the process says: the ``build`` of the grammar, or what is wrong."""

    build: str = ""
    message: str = ""
    remedy: str = ""


def tried(language: AddedLanguage, *, seconds: float = SECONDS) -> AddedLanguage:
    """Return *language* with its ``build``: its grammar was loaded, its query compiled, and a few bytes parsed.

    Raise `InvalidInput` with what is wrong, a crash among it. Nothing of the grammar is loaded into this process.
    """
    argv = (sys.executable, "-s", "-P", "-m", _PROGRAM)
    told = msgspec.msgpack.encode(language)
    try:
        finished = proc.run(argv, timeout=seconds, env={"PYTHONPATH": str(_ROOT)}, stdin=told, max_output=_MOST_SAID)
    except (DeadlineExceeded, LimitExceeded) as exc:
        raise InvalidInput(f"The trial of the grammar of {language.name} was ended: {exc.message}", remedy=_REMEDY) from exc
    try:
        verdict = msgspec.msgpack.decode(finished.stdout, type=Verdict)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise InvalidInput(
            f"The grammar of {language.name} ends the process that tries it: {_ending(finished.code)}.", remedy=_REMEDY
        ) from exc
    if verdict.message:
        raise InvalidInput(display(verdict.message)[:_SHOWN], remedy=display(verdict.remedy or _REMEDY)[:_SHOWN])
    return msgspec.structs.replace(language, build=verdict.build)


def _ending(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit status {code}"
