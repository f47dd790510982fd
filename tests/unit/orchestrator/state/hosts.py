"""Hosts as small as the core can work with, and what is applied to them."""

import asyncio
from collections.abc import Mapping

from appliance.orchestrator.state import (
    ContextSnapshot,
    Host,
    Staged,
    StateTransition,
    TransitionApplier,
    TransitionBatch,
    TransitionType,
)


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


class Committing(PlainHost):
    """A host that takes a batch in one step."""

    def __init__(self, *, refuses: bool = False) -> None:
        super().__init__()
        self.state_version = 7
        self.taken: list[Staged] = []
        self._refuses = refuses

    def add_message(self, message: object) -> None:
        raise AssertionError(f"a host that commits is not written to piece by piece: {message}")

    def commit(self, staged: Staged) -> None:
        if self._refuses:
            raise OSError("the disk is full")
        self.taken.append(staged)
        staged.conversation_state.write(self.conversation_state)
        self.state_version += 1


def transition(kind: TransitionType, **data: object) -> StateTransition:
    return StateTransition(kind, data)


def apply(host: Host, *transitions: StateTransition) -> list[object]:
    async def main() -> list[object]:
        applier = TransitionApplier(host)
        return [await applier.apply(each) for each in transitions]

    return asyncio.run(main())


def apply_batch(host: Host, batch: TransitionBatch, *, expected: ContextSnapshot | None = None) -> list[object]:
    return asyncio.run(TransitionApplier(host).apply_batch(batch, expected=expected))


def full() -> TransitionBatch:
    """Return a batch that changes everything."""
    return (
        TransitionBatch().add_message("m1").update_stage("done").update_state("k", 1).delete_state("a")
        .update_state("j", 1, scope="session").update_capability("c").add_messages(["m2", "m3"])
    )  # fmt: skip
