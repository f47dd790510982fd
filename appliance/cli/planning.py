"""Which programs run with these settings on this machine, and why the models are the ones that they are."""

import math
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from appliance.base.paths import DataPaths
from appliance.cli.flags import Flags
from appliance.config import Embed, Settings
from appliance.errors import InvalidInput, NotFound
from appliance.inference import choice
from appliance.inference.catalog import AUTO, OFF, Catalog, EngineKind, Model
from appliance.inference.engines.base import COMPILE_SECONDS, LOAD_SECONDS
from appliance.inference.hardware import Hardware
from appliance.inference.store import ModelStore
from appliance.ops.programs import Program

_PYTHON: Final = (sys.executable, "-P", "-m")
_SETTLE: Final = 10  # seconds: a busy machine imports for four before it can fail
_PATIENCE: Final = 20  # an engine that dies at its start will do so again; these two die only when somebody kills them
_ENGINE_SETTLE: Final = 30  # seconds, beside the load itself; readiness is told by health, so nobody waits for this
_COMPILING: Final = 240  # seconds that vLLM took to be ready, on two cores, and some more
_LOAD_RATE: Final = 20_000_000  # bytes of a model that even a slow disk and a busy machine read in a second


@dataclass(frozen=True, slots=True)
class Plan:
    """The programs, the chat and embedding models (``none``: off), and sentences that explain the choice."""

    programs: tuple[Program, ...]
    chat: str
    embed: str
    notes: tuple[str, ...]
    load_seconds: float  # how long the engines may take to be ready
    without: str  # why no chat model runs although the settings want one; else empty


def plan(settings: Settings, *, paths: DataPaths, catalog: Catalog, store: ModelStore, hardware: Hardware) -> Plan:
    """Decide what runs; raise `NotFound` for a model that is named and not here, `HostUnfit` for one that does not fit.

    Raise `InvalidInput` for a context that the model does not have, or an engine that cannot run it.
    """
    choice.check_processor(hardware)
    chat, notes = _chat(settings, catalog=catalog, store=store, hardware=hardware)
    without = notes[0] if chat is None and settings.chat.model != OFF else ""
    embed = _embed(settings, catalog=catalog, store=store)
    if embed is None:
        notes = (*notes, "No embedder: embed.model is none, so searches go by words and the latent space.")
    programs = [
        Program("web", (*_PYTHON, "appliance", "web"), settle=_SETTLE, retries=_PATIENCE, grace=30, priority=10),
        Program("worker", (*_PYTHON, "appliance", "worker"), settle=_SETTLE, retries=_PATIENCE, grace=30, priority=20),
    ]
    if embed is not None:
        programs.append(_embed_engine(embed, settings, paths=paths, store=store))
    if chat is not None:
        _check_context(chat, settings.chat.context)
        if settings.gpu == "required":
            choice.check_gpu(hardware, chat.engine_for(settings.chat.engine))
        programs.append(_chat_engine(chat, settings, paths=paths, store=store, hardware=hardware))
    compiling = _COMPILING if chat is not None and chat.engine_for(settings.chat.engine) == "vllm" else 0
    return Plan(
        programs=tuple(programs),
        chat=chat.name if chat else OFF,
        embed=embed.name if embed else OFF,
        notes=notes,
        load_seconds=60 + compiling + sum(model.size for model in (chat, embed) if model) / _LOAD_RATE,
        without=without,
    )


def require_models(settings: Settings, *, catalog: Catalog, store: ModelStore) -> None:
    """Raise `NotFound` for a model that *settings* name and that is not known, not of its role or not here."""
    for name, role in ((settings.chat.model, "chat"), (settings.embed.model, "embed")):
        if name not in {OFF, AUTO}:
            _check_here(_of_role(catalog, name, role), settings, store=store)


def lacking(models: Collection[str], *, catalog: Catalog) -> Iterator[str]:
    """Give a sentence for each role that nobody has with default settings where *models* are all that there is."""
    embedder, named = Embed().model, [catalog.get(name) for name in models]
    if not named:
        yield (
            "no model is in this bundle: add some with --model; else hosts need models of their own, or chat.model and"
            " embed.model set to `none`."
        )
        return
    best = max(choice.answering(catalog), key=lambda model: model.rank)
    if not any(model.purpose == "answers" for model in named):
        small = [model.name for model in named if model.role == "chat" and model.engine != "none"]
        yield (
            f"no model in this bundle is made for answers, so with default settings answers are evidence without prose:"
            f" add --model {best.name}, or set chat.model on the hosts to {' or '.join([*small, 'none'])}."
        )
    if embedder not in models:
        others = [model.name for model in named if model.role == "embed" and model.engine != "none"]
        yield (
            f"the embedder of the default settings is not in this bundle: add --model {embedder}, or set embed.model on the"
            f" hosts to {' or '.join([*others, 'none'])}; else the appliance does not start there."
        )


def way_to(name: str, settings: Settings) -> str:
    """Return how the model *name* comes to where *settings* look for it, as the beginning of a sentence."""
    pull = f"`skellig model pull {name}` gets it"
    if settings.models_at is None:
        return pull
    return f"A bundle built with `--model {name}` brings it to {settings.models_at}; where there is a network, {pull}"


