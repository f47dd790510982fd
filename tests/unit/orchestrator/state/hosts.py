"""Hosts as small as the core can work with."""

import asyncio
from collections.abc import Mapping


class PlainHost:
    """A host that knows nothing of batches."""

    def __init__(self) -> None:
        self.messages: list[object] = [{"role": "user", "content": "hi"}]
        self.conversation_state: dict[str, object] = {"a": 1, "nested": {"xs": [1]}}
        self.session_state: dict[str, object] = {"s": 2}
        self._capabilities: dict[str, object] = {"planning_mode": True, "off": False}
        self.observed_files: list[str] = ["a.py"]
        self.session_id = "sid"
        self.conversation_stage = "initial"
        self.settings: object = {"k": 1}
        self.model = "m"
        self.provider_name = "local"
        self.max_tokens = 128
        self.temperature = 0.2
        self.calls: list[tuple[str, object]] = []
        self.called = asyncio.Event()  # the tool that never ends has begun

    def add_message(self, message: object) -> None:
        self.messages.append(message)

    async def execute_tool(self, name: str, arguments: Mapping[str, object]) -> object:
        self.calls.append((name, arguments))
        if name == "explode":
            raise RuntimeError("tool failed")
        if name == "hang":
            self.called.set()
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        return {"tool": name, "ok": True}

    def create_session(self, **kwargs: object) -> object:
        self.calls.append(("create", kwargs))
        return kwargs.get("session_id", "named by the host")

    def close_session(self, **kwargs: object) -> None:
        self.calls.append(("close", kwargs))

    def state(self) -> tuple[object, ...]:
        """Return all that a batch may change, as it is now."""
        mappings = (dict(self.conversation_state), dict(self.session_state), dict(self._capabilities))
        return (list(self.messages), *mappings, self.conversation_stage)
