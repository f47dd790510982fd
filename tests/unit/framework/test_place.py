"""Claims about what an agent's workspace means."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.config import load
from appliance.errors import Conflict, NotFound
from appliance.framework.place import Place, open_place
from appliance.orchestrator.state import CoordinatorResult, create_snapshot
from appliance.tables import MIGRATIONS
from tests.support.indexed import Indexed
from tests.support.repos import make_repo


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "data").mkdir()
    index = Indexed(tmp_path / "data", migrations=MIGRATIONS)
    other = index.registry.add_project("other").id
    for project, name in ((index.project, "shop"), (other, "shop"), (other, "till")):
        folder = tmp_path / project
        folder.mkdir(exist_ok=True)
        index.registry.add_repo(project, make_repo(folder, {"a.py": "x = 1\n"}, name=name), name=name)
    index.close()
    environ = {"HOME": str(tmp_path), "SKELLIG_DATA": str(tmp_path / "data"), "SKELLIG_EMBED__MODEL": "none"}
    with closing(open_place(load(environ=environ))) as place:
        yield place


def test_a_workspace_is_a_repository_by_name_or_path_or_a_project(place: Place) -> None:
    till = place.index.registry.repo("till")
    other = place.index.registry.project("other")
    assert place.workspace("till").repos == place.workspace(till.id).repos == (till.id,)
    assert place.workspace(Path(str(till.source))).repos == (till.id,)
    assert set(place.workspace("other").repos) == {repo.id for repo in place.index.registry.repos(other.id)}
    assert place.workspace(None, project="other") == place.workspace("other")
    assert len(place.workspace(None).repos) == 1


def test_a_name_of_several_projects_is_refused_unless_the_project_is_named(place: Place) -> None:
    """To take the first would answer about code that nobody asked about."""
    with pytest.raises(Conflict):
        place.workspace("shop")
    assert place.workspace("shop", project="other").project == place.index.registry.project("other").id


def test_what_is_not_here_is_refused_with_the_command_that_adds_it(place: Place, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="skellig repo add"):
        place.workspace(tmp_path)


def test_the_appliance_has_coordinators_that_decide_about_a_session(place: Place) -> None:
    facade, context = place.services.facade, create_snapshot(object())
    assert facade.system_prompt_state_passed is not None
    assert facade.safety_state_passed is not None
    assert facade.coordination_state_passed is not None

    def state(result: CoordinatorResult) -> dict[object, object]:
        return {each.data["key"]: each.data["value"] for each in result.transitions.transitions}

    asked = asyncio.run(facade.system_prompt_state_passed.classify(context, "Who calls `parse_header`?"))
    assert state(asked)["task_type"] == "callers"
    assert not asyncio.run(facade.safety_state_passed.check(context, "shell", {"command": "rm -rf /"})).should_continue
    suggested = asyncio.run(facade.coordination_state_passed.suggest(context, task_type="callers"))
    assert state(suggested)["coordination_primary_team"] == "tracer"
