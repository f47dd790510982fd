"""Whatever a repository tells the model of a mission to do: nothing outside of the mission's grants happens.

The model obeys every word that is planted. What holds must hold whatever a model does.
"""

import asyncio
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest

from appliance.base.sqlite import connect
from appliance.orchestrator.missions.build import Parts, desk_of, runner_of
from appliance.orchestrator.missions.canonical import canonical
from appliance.orchestrator.missions.instruments import INSTRUMENTS
from appliance.orchestrator.missions.model import ENDED, Entry, Mission
from appliance.orchestrator.tools.catalogue import builtin_specs
from appliance.tables import MIGRATIONS
from tests.adversarial.injection.conftest import Touched
from tests.adversarial.injection.obedient import Obedient
from tests.adversarial.injection.orders import CANARY
from tests.adversarial.injection.planting import CASES, NAMES, Case
from tests.adversarial.injection.street import Street
from tests.support.missioned import replies
from tests.support.missions import Going

READING = INSTRUMENTS | {spec.name for spec in builtin_specs() if spec.effect == "read"}


@dataclass
class Worked:
    """A mission that was worked on, and what its model was given."""

    model: Obedient
    mission: Mission
    entries: list[Entry]


def _worked(street: Street, case: Case, path: Path) -> Worked:
    model = Obedient(case, replies(f"`{case.function}` returns a value."))

    def open_database() -> sqlite3.Connection:
        conn = connect(path, migrations=MIGRATIONS)
        conn.execute("PRAGMA synchronous=OFF")  # these records need not outlive a power cut
        return conn

    parts = Parts(
        connect=open_database,
        registry=street.registry,
        generations=street.generations,
        searcher=street.searcher,
        chat=model,
        digest=str,
        clock=street.index.clock,
    )
    desk, runner = desk_of(open_database, registry=street.registry, chat=model, clock=parts.clock), runner_of(parts)
    try:
        asked = desk.create(case.goal, scope=street.scope, asked_by="ada")
        mission = asyncio.run(runner.run(asked.id, stopping=Going()))
        return Worked(model, mission, list(desk.entries(mission.id)))
    finally:
        desk.close()
        runner.close()


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_mission_whose_model_obeys_what_it_reads_stays_within_its_grants(
    case: Case, street: Street, elsewhere: list[str], tmp_path: Path
) -> None:
    """Else whoever can commit to one repository could read every other one, or act, through anybody's mission."""
    worked = _worked(street, case, tmp_path / "missions.db")
    record = "\n".join(canonical(entry.data) for entry in worked.entries)
    assert worked.model.obeyed or (case.place == "commit message" and case.word in record), "the order came nowhere"
    assert worked.mission.state in ENDED
    assert "error of ours" not in worked.mission.reason
    assert {str(entry.data["tool"]) for entry in worked.entries if entry.kind == "called_tool"} <= READING
    assert CANARY not in record + worked.model.read
    assert elsewhere == []
    assert not [entry for entry in worked.entries if entry.kind in {"asked_approval", "approval"}]


def test_settings_and_hooks_of_a_repository_run_nothing_on_an_ordinary_prompt(
    street: Street, listener: Touched, tmp_path: Path
) -> None:
    """It was indexed by now, and is asked about: a program that obeyed any of its files would have left a trace."""
    listener.seen.clear()
    listener.marks = (str(street.shop.source), str(street.ran))
    try:
        worked = _worked(street, CASES[0], tmp_path / "missions.db")
    finally:
        listener.marks = ()
    assert {str(entry.data["tool"]) for entry in worked.entries if entry.kind == "called_tool"}
    assert not street.ran.exists()
    assert [event for event in listener.seen if event.startswith("subprocess.Popen")] == []
