"""Whatever is sent, the answer is one that the document names."""

from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.appliance import Client

TEXT = st.one_of(
    st.sampled_from(
        ["", "0", "-1", "1e9", "default", "repo_0", "\0", "..", "a/b", "%", "null", "[]", "9" * 30, "é\u202e\U0001f600"]
    ),
    st.text(max_size=40),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
MEMBERS = st.sampled_from(
    ["question", "project", "repos", "prose", "path", "name", "branch", "token", "goal", "instruction", "decision", "other"]
)
BODY = JSON | st.dictionaries(MEMBERS, JSON, max_size=5)
UNSAFE_TO_REPEAT = {("post", "/api/v1/login")}  # the brake would answer all the others


@pytest.fixture(scope="module")
def operations(client: Client) -> list[tuple[str, str, dict[str, dict[str, dict[str, object]]], list[str]]]:
    found = []
    for path, methods in client.get("/api/v1/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            if (method, path) not in UNSAFE_TO_REPEAT:
                names = [each["name"] for each in operation.get("parameters", []) if each["in"] == "query"]
                found.append((method, path, operation["responses"], names))
    return found


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_request_breaks_the_server_or_surprises_its_caller(
    client: Client,
    operations: list[tuple[str, str, dict[str, dict[str, dict[str, object]]], list[str]]],
    data: st.DataObject,
) -> None:
    method, path, responses, names = data.draw(st.sampled_from(operations))
    for place in ("{repo}", "{job}", "{mission}", "{approval}"):
        path = path.replace(place, quote(data.draw(TEXT.filter(lambda text: text.strip("/.") != "")), safe=""))
    query = {name: data.draw(TEXT) for name in names if data.draw(st.booleans())}
    body = data.draw(BODY) if method == "post" else None
    response = client.request(method, path, params=query, json=body)
    status = str(response.status_code)
    if "/" in path.removeprefix("/api/v1/") and status in {"404", "405"}:
        return  # a slash in a name makes it another address
    assert status in responses, response.text
    if response.content:
        assert response.headers["content-type"].split(";")[0] in responses[status]["content"]