def environment(chosen: Plan, *, environ: Mapping[str, str], flags: Flags, paths: DataPaths) -> dict[str, str]:
    """Return the variables that make the programs see these very settings, and the models that were chosen."""
    kept = {name: value for name, value in environ.items() if name.startswith("SKELLIG_") or name == "HOME"}
    config = {"SKELLIG_CONFIG": str(flags.config.absolute())} if flags.config else {}
    models = {"SKELLIG_CHAT__MODEL": chosen.chat, "SKELLIG_EMBED__MODEL": chosen.embed}
    return kept | config | models | {"SKELLIG_DATA": str(paths.root)}


def _chat(
    settings: Settings, *, catalog: Catalog, store: ModelStore, hardware: Hardware
) -> tuple[Model | None, tuple[str, ...]]:
    wanted = settings.chat
    if wanted.model == OFF:
        return None, ("No chat model: chat.model is none, so answers are evidence without prose.",)
    if wanted.model != AUTO:
        model = _of_role(catalog, wanted.model, "chat")
        _check_here(model, settings, store=store)
        choice.check_fit(model, hardware, context=wanted.context, slots=wanted.slots)
        return model, (f"{model.title}: chat.model asks for it.",)
    found = choice.choose_chat(catalog, store, hardware, context=wanted.context, slots=wanted.slots)
    if found.model is None or found.installed:
        return found.model, (found.why,)
    if found.instead is None:
        return None, (_without(found.model, settings, catalog=catalog, store=store),)
    note = f"{found.instead.title} is used because {found.model.name} is not in the store: `skellig model pull` gets it."
    return found.instead, (found.why, note)


def _without(best: Model, settings: Settings, *, catalog: Catalog, store: ModelStore) -> str:
    small = next((m.name for m in catalog.models if m.purpose == "small" and store.have(m.name)), None)
    named = f", or name {small}, which is here and often wrong, as chat.model" if small else ""
    said = "No model made for answers is in the store, so answers are evidence without prose."
    return f"{said} To have prose, take {best.name}{named}. {way_to(best.name, settings)}."


def _check_here(model: Model, settings: Settings, *, store: ModelStore) -> None:
    if not store.have(model.name):
        raise NotFound(
            f"The model {model.name} is not in the store, and {model.role}.model asks for it.",
            remedy=f"{way_to(model.name, settings)}; or go without: set {model.role}.model to `none`.",
            name=model.name,
        )


def _check_context(model: Model, context: int) -> None:
    if model.context < context:
        raise InvalidInput(
            f"{model.name} has a context of {model.context:,} tokens, and chat.context asks for {context:,}.",
            remedy="Lower chat.context, or name another chat.model.",
        )


def _embed(settings: Settings, *, catalog: Catalog, store: ModelStore) -> Model | None:
    if settings.embed.model == OFF:
        return None
    model = _of_role(catalog, settings.embed.model, "embed")
    _check_here(model, settings, store=store)
    return model


def _of_role(catalog: Catalog, name: str, role: str) -> Model:
    model = catalog.get(name)
    if model.role != role or model.engine == "none":
        raise NotFound(
            f"The model {name} is not one that can {role}.", remedy="`skellig model list` shows every model and its role."
        )
    return model


def _chat_engine(model: Model, settings: Settings, *, paths: DataPaths, store: ModelStore, hardware: Hardware) -> Program:
    chat = settings.chat
    limits = {"threads": chat.threads or hardware.threads, "context": chat.context, "slots": chat.slots}
    kind = model.engine_for(chat.engine)
    argv = _engine(kind, model, paths=paths, store=store, limits=limits)
    return Program(
        "engine-chat",
        (*argv, "--gpu") if settings.gpu == "required" else argv,
        settle=_settled(model) + int(COMPILE_SECONDS if kind == "vllm" else LOAD_SECONDS),
        priority=40,
    )


def _embed_engine(model: Model, settings: Settings, *, paths: DataPaths, store: ModelStore) -> Program:
    limits = {"threads": settings.embed.threads}
    return Program(
        "engine-embed",
        _engine(model.engine_for(settings.embed.engine), model, paths=paths, store=store, limits=limits),
        settle=_settled(model),
        priority=30,
    )


def _settled(model: Model) -> int:
    """Return after how many seconds an engine has read its file; the supervisor counts only the deaths before it settled."""
    return math.ceil(_ENGINE_SETTLE + model.size / _LOAD_RATE)


def _engine(
    kind: EngineKind, model: Model, *, paths: DataPaths, store: ModelStore, limits: Mapping[str, int]
) -> tuple[str, ...]:
    files = [part for path in store.paths(model.name) for part in ("--model", str(path))]
    numbers = [part for name, value in limits.items() for part in (f"--{name}", str(value))]
    socket = str(paths.engine_socket(model.role))
    named = ("--role", model.role, "--name", model.name)
    return (*_PYTHON, f"appliance.inference.engines.{kind}", *named, *files, "--socket", socket, *numbers)
