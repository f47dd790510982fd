import copy
import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from pydantic import BaseModel, SecretStr

from appliance.config import Settings
from appliance.contracts.chat import Message
from appliance.orchestrator.state import ContextSnapshot, SettingsView, StateTransition, TransitionType, create_snapshot
from tests.unit.orchestrator.state.hosts import PlainHost


def snapshot(**over: object) -> ContextSnapshot:
    base: dict[str, object] = {
        "messages": ("m1",), "session_id": "s", "conversation_stage": "initial", "settings": None, "model": "m",
        "provider": "p", "max_tokens": 1, "temperature": 0.0, "conversation_state": {}, "session_state": {},
        "observed_files": (), "capabilities": {},
    }  # fmt: skip
    return ContextSnapshot(**(base | over))  # type: ignore[arg-type] # as the tests want it


def test_the_fields_stand_in_their_order_with_a_timestamp_and_a_version() -> None:
    assert [field.name for field in dataclasses.fields(ContextSnapshot)] == [
        "messages", "session_id", "conversation_stage", "settings", "model", "provider", "max_tokens", "temperature",
        "conversation_state", "session_state", "observed_files", "capabilities", "snapshot_timestamp", "version",
    ]  # fmt: skip
    assert snapshot().snapshot_timestamp > 0
    assert snapshot().version == 0


def test_the_conversation_goes_before_the_session_and_a_stored_none_is_a_value() -> None:
    shown = snapshot(conversation_state={"k": 1, "n": None}, session_state={"k": 2, "n": 3, "z": 4})
    assert (shown.get_state("k"), shown.get_state("z"), shown.get_state("q", "d")) == (1, 4, "d")
    assert shown.get_state("n", "d") is None
    assert shown.get_state("q") is None


def test_capabilities_count_where_their_value_is_true() -> None:
    shown = snapshot(capabilities={"on": 1, "off": False, "none": None, "level": "high"})
    assert [shown.has_capability(name) for name in ("on", "off", "none", "level", "absent")] == [
        True,
        False,
        False,
        True,
        False,
    ]
    assert shown.get_capability_value("level") == "high"
    assert shown.get_capability_value("absent") is None


def test_derived_properties() -> None:
    assert snapshot(messages=["a", "b"]).message_count == 2
    assert snapshot(conversation_stage="complete").is_complete
    assert not snapshot().is_complete


@pytest.mark.parametrize(
    "poke",
    [
        lambda s: setattr(s, "model", "other"),
        lambda s: s.conversation_state.__setitem__("b", 2),
        lambda s: s.conversation_state["nested"].__setitem__("b", 2),
        lambda s: s.conversation_state["nested"]["xs"].append(2),
        lambda s: s.conversation_state["set"].add(2),
        lambda s: s.messages[0].update(content="changed"),
        lambda s: s.capabilities.clear(),
        lambda s: s.session_state.pop("s"),
        lambda s: setattr(s.settings, "k", 2),
        lambda s: s.settings["deep"].__setitem__("k", 2),
        lambda s: s.settings.deep.xs.append(1),
    ],
)
def test_nothing_in_a_snapshot_can_be_changed_at_any_depth(poke: Callable[[object], object]) -> None:
    state = {"nested": {"xs": [1]}, "set": {1}}
    shown = snapshot(
        messages=[{"content": "hi"}],
        conversation_state=state,
        session_state={"s": 1},
        settings={"k": 1, "deep": {"k": 1, "xs": [1]}},
        capabilities={"c": True},
    )
    before = repr(shown)
    with pytest.raises((TypeError, AttributeError)):
        poke(shown)
    assert repr(shown) == before


def test_lists_become_tuples_and_equal_what_they_were() -> None:
    shown = snapshot(messages=["a"], observed_files=["x.py"], conversation_state={"xs": [1, [2]], "t": (1,)})
    assert shown.messages == ("a",)
    assert shown.observed_files == ("x.py",)
    assert isinstance(shown.conversation_state["xs"], tuple)
    assert shown.conversation_state == {"xs": [1, [2]], "t": (1,)}


def test_a_snapshot_and_its_host_share_nothing() -> None:
    host = PlainHost()
    shown = create_snapshot(host)
    host.messages[0]["content"] = "changed"  # type: ignore[index] # a mapping
    host.conversation_state["nested"]["xs"].append(2)  # type: ignore[index] # as above
    host.conversation_state["late"] = 1
    host._capabilities["late"] = True
    host.observed_files.append("late.py")
    host.messages.append("late")
    assert shown == create_snapshot(PlainHost())
    assert (shown.session_id, shown.model, shown.provider, shown.max_tokens, shown.temperature) == (
        "sid",
        "m",
        "local",
        128,
        0.2,
    )


def test_equal_hosts_give_equal_snapshots_whenever_they_are_taken() -> None:
    one, other = create_snapshot(PlainHost()), create_snapshot(PlainHost())
    assert one == other
    assert hash(one) == hash(other)
    assert one != dataclasses.replace(other, model="another")
    assert one != "a snapshot"
    assert one.changed_from(dataclasses.replace(other, model="another", messages=())) == ("messages", "model")


class Plain:
    def __init__(self, text: str) -> None:
        self.text = text


def test_messages_that_know_identity_alone_are_compared_by_what_they_hold() -> None:
    assert snapshot(messages=[Plain("a")]) == snapshot(messages=[Plain("a")])
    assert snapshot(messages=[Plain("a")]) != snapshot(messages=[Plain("b")])
    message = Message("user", "hi")
    assert snapshot(messages=[message]).messages == (message,)


