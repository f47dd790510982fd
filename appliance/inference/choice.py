"""Which chat model writes the prose on this machine, and why, in a sentence."""

from dataclasses import dataclass

from appliance.errors import HostUnfit
from appliance.inference.catalog import Catalog, EngineKind, Model
from appliance.inference.hardware import Hardware
from appliance.inference.store import ModelStore

RESERVE = 900_000_000  # web, worker and the embedder beside it
DEFAULT_CONTEXT = 4096
_ON_GPU: tuple[EngineKind, ...] = ("llama_cpp_python", "vllm")


@dataclass(frozen=True, slots=True)
class Choice:
    """The model, or None where the machine carries none that is made for answers, and why.

    *instead* is the best one that is in the store, when *model* itself is not there yet.
    """

    model: Model | None
    why: str
    installed: bool
    instead: Model | None = None


def required_memory(model: Model, *, context: int = DEFAULT_CONTEXT, slots: int = 1) -> int:
    """Return the bytes that *model* takes when loaded: weights mapped and repacked, and *context* tokens of cache a slot."""
    return model.memory + model.cache * context * slots


def check_processor(hardware: Hardware) -> None:
    """Raise `HostUnfit` when our code cannot run on this processor: it would die of an illegal instruction."""
    if hardware.lacks:
        raise HostUnfit(
            f"This processor has no {', '.join(hardware.lacks).upper()}, which the vector store and the engines need.",
            remedy="Use one that has (any x86 since about 2015); in a virtual machine, choose the processor type `host`.",
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


def check_gpu(hardware: Hardware, engine: EngineKind) -> None:
    """Raise `HostUnfit` where *engine* would run on a CPU: this machine shows no GPU, or the engine uses none."""
    if engine not in _ON_GPU:
        raise HostUnfit(
            f"gpu is `required`, and the engine {engine} runs on the CPU.",
            remedy=f"Set chat.engine to one of {', '.join(_ON_GPU)}, or gpu to `auto`.",
        )
    if not hardware.gpus:
        raise HostUnfit(
            "gpu is `required`, and no GPU is in sight: there is no /dev/nvidia0 and no /dev/kfd.",
            remedy="Install its driver and give the appliance its devices, or set gpu to `auto`.",
        )


def choose_chat(
    catalog: Catalog, store: ModelStore, hardware: Hardware, *, context: int = DEFAULT_CONTEXT, slots: int = 1
) -> Choice:
    """Return the best model made for answers that this machine carries, or none, with a way to have prose all the same.

    A small one would be believed and is mostly wrong: it runs only where somebody names it. Raise `HostUnfit` for a
    processor that cannot run our code.
    """
    check_processor(hardware)
    need = {m.name: required_memory(m, context=context, slots=slots) for m in catalog.models if m.role == "chat"}
    able = sorted(answering(catalog), key=lambda m: m.rank, reverse=True)
    fitting = [m for m in able if need[m.name] + RESERVE <= hardware.memory_free]
    if not fitting:
        small = max((m for m in catalog.models if m.purpose == "small"), key=lambda m: m.memory, default=None)
        named = small if small is not None and need[small.name] + RESERVE <= hardware.memory_free else None
        least = min(able, key=lambda m: need[m.name], default=None)
        return Choice(None, _why_not(least, named, hardware, needed=need[least.name] + RESERVE if least else 0), False)
    best = fitting[0]
    installed = store.have(best.name)
    instead = None if installed else next((m for m in fitting[1:] if store.have(m.name)), None)
    return Choice(best, _why(best, hardware, needed=need[best.name]), installed, instead)


def answering(catalog: Catalog) -> list[Model]:
    """Return the models that ``auto`` chooses from: those made for answers."""
    return [m for m in catalog.models if m.role == "chat" and m.purpose == "answers"]


def _why(best: Model, hardware: Hardware, *, needed: int) -> str:
    cores = f"{hardware.cores} core{'s' if hardware.cores != 1 else ''}"
    sentence = (
        f"{best.title} is the best that fits: it needs about {_gb(needed)}, "
        f"{_gb(hardware.memory_free)} of memory are free, on {cores}."
    )
    if hardware.cores > 1:
        return sentence
    return f"{sentence} With one core the first words of an answer take about twice as long as with two."


def _why_not(least: Model | None, named: Model | None, hardware: Hardware, *, needed: int) -> str:
    if least is None:
        return "The catalogue has no model made for answers, so answers are evidence without prose."
    sentence = (
        f"No model made for answers fits: {least.title} needs {_gb(needed)} of free memory with the rest of the appliance, "
        f"and {_gb(max(0, hardware.memory_free))} are free, so answers are evidence without prose. Free memory to have prose"
    )
    if named is None:
        return f"{sentence}."
    return f"{sentence}, or name a small model, which is often wrong: SKELLIG_CHAT__MODEL={named.name}."


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
