"""Missions that ask people: the model is scripted, and everything else is real."""

from collections.abc import Mapping

import pytest

from appliance.contracts.safety import SafetyVerdict
from appliance.contracts.tools import Json
from appliance.orchestrator.approvals import Approvals, Decision
from appliance.orchestrator.missions.instruments import PACK, STRUCTURE
from tests.support.missioned import Make, Scripted, answer_of, of_kind, replies

_CAPTION = "`ModelStore.verify` compares the digest of the installed model with the one in the catalogue."
_GOAL = "Where is ModelStore.verify defined and who calls it? How does it compare the digest with the catalogue?"


class Confirms:
    """A safety rule that has a person decide on every call of one *tool*."""

    name = "confirms"

    def __init__(self, tool: str = PACK) -> None:
        self._tool = tool

    def judge(self, tool: str, arguments: Mapping[str, Json]) -> SafetyVerdict:
        """Have it confirmed."""
        del arguments
        return SafetyVerdict("confirm" if tool == self._tool else "allow", "Somebody wants to know.")


@pytest.mark.parametrize("decision", ["approved", "rejected"])
def test_a_mission_waits_for_a_person_and_goes_on(place: Make, decision: Decision) -> None:
    there = place(Scripted(replies(_CAPTION)), rules=[Confirms()])
    mission = there.work(there.ask(_GOAL))
    assert (mission.state, mission.reason) == ("waiting", "A person must approve of evidence_pack.")
    there.stays_the_same(mission)
    assert there.work(mission).state == "waiting", "Nobody decided yet"
    approvals = Approvals(there.parts.connect(), clock=there.parts.clock)
    (asked,) = approvals.list(state="pending", run=mission.id)
    approvals.decide(asked.id, decision, by="ada", note="As you like.")
    approvals.close()
    done = there.work(mission)
    there.stays_the_same(done)
    (decided,) = of_kind(there.entries(done), "approval")
    assert (decided.data["decision"], decided.data["by"]) == (decision, "ada")
    assert (_CAPTION in [sentence.text for sentence in answer_of(done).sentences]) == (decision == "approved")
    if decision == "rejected":
        assert any("evidence_pack was not approved. As you like." in warning for warning in answer_of(done).warnings)


def test_a_no_to_what_stands_beside_the_question_is_told_too(place: Make) -> None:
    there = place(None, rules=[Confirms(STRUCTURE)])
    mission = there.work(there.ask("Who calls ModelStore.verify?"))
    approvals = Approvals(there.parts.connect(), clock=there.parts.clock)
    decisions: list[Decision] = ["approved", "rejected"]
    while mission.state == "waiting":
        (asked,) = approvals.list(state="pending", run=mission.id)
        approvals.decide(asked.id, decisions.pop(0) if decisions else "approved", by="ada", note="Not now.")
        mission = there.work(mission)
    approvals.close()
    assert mission.state == "done"
    assert "structure was not approved. Not now." in answer_of(mission).warnings
    there.stays_the_same(mission)


def test_a_mission_that_waits_is_cancelled_at_once(place: Make) -> None:
    there = place(None, rules=[Confirms()])
    mission = there.work(there.ask(_GOAL))
    assert there.desk.cancel(mission.id, by="ada").state == "cancelled"
    there.stays_the_same(mission)
