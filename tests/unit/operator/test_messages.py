"""Claims about a thread: its helpers chain, and nothing that it holds is anybody else's."""

from appliance.operator import Messages
from tests.support.operating import roles


def test_helpers_chain_and_keep_the_order() -> None:
    thread = Messages().system("s").user("u").assistant("a", tool_calls=[{"id": "1"}]).assistant("b")
    thread.tool("r", tool_call_id="1").extend([{"role": "user", "content": "x"}])
    assert roles(thread.to_list()) == ["system", "user", "assistant", "assistant", "tool", "user"]
    assert (len(thread), thread[0]["role"], thread[-1]["content"]) == (6, "system", "x")
    assert roles(thread[1:3]) == ["user", "assistant"]
    assert "tool_calls" not in thread[3]
    assert thread[4]["tool_call_id"] == "1"
    assert [message["role"] for message in thread] == roles(thread.to_list())
    thread.replace([{"role": "user", "content": "y"}])
    assert len(thread) == 1
    thread.clear()
    assert thread.to_list() == []


def test_a_thread_shares_nothing_on_the_way_in_or_out() -> None:
    given = [{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]
    threads = [
        Messages(given),
        Messages().append(given[0]),
        Messages().extend(given),
        Messages().replace(given),
        Messages().assistant(None, tool_calls=given[0]["tool_calls"]),  # type: ignore[arg-type]
    ]
    given[0]["tool_calls"][0]["id"] = "changed"  # type: ignore[index]
    for thread in threads:
        for out in (thread.to_list()[0], thread[0], next(iter(thread))):
            out["tool_calls"][0]["id"] = "changed"
        assert thread.to_list() == [{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]
