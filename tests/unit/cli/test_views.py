"""Claims that the command line reads what the API writes."""

import msgspec
import pytest
from pydantic import BaseModel

from appliance.api import answers, approvals, found, repos, schemas
from appliance.api import missions as missions_api
from appliance.api.v1 import wanted
from appliance.cli import missions, views

PAIRS: list[tuple[type[msgspec.Struct], type[BaseModel]]] = [
    (views.Progress, schemas.ProgressOut),
    (views.Job, schemas.JobOut),
    (views.Index, repos.IndexOut),
    (views.Repo, repos.RepoOut),
    (views.Branch, repos.BranchOut),
    (views.RepoSettings, repos.RepoSettingsOut),
    (views.Wanted, wanted.WantedOut),
    (views.LeftOut, repos.LeftOutOut),
    (views.LeftOutPage, repos.LeftOutPage),
    (views.Fresh, schemas.FreshnessOut),
    (views.Hit, found.HitOut),
    (views.Results, found.SearchOut),
    (views.Evidence, answers.EvidenceOut),
    (views.Sentence, answers.SentenceOut),
    (views.Struck, answers.StruckOut),
    (views.Gate, answers.GateOut),
    (views.Answer, answers.AnswerOut),
    (views.Part, schemas.PartOut),
    (views.Health, schemas.HealthOut),
    (missions.Usage, missions_api.UsageOut),
    (missions.Mission, missions_api.MissionOut),
    (missions.MissionPage, missions_api.MissionPage),
    (missions.Entry, missions_api.EntryOut),
    (missions.Verification, missions_api.VerificationOut),
    (missions.Replay, missions_api.ReplayOut),
    (missions.Approval, approvals.ApprovalOut),
]


@pytest.mark.parametrize(("view", "schema"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_field_that_is_read_is_written(view: type[msgspec.Struct], schema: type[BaseModel]) -> None:
    """A renamed field would else be found by the first person who runs the command."""
    assert not set(view.__struct_fields__) - set(schema.model_fields)
