"""The pages on agents and on workflows: every program on them runs as it stands."""

import re
from pathlib import Path

import pytest

from appliance.framework.events import EventType
from appliance.services import CLI_KEY
from tests.support.agent_house import AgentHouse

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGES = "".join((DOCS / "howto" / f"{name}.md").read_text() for name in ("write-an-agent", "write-a-workflow"))
EXAMPLES = [each for each in re.findall(r"```python\n(.*?)```", PAGES, re.DOTALL) if "asyncio.run(" in each]
SAYS = {
    'agent.run("Where is': ["It compares digests.", "search_code", "ok"],
    "agent.stream(": ["→ search_code", "It compares digests."],
    "session.send(": ["2 It compares digests."],
    "agent.resume(": ["It compares digests."],
    "Team(": ["done", "It compares digests.", "'finder': 'accepted'", "total_tokens"],
    "client.chat(": ["It compares digests.", "TurnCost("],
    "client.run_workflow(": ["It compares digests."],
}


@pytest.mark.parametrize("call", SAYS)
def test_an_example_runs_and_says_what_it_should(
    call: str,
    house: AgentHouse,
    port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    house.follow(("search_code", {"query": "verify"}), answer="It compares digests.")
    for name, value in {"SKELLIG_DATA": str(house.root), "SKELLIG_EMBED__MODEL": "none"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "skellig.key").write_text((house.root / "run" / CLI_KEY).read_text())
    (source,) = [example.replace(":7878", f":{port}") for example in EXAMPLES if call in example]
    exec(compile(source, "example.py", "exec"), {})  # noqa: S102 - what stands on the page is what is claimed
    said = capsys.readouterr().out
    assert [line for line in SAYS[call] if line not in said] == []


def test_no_example_is_left_out() -> None:
    assert len(EXAMPLES) == len(SAYS)


def test_the_reference_has_every_argument_and_every_kind_of_event() -> None:
    page = (DOCS / "reference" / "framework.md").read_text()
    assert [kind for kind in EventType if f"`{kind.value}`" not in page] == []
