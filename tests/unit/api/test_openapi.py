import re

import pytest

from appliance.services import Services
from tests.support.appliance import Client

Document = dict[str, dict[str, dict[str, dict[str, dict[str, dict[str, object]]]]]]


@pytest.fixture(scope="module")
def document(client: Client) -> Document:
    response = client.get("/api/v1/openapi.json")
    assert response.status_code == 200
    found: Document = response.json()
    return found


def test_every_operation_says_how_it_fails(document: Document) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            responses = operation["responses"]
            assert {"400", "401", "403", "413", "503"} <= responses.keys(), (method, path)
            for status, response in responses.items():
                types = response.get("content", {})
                if int(status) >= 400:
                    assert list(types) == ["application/problem+json"], (method, path, status)  # type: ignore[call-overload]


def test_what_names_a_thing_may_not_find_it(document: Document) -> None:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert "{" not in path or "404" in operation["responses"], path


def test_streams_are_documented_as_streams(document: Document) -> None:
    ask = document["paths"]["/api/v1/ask"]["post"]["responses"]["200"]["content"]
    events = document["paths"]["/api/v1/jobs/{job}/events"]["get"]["responses"]["200"]["content"]
    steps = document["paths"]["/api/v1/missions/{mission}/events"]["get"]["responses"]["200"]["content"]
    assert set(steps) == {"text/event-stream"}  # type: ignore[call-overload]
    assert set(ask) == {"application/json", "text/event-stream"}  # type: ignore[call-overload]
    assert set(events) == {"text/event-stream"}  # type: ignore[call-overload]


def test_the_console_is_not_in_the_api(document: Document) -> None:
    assert all(path.startswith("/api/v1/") or path == "/metrics" for path in document["paths"])


def test_the_document_is_behind_the_login(client: Client) -> None:
    assert client.get("/api/v1/openapi.json", headers={"authorization": ""}).status_code == 401


def test_metrics_count_requests_and_jobs(client: Client, services: Services) -> None:
    services.jobs.enqueue("index", key="nothing")
    client.get("/api/v1/health")
    text = client.get("/metrics").text
    assert 'skellig_jobs{state="queued"} ' in text
    assert re.search(r'skellig_http_requests_total\{method="GET",status="200"\} [1-9]', text)
