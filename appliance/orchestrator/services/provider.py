"""The provider service: the chat models that are here, which of them answers, how it is, and completions bounded in time."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from appliance.codeintel.needs import ChatModel
from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.errors import Conflict, DeadlineExceeded, EngineUnavailable, NotFound
from appliance.inference.engines.base import EngineHealth
from appliance.inference.pool import EnginePool
from appliance.inference.store import ModelStore
from appliance.orchestrator.runners.completion import Completion, complete
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.state.hosts import HostLock

PROVIDER: Final = "local"
TIMEOUT_S: Final = 600.0

Probe = Callable[[ChatModel], Awaitable[Abilities]]


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A chat model that is on this machine. ``served``: its engine is set up, so that it can be switched to."""

    name: str
    title: str
    context: int
    served: bool


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """The model that answers. ``abilities`` is what it was seen to do, None while it was not tried yet."""

    provider: str
    model: str
    context: int
    abilities: Abilities | None


class Models(Protocol):
    """The chat models of this machine."""

    def installed(self) -> Sequence[InstalledModel]:
        """Return those that are here."""

    def open(self, name: str) -> ChatModel:
        """Return the model *name*; "" is the one that is set up. Raise `NotFound`, `Conflict`, `EngineUnavailable`."""

    async def health(self, name: str) -> EngineHealth:
        """Return how its engine is; never raises for one that does not answer."""


class ProviderService(Protocol):
    """What answers."""

    def get_available_models(self) -> Sequence[InstalledModel]:
        """Return the chat models that are on this machine."""

    def get_current_provider_info(self) -> ProviderInfo:
        """Return which model answers; raise `EngineUnavailable` where none is set up."""

    async def check_provider_health(self) -> EngineHealth:
        """Return how the engine of the current model is; never raises for one that does not answer."""

    def switch_model(self, name: str) -> ProviderInfo:
        """Have *name* answer from now on; raise `NotFound` or `Conflict`, which say which models can."""

    def current(self) -> ChatModel:
        """Return the model that answers; raise `EngineUnavailable` where none is set up."""

    async def abilities(self) -> Abilities:
        """Return what the current model was seen to do; it is tried once."""

    async def complete(self, request: ChatRequest, *, timeout_s: float = TIMEOUT_S) -> Completion:
        """Return a whole completion; raise `DeadlineExceeded` after *timeout_s*, and what the engine raises."""

    def stream(self, request: ChatRequest, *, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[ChatDelta]:
        """Stream a completion, as `complete` bounds it. Closing the generator frees the engine."""


class LocalProviderService:
    """The models of this machine. What one can do is found out by *probe*, once for each, never by its name."""

    def __init__(self, models: Models, *, probe: Probe) -> None:
        self._models = models
        self._probe = probe
        self._name = ""
        self._abilities: dict[str, Abilities] = {}
        self._probing = HostLock()

    def get_available_models(self) -> Sequence[InstalledModel]:
        """Return the chat models that are on this machine."""
        return self._models.installed()

    def get_current_provider_info(self) -> ProviderInfo:
        """Return which model answers; raise `EngineUnavailable` where none is set up."""
        model = self.current()
        return ProviderInfo(PROVIDER, model.model, model.context, self._abilities.get(model.model))

    async def check_provider_health(self) -> EngineHealth:
        """Return how the engine of the current model is; never raises for one that does not answer."""
        return await self._models.health(self._name)

    def switch_model(self, name: str) -> ProviderInfo:
        """Have *name* answer from now on.

        Raise `NotFound` for a model that is not here, and `Conflict` for one without an engine: both say which can answer.
        """
        if name not in {each.name for each in self._models.installed()}:
            raise NotFound(f"The model {name[:100]!r} is not on this machine.", remedy=self._can(), model=name[:100])
        self._models.open(name)
        self._name = name
        return self.get_current_provider_info()

    def current(self) -> ChatModel:
        """Return the model that answers; raise `EngineUnavailable` where none is set up."""
        return self._models.open(self._name)

    async def abilities(self) -> Abilities:
        """Return what the current model was seen to do; it is tried once, by eleven short tasks."""
        model = self.current()
        async with self._probing.held():
            if model.model not in self._abilities:
                self._abilities[model.model] = await self._probe(model)
        return self._abilities[model.model]

    async def complete(self, request: ChatRequest, *, timeout_s: float = TIMEOUT_S) -> Completion:
        """Return a whole completion; raise `DeadlineExceeded` after *timeout_s*, and what the engine raises."""
        async with _in_time(timeout_s, of=timeout_s):
            return await complete(self.current(), request)

    async def stream(self, request: ChatRequest, *, timeout_s: float = TIMEOUT_S) -> AsyncGenerator[ChatDelta]:
        """Stream a completion, as `complete` bounds it. Closing the generator frees the engine."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_s
        async with aclosing(_pieces(self.current().chat(request))) as deltas:
            while True:
                async with _in_time(end - loop.time(), of=timeout_s):
                    delta = await anext(deltas, None)
                if delta is None:
                    return
                yield delta

    def _can(self) -> str:
        names = [each.name for each in self._models.installed() if each.served]
        return f"Switch to one of: {', '.join(names)}." if names else "`skellig model list` shows what can be installed."


class EngineModels:
    """The chat models of an appliance: those in *store* are installed, and the one of *pool* is served."""

    def __init__(self, store: ModelStore, pool: EnginePool) -> None:
        self._store = store
        self._pool = pool

    def installed(self) -> Sequence[InstalledModel]:
        """Return the chat models that are here."""
        served = self._served()
        here = [model for model in self._store.installed() if model.role == "chat"]
        return [InstalledModel(each.name, each.title, each.context, each.name == served) for each in here]

    def open(self, name: str) -> ChatModel:
        """Return the model *name*; "" is the one that is set up.

        Raise `EngineUnavailable` where none is, and `Conflict` for one that is not the one that is served.
        """
        chat = self._pool.chat()
        if chat is None:
            raise EngineUnavailable("No chat model is set up.", remedy="Set chat.model, then start with `skellig up`.")
        if name not in {"", chat.model}:
            raise Conflict(
                f"The engine serves {chat.model}, and one model at a time.",
                remedy=f"Set chat.model to {name}, then `skellig up` starts it.",
                model=name,
                served=chat.model,
            )
        return chat

    async def health(self, name: str) -> EngineHealth:
        """Return how the engine is; never raises for one that does not answer."""
        del name  # there is one
        return await self._pool.health("chat")

    def _served(self) -> str:
        chat = self._pool.chat()
        return chat.model if chat is not None else ""


@asynccontextmanager
async def _in_time(seconds: float, *, of: float) -> AsyncIterator[None]:
    """Let the block take *seconds*; raise `DeadlineExceeded` then, which names the whole time."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as exc:
        if not limit.expired():
            raise
        raise DeadlineExceeded(
            f"The model did not end within {of:g} s.", remedy="Ask for a shorter answer, or with less text.", seconds=of
        ) from exc


async def _pieces(deltas: AsyncIterator[ChatDelta]) -> AsyncGenerator[ChatDelta]:
    """Pass *deltas* on, and end them where they can be ended."""
    try:
        async for delta in deltas:
            yield delta
    finally:
        if isinstance(deltas, AsyncGenerator):
            await deltas.aclose()
