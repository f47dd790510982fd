"""The engines of one appliance, by role."""

from appliance.base.paths import DataPaths
from appliance.config import Settings
from appliance.errors import NotFound
from appliance.inference.catalog import AUTO, OFF, Catalog
from appliance.inference.client import EngineClient
from appliance.inference.engines.base import EngineHealth, EngineInfo, Priority, Role
from appliance.inference.turns import ChatInTurn, Turns


class EnginePool:
    """Hands out clients. Starts nothing: the supervisor runs the engines, each on its socket in the run directory."""

    def __init__(self, paths: DataPaths, *, catalog: Catalog, settings: Settings) -> None:
        self._paths = paths
        self._catalog = catalog
        self._settings = settings
        self.turns = Turns(slots=settings.chat.slots, waiting=settings.chat.waiting)

    def chat(self) -> ChatInTurn | None:
        """Return the chat model, asked in turn by all who have it from here, or None when the settings say ``none``.

        It is there before its engine is: while nothing runs, its calls raise `EngineUnavailable` with the remedy.
        """
        client = self._chat_client()
        return None if client is None else ChatInTurn(client, self.turns)

    def embedder(self, *, priority: Priority = "interactive") -> EngineClient | None:
        """Return the embedder's client, or None when the settings say ``none``; else as `chat`.

        Who embeds many texts that nobody waits for asks with *priority* ``background``.
        """
        return self._client("embed", self._settings.embed.model, context=0, priority=priority)

    async def health(self, role: Role) -> EngineHealth:
        """Return how the engine for *role* is; ``off`` when the settings say ``none``."""
        client = self._chat_client() if role == "chat" else self.embedder()
        if client is None:
            return EngineHealth("off", f"No {role} model is set up.")
        return await client.health()

    def _chat_client(self) -> EngineClient | None:
        return self._client("chat", self._settings.chat.model, context=self._settings.chat.context)

    def _client(self, role: Role, name: str, *, context: int, priority: Priority = "interactive") -> EngineClient | None:
        if name == OFF:
            return None
        expected = self._expected(role, name, context=context)
        return EngineClient(self._paths.engine_socket(role), expected=expected, priority=priority)

    def _expected(self, role: Role, name: str, *, context: int) -> EngineInfo:
        if name == AUTO:
            return EngineInfo(role, name, context)
        model = self._catalog.get(name)
        if model.role != role:
            raise NotFound(
                f"The model {name} is for the role {model.role}, not {role}.",
                remedy="`skellig model list` shows every model and its role.",
            )
        return EngineInfo(role, name, context or model.context, model.dimensions)