def test_a_bare_object_has_the_documented_defaults() -> None:
    shown = create_snapshot(object())
    assert (shown.messages, shown.session_id, shown.conversation_stage) == ((), "", "initial")
    assert (shown.model, shown.provider, shown.max_tokens, shown.temperature) == ("", "", 4096, 0.7)
    assert shown.conversation_state == {}
    assert shown.session_state == {}
    assert shown.capabilities == {}
    assert shown.settings is None
    assert shown.observed_files == ()


def test_an_attribute_that_is_none_has_its_default() -> None:
    host = PlainHost()
    host.conversation_state = host.temperature = host.provider_name = None  # type: ignore[assignment] # as hosts do before they start
    shown = create_snapshot(host)
    assert (shown.conversation_state, shown.temperature, shown.provider) == ({}, 0.7, "")


def test_a_provider_that_is_an_object_is_named() -> None:
    host = type("Host", (), {"provider": type("Provider", (), {"name": "local"})()})()
    assert create_snapshot(host).provider == "local"


def test_a_snapshot_may_be_copied_replaced_and_written() -> None:
    shown = snapshot(conversation_state={"xs": [1]}, settings={"k": 1})
    assert copy.deepcopy(shown) is shown
    assert dataclasses.replace(shown, model="n").conversation_state == {"xs": [1]}
    again = ContextSnapshot.from_dict(json.loads(json.dumps(shown.to_dict())))
    assert again == shown
    assert again.snapshot_timestamp == shown.snapshot_timestamp


def test_what_json_cannot_say_is_named() -> None:
    with pytest.raises(ValueError, match=r"messages\[0\]"):
        snapshot(messages=[Message("user", "hi")]).to_dict()
    with pytest.raises(ValueError, match=r"conversation_state\.k is nan"):
        snapshot(conversation_state={"k": float("nan")}).to_dict()
    with pytest.raises(ValueError, match="no snapshot"):
        ContextSnapshot.from_dict({"messages": []})


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": "text"},
        {"messages": {"a": 1}},
        {"messages": None},
        {"observed_files": "a.py"},
        {"conversation_state": None},
        {"conversation_state": [("a", 1)]},
        {"session_state": {1: 2}},
        {"capabilities": ["c"]},
        {"session_id": None},
        {"model": 7},
        {"max_tokens": "many"},
        {"max_tokens": True},
        {"temperature": None},
        {"version": 0.5},
    ],
)
def test_what_is_of_the_wrong_kind_is_refused_when_it_is_made(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        snapshot(**wrong)


def test_what_cannot_be_frozen_is_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    for value in (circle, deep, (line for line in "")):
        with pytest.raises(ValueError, match=r"itself|deeper|copied"):
            snapshot(conversation_state={"v": value})


def test_what_is_shared_so_often_that_it_is_endless_is_refused() -> None:
    """Sixty lists, each twice in the next one: whoever compares it, writes it or takes it out would follow every way."""
    shared: object = [1]
    for _ in range(60):
        shared = [shared, shared]
    with pytest.raises(ValueError, match="more than 2,000,000 items"):
        snapshot(conversation_state={"v": shared})
    with pytest.raises(ValueError, match="items"):
        StateTransition(TransitionType.UPDATE_STATE, {"key": "k", "value": (shared, {"x": shared})})


def test_what_is_shared_is_copied_once() -> None:
    inner = [1]
    found = snapshot(conversation_state={"v": [inner, inner]}).get_state("v")
    assert isinstance(found, tuple)
    one, other = found
    assert one is other


@dataclass(frozen=True, slots=True)
class Nested:
    api_key: str = "k-123"
    port: int = 80


class Model(BaseModel):
    token: SecretStr = SecretStr("s3cret")
    max_tokens: int = 5
    nested: Nested = Nested()
    database: str = "postgres://user:s3cret@db/x"
    names: list[str] = ["a"]


@pytest.mark.parametrize(
    "settings",
    [
        {"password": "s3cret", "web": {"authToken": "s3cret", "port": 1}, "list": [{"private_key": "s3cret"}]},
        Model(),
        type("Own", (), {})(),
        {"header": "Authorization: Bearer s3cret", "pem": "-----BEGIN RSA PRIVATE KEY-----\ns3cret"},
    ],
)
def test_settings_show_no_secret(settings: object) -> None:
    if not isinstance(settings, dict | BaseModel):
        settings.secret, settings.open = "s3cret", "open"  # type: ignore[attr-defined] # its own attributes
    shown = snapshot(settings=settings)
    assert "s3cret" not in repr(shown.settings)
    assert "s3cret" not in json.dumps(shown.to_dict()["settings"])
    assert "[redacted]" in repr(shown.settings)


def test_settings_are_read_by_key_and_by_attribute() -> None:
    view = snapshot(settings=Model()).settings
    assert isinstance(view, SettingsView)
    assert (view["max_tokens"], view.max_tokens, view.nested.port) == (5, 5, 80)  # type: ignore[attr-defined] # a view
    assert view.names == ("a",)
    with pytest.raises(AttributeError, match="absent"):
        _ = view.absent
    assert snapshot(settings={"k": 1}).settings == {"k": 1}


def test_the_real_settings_can_be_shown() -> None:
    shown = snapshot(settings=Settings()).settings
    assert isinstance(shown, SettingsView)
    assert shown["web"]["port"] == Settings().web.port  # type: ignore[index] # a view
    whole = snapshot(settings=Settings())
    assert ContextSnapshot.from_dict(json.loads(json.dumps(whole.to_dict()))) == whole


def test_a_thousand_messages_are_snapshotted_in_five_milliseconds() -> None:
    host = PlainHost()
    host.messages = [{"role": "user", "content": f"message {n}"} for n in range(1_000)]
    best = 1.0
    for _ in range(5):
        began = time.process_time()
        create_snapshot(host)
        best = min(best, time.process_time() - began)
    assert best < 0.005
