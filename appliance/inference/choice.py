"""Which chat model this machine can carry, and why, in a sentence."""

from dataclasses import dataclass

from appliance.errors import HostUnfit
from appliance.inference.catalog import Catalog, Model
from appliance.inference.hardware import Hardware
from appliance.inference.store import ModelStore

RESERVE = 900_000_000  # web, worker and the embedder beside it
DEFAULT_CONTEXT = 4096


@dataclass(frozen=True, slots=True)
class Choice:
    """The model, and why. *instead* is the best one that is in the store, when *model* itself is not there yet."""

    model: Model
    why: str
    installed: bool
    instead: Model | None = None


def required_memory(model: Model, *, context: int = DEFAULT_CONTEXT, slots: int = 1) -> int:
    """Return the bytes that *model* takes when loaded: weights mapped and repacked, and *context* tokens of cache a slot."""
    return model.memory + model.cache * context * slots


def check_processor(hardware: Hardware) -> None:
    """Raise `HostUnfit` when the engines' code cannot run on this processor: it would die of an illegal instruction."""
    if not hardware.avx2:
        raise HostUnfit(
            "This processor has no AVX2, FMA and F16C, which the chat engine needs.",
            remedy="Use a machine with them (any x86 since about 2015), or set chat.model to `none`: search works without.",
        )


def check_fit(model: Model, hardware: Hardware, *, context: int = DEFAULT_CONTEXT, slots: int = 1) -> None:
    """Raise `HostUnfit` when *model* would not fit into the memory that is free now."""
    needed = required_memory(model, context=context, slots=slots)
    if needed > hardware.memory_free:
        raise HostUnfit(
            f"{model.title} needs about {_gb(needed)} of memory, and {_gb(hardware.memory_free)} are free.",
            remedy="Free memory, choose a smaller model, or a shorter chat.context.",
            needed=needed,
            free=hardware.memory_free,
        )


def choose_chat(
    catalog: Catalog, store: ModelStore, hardware: Hardware, *, context: int = DEFAULT_CONTEXT, slots: int = 1
) -> Choice:
    """Return the best chat model that this machine carries; raise `HostUnfit` when it carries none."""
    check_processor(hardware)
    ranked = sorted((m for m in catalog.models if m.role == "chat" and m.rank), key=lambda m: m.rank, reverse=True)
    room = hardware.memory_free - RESERVE
    fitting = [m for m in ranked if required_memory(m, context=context, slots=slots) <= room]
    if not fitting:
        least = min((required_memory(m, context=context, slots=slots) for m in ranked), default=0) + RESERVE
        raise HostUnfit(
            f"No chat model fits: the smallest needs {_gb(least)} of free memory with the rest of the appliance, "
            f"and {_gb(max(0, hardware.memory_free))} are free.",
            remedy="Free memory, or set chat.model to `none`: search works without.",
        )
    best = fitting[0]
    installed = store.have(best.name)
    instead = None if installed else next((m for m in fitting[1:] if store.have(m.name)), None)
    return Choice(best, _why(best, ranked, hardware, context=context, slots=slots), installed, instead)


def _why(best: Model, ranked: list[Model], hardware: Hardware, *, context: int, slots: int) -> str:
    needed = required_memory(best, context=context, slots=slots)
    cores = f"{hardware.cores} core{'s' if hardware.cores != 1 else ''}"
    sentence = (
        f"{best.title} is the best that fits: it needs about {_gb(needed)}, "
        f"{_gb(hardware.memory_free)} of memory are free, on {cores}."
    )
    if best.purpose == "answers":
        return sentence
    larger = next((m for m in ranked if m.purpose == "answers"), None)
    if larger is None:
        return sentence
    wanted = required_memory(larger, context=context, slots=slots) + RESERVE
    return f"{sentence} It is too small for good answers: those need {larger.title} and {_gb(wanted)} of free memory."


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
